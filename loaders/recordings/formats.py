"""The recording formats, and detection of a file's format. A new format is one line here and its module."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loaders.recordings import (
    chrome_recorder,
    json_places,
    miniwob_demonstrations,
    playwright_trace,
    selenium_ide,
)
from loaders.recordings.field_names import MarkedFields
from loaders.recordings.imported_traces import ImportedTrace, UnreadableRecording, parse_json
from loaders.recordings.json_places import parse_with_lines

LARGEST = 500_000_000
"""The most bytes of an unpacked file."""
CODE = frozenset({".py", ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"})
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class JsonRecordingFormat:
    """A format that is one JSON object."""

    name: str
    title: str
    has: frozenset[str]
    """The keys that identify it."""
    lines: bool
    """Whether its reader names lines."""
    read: Callable[[dict[str, Any], Path, MarkedFields], list[ImportedTrace]]


JSON_FORMATS = (
    JsonRecordingFormat(
        "chrome_recorder",
        "Chrome DevTools Recorder",
        frozenset({"title", "steps"}),
        lines=True,
        read=chrome_recorder.read,
    ),
    JsonRecordingFormat(
        "selenium_ide",
        "Selenium IDE (.side)",
        frozenset({"tests", "name"}),
        lines=True,
        read=selenium_ide.read,
    ),
    JsonRecordingFormat(
        "demonstrations",
        "MiniWoB++ demonstrations",
        frozenset({"taskName", "states"}),
        lines=False,
        read=miniwob_demonstrations.read,
    ),
)
ZIPPED = "Playwright trace (.zip)"


def known_formats() -> tuple[str, ...]:
    """Return the names of the formats."""
    return (*(each.title for each in JSON_FORMATS), ZIPPED)


def read_recording(file: Path, marks: MarkedFields = MarkedFields()) -> list[ImportedTrace]:  # noqa: B008 - frozen
    """Return the traces of a file: one, or one per test. Raises `UnreadableRecording`."""
    try:
        with file.open("rb") as opened:
            head = opened.read(4)
    except OSError as exc:
        told = "does not exist" if not file.exists() else f"cannot be read ({exc.strerror})"
        raise UnreadableRecording(file, told) from exc
    if head == _ZIP:
        try:
            return playwright_trace.read(file, marks)
        except (zipfile.BadZipFile, zlib.error, OSError) as exc:
            raise UnreadableRecording(file, f"is a broken zip file ({exc})") from exc
    if file.suffix in CODE:
        raise UnreadableRecording(
            file,
            "is code, which `periplus kb import FILE --website ID --out DIR` reads, if it is Playwright's",
        )
    data = _json(file, packed=head.startswith(_GZIP))
    for known in JSON_FORMATS:
        if known.has <= data.keys():
            return known.read(data, file, marks)
    raise UnreadableRecording(file, f"is not in a supported format: {', '.join(known_formats())}")


def _parse(text: str) -> Any:
    """Parse JSON, with the lines of its objects unless that would take long. Raises `ValueError`."""
    data = parse_json(text)
    if len(text) > json_places.LARGEST or "\\ud" in text.lower():
        return data
    has = data.keys() if isinstance(data, dict) else set()
    return parse_with_lines(text) if any(each.lines and each.has <= has for each in JSON_FORMATS) else data


def _json(file: Path, *, packed: bool) -> dict[str, Any]:
    try:
        if packed:
            with gzip.open(file) as unpacked:
                text = unpacked.read(LARGEST)
        else:
            text = file.read_bytes()
        data = _parse(text.decode("utf-8-sig"))
    except json.JSONDecodeError as exc:
        raise UnreadableRecording(file, f"is not JSON ({exc.msg})", f"line {exc.lineno}") from exc
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as exc:
        raise UnreadableRecording(file, f"cannot be read ({exc})") from exc
    if not isinstance(data, dict):
        raise UnreadableRecording(file, "is JSON, but not one object, as every recording is")
    return data
