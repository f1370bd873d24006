"""Loads a knowledge folder: only what changed since the last load of it, if that can be told, else all of it (decision 0201)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb_schema import MODELS, KnowledgeBase, KnowledgeError, Problem, SourcedDocument
from kb_store import LoadReport, Stores
from kb_store.changed_load import MOST_CHANGED, load_changes
from kb_store.ports import Generation
from loaders.files.folder_reader import kind_of_place, read_files
from loaders.files.folder_record import (
    FileStates,
    FolderRecord,
    FolderRecords,
    file_of,
    list_file_states,
    record_load,
)
from periplus.foreign_input import ImportBudget, read_foreign

LEAST_DOCUMENTS = 1_000
"""Folders with fewer are always loaded whole: that also mends what was damaged in the store."""


@dataclass(frozen=True, slots=True)
class ChangedFolder:
    """What differs from the last load of a folder."""

    record: FolderRecord
    files: Sequence[str]
    gone: Sequence[str]
    documents: Sequence[SourcedDocument]
    """Those of `files`, as they are now."""
    digests: Mapping[str, str]
    """Those of `files`, as they were read."""


class FolderLoad:
    """One load of a folder into the stores of these addresses. The folder's files are looked at now."""

    def __init__(self, folder: Path, data_dir: Path, addresses: Sequence[str]) -> None:
        self._folder = folder
        self._records = FolderRecords(data_dir / "loads", folder, *addresses)
        self._states: FileStates = _look(folder)

    def find_changes(self, budget: ImportBudget) -> ChangedFolder | None:
        """Return what changed since the last load; None if that is not known, or only a whole load can tell what is right."""
        record = self._records.find() if self._states else None
        if record is None:
            return None
        try:
            files, gone = record.changed(self._folder, self._states, MOST_CHANGED)
        except OSError:  # reading it says why
            return None
        if max(len(files), len(gone)) > MOST_CHANGED:
            return None
        touched = {*files, *gone}
        if any(each.source is None or file_of(each.source) in touched for each in record.warnings):
            return None
        documents: list[SourcedDocument] = []
        digests: dict[str, str] = {}
        try:
            if files:
                _build_validators(files)
                documents, digests = read_foreign(self._folder, budget, read_files, self._folder, files)
        except KnowledgeError:  # the whole load reports it, with every other problem
            return None
        return ChangedFolder(record, files, gone, documents, digests)

    async def load(self, stores: Stores, changed: ChangedFolder) -> LoadReport | None:
        """Load what changed. Returns None, with nothing changed, if only a whole load can tell what is right."""
        record = changed.record
        base = await stores.documents.active(record.website_id)
        if base is None or _stamp(base) != record.stamp:
            return None
        proposals = await stores.proposals.counts(record.website_id)
        if proposals.get("accepted") or proposals.get("proposed"):
            return None
        before = record.keys_of(self._states, (*changed.files, *changed.gone))
        now = [each.document for each in changed.documents]
        report = await load_changes(stores.documents, stores.graph, base, now, before)
        if report is not None:
            keys: dict[str, list[str]] = {name: [] for name in changed.files}
            for each in changed.documents:
                key = f"{each.document.kind}/{each.document.local_id}"
                keys[file_of(each.source or "")].append(key)
            stamp = await _stamp_of(stores, report)
            self._records.keep(record.after(self._states, keys, changed.digests, stamp))
        return report

    async def record_whole(
        self,
        stores: Stores,
        report: LoadReport,
        knowledge: KnowledgeBase,
        warnings: tuple[Problem, ...],
        digests: Mapping[str, str],
    ) -> None:
        """Keep the record of a whole load, if the folder is large enough for the next one to need it."""
        if sum(report.counts.values()) < LEAST_DOCUMENTS or not self._states:
            self._records.forget()
            return
        stamp = await _stamp_of(stores, report)
        self._records.keep(record_load(knowledge, self._states, digests, stamp, warnings))


def _build_validators(files: Sequence[str]) -> None:
    """Build what checks the documents of these files, once: here, where the stored ones are read, and not in the child, which inherits it."""
    for kind in {kind_of_place(Path(name)) for name in files}:
        if kind is not None:
            MODELS[kind].model_rebuild()


def _look(folder: Path) -> FileStates:
    try:
        return list_file_states(folder)
    except OSError:  # reading it says why
        return []


async def _stamp_of(stores: Stores, report: LoadReport) -> str:
    """Return the stamp of a generation that was just loaded; one that fits nothing if another one is active by now."""
    active = await stores.documents.active(report.website_id)
    return _stamp(active) if active is not None and active.generation == report.generation else ""


def _stamp(generation: Generation) -> str:
    return f"{generation.generation} {generation.loaded_at.isoformat()}"
