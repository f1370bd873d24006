"""The result of importing a recording, and its error."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema.execution_traces import ExecutionTrace
from kb_schema.selectors import Selector

_SECRET_NAME = re.compile(
    r"pass(?:word|wd|phrase|code)|(?<![a-z])p(?:wd|in)(?![a-z])|secret|one-time", re.IGNORECASE
)
LEFT_OUT = "•••"
"""Replaces a secret."""


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """A trace of a recording. What could not be read is in its metadata, under `problems`."""

    trace: ExecutionTrace
    secrets: frozenset[str] = frozenset()
    """Inputs of password fields: they are in no step, and the writer removes them everywhere."""


class UnreadableRecording(ValueError):
    """A file is not a readable recording. `file`, `place` and `reason` say what is wrong."""

    def __init__(self, file: Path, reason: str, place: str = "") -> None:
        self.file, self.place, self.reason = file, place, reason
        super().__init__(f"{file}{f', {place}' if place else ''}: {reason}")


def parse_json(text: str) -> Any:
    """Parse JSON without lone surrogates, which escapes can produce. Raises `ValueError`."""
    data = json.loads(text)
    if "\\ud" not in text.lower():
        return data
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def as_list(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty list.

    >>> as_list([1]), as_list(None), as_list(7)
    ([1], [], [])
    """
    return value if isinstance(value, list) else []


def names_a_secret(selector: Selector | None) -> bool:
    """Return whether a selector looks like that of a password field; other tools do not say.

    >>> names_a_secret(Selector.model_validate("#user_password")), names_a_secret(Selector.model_validate("#pinned"))
    (True, False)
    """
    return selector is not None and bool(_SECRET_NAME.search(selector.model_dump_json()))
