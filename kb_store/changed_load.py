"""Loads what changed of a website's documents: only that is checked and written, in one generation (decision 0201).

It gives up, and changes nothing, whenever the whole website would have to be looked at: the caller then loads all of it
(`kb_store.knowledge_loader`), which also reports every problem.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kb_schema import KnowledgeBase, KnowledgeError
from kb_schema.rules.separate_changes import DocumentChange, check_separately, is_separate, list_needed
from kb_schema.websites import Website
from kb_store.audit.audit_recorder import record_async
from kb_store.errors import StoreCorrupt, StoreError, StoreTooNew
from kb_store.knowledge_loader import LoadReport, check_whole, collect, count_kinds, take_lease
from kb_store.knowledge_records import (
    DOCUMENT_KINDS,
    EDGE_KINDS,
    VERTEX_KINDS,
    document_records,
    edge_records,
    from_body,
    to_body,
    vertex_records,
)
from kb_store.record_changes import ChangeableStore, RecordChanges, RecordKey

if TYPE_CHECKING:
    from kb_schema.base import Document
    from kb_store.ports import Counts, DocumentStore, Generation, GraphStore

MOST_CHANGED = 2_000
"""More documents are loaded as a whole: they are one transaction."""


async def load_changes(
    documents: DocumentStore,
    graph: GraphStore,
    base: Generation,
    now: Sequence[Document],
    before: Collection[RecordKey],
) -> LoadReport | None:
    """Make the documents of some files what they are `now`; `before`: the keys that these files had in generation `base`.

    Returns None, with nothing changed, if only a whole load can tell what is right. Raises `LoadConflict`, `LeaseLost`,
    `StoreUnavailable`.
    """
    if not isinstance(documents, ChangeableStore) or not documents.keeps_graph(graph):
        return None
    if max(len(now), len(before)) > MOST_CHANGED:
        return None
    try:
        await check_whole(documents, graph, base)
        changes = await _list_changes(documents, base, now, before)
        website = None if changes is None else await _check(documents, base, changes)
        if changes is None or website is None:
            return None
    except (StoreCorrupt, StoreTooNew, KnowledgeError):
        return None
    lease = await take_lease(documents, base.website_id)
    try:
        generation = replace(
            _counted(base, changes), generation=lease.generation, records_under=base.stored,
            loaded_at=datetime.now(UTC),
        )  # fmt: skip
        done = await documents.change(lease, base, _records(website, changes), generation)
        if not done:
            await documents.release(lease)
            return None
    except BaseException:
        with contextlib.suppress(StoreError):  # the lease also expires by itself
            await documents.release(lease)
        raise
    await record_async("knowledge_changed", f"generation {lease.generation}", website=base.website_id)
    collected = await collect(documents, graph, base.website_id)
    counts = count_kinds(generation)
    return LoadReport(
        base.website_id, lease.generation, base.generation, counts, collected, changed=len(changes)
    )


async def _list_changes(
    documents: ChangeableStore, base: Generation, now: Sequence[Document], before: Collection[RecordKey]
) -> list[DocumentChange] | None:
    """Return what differs from the stored documents; None if the files are not all that these documents depend on."""
    new = {(each.kind, each.local_id): _owned(each, base.website_id) for each in now}
    if len(new) != len(now) or any(each.website_id != base.website_id for each in new.values()):
        return None
    stored = await documents.find_records(base.website_id, base.stored, {*before, *new})
    found = {(each.kind, each.local_id): each.body for each in stored}
    if not set(before) <= found.keys() or not found.keys() <= set(before):
        return None  # the store has something else, or another file has a document of the same id
    changes = []
    for key in sorted({*before, *new}):
        body, document = found.get(key), new.get(key)
        if document is None or body is None or to_body(document) != body:
            changes.append(DocumentChange(None if body is None else from_body(body), document))
    return changes


def _owned(document: Document, website_id: str) -> Document:
    """Return the document as `kb_schema.assembly` has it."""
    return document if document.website_id else document.model_copy(update={"website_id": website_id})


async def _check(
    documents: ChangeableStore, base: Generation, changes: Sequence[DocumentChange]
) -> Website | None:
    """Return the website if the changed documents are valid, and all others as valid as before."""
    triggers = bool(base.edges.get("action_trigger"))
    if not all(is_separate(change, triggers=triggers) for change in changes):
        return None
    changed = [change.new for change in changes if change.new is not None]
    keys = {change.key for change in changes}
    needed = {key for document in changed for key in list_needed(document)} - keys
    records = await documents.find_records(
        base.website_id, base.stored, {*needed, ("website", base.website_id)}
    )
    beside = [from_body(each.body) for each in records]
    websites = [each for each in beside if isinstance(each, Website)]
    others = [each for each in beside if not isinstance(each, Website)]
    if len(websites) != 1 or any(check_separately(websites[0], changed, others)):
        return None
    return websites[0]


def _records(website: Website, changes: Sequence[DocumentChange]) -> RecordChanges:
    by_kind: dict[str, dict[str, Document]] = {}
    for change in changes:
        if change.new is not None:
            by_kind.setdefault(change.new.kind, {})[change.new.local_id] = change.new
    changed = KnowledgeBase(website, by_kind)
    return RecordChanges(
        tuple(document_records(changed)),
        tuple(vertex_records(changed)),
        tuple(edge_records(changed)),
        [change.key for change in changes if change.new is None],
    )


def _counted(base: Generation, changes: Sequence[DocumentChange]) -> Generation:
    more: Counter[str] = Counter()
    for change in changes:
        more[change.key[0]] += (change.new is not None) - (change.old is not None)
    return replace(
        base,
        documents=_sum(base.documents, more, DOCUMENT_KINDS),
        vertices=_sum(base.vertices, more, VERTEX_KINDS),
        edges=_sum(base.edges, more, EDGE_KINDS),
    )


def _sum(counts: Counts, more: Mapping[str, int], kinds: Sequence[str]) -> dict[str, int]:
    found = {kind: counts.get(kind, 0) + more.get(kind, 0) for kind in sorted(kinds)}
    return {kind: number for kind, number in found.items() if number}
