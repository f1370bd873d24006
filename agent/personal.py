"""A visitor's own words and name: said and shown while the show lasts, and in no file.

Where an owner wants to keep them, for so many days, they are in the run's events alone, which expire
(`agent.run_log`); whatever else is written goes through `Context.redact_kept`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agent.redaction import REDACTED, Secrets

FEWEST_WORDS = 4
"""Of what a visitor said: fewer ("next", "the dashboard") stand on every page, and tell nobody apart."""
DAY_S = 86_400.0
_NAME = re.compile("[A-Za-z0-9]{2,}")


class _Told(Secrets):
    """As secrets, but that a word on its own is taken out where it stands on its own: names are short, and
    are parts of other words.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, re.Pattern[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._values or self._names)

    @property
    def values(self) -> frozenset[str]:
        return frozenset({*self._values, *self._names})

    def keep(self, value: Any) -> None:
        if isinstance(value, str) and _NAME.fullmatch(value):
            self._names[value] = re.compile(f"(?<![A-Za-z0-9]){value}(?![A-Za-z0-9])")
        else:
            super().keep(value)

    def redact(self, data: Any) -> Any:
        return self._redacted(data) if self else data

    def _text(self, text: str) -> str:
        for name in self._names.values():
            text = name.sub(REDACTED, text)
        return super()._text(text)


class Personal:
    """What one visitor told, of one session. Empty at first."""

    def __init__(self, retention_days: float = 0.0) -> None:
        """`retention_days` 0: not kept."""
        self._told = _Told()
        self.retention_days = retention_days

    @property
    def kept_s(self) -> float:
        """For how many seconds the visitor's own words may be kept; 0: not at all."""
        return self.retention_days * DAY_S

    def keep(self, value: Any) -> None:
        """Remember a name, or a value that the visitor gave, or every text in it."""
        self._told.keep(value)

    def heard(self, words: str) -> None:
        """Remember what was said, where it is long enough to be somebody's."""
        if len(words.split()) >= FEWEST_WORDS:
            self._told.keep(words)

    def __bool__(self) -> bool:
        return bool(self._told)

    @property
    def values(self) -> frozenset[str]:
        """As they were said."""
        return self._told.values

    def within(self, data: Any) -> bool:
        """Whether any of it is in JSON data."""
        if not self._told:
            return False
        text = json.dumps(data, ensure_ascii=False, default=str)
        return bool(self._told.redact(text) != text)

    def redact(self, data: Any) -> Any:
        """JSON data without them."""
        return self._told.redact(data)
