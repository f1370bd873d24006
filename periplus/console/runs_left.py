"""What a run left on disk, given away safely: only what is, byte for byte, what the run's record says.

A record names a path and the SHA-256 of what was there. A file is given away where it still has that hash, so
that neither a path somebody put into a store nor a link on the disk leads to any other file. Pictures of a
verification have no record of their own: the verdict that names them has, and they lie beneath it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.run_log import digest_of
from kb_schema.runs import Artifact
from kb_schema.sessions import SessionUnreadable, read_session
from kb_schema.snapshots import PageSnapshot
from kb_schema.traces import ExecutionTrace
from kb_schema.verification import VerdictReport

MOST_BYTES = 200_000_000
"""Of one file or folder that is looked at."""
MOST_FILES = 20_000
"""In one folder."""
MOST_PICTURE_BYTES = 20_000_000
TRACE, VERDICT, FILM, CAPTIONS, POSTER = "trace", "verdict_report", "film", "captions", "picture"
"""Types of artifacts."""
MOST_CAPTIONS_BYTES = 2_000_000
MOST_KNOWN = 500
"""Files whose hashes are held: a film is asked for piece by piece."""
SETTLED_S = 2.0
"""A file that was written to less long ago is hashed anew: its times do not tell a change from the next yet."""
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
"""First bytes of a picture -> what it is; what else calls itself a picture is none."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture's bytes and what kind it is."""

    content: bytes
    media_type: str


def found(artifact: Artifact) -> Path | None:
    """Where it is; None where it is no more, or is no more what it was."""
    if artifact.file_path is None or not 0 < artifact.size_bytes <= MOST_BYTES:
        return None
    path = Path(artifact.file_path)
    try:
        fits = _as_big(path, artifact.size_bytes) and _hash(path) == artifact.file_hash
        return path.resolve() if fits else None
    except OSError:
        return None


_known: dict[tuple[int, ...], str] = {}


def _hash(path: Path) -> str | None:
    """SHA-256 of a file or folder. Of a file that nobody touched since it is not reckoned again."""
    stat = path.stat()
    key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    if path.is_file() and key in _known:
        return _known[key]
    seen = digest_of(path)
    if seen is None:
        return None
    if path.is_file() and time.time() - max(stat.st_mtime, stat.st_ctime) > SETTLED_S:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = seen[1]
    return seen[1]


def _as_big(path: Path, wanted: int) -> bool:
    """Whether there are so many bytes in all: looked at first, so that nothing larger is ever read."""
    if path.is_file():
        return path.stat().st_size == wanted
    size = 0
    for number, each in enumerate(path.rglob("*")):
        size += each.stat().st_size if each.is_file() else 0
        if size > wanted or number > MOST_FILES:
            return False
    return size == wanted


@dataclass(frozen=True, slots=True)
class KeptTrace:
    """What a run did with the pages it saw."""

    trace: ExecutionTrace
    ended_at: str
    """The address it was at in the end; empty where that is not known."""

    @property
    def last_page(self) -> PageSnapshot | None:
        """How the page looked in the end."""
        last = self.trace.steps[-1] if self.trace.steps else None
        if last is None:
            return None
        if last.html_after is not None:
            return PageSnapshot(url=self.ended_at, html=last.html_after, annotated=True)
        if last.html_before is not None:
            return PageSnapshot(url=last.source_url or "", html=last.html_before, annotated=True)
        return None


def trace_of(artifacts: Sequence[Artifact]) -> KeptTrace | None:
    """The trace; None where there is none, or it was changed since."""
    for each in artifacts:
        folder = found(each) if each.artifact_type == TRACE else None
        if folder is not None and folder.is_dir():
            try:
                trace = read_session(folder)
            except (SessionUnreadable, ValidationError):
                return None
            return KeptTrace(trace, _ended_at(folder))
    return None


def _ended_at(folder: Path) -> str:
    """What the last line of the last turn says that the trace's own model leaves out."""
    logs = sorted(folder.glob("turn_*/session.jsonl"))
    for log in reversed(logs):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        if not lines:
            continue
        with suppress(ValueError):
            result = json.loads(lines[-1]).get("result")
            if isinstance(result, dict):
                return str(result.get("url_after") or "")
        return ""
    return ""


def verdict_of(artifacts: Sequence[Artifact], run_id: str) -> tuple[VerdictReport, Path] | None:
    """A verification's report, and the folder that what it names is relative to."""
    for each in artifacts:
        if each.artifact_type != VERDICT:
            continue
        file = found(each)
        if file is None or not file.is_file():
            continue
        try:
            report = VerdictReport.model_validate(json.loads(file.read_bytes()))
        except ValueError:
            continue
        if report.run_id in ("", run_id):
            return report, file.parent
    return None


def picture_file(folder: Path, name: str) -> Path | None:
    """The file that a report in this folder names; None where there is none, or it leads elsewhere."""
    try:
        path = (folder / name).resolve()
        fits = path.is_relative_to(folder.resolve()) and path.is_file()
        return path if fits and path.stat().st_size <= MOST_PICTURE_BYTES else None
    except (OSError, ValueError):
        return None


def picture(folder: Path, name: str | None) -> Picture | None:
    """A picture that a report in this folder names; None where there is none, or it leads elsewhere."""
    path = None if name is None else picture_file(folder, name)
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    kind = next((kind for first, kind in _PICTURES.items() if content.startswith(first)), None)
    return None if kind is None else Picture(content, kind)


# -- films -----------------------------------------------------------------------------------------

_FILMS = {"video/mp4": (4, b"ftyp"), "video/webm": (0, b"\x1a\x45\xdf\xa3")}
"""What a film is -> where its bytes say so, and what they say."""


@dataclass(frozen=True, slots=True)
class Film:
    """A film that a run left, and what goes with it."""

    path: Path
    media_type: str
    captions: Path | None
    """As WebVTT."""
    poster: Path | None


def film_of(artifacts: Sequence[Artifact]) -> Film | None:
    """The film of a run, the one with sound where there are two; None where there is none any more."""
    films = sorted((each for each in artifacts if each.artifact_type == FILM), key=_silent)
    for each in films:
        path = found(each)
        kind = None if path is None or not path.is_file() else _kind_of_film(path)
        if path is not None and kind is not None:
            return Film(path, kind, _captions(artifacts), _poster(artifacts))
    return None


def has_film(artifacts: Sequence[Artifact]) -> bool:
    """Whether a run noted that it left one; nothing is looked at."""
    return any(each.artifact_type == FILM for each in artifacts)


def _silent(artifact: Artifact) -> tuple[bool, str]:
    return "silent" in artifact.name, artifact.name


def _kind_of_film(path: Path) -> str | None:
    with path.open("rb") as file:
        head = file.read(16)
    return next((kind for kind, (at, said) in _FILMS.items() if head[at:].startswith(said)), None)


def _captions(artifacts: Sequence[Artifact]) -> Path | None:
    for each in artifacts:
        path = (
            found(each) if each.artifact_type == CAPTIONS and each.size_bytes <= MOST_CAPTIONS_BYTES else None
        )
        if path is not None and path.is_file():
            with path.open("rb") as file:
                if file.read(16).removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
                    return path
    return None


def _poster(artifacts: Sequence[Artifact]) -> Path | None:
    for each in artifacts:
        path = found(each) if each.artifact_type == POSTER else None
        if path is not None and path.is_file() and picture(path.parent, path.name) is not None:
            return path
    return None
