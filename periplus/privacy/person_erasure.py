"""Finds a person in everything that Periplus wrote, and erases what was found.

The search is the erasure without its writes, so both find the same. What is in it: all tables of the embedded stores
or all collections of MongoDB, the data directory, artifacts of runs outside of it, further folders, the audit log.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.run_records.run_log import compute_digest
from kb_schema.run_records import Artifact
from kb_store.audit.audit_entry import AuditEvent, Interval
from kb_store.audit.audit_recorder import build_event, record
from kb_store.runs.run_store import RunStore
from kb_store.sqlite.text_replacement import replace_texts as replace_in_sqlite
from kb_store.text_replacement import FoundText
from periplus.audit_setup import AUDIT, start_audit_log
from periplus.errors import UserError
from periplus.privacy.person_matcher import PersonMatcher
from periplus.privacy.personal_files import (
    PersonalFile,
    erase_file,
    find_personal_files,
    list_artifact_files,
    list_data_files,
    list_folder_files,
    list_verification_files,
)

PAGE = 500
RUNS = "runs"
"""The folder of runs in the data directory."""


@dataclass(frozen=True, slots=True)
class ErasurePlaces:
    """Where a person is searched for."""

    data_dir: Path
    mongodb_url: str | None = None
    folders: tuple[Path, ...] = ()
    """Folders outside of the data directory: recordings, reports, traces."""


@dataclass(slots=True)
class ErasureReport:
    """What was found."""

    rows: list[FoundText] = field(default_factory=list)
    files: list[PersonalFile] = field(default_factory=list)
    audit: tuple[int, ...] = ()
    """The numbers of the audit log's entries."""
    unsearched: list[Path] = field(default_factory=list)
    """Files that may have the person: too large, encrypted, damaged, or packed in a way that is not read."""

    @property
    def count(self) -> int:
        """The number of places."""
        return len(self.rows) + len(self.files) + len(self.audit)


async def erase_person(
    texts: Sequence[str], places: ErasurePlaces, runs: RunStore, *, dry_run: bool
) -> ErasureReport:
    """Erase a person and return where the person was found; `dry_run`: only find.

    Raises `UserError`, `StoreError`, `OSError`. An erasure that was interrupted is repeated.
    """
    matcher = PersonMatcher(texts)
    report = ErasureReport()
    artifacts = await _list_artifacts(runs)  # first: their paths may have the name
    report.rows = await _replace_in_stores(places, matcher, dry_run=dry_run)
    mentioned = {each.run_id for each in report.rows if each.run_id}
    files = [*list_data_files(places.data_dir, [places.data_dir / AUDIT])]
    for folder in places.folders:
        files += list_folder_files(folder)
    reports = (each for each in artifacts if each.artifact_type == "verdict_report")
    for folder in {path.parent for each in reports if (path := _locate(each, places.data_dir))}:
        files += list_verification_files(folder)
    for artifact in artifacts:  # last: what is named twice belongs to its run
        path = _locate(artifact, places.data_dir)
        if path is not None:
            files += list_artifact_files(path, artifact.run_id)
    report.files, report.unsearched = await asyncio.to_thread(find_personal_files, files, matcher, mentioned)
    if not dry_run:
        for file in report.files:
            await asyncio.to_thread(erase_file, file, matcher)
        await _renew_artifacts(runs, artifacts, report.files, places.data_dir)
    report.audit = await asyncio.to_thread(
        _erase_in_audit_log, places, matcher, report.count, dry_run=dry_run
    )
    return report


async def _list_artifacts(runs: RunStore) -> list[Artifact]:
    found: list[Artifact] = []
    after = ""
    while page := await runs.runs_by_id(after=after, limit=PAGE):
        for run in page:
            found += await runs.artifacts(run.run_id)
        after = page[-1].run_id
    return found


async def _replace_in_stores(
    places: ErasurePlaces, matcher: PersonMatcher, *, dry_run: bool
) -> list[FoundText]:
    found: list[FoundText] = []
    for path in sorted(places.data_dir.rglob("*.sqlite3")):
        try:
            found += await asyncio.to_thread(replace_in_sqlite, path, matcher.replace, dry_run=dry_run)
        except sqlite3.DatabaseError as exc:
            raise UserError(
                f"{path} cannot be searched: {exc}", fix="stop what uses it, and try again"
            ) from exc
    if places.mongodb_url is not None:
        from kb_store.mongodb.text_replacement import replace_texts  # noqa: PLC0415 - an extra

        found += await replace_texts(places.mongodb_url, matcher.replace, dry_run=dry_run)
    return found


async def _renew_artifacts(
    runs: RunStore, artifacts: Sequence[Artifact], files: Sequence[PersonalFile], data_dir: Path
) -> None:
    """Store the new hash and size of artifacts that were changed, so that they can still be opened."""
    for artifact in artifacts:
        if not _is_changed(_locate(artifact, data_dir), files):
            continue
        stored = {each.name: each for each in await runs.artifacts(artifact.run_id)}.get(artifact.name)
        path = None if stored is None else _locate(stored, data_dir)
        measured = None if path is None else await asyncio.to_thread(compute_digest, path)
        if stored is not None and measured is not None:
            _, file_hash, size = measured
            await runs.put_artifact(stored.model_copy(update={"file_hash": file_hash, "size_bytes": size}))


def _locate(artifact: Artifact, data_dir: Path) -> Path | None:
    """Return the path of an artifact; relative ones are in the folder of runs."""
    return None if artifact.file_path is None else data_dir / RUNS / artifact.file_path


def _is_changed(path: Path | None, files: Sequence[PersonalFile]) -> bool:
    return path is not None and any(each.path.resolve().is_relative_to(path.resolve()) for each in files)


def _erase_in_audit_log(
    places: ErasurePlaces, matcher: PersonMatcher, count: int, *, dry_run: bool
) -> tuple[int, ...]:
    log = start_audit_log(places.data_dir)
    numbers = tuple(
        each.number
        for each in log.entries()
        if any(text.text is not None and matcher.matches(text.text) for text in each.texts())
    )
    if dry_run:
        return numbers

    def event() -> AuditEvent:
        made = build_event("person_erased", f"a person, in {count + len(numbers)} places")
        return AuditEvent(made.action, matcher.replace(made.actor), made.about)

    covers: tuple[Interval, ...] = log.erase(matcher.matches, event)
    if not covers and count:
        record("person_erased", f"a person, in {count} places", actor=event().actor)
    return numbers
