"""Bringing a folder of knowledge, or what a store holds of a website, to the newest schema version.

Only what a migration changes is rewritten; a file to which no more than a line is to be added keeps
its comments. A folder is swapped whole, a store gets a new generation: killed at any point, either
is as it was before or as it is to be.
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
from kb_schema.migrations.registry import refuse_newer
from kb_store.errors import GenerationMoved
from kb_store.load import LoadReport, load_knowledge
from kb_store.ports import DocumentStore, GraphStore
from kb_store.read import PIN_SECONDS, read_knowledge
from kb_store.records import GRAPH_ONLY_KINDS, Record
from loaders.diff import Change, changes_between
from loaders.export import beside, swap
from loaders.files import kind_of_place, knowledge_files, read_knowledge_folder, typed
from loaders.layout import WEBSITE_STEM
from loaders.text import from_yaml, read_file, to_yaml


@dataclass(frozen=True, slots=True)
class Migrated:
    """One document that changes."""

    source: str
    """The file, with the place in it where it holds several; `kind/id` in a store."""
    from_version: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class FolderPlan:
    """What migrating a folder would change. False where it is up to date."""

    path: Path
    documents: tuple[Migrated, ...]
    files: Mapping[Path, str]
    """File, relative to the folder -> its new text."""

    def __bool__(self) -> bool:
        return bool(self.documents)


@dataclass(frozen=True, slots=True)
class StorePlan:
    """What migrating a website in a store would change."""

    website_id: str
    generation: int
    documents: tuple[Migrated, ...]

    def __bool__(self) -> bool:
        return bool(self.documents)


# -- folders -------------------------------------------------------------------------------------


def plan_folder(path: Path) -> FolderPlan:
    """What there is to change in a folder. Raises `KnowledgeError` where it is not sound as it is."""
    read_knowledge_folder(path)  # every problem of every file, newer versions among them
    version = website_version(path)
    documents: list[Migrated] = []
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
                documents.append(Migrated(source, was, tuple(changes_between(before, after))))
        files[name] = _text(file, data, new if isinstance(data, list) else new[0])
    return FolderPlan(path, tuple(documents), files)


def migrate_folder(plan: FolderPlan) -> None:
    """Put the new files in place of the old, all at once; what is not knowledge stays as it is.

    Raises `OSError` where the disk refuses, and then changes nothing.
    """
    path = plan.path.resolve()
    before, _ = read_knowledge_folder(path)
    fresh = beside(path, "new")
    try:
        shutil.copytree(path, fresh, symlinks=True)
        for name, text in plan.files.items():
            with (fresh / name).open("w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        after, _ = read_knowledge_folder(fresh)
        _check_same(before, after)
        swap(fresh, path)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise


def _check_same(before: KnowledgeBase, after: KnowledgeBase) -> None:
    if list(after.documents()) != list(before.documents()):
        raise AssertionError("a migration changed what the documents say")


def website_version(path: Path) -> int:
    """The version of a folder's documents that state none: its website document's."""
    for file in knowledge_files(path):
        if file.parent == path and file.stem == WEBSITE_STEM:
            data = read_file(file, file.name)
            if isinstance(data, Mapping):
                return stated_version(data) or UNSTATED
    return UNSTATED


def _upgraded(document: Mapping[str, Any], name: Path, version: int) -> dict[str, Any]:
    """A document as its file should say it: the version once for all, in the website's own document."""
    body = typed(document, kind_of_place(name))
    done = upgrade(body, unstated=version)
    if done.from_version == done.to_version:
        return dict(document)
    found = done.document
    if "schema_version" not in document and kind_of(found) != "website":
        del found["schema_version"]
    # A folder says what its files are: a type that was not there and can be told from it stays away.
    if "type" not in document and body.get("type") == found.get("type"):
        del found["type"]
    return found


def _text(file: Path, before: Any, after: Any) -> str:
    """The new text of a file: a line added where that is all, else written anew."""
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


async def plan_store(documents: DocumentStore, graph: GraphStore, website_id: str) -> StorePlan:
    """What there is to change in the active knowledge of a website.

    Raises `StoreError` where it cannot be read, `NewerSchemaVersion`.
    """
    pin = await documents.pin(website_id, ttl=PIN_SECONDS)
    if pin is None:
        _, generation = await read_knowledge(documents, graph, website_id)  # says that there is none
        return StorePlan(website_id, generation, ())
    try:
        records: list[tuple[str, Mapping[str, Any]]] = [
            _named(r) async for r in documents.records(website_id, pin.generation)
        ]
        records += [
            _named(r) async for r in graph.vertices(website_id, pin.generation) if r.kind in GRAPH_ONLY_KINDS
        ]
        records += [
            (f"{edge.kind}/{edge.local_id}", edge.body)
            async for edge in graph.edges(website_id, pin.generation)
        ]
    finally:
        await documents.unpin(pin)
    refuse_newer((stated_version(body) or UNSTATED, source) for source, body in records)
    return StorePlan(website_id, pin.generation, tuple(_stored_changes(records)))


async def migrate_store(documents: DocumentStore, graph: GraphStore, plan: StorePlan) -> LoadReport:
    """Load what is stored as it reads today, as a new generation.

    Raises as `load_knowledge`: `GenerationMoved` where other knowledge was loaded since the plan was
    made. Nobody has seen what would change in that, and migrating what was read before would undo it.
    """
    knowledge, generation = await read_knowledge(documents, graph, plan.website_id)
    if generation != plan.generation:
        raise GenerationMoved(plan.website_id, plan.generation, generation)
    return await load_knowledge(documents, graph, knowledge, replacing=generation)


def _named(record: Record) -> tuple[str, Mapping[str, Any]]:
    return f"{record.kind}/{record.local_id}", record.body


def _stored_changes(records: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Migrated]:
    for source, body in sorted(records, key=lambda each: each[0]):
        done = upgrade(body)
        if done.document != dict(body):
            yield Migrated(source, done.from_version, tuple(changes_between(dict(body), done.document)))
