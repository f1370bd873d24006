"""What a folder's files were when it was loaded: a record beside the store, by which the next load finds what changed.

    FOLDER/DIGEST.loaded     a line of JSON, then a line per file: path, tab, state; then, in the same order, one again: digest, tab, keys of its documents

A file counts as unchanged if its size, times of change and inode are the recorded ones, as in git, or else if its content is: a folder may
have been written again, and a file that was changed so shortly before it was looked at that a later change could have the same time has no
state to compare. The record is only a hint: it stands for one
generation of one store and for the program's own files, and whoever has no record, or one of something else, loads everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from operator import ne
from pathlib import Path
from typing import Any

from kb_schema import KnowledgeBase, Problem
from kb_schema.errors import Severity
from kb_schema.owner_folders import make_owner_file, make_owner_folder
from kb_schema.program_marks import program_mark
from loaders.files.folder_layout import SUFFIXES
from loaders.files.yaml_files import MAX_BYTES, digest_of

UNSURE_SECONDS = 2.0
"""A file changed later than this before it was looked at may change again within the same tick of the file system's clock."""
_PROGRAM = ("kb_schema", "kb_store", "loaders")
"""Packages whose code decides what is valid and what is stored."""

FileStates = Sequence[str]
"""A line per file: path below the folder, with `/`; tab; size, times and inode. Whole lines are compared, which takes least for many.

If the file changed just now, a time stands for its state, which no other look has.
"""


def list_file_states(folder: Path) -> list[str]:
    """Return the states of the files that a load reads (`folder_reader.knowledge_files`). Raises `OSError`."""
    now = time.time_ns()
    unsure = now - int(UNSURE_SECONDS * 1e9)
    found: list[str] = []
    todo = [("", os.fspath(folder))]
    for above, place in todo:  # grows meanwhile
        with os.scandir(place) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith("."):
                    continue
                if name.endswith(SUFFIXES) and entry.is_file():
                    stat = entry.stat()
                    modified, changed = stat.st_mtime_ns, stat.st_ctime_ns
                    sure = modified < unsure and changed < unsure
                    state = f"{stat.st_size} {modified} {changed} {stat.st_ino}" if sure else f"? {now}"
                    found.append(f"{above}{name}\t{state}")
                elif entry.is_dir(follow_symlinks=False):
                    todo.append((f"{above}{name}/", entry.path))
    return found


@dataclass(frozen=True, slots=True)
class FolderRecord:
    """What was loaded."""

    website_id: str
    stamp: str
    """Number and time of the generation that was loaded: a database that was restored may use a number again."""
    warnings: tuple[Problem, ...]
    states: FileStates = ()
    contents: Sequence[str] = ()
    """In the order of `states`: digest, tab, and the keys of the file's documents as `kind/id`, with spaces between."""

    def changed(self, folder: Path, states: FileStates, most: int) -> tuple[list[str], list[str]]:
        """Return the files to be read now, and those that are gone; if there are more than `most` of them, some. Raises `OSError`."""
        places, then = self._compare(states)
        now = {_path_of(states[place]): states[place] for place in places}
        other = sorted(
            name for name, line in now.items() if name not in then or self.states[then[name]] != line
        )
        gone = sorted(then.keys() - now.keys())
        read: list[str] = []
        if len(gone) <= most:
            for name in other:
                digest = self.contents[then[name]].partition("\t")[0] if name in then else ""
                if not digest or not _has_content(folder / name, digest):
                    read.append(name)
                    if len(read) > most:
                        break
        return read, gone

    def keys_of(self, states: FileStates, names: Iterable[str]) -> set[tuple[str, str]]:
        """Return kind and id of the documents that these files had, which `changed` returned for `states`."""
        _, then = self._compare(states)
        keys = (self.contents[then[name]].partition("\t")[2].split() for name in names if name in then)
        found = (key.partition("/") for own in keys for key in own)
        return {(kind, local_id) for kind, _, local_id in found}

    def after(
        self,
        states: FileStates,
        keys: Mapping[str, Sequence[str]],
        digests: Mapping[str, str],
        stamp: str,
    ) -> FolderRecord:
        """Return the record of the next generation; `keys` and `digests` have those of the files that were read."""
        places, then = self._compare(states)
        contents = [*self.contents[: len(states)], *repeat("", len(states) - len(self.contents))]
        for place in places:
            name = _path_of(states[place])
            contents[place] = (
                _content(digests[name], keys[name]) if name in keys else self.contents[then[name]]
            )
        return FolderRecord(self.website_id, stamp, self.warnings, states, contents)

    def _compare(self, states: FileStates) -> tuple[Sequence[int], dict[str, int]]:
        """Return the places in `states` that have another line than the record; and path -> place of the record's lines there.

        A folder is listed in the same order again unless files come or go, so that nearly all lines are equal in pairs.
        """
        both = min(len(states), len(self.states))
        places = [*compress(range(both), map(ne, states, self.states))]
        there = (*places, *range(both, len(self.states)))
        return [*places, *range(both, len(states))], {_path_of(self.states[place]): place for place in there}


def record_load(
    knowledge: KnowledgeBase,
    states: FileStates,
    digests: Mapping[str, str],
    stamp: str,
    warnings: tuple[Problem, ...],
) -> FolderRecord:
    """Return the record of a whole load; the states are those of before the files were read, the digests of what was read."""
    keys: dict[str, list[str]] = {}
    for (kind, local_id), source in knowledge.sources.items():
        keys.setdefault(file_of(source), []).append(f"{kind}/{local_id}")
    contents = [_content(digests.get(name, ""), keys.get(name, ())) for name in map(_path_of, states)]
    return FolderRecord(knowledge.website.website_id, stamp, warnings, states, contents)


def _path_of(line: str) -> str:
    return line.partition("\t")[0]


def _content(digest: str, keys: Iterable[str]) -> str:
    return f"{digest}\t{' '.join(keys)}"


def _has_content(file: Path, digest: str) -> bool:
    """Return whether a file has the content of that digest. Raises `OSError`."""
    return file.stat().st_size <= MAX_BYTES and digest_of(file.read_bytes()) == digest


def file_of(source: str) -> str:
    """Return the file of a document's source, which may end with its place in the file: `screens/a.yaml[3]`."""
    return source.rpartition("[")[0] if source.endswith("]") else source


class FolderRecords:
    """The records of one data directory, readable by their owner only."""

    def __init__(self, place: Path, folder: Path, *stores: str) -> None:
        """`stores`: the addresses of the stores that are loaded."""
        which = "\n".join((str(folder.resolve()), *stores)).encode("utf-8", "surrogateescape")
        self._path = place / f"{hashlib.blake2b(which, digest_size=16).hexdigest()}.loaded"

    def find(self) -> FolderRecord | None:
        """Return the record; None if there is none, or one of other code, or a damaged one."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="surrogateescape")
            head, *lines = text.split("\n")
            found: dict[str, Any] = json.loads(head)
            number = found["files"]
            if found["program"] != program_mark(_PROGRAM) or not _has_lines(text, number):
                return None
            warnings = tuple(
                Problem(**{**each, "severity": Severity(each["severity"])}) for each in found["warnings"]
            )
            return FolderRecord(found["website_id"], found["stamp"], warnings, lines[:number], lines[number:])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, record: FolderRecord) -> None:
        """Keep a record instead of the one before. Raises nothing: without a record the next load costs time."""
        head = {
            "website_id": record.website_id,
            "stamp": record.stamp,
            "program": program_mark(_PROGRAM),
            "files": len(record.states),
            "warnings": [
                {name: getattr(each, name) for name in ("message", "path", "document", "source", "fix", "rule", "severity")}
                for each in record.warnings
            ],
        }  # fmt: skip
        text = "\n".join((json.dumps(head), *record.states, *record.contents))
        if not _has_lines(text, len(record.states)):  # the name of a file has a tab or a line break
            self.forget()
            return
        fresh = self._path.with_suffix(f".{os.getpid()}.new")
        with contextlib.suppress(OSError):
            make_owner_folder(self._path.parent)
            make_owner_file(fresh)
            fresh.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
            fresh.replace(self._path)

    def forget(self) -> None:
        """Delete the record."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)


def _has_lines(text: str, files: int) -> bool:
    """Return whether a record has the lines of so many files."""
    return text.count("\n") == 2 * files and text.count("\t") == 2 * files
