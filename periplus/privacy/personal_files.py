"""Searches files for a person: text is replaced; pictures, films and sound of what mentions the person are deleted.

Pixels and sound cannot be searched. A *unit* is what belongs together: the files of a run, the map of a website, a
recording. If a text of a unit has the person, its pictures, films and sound count as showing the person. Of a unit without
texts, such as the pictures beside a report, the texts at the top of its folder tell.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from periplus.privacy.person_matcher import PersonMatcher

FileKind = Literal["picture", "film", "sound", "archive", "text"]
FileUnit = tuple[str, ...]
KINDS: dict[str, FileKind] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif"), "picture"),
    **dict.fromkeys((".mp4", ".webm", ".mkv", ".mov"), "film"),
    **dict.fromkeys((".wav", ".mp3", ".m4a", ".ogg"), "sound"),
    **dict.fromkeys((".zip", ".xlsx", ".docx", ".gz", ".bz2", ".xz", ".zst", ".tar", ".7z"), "archive"),
}
DATABASES = (".sqlite3", ".sqlite3-wal", ".sqlite3-shm", ".sqlite3-journal")
VERIFICATION_PARTS = ("report.html", "junit.xml", "plans", "generated_tests", "screenshots")
MOST_BYTES = 500_000_000
"""Larger files are not read."""


@dataclass(frozen=True, slots=True)
class SearchedFile:
    """A file to search, and the unit it belongs to."""

    path: Path
    unit: FileUnit
    folder: FileUnit = ()
    """The folder that was given, whose texts at the top tell of units without texts."""

    @property
    def is_at_top(self) -> bool:
        """Return whether it is not in a folder below the one that was given."""
        return bool(self.folder) and self.path.parent == Path(*self.folder)


@dataclass(frozen=True, slots=True)
class PersonalFile:
    """A file that has, or may show, the person."""

    path: Path
    kind: FileKind
    deleted: bool
    """Whether it is deleted; else its text is replaced."""


def list_data_files(data_dir: Path, skipped: Iterable[Path] = ()) -> Iterator[SearchedFile]:
    """Yield the files of the data directory but databases; the unit is the second level (`runs/RUN`, `maps/SITE`)."""
    left_out = [each.resolve() for each in skipped]
    for path in _walk(data_dir):
        if path.name.endswith(DATABASES) or any(path.resolve().is_relative_to(each) for each in left_out):
            continue
        parts = path.relative_to(data_dir).parts
        unit = parts[:2] if len(parts) > 2 else (*parts[:-1], path.stem)
        yield SearchedFile(path, ("run", parts[1]) if len(parts) > 2 and parts[0] == "runs" else unit)


def list_folder_files(folder: Path) -> Iterator[SearchedFile]:
    """Yield the files of another folder; the unit is the first level, such as a recording."""
    for path in _walk(folder):
        parts = path.relative_to(folder).parts
        unit = (str(folder), parts[0] if len(parts) > 1 else path.stem)
        yield SearchedFile(path, unit, (str(folder),))


def list_verification_files(folder: Path) -> Iterator[SearchedFile]:
    """Yield what a verification writes into its folder beside the artifacts: reports, plans, tests and pictures."""
    for name in VERIFICATION_PARTS:
        for path in [folder / name] if (folder / name).is_file() else _walk(folder / name):
            unit = (str(folder), path.stem if path.parent == folder else name)
            yield SearchedFile(path, unit, (str(folder),))


def list_artifact_files(path: Path, run_id: str) -> Iterator[SearchedFile]:
    """Yield the files of a run's artifact, which is a file or a folder."""
    for each in [path] if path.is_file() else _walk(path):
        yield SearchedFile(each, ("run", run_id))


def find_personal_files(
    files: Iterable[SearchedFile], matcher: PersonMatcher, runs: Iterable[str]
) -> tuple[list[PersonalFile], list[Path]]:
    """Return the files that have or may show the person, and those that could not be searched.

    `runs`: those whose records mention the person. Raises `OSError`.
    """
    unsearched: list[Path] = []
    searched = {each.path.resolve(): each for each in files}
    units: set[FileUnit] = {("run", run) for run in runs}
    found: dict[Path, PersonalFile] = {}
    with_texts: set[FileUnit] = set()
    for place, each in searched.items():
        kind = KINDS.get(each.path.suffix.lower(), "text")
        named = matcher.matches(each.path.name)
        if kind in ("picture", "film", "sound"):
            if named:
                found[place] = PersonalFile(each.path, kind, deleted=True)
            continue
        with_texts.add(each.unit)
        has = _has_person(each.path, kind, matcher)
        if has is None and not named:
            unsearched.append(each.path)
        elif named or has:
            units.add(each.unit)
            if each.is_at_top:
                units.add(each.folder)
            found[place] = PersonalFile(each.path, kind, deleted=kind == "archive" or not _is_text(each.path))
    for place, each in searched.items():
        kind = KINDS.get(each.path.suffix.lower(), "text")
        told_by = each.unit if each.is_at_top or each.unit in with_texts else each.folder
        if kind in ("picture", "film", "sound") and (each.unit in units or told_by in units):
            found[place] = PersonalFile(each.path, kind, deleted=True)
    return sorted(found.values(), key=lambda file: str(file.path)), sorted(unsearched)


def erase_file(file: PersonalFile, matcher: PersonMatcher) -> None:
    """Delete a file, or replace the person in its text and its name. Raises `OSError`."""
    if file.deleted:
        file.path.unlink(missing_ok=True)
        return
    text = matcher.replace(file.path.read_bytes().decode("utf-8"))
    fresh = file.path.with_name(f".erasing-{os.getpid()}")
    fresh.write_bytes(text.encode())
    fresh.chmod(file.path.stat().st_mode & 0o777)
    fresh.replace(file.path)
    if matcher.matches(file.path.name):
        file.path.rename(file.path.with_name(matcher.replace(file.path.name)))


def _walk(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):  # follows no links to folders
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _has_person(path: Path, kind: FileKind, matcher: PersonMatcher) -> bool | None:
    """Whether a file has the person; None if that cannot be known: it is too large, encrypted, damaged or packed."""
    if path.stat().st_size > MOST_BYTES:
        return None
    if kind != "archive":
        return matcher.matches(path.read_bytes().decode("utf-8", "replace"))
    whole = True
    try:
        with zipfile.ZipFile(path) as archive:
            for each in archive.infolist():
                if matcher.matches(each.filename):
                    return True
                if each.file_size > MOST_BYTES:
                    whole = False
                elif matcher.matches(archive.read(each).decode("utf-8", "replace")):
                    return True
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return None
    return False if whole else None


def _is_text(path: Path) -> bool:
    try:
        path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
