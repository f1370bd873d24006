"""The result of importing a recording, and its error."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema.execution_traces import ExecutionTrace

LEFT_OUT = "•••"
"""Replaces a secret."""


@dataclass(frozen=True, slots=True)
class ImportedTrace:
    """A trace of a recording.

    Its metadata say under `problems` what was left out, and under `notes` what else to know of the import.
    """

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
