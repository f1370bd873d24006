"""Which formats there are, and which one a file is. A new format is one line here and its module."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loaders.recordings import chrome_recorder, demonstrations, playwright_trace, selenium_ide
from loaders.recordings.imported import Imported, RecordingUnreadable, parsed

LARGEST = 500_000_000
"""Bytes of an unpacked file."""
_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """A format that is one JSON object."""

    name: str
    title: str
    has: frozenset[str]
    """Keys by which it is known."""
    read: Callable[[dict[str, Any], Path], list[Imported]]


JSON_FORMATS = (
    JsonFormat("chrome_recorder", "Chrome DevTools Recorder", frozenset({"title", "steps"}), chrome_recorder.read),
    JsonFormat("selenium_ide", "Selenium IDE (.side)", frozenset({"tests", "name"}), selenium_ide.read),
    JsonFormat("demonstrations", "MiniWoB++ demonstrations", frozenset({"taskName", "states"}), demonstrations.read),
)  # fmt: skip
ZIPPED = "Playwright trace (.zip)"


def known_formats() -> tuple[str, ...]:
    """What can be read, in words."""
    return (*(each.title for each in JSON_FORMATS), ZIPPED)


def read_recording(file: Path) -> list[Imported]:
    """The traces of a file: one, or as many as it has tests. Raises `RecordingUnreadable`."""
    try:
        with file.open("rb") as opened:
            head = opened.read(4)
    except OSError as exc:
        raise RecordingUnreadable(file, f"cannot be read ({exc.strerror})") from exc
    if head == _ZIP:
        try:
            return playwright_trace.read(file)
        except (zipfile.BadZipFile, zlib.error, OSError) as exc:
            raise RecordingUnreadable(file, f"is a broken zip file ({exc})") from exc
    data = _json(file, packed=head.startswith(_GZIP))
    for known in JSON_FORMATS:
        if known.has <= data.keys():
            return known.read(data, file)
    raise RecordingUnreadable(file, f"is none of the formats that can be read: {', '.join(known_formats())}")


def _json(file: Path, *, packed: bool) -> dict[str, Any]:
    try:
        if packed:
            with gzip.open(file) as unpacked:
                text = unpacked.read(LARGEST)
        else:
            text = file.read_bytes()
        data = parsed(text.decode("utf-8-sig"))
    except json.JSONDecodeError as exc:
        raise RecordingUnreadable(file, f"is not JSON ({exc.msg})", f"line {exc.lineno}") from exc
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as exc:
        raise RecordingUnreadable(file, f"cannot be read ({exc})") from exc
    if not isinstance(data, dict):
        raise RecordingUnreadable(file, "is JSON, but not one object, as every recording is")
    return data
