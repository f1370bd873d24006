"""Reads one whole generation of a website's knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kb_schema import KnowledgeBase, Problem
from kb_schema.collection_pause import paused_collection
from kb_schema.secret_placement import is_stored_without_secrets
from kb_store.errors import GenerationGone, NoSuchWebsite, StoreCorrupt
from kb_store.knowledge_loader import check_whole
from kb_store.knowledge_records import GRAPH_ONLY_KINDS, VERTEX_KINDS, KnowledgeRecord
from kb_store.ports import DocumentStore, GenerationPin, GraphStore
from kb_store.record_parser import RecordParser
from kb_store.stored_contents import RawReader, RawRecord

PIN_SECONDS = 120.0
"""The lease of a reader's pin in seconds."""

ATTEMPTS = 3
"""How often to start again on a newer generation after a pin expired."""


_IN_DOCUMENTS = frozenset(VERTEX_KINDS) - frozenset(GRAPH_ONLY_KINDS)
"""Kinds of vertices whose documents are in the document store."""


@dataclass(frozen=True, slots=True)
class SalvagedKnowledge:
    """The valid part of a website's knowledge."""

    knowledge: KnowledgeBase
    generation: int
    problems: tuple[Problem, ...] = ()
    """The problems of the rest; empty if everything is valid."""


async def read_knowledge(
    documents: DocumentStore, graph: GraphStore, website_id: str
) -> tuple[KnowledgeBase, int]:
    """Return the active knowledge of a website and its generation.

    Raises `NoSuchWebsite`, `StoreUnavailable`, and `StoreCorrupt` if records are missing or invalid.
    """
    with paused_collection():
        found = await _pinned(documents, graph, website_id)
        if found.missing is not None:
            raise found.missing
        return found.parsing.assembled(), found.generation


async def salvage_knowledge(
    documents: DocumentStore, graph: GraphStore, website_id: str
) -> SalvagedKnowledge:
    """Return the active knowledge without invalid documents and references to them.

    For servers: a document damaged by manual editing costs that document, not the website. Raises
    `NoSuchWebsite`, `StoreUnavailable`, and `StoreCorrupt` if even the website document is unreadable.
    """
    with paused_collection():
        found = await _pinned(documents, graph, website_id)
        problems = [] if found.missing is None else [Problem(found.missing.reason, fix=found.missing.fix)]
        knowledge, invalid = found.parsing.salvaged()
    return SalvagedKnowledge(knowledge, found.generation, (*problems, *invalid))


async def revision(documents: DocumentStore, website_id: str) -> int | None:
    """Return the active generation, or None: one small query, cheap enough to poll."""
    active = await documents.active(website_id)
    return None if active is None else active.generation


@dataclass(frozen=True, slots=True)
class _PinnedRecords:
    generation: int
    parsing: RecordParser
    missing: StoreCorrupt | None


async def _pinned(documents: DocumentStore, graph: GraphStore, website_id: str) -> _PinnedRecords:
    """Return the records of the active generation, which is pinned while they are read."""
    for attempt in range(1, ATTEMPTS + 1):
        pin = await documents.pin(website_id, ttl=PIN_SECONDS)
        if pin is None:
            raise NoSuchWebsite(website_id, [g.website_id for g in await documents.websites()])
        try:
            return await _read(documents, graph, pin)
        except GenerationGone:
            if attempt == ATTEMPTS:
                raise
        finally:
            await documents.unpin(pin)
    raise AssertionError("unreachable")  # pragma: no cover


async def _read(documents: DocumentStore, graph: GraphStore, pin: GenerationPin) -> _PinnedRecords:
    website_id, generation = pin.website_id, pin.generation
    active = await documents.active(website_id)
    missing = None
    if active is not None and active.generation == generation:
        try:
            await check_whole(documents, graph, active)
        except StoreCorrupt as exc:
            missing = exc
    parsing = await _parse(documents, graph, website_id, pin.stored)
    if not await documents.holds(pin):
        raise GenerationGone(website_id, generation)
    return _PinnedRecords(generation, parsing, missing)


async def _parse(
    documents: DocumentStore, graph: GraphStore, website_id: str, generation: int
) -> RecordParser:
    """Return the parsed records; unparsed ones cost least to read, where a store gives them."""
    parsing = RecordParser(documents.address, website_id)
    if isinstance(documents, RawReader):
        for kind, raw in (await documents.raw_records(website_id, generation)).items():
            _add_raw(parsing, documents, kind, raw)
    else:
        async for record in documents.records(website_id, generation):
            parsing.add(record)
    if isinstance(graph, RawReader):
        for kind, raw in (await graph.raw_records(website_id, generation)).items():
            if kind not in _IN_DOCUMENTS:
                _add_raw(parsing, graph, kind, raw)
    else:
        async for vertex in graph.vertices(website_id, generation):
            if vertex.kind not in _IN_DOCUMENTS:
                parsing.add(vertex)
        async for edge in graph.edges(website_id, generation):
            parsing.add(edge)
    return parsing


def _add_raw(parsing: RecordParser, reader: RawReader, kind: str, raw: Sequence[RawRecord]) -> None:
    """Add the records of a kind; of an edge, too, only the id and the body are needed."""
    for each in raw:
        local_id, body = reader.split(each)
        parsing.add(KnowledgeRecord(kind, local_id, body), without_secrets=is_stored_without_secrets(each))
