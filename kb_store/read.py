"""Reading one whole generation of a website's knowledge."""

from __future__ import annotations

from kb_schema import KnowledgeBase, KnowledgeError, Problem, Sourced, assemble
from kb_store.errors import GenerationGone, NoSuchWebsite, StoreCorrupt
from kb_store.load import check_whole
from kb_store.ports import DocumentStore, GraphStore, Pin
from kb_store.records import GRAPH_ONLY_KINDS, EdgeRecord, Record, from_body

PIN_SECONDS = 120.0
"""How long a reader that went silent keeps its generation from being collected."""

ATTEMPTS = 3
"""A reader slower than its pin finds its generation gone, and begins again on the newer one."""


async def read_knowledge(
    documents: DocumentStore, graph: GraphStore, website_id: str
) -> tuple[KnowledgeBase, int]:
    """The active knowledge of a website and its generation: always a whole one.

    Raises `NoSuchWebsite`, `StoreUnavailable`, and `StoreCorrupt` where records are missing or
    say what the vocabulary does not know.
    """
    for attempt in range(1, ATTEMPTS + 1):
        pin = await documents.pin(website_id, ttl=PIN_SECONDS)
        if pin is None:
            raise NoSuchWebsite(website_id, [g.website_id for g in await documents.websites()])
        try:
            return await _read(documents, graph, pin), pin.generation
        except GenerationGone:
            if attempt == ATTEMPTS:
                raise
        finally:
            await documents.unpin(pin)
    raise AssertionError("unreachable")  # pragma: no cover


async def revision(documents: DocumentStore, website_id: str) -> int | None:
    """The active generation, None where there is none: one small question, to be asked often."""
    active = await documents.active(website_id)
    return None if active is None else active.generation


async def _read(documents: DocumentStore, graph: GraphStore, pin: Pin) -> KnowledgeBase:
    website_id, generation = pin.website_id, pin.generation
    active = await documents.active(website_id)
    if active is not None and active.generation == generation:
        await check_whole(documents, graph, active)
    found: list[Record | EdgeRecord] = [record async for record in documents.records(website_id, generation)]
    found += [r async for r in graph.vertices(website_id, generation) if r.kind in GRAPH_ONLY_KINDS]
    found += [edge async for edge in graph.edges(website_id, generation)]
    if generation not in await documents.in_use(website_id):
        raise GenerationGone(website_id, generation)
    return _assembled(documents.address, website_id, found)


def _assembled(address: str, website_id: str, records: list[Record | EdgeRecord]) -> KnowledgeBase:
    problems: list[Problem] = []
    parsed: list[Sourced] = []
    for record in records:
        try:
            parsed.append(Sourced(from_body(record.body, source=f"{record.kind}/{record.local_id}")))
        except KnowledgeError as exc:
            problems += exc.problems
    if not problems:
        try:
            return assemble(parsed)[0]
        except KnowledgeError as exc:
            problems += exc.problems
    raise StoreCorrupt(address, f"what it holds of {website_id!r} is not valid", problems=problems)
