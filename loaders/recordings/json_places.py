"""Parses JSON so that each object knows its line: what is left out of a recording is named with it."""

from __future__ import annotations

import bisect
import json
from json import decoder, scanner
from typing import Any

LARGEST = 4_000_000
"""Characters. Larger files are parsed without lines, which is faster."""


class PlacedObject(dict[str, Any]):
    """A JSON object with the number of the line on which it begins."""

    line: int = 0


def parse_with_lines(text: str) -> Any:
    """Parse JSON; its objects are `PlacedObject`s. Raises `ValueError`, `RecursionError`."""
    ends = [at for at, each in enumerate(text) if each == "\n"]
    return _PlacingDecoder(ends).decode(text)


def line_of(data: Any) -> str:
    """Return `line 7, ` for an object whose line is known, else an empty text."""
    return f"line {data.line}, " if isinstance(data, PlacedObject) and data.line else ""


class _PlacingDecoder(json.JSONDecoder):
    def __init__(self, ends: list[int]) -> None:
        super().__init__()
        self._ends = ends
        self.parse_object = self._placed
        self.scan_once = scanner.py_make_scanner(self)  # type: ignore[attr-defined]

    def _placed(self, text_and_end: tuple[str, int], *rest: Any) -> tuple[Any, int]:
        begin = text_and_end[1]
        found, end = decoder.JSONObject(text_and_end, *rest)  # type: ignore[attr-defined]
        made = PlacedObject(found)
        made.line = bisect.bisect_left(self._ends, begin) + 1
        return made, end
