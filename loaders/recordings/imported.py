"""What reading a foreign recording gives, and how it fails."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema.selectors import Selector
from kb_schema.traces import ExecutionTrace

_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|(?<![a-z])p(?:wd|in)(?![a-z])|secret|one-time", re.IGNORECASE
)
LEFT_OUT = "•••"
"""Stands where a secret was."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A trace as a recording tells it. What could not be read is in its metadata, under `problems`."""

    trace: ExecutionTrace
    secrets: frozenset[str] = frozenset()
    """What was typed into password fields: it is in no step, and whoever writes takes it out everywhere."""


class RecordingUnreadable(ValueError):
    """A file is no recording that can be read. `file`, `place` within it and `reason` say what is wrong."""

    def __init__(self, file: Path, reason: str, place: str = "") -> None:
        self.file, self.place, self.reason = file, place, reason
        super().__init__(f"{file}{f', {place}' if place else ''}: {reason}")


def parsed(text: str) -> Any:
    """JSON, without the halves of characters that escapes can make. Raises `ValueError`."""
    data = json.loads(text)
    if "\\ud" not in text.lower():
        return data
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def listed(value: Any) -> list[Any]:
    """What a format says is a list; nothing where it is none.

    >>> listed([1]), listed(None), listed(7)
    ([1], [], [])
    """
    return value if isinstance(value, list) else []


def names_a_secret(selector: Selector | None) -> bool:
    """Whether a field is one for passwords, as far as its selectors tell: other tools do not say.

    >>> names_a_secret(Selector.model_validate("#user_password")), names_a_secret(Selector.model_validate("#pinned"))
    (True, False)
    """
    return selector is not None and bool(_SECRET_NAME.search(selector.model_dump_json()))
