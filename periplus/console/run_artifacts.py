"""Safe access to the files of a run: a file is only served if it still has the recorded hash.

An artifact record has a path and a SHA-256. Because of the hash, a forged path in the store or a symbolic link
on the disk cannot expose another file. Screenshots of a verification have no record of their own; they are
found through the recorded verdict, in its folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agent.run_records.run_log import compute_digest
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.run_records import Artifact
from kb_schema.session_reader import SessionUnreadable, read_session
from kb_schema.verification import VerdictReport

MOST_BYTES = 200_000_000
"""Maximum size of a file or folder that is read."""
MOST_FILES = 20_000
"""Maximum number of files in a folder."""
MOST_PICTURE_BYTES = 20_000_000
TRACE, VERDICT, FILM, CAPTIONS, POSTER = "trace", "verdict_report", "film", "captions", "picture"
"""Types of artifacts."""
MOST_CAPTIONS_BYTES = 2_000_000
MOST_KNOWN = 500
"""Number of cached hashes: a film is requested in many ranges."""
SETTLED_S = 2.0
"""A file modified more recently is hashed again: its timestamps are too coarse to detect another change."""
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}
"""Magic bytes of the supported picture formats -> media type."""


@dataclass(frozen=True, slots=True)
class ArtifactPicture:
    """The bytes and the media type of a picture."""

    content: bytes
    media_type: str


def find_artifact(artifact: Artifact) -> Path | None:
    """Return the artifact's path; None if it was deleted or changed."""
    if artifact.file_path is None or not 0 < artifact.size_bytes <= MOST_BYTES:
        return None
    path = Path(artifact.file_path)
    try:
        fits = _has_size(path, artifact.size_bytes) and _hash(path) == artifact.file_hash
        return path.resolve() if fits else None
    except OSError:
        return None


_known: dict[tuple[int, ...], str] = {}


def _hash(path: Path) -> str | None:
    """Return the SHA-256 of a file or folder; unchanged files are not hashed again."""
    stat = path.stat()
    key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    if path.is_file() and key in _known:
        return _known[key]
    seen = compute_digest(path)
    if seen is None:
        return None
    if path.is_file() and time.time() - max(stat.st_mtime, stat.st_ctime) > SETTLED_S:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = seen[1]
    return seen[1]


def _has_size(path: Path, wanted: int) -> bool:
    """Return whether the total size is as recorded; checked first, so that larger files are never read."""
    if path.is_file():
        return path.stat().st_size == wanted
    size = 0
    for number, each in enumerate(path.rglob("*")):
        size += each.stat().st_size if each.is_file() else 0
        if size > wanted or number > MOST_FILES:
            return False
    return size == wanted


@dataclass(frozen=True, slots=True)
class TraceArtifact:
    """A run's trace with its stored pages."""

    trace: ExecutionTrace
    ended_at: str
    """The final address; empty if unknown."""

    @property
    def last_page(self) -> PageSnapshot | None:
        """Return the final page; None if it is not stored."""
        last = self.trace.steps[-1] if self.trace.steps else None
        if last is None:
            return None
        if last.html_after is not None:
            return PageSnapshot(url=self.ended_at, html=last.html_after, annotated=True)
        if last.html_before is not None:
            return PageSnapshot(url=last.source_url or "", html=last.html_before, annotated=True)
        return None


def read_trace(artifacts: Sequence[Artifact]) -> TraceArtifact | None:
    """Return the trace; None if there is none, or it was changed."""
    for each in artifacts:
        folder = find_artifact(each) if each.artifact_type == TRACE else None
        if folder is not None and folder.is_dir():
            try:
                trace = read_session(folder)
            except (SessionUnreadable, ValidationError):
                return None
            return TraceArtifact(trace, _ended_at(folder))
    return None


def _ended_at(folder: Path) -> str:
    """Return the final address from the last line of the trace, which the trace model does not contain."""
    logs = sorted(folder.glob("turn_*/session.jsonl"))
    for log in reversed(logs):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        if not lines:
            continue
        with suppress(ValueError):
            last = json.loads(lines[-1])
            for told in (last.get("metadata"), last.get("result")):  # the latter in older traces
                if isinstance(told, dict) and told.get("url_after"):
                    return str(told["url_after"])
        return ""
    return ""


def read_verdict(artifacts: Sequence[Artifact], run_id: str) -> tuple[VerdictReport, Path] | None:
    """Return a verification's report, and the folder to which its paths are relative."""
    for each in artifacts:
        if each.artifact_type != VERDICT:
            continue
        file = find_artifact(each)
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
    """Return the file that a report in this folder names; None if it is missing or outside of the folder."""
    try:
        path = (folder / name).resolve()
        fits = path.is_relative_to(folder.resolve()) and path.is_file()
        return path if fits and path.stat().st_size <= MOST_PICTURE_BYTES else None
    except (OSError, ValueError):
        return None


def picture(folder: Path, name: str | None) -> ArtifactPicture | None:
    """Return the picture that a report in this folder names; None if it is missing or outside of the folder."""
    path = None if name is None else picture_file(folder, name)
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    kind = next((kind for first, kind in _PICTURES.items() if content.startswith(first)), None)
    return None if kind is None else ArtifactPicture(content, kind)


# -- films -----------------------------------------------------------------------------------------

_FILMS = {"video/mp4": (4, b"ftyp"), "video/webm": (0, b"\x1a\x45\xdf\xa3")}
"""Media type of a film -> offset and value of its magic bytes."""


@dataclass(frozen=True, slots=True)
class FilmArtifact:
    """A run's film with its captions and poster."""

    path: Path
    media_type: str
    captions: Path | None
    """The WebVTT file."""
    poster: Path | None


def find_film(artifacts: Sequence[Artifact]) -> FilmArtifact | None:
    """Return the film of a run, preferring one with sound; None if there is none."""
    films = sorted((each for each in artifacts if each.artifact_type == FILM), key=_silent)
    for each in films:
        path = find_artifact(each)
        kind = None if path is None or not path.is_file() else _kind_of_film(path)
        if path is not None and kind is not None:
            return FilmArtifact(path, kind, _captions(artifacts), _poster(artifacts))
    return None


def has_film(artifacts: Sequence[Artifact]) -> bool:
    """Return whether the run recorded a film, without reading any file."""
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
            find_artifact(each)
            if each.artifact_type == CAPTIONS and each.size_bytes <= MOST_CAPTIONS_BYTES
            else None
        )
        if path is not None and path.is_file():
            with path.open("rb") as file:
                if file.read(16).removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
                    return path
    return None


def _poster(artifacts: Sequence[Artifact]) -> Path | None:
    for each in artifacts:
        path = find_artifact(each) if each.artifact_type == POSTER else None
        if path is not None and path.is_file() and picture(path.parent, path.name) is not None:
            return path
    return None
