"""The file of the audit log. Any number of processes append to it; nothing but `erase` and `prune` changes lines.

`audit.jsonl` has one entry a line. `head.json` names the last entry, so that removed last lines are found. All
writers hold a lock on the file `lock`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from kb_schema.base import Model
from kb_schema.operating_system import lock_file
from kb_schema.owner_folders import make_owner_folder
from kb_store.audit.audit_entry import BEGINNING, AuditEntry, AuditEvent, Interval

LOG, HEAD, LOCK = "audit.jsonl", "head.json", "lock"
TAIL_BYTES = 65_536
"""At most this much of the end of the file is read for its last entry."""
ERASED_LINE = '"erased"'
"""Replaces a damaged line with a text that is erased."""
MOST_PROBLEMS = 100
"""Problems that a check lists; it counts the others."""


class AuditHead(Model):
    """The number and the hash of an entry."""

    number: int
    hash: str


START = AuditHead(number=0, hash=BEGINNING)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are wanted; None: any."""

    since: datetime | None = None
    actor: str | None = None
    """A part of the actor, in any case."""
    action: str | None = None

    def fits(self, entry: AuditEntry) -> bool:
        """Return whether an entry is wanted."""
        if self.since is not None and entry.time < self.since:
            return False
        if self.action is not None and entry.action != self.action:
            return False
        return self.actor is None or self.actor.casefold() in (entry.actor.text or "").casefold()


@dataclass(slots=True)
class AuditCheck:
    """The result of a check of the whole log."""

    entries: int = 0
    erased: int = 0
    """Entries with erased texts."""
    head: str = BEGINNING
    """The hash of the last entry."""
    problems: list[str] = field(default_factory=list)
    more: int = 0
    """Problems beyond `MOST_PROBLEMS`."""

    def report(self, problem: str) -> None:
        """Add a problem."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1


class AuditLog:
    """The audit log in a folder, which is created with the first entry. All methods raise `OSError`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # -- writing

    def append(self, event: AuditEvent) -> AuditEntry:
        """Add an entry and return it."""
        with self._locked():
            last = self._read_last()
            entry = AuditEntry.chain(event, last.number + 1, last.hash)
            self._cut_torn_line()
            with self._open_private(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
                file.write(f"{entry.to_line()}\n".encode())
            self._write_head(entry)
        return entry

    def erase(
        self, matches: Callable[[str], bool], build_event: Callable[[], AuditEvent]
    ) -> tuple[Interval, ...]:
        """Erase every text that `matches`, and add an entry that names the changed ones; return their numbers.

        The event's own texts must not match. Without a match nothing is written.
        """
        with self._locked():
            changed: list[int] = []
            lines: list[str] = []
            for line in self._read_lines():
                entry = parse_line(line)
                if entry is None:
                    lines.append(ERASED_LINE if matches(line) else line)
                    continue
                if not any(matches(each.text) for each in entry.texts() if each.text):
                    lines.append(line)
                    continue
                changed.append(entry.number)
                names = ("actor", "about", "website", "request_id")
                update = {
                    name: each.erase()
                    for name, each in zip(names, entry.texts(), strict=True)
                    if each.text and matches(each.text)
                }
                lines.append(entry.model_copy(update=update).to_line())
            covers = build_intervals(changed)
            if covers:
                self._rewrite(lines, build_event(), covers, "")
        return covers

    def prune(self, before: datetime, build_event: Callable[[], AuditEvent], *, dry_run: bool = False) -> int:
        """Delete the entries before a time, and add an entry that says so; return their number.

        Only entries at the beginning of the log are deleted: the first later one ends it.
        """
        if not (self.folder / LOG).exists():
            return 0
        with self._locked():
            lines = list(self._read_lines())
            doomed: AuditEntry | None = None
            many = 0
            for line in lines:
                entry = parse_line(line)
                if entry is None or entry.time >= before:
                    break
                doomed, many = entry, many + 1
            if doomed is not None and not dry_run:
                self._rewrite(lines[many:], build_event(), ((1, doomed.number),), doomed.hash)
        return many

    # -- reading

    def entries(self, wanted: AuditFilter | None = None) -> Iterator[AuditEntry]:
        """Yield the entries, oldest first. Lines that are none are left out; `verify` names them."""
        for line in self._read_lines():
            entry = parse_line(line)
            if entry is not None and (wanted is None or wanted.fits(entry)):
                yield entry

    def newest(self, limit: int, wanted: AuditFilter | None = None) -> list[AuditEntry]:
        """Return the last entries that are wanted, newest first."""
        found: list[AuditEntry] = []
        for entry in self.entries(wanted):
            found.append(entry)
            if len(found) > 2 * limit:
                del found[:-limit]
        return found[: -limit - 1 : -1]

    def verify(self, head: str | None = None) -> AuditCheck:
        """Check that no entry was changed or removed. `head`: a hash of an earlier check, which must still occur."""
        check, last, seen = AuditCheck(), START, head in (None, BEGINNING)
        first: AuditEntry | None = None
        kept = self._read_head()
        kept_found = kept is None
        erased: list[int] = []
        named: list[Interval] = []
        pruned: list[AuditEntry] = []
        for number, line in enumerate(self._read_lines(), 1):
            entry = parse_line(line)
            if entry is None:
                check.report(f"line {number} is no entry")
                continue
            check.entries += 1
            _check_entry(check, entry)
            if first is None:
                first = entry
            elif entry.number != last.number + 1 or entry.previous != last.hash:
                check.report(_describe_gap(last.number, entry.number))
            if entry.erased:
                erased.append(entry.number)
            if entry.action == "person_erased":
                named += entry.covers
            if entry.action == "audit_pruned":
                pruned.append(entry)
            seen = seen or head in (entry.hash, entry.covered_hash)
            kept_found = kept_found or (kept is not None and kept.hash == entry.hash)
            last = AuditHead(number=entry.number, hash=entry.hash)
        _check_beginning(check, first, pruned)
        for number in erased:
            if not any(low <= number <= high for low, high in named):
                check.report(f"entry {number}: a text is missing, and no erasure names it")
        if kept is None and last.number:
            check.report(f"{HEAD} is missing or damaged")
        elif kept is not None and not kept_found:
            what = f"entries {last.number + 1} to {kept.number} were removed"
            check.report(what if kept.number > last.number else f"{HEAD} names another entry {kept.number}")
        if not seen:
            check.report("no entry has the hash that was given with --head: the log was replaced or cut")
        check.erased, check.head = len(erased), last.hash
        return check

    # -- implementation

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_owner_folder(self.folder)
        with self._open_private(LOCK, os.O_RDWR | os.O_CREAT) as lock, lock_file(lock.fileno()):
            yield

    @contextmanager
    def _open_private(self, name: str, flags: int) -> Iterator[_RawFile]:
        number = os.open(self.folder / name, flags, 0o600)
        try:
            yield _RawFile(number)
        finally:
            os.close(number)

    def _read_lines(self) -> Iterator[str]:
        """Yield the whole lines."""
        try:
            with (self.folder / LOG).open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield line.decode("utf-8", "replace").removesuffix("\n")
        except FileNotFoundError:
            return

    def _read_head(self) -> AuditHead | None:
        try:
            return AuditHead.model_validate_json((self.folder / HEAD).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def _read_last(self) -> AuditHead:
        """Return the last entry: of the file, or of the head if the file has lost its end."""
        tail, kept = self._read_tail(), self._read_head() or START
        return tail if tail is not None and tail.number >= kept.number else kept

    def _read_tail(self) -> AuditHead | None:
        try:
            with (self.folder / LOG).open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
                lines = file.read().split(b"\n")[:-1]
        except FileNotFoundError:
            return None
        entry = parse_line(lines[-1].decode("utf-8", "replace")) if lines else None
        return None if entry is None else AuditHead(number=entry.number, hash=entry.hash)

    def _cut_torn_line(self) -> None:
        """Remove the part of a line that a full disk or a killed writer left: that entry was never added."""
        path = self.folder / LOG
        try:
            with path.open("rb+") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(0, end - TAIL_BYTES))
                tail = file.read()
                if tail and not tail.endswith(b"\n"):
                    file.truncate(end - len(tail) + tail.rfind(b"\n") + 1)
        except FileNotFoundError:
            return

    def _write_head(self, entry: AuditEntry) -> None:
        self._replace(HEAD, AuditHead(number=entry.number, hash=entry.hash).model_dump_json())

    def _rewrite(
        self, lines: Sequence[str], event: AuditEvent, covers: tuple[Interval, ...], covered_hash: str
    ) -> None:
        last = self._read_last()
        event = AuditEvent(
            event.action,
            event.actor,
            event.about,
            event.outcome,
            event.website,
            event.request_id,
            covers,
            covered_hash,
        )
        entry = AuditEntry.chain(event, last.number + 1, last.hash)
        self._replace(LOG, "".join(f"{line}\n" for line in [*lines, entry.to_line()]))
        self._write_head(entry)

    def _replace(self, name: str, text: str) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.unlink(missing_ok=True)
        with self._open_private(fresh.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            file.write(text.encode())
        fresh.replace(self.folder / name)


class _RawFile:
    """A file without a buffer: a line is written in one piece, or an error is raised."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._number

    def write(self, data: bytes) -> None:
        """Write all bytes."""
        while data:
            data = data[os.write(self._number, data) :]


def parse_line(line: str) -> AuditEntry | None:
    """Return the entry of a line; None if it is none."""
    try:
        return AuditEntry.model_validate(json.loads(line))
    except ValueError:
        return None


def build_intervals(numbers: Sequence[int]) -> tuple[Interval, ...]:
    """Return ascending numbers as intervals.

    >>> build_intervals([1, 2, 3, 7])
    ((1, 3), (7, 7))
    """
    found: list[Interval] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def _check_entry(check: AuditCheck, entry: AuditEntry) -> None:
    if entry.compute_hash() != entry.hash:
        check.report(f"entry {entry.number} was changed")
    names = ("actor", "about", "website", "request_id")
    for name, each in zip(names, entry.texts(), strict=True):
        if not each.unchanged:
            check.report(f"entry {entry.number}: {name} was changed")


def _check_beginning(check: AuditCheck, first: AuditEntry | None, pruned: Sequence[AuditEntry]) -> None:
    if first is None or (first.number == 1 and first.previous == BEGINNING):
        return
    gone = first.number - 1
    if not any((1, gone) in each.covers and each.covered_hash == first.previous for each in pruned):
        check.report(f"entries 1 to {gone} are missing, and no pruning names them")


def _describe_gap(last: int, number: int) -> str:
    if number > last + 1:
        return f"entries {last + 1} to {number - 1} are missing"
    return f"entry {number} does not follow entry {last}: one of them was changed, removed or inserted"
