"""Migrates a folder of knowledge, or a website in a store, to the newest schema version.

Only what a migration changes is rewritten; a file that needs only an additional line keeps its comments. A
folder is replaced as a whole and a store gets a new generation, so a crash leaves the old or the new state.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.base import SCHEMA_VERSION
from kb_schema.documents import kind_of
from kb_schema.migrations import UNSTATED, stated_version, upgrade
from kb_schema.migrations.migration_registry import refuse_newer
from kb_store.errors import GenerationMoved
from kb_store.knowledge_loader import LoadReport, load_knowledge
from kb_store.knowledge_reader import PIN_SECONDS, read_knowledge
from kb_store.knowledge_records import GRAPH_ONLY_KINDS, KnowledgeRecord
from kb_store.ports import DocumentStore, GraphStore
from loaders.diffs.knowledge_diff import ValueChange, changes_between
from loaders.files.folder_layout import WEBSITE_STEM
from loaders.files.folder_reader import add_type, kind_of_place, knowledge_files, read_knowledge_folder
from loaders.files.folder_writer import get_sibling_path, swap_folders
from loaders.files.yaml_files import from_yaml, read_file, to_yaml


@dataclass(frozen=True, slots=True)
class MigratedDocument:
    """One document that changes."""

    source: str
    """The file, with the index if it holds several; `kind/id` in a store."""
    from_version: int
    changes: tuple[ValueChange, ...]


@dataclass(frozen=True, slots=True)
class FolderMigrationPlan:
    """The changes of a folder's migration. False if it is up to date."""

    path: Path
    documents: tuple[MigratedDocument, ...]
    files: Mapping[Path, str]
    """File, relative to the folder -> its new text."""

    def __bool__(self) -> bool:
        return bool(self.documents)


@dataclass(frozen=True, slots=True)
class StoreMigrationPlan:
    """The changes of migrating a website in a store."""

    website_id: str
    generation: int
    documents: tuple[MigratedDocument, ...]

    def __bool__(self) -> bool:
        return bool(self.documents)


# -- folders -------------------------------------------------------------------------------------


def plan_folder(path: Path) -> FolderMigrationPlan:
    """Return the changes for a folder. Raises `KnowledgeError` if it is invalid."""
    read_knowledge_folder(path)  # reports every problem of every file, including newer versions
    version = website_version(path)
    documents: list[MigratedDocument] = []
    files: dict[Path, str] = {}
    for file in knowledge_files(path):
        name = file.relative_to(path)
        data = read_file(file, name.as_posix())
        many = data if isinstance(data, list) else [data]
        new = [_upgraded(each, name, version) for each in many]
        if new == many:
            continue
        for index, (before, after) in enumerate(zip(many, new, strict=True)):
            if before != after:
                source = f"{name.as_posix()}[{index}]" if isinstance(data, list) else name.as_posix()
                was = stated_version(before, version) or UNSTATED
                documents.append(MigratedDocument(source, was, tuple(changes_between(before, after))))
        files[name] = _text(file, data, new if isinstance(data, list) else new[0])
    return FolderMigrationPlan(path, tuple(documents), files)


def migrate_folder(plan: FolderMigrationPlan) -> None:
    """Replace the folder by one with the new files; other files are kept.

    Raises `OSError` and then changes nothing.
    """
    path = plan.path.resolve()
    before, _ = read_knowledge_folder(path)
    fresh = get_sibling_path(path, "new")
    try:
        shutil.copytree(path, fresh, symlinks=True)
        for name, text in plan.files.items():
            with (fresh / name).open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        after, _ = read_knowledge_folder(fresh)
        _check_same(before, after)
        swap_folders(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _check_same(before: KnowledgeBase, after: KnowledgeBase) -> None:
    if list(after.documents()) != list(before.documents()):
        raise AssertionError("a migration changed what the documents say")


def website_version(path: Path) -> int:
    """Return the version of a folder's documents that state none: the website document's."""
    for file in knowledge_files(path):
        if file.parent == path and file.stem == WEBSITE_STEM:
            data = read_file(file, file.name)
            if isinstance(data, Mapping):
                return stated_version(data) or UNSTATED
    return UNSTATED


def _upgraded(document: Mapping[str, Any], name: Path, version: int) -> dict[str, Any]:
    """Return a document for its file: the version is only in the website document."""
    body = add_type(document, kind_of_place(name))
    done = upgrade(body, unstated=version)
    if done.from_version == done.to_version:
        return dict(document)
    found = done.document
    if "schema_version" not in document and kind_of(found) != "website":
        del found["schema_version"]
    # A folder implies the kinds of its files: a type that can be inferred is not added.
    if "type" not in document and body.get("type") == found.get("type"):
        del found["type"]
    return found


def _text(file: Path, before: Any, after: Any) -> str:
    """Return the new text of a file: with a line added if that suffices, else rewritten."""
    if file.suffix == ".json":
        return json.dumps(after, indent=2, ensure_ascii=False) + "\n"
    text = file.read_text(encoding="utf-8-sig")
    if isinstance(after, Mapping) and isinstance(before, Mapping):
        line = f"schema_version: {after.get('schema_version', SCHEMA_VERSION)}\n"
        added = re.sub(r"(?m)^(type: .*\n)", rf"\1{line}", text, count=1)
        if after == {**before, "schema_version": after.get("schema_version")} and _reads_as(added, after):
            return added
    return to_yaml(after)


def _reads_as(text: str, data: Any) -> bool:
    try:
        return bool(from_yaml(text, "") == data)
    except KnowledgeError:
        return False


# -- stores --------------------------------------------------------------------------------------


async def plan_store(documents: DocumentStore, graph: GraphStore, website_id: str) -> StoreMigrationPlan:
    """Return the changes for the active knowledge of a website.

    Raises `StoreError` if it cannot be read, `NewerSchemaVersion`.
    """
    pin = await documents.pin(website_id, ttl=PIN_SECONDS)
    if pin is None:
        _, generation = await read_knowledge(documents, graph, website_id)  # reports that there is none
        return StoreMigrationPlan(website_id, generation, ())
    try:
        records: list[tuple[str, Mapping[str, Any]]] = [
            _named(r) async for r in documents.records(website_id, pin.stored)
        ]
        records += [
            _named(r) async for r in graph.vertices(website_id, pin.stored) if r.kind in GRAPH_ONLY_KINDS
        ]
        records += [
            (f"{edge.kind}/{edge.local_id}", edge.body) async for edge in graph.edges(website_id, pin.stored)
        ]
    finally:
        await documents.unpin(pin)
    refuse_newer((stated_version(body) or UNSTATED, source) for source, body in records)
    return StoreMigrationPlan(website_id, pin.generation, tuple(_stored_changes(records)))


async def migrate_store(documents: DocumentStore, graph: GraphStore, plan: StoreMigrationPlan) -> LoadReport:
    """Load the stored knowledge in today's form as a new generation.

    Raises like `load_knowledge`; `GenerationMoved` if other knowledge was loaded since the plan was made,
    because the plan does not show its changes and migrating the old data would undo it.
    """
    knowledge, generation = await read_knowledge(documents, graph, plan.website_id)
    if generation != plan.generation:
        raise GenerationMoved(plan.website_id, plan.generation, generation)
    return await load_knowledge(documents, graph, knowledge, replacing=generation)


def _named(record: KnowledgeRecord) -> tuple[str, Mapping[str, Any]]:
    return f"{record.kind}/{record.local_id}", record.body


def _stored_changes(records: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[MigratedDocument]:
    for source, body in sorted(records, key=lambda each: each[0]):
        done = upgrade(body)
        if done.document != dict(body):
            yield MigratedDocument(
                source, done.from_version, tuple(changes_between(dict(body), done.document))
            )
