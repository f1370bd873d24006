"""A visitor's words and name: used while the demo runs, and written to no file.

If the owner chooses to keep them for some days, only the run's events hold them, and these expire
(`agent.run_records.run_log`). Everything else that is written goes through `RunContext.redact_kept`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agent.redaction import REDACTED, Secrets

FEWEST_WORDS = 4
"""Shorter utterances ("next", "the dashboard") occur on every page and identify no one."""
DAY_S = 86_400.0
_NAME = re.compile("[A-Za-z0-9]{2,}")


class _PersonalWords(Secrets):
    """Like `Secrets`, except that a single word is removed only as a whole word: names are short and occur
    inside other words. What a person said in other case is ordinary text.
    """

    disguised = False

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


class PersonalData:
    """What one visitor said in one session. Empty at first."""

    def __init__(self, retention_days: float = 0.0) -> None:
        """`retention_days` 0: nothing is kept."""
        self._words = _PersonalWords()
        self.retention_days = retention_days

    @property
    def kept_s(self) -> float:
        """Seconds for which the visitor's words may be kept; 0: not at all."""
        return self.retention_days * DAY_S

    def keep(self, value: Any) -> None:
        """Register a name, or a value that the visitor gave with every text in it."""
        self._words.keep(value)

    def heard(self, words: str) -> None:
        """Register an utterance if it is long enough to identify a person."""
        if len(words.split()) >= FEWEST_WORDS:
            self._words.keep(words)

    def __bool__(self) -> bool:
        return bool(self._words)

    @property
    def values(self) -> frozenset[str]:
        """The registered words in their original spelling."""
        return self._words.values

    def within(self, data: Any) -> bool:
        """Return whether JSON data contains any of them."""
        if not self._words:
            return False
        text = json.dumps(data, ensure_ascii=False, default=str)
        return bool(self._words.redact(text) != text)

    def redact(self, data: Any) -> Any:
        """Return JSON data without them."""
        return self._words.redact(data)
