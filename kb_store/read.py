"""Reading one whole generation of a website's knowledge."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema import KnowledgeBase, Problem
from kb_store.errors import GenerationGone, NoSuchWebsite, StoreCorrupt
from kb_store.load import check_whole
from kb_store.ports import DocumentStore, GraphStore, Pin
from kb_store.records import GRAPH_ONLY_KINDS
from kb_store.salvage import Parsing

PIN_SECONDS = 120.0
"""How long a reader that went silent keeps its generation from being collected."""

ATTEMPTS = 3
"""A reader slower than its pin finds its generation gone, and begins again on the newer one."""


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What of a website's knowledge is valid."""

    knowledge: KnowledgeBase
    generation: int
    problems: tuple[Problem, ...] = ()
    """What is wrong with the rest; empty where everything is whole and valid."""


async def read_knowledge(
    documents: DocumentStore, graph: GraphStore, website_id: str
) -> tuple[KnowledgeBase, int]:
    """The active knowledge of a website and its generation: always a whole one.

    Raises `NoSuchWebsite`, `StoreUnavailable`, and `StoreCorrupt` where records are missing or
    say what the vocabulary does not know.
    """
    found = await _pinned(documents, graph, website_id)
    if found.missing is not None:
        raise found.missing
    return found.parsing.assembled(), found.generation


async def salvage_knowledge(documents: DocumentStore, graph: GraphStore, website_id: str) -> Salvaged:
    """The active knowledge without what is invalid in it and what refers to that.

    For servers: a document that a hand has spoilt costs that document, not the website. Raises
    `NoSuchWebsite`, `StoreUnavailable`, and `StoreCorrupt` where not even the website's own document
    can be read.
    """
    found = await _pinned(documents, graph, website_id)
    problems = [] if found.missing is None else [Problem(found.missing.reason, fix=found.missing.fix)]
    knowledge, invalid = found.parsing.salvaged()
    return Salvaged(knowledge, found.generation, (*problems, *invalid))


async def revision(documents: DocumentStore, website_id: str) -> int | None:
    """The active generation, None where there is none: one small question, to be asked often."""
    active = await documents.active(website_id)
    return None if active is None else active.generation


@dataclass(frozen=True, slots=True)
class _Found:
    generation: int
    parsing: Parsing
    missing: StoreCorrupt | None


async def _pinned(documents: DocumentStore, graph: GraphStore, website_id: str) -> _Found:
    """The records of the active generation, which is held while they are read."""
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


async def _read(documents: DocumentStore, graph: GraphStore, pin: Pin) -> _Found:
    website_id, generation = pin.website_id, pin.generation
    active = await documents.active(website_id)
    missing = None
    if active is not None and active.generation == generation:
        try:
            await check_whole(documents, graph, active)
        except StoreCorrupt as exc:
            missing = exc
    parsing = Parsing(documents.address, website_id)
    async for record in documents.records(website_id, generation):
        parsing.add(record)
    async for vertex in graph.vertices(website_id, generation):
        if vertex.kind in GRAPH_ONLY_KINDS:
            parsing.add(vertex)
    async for edge in graph.edges(website_id, generation):
        parsing.add(edge)
    if generation not in await documents.in_use(website_id):
        raise GenerationGone(website_id, generation)
    return _Found(generation, parsing, missing)
