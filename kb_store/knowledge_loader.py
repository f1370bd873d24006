"""Loads a knowledge base so that readers see all of it or none of it.

    lease -> documents -> vertices -> edges -> count -> commit -> collect
                                                        ^ the only moment it becomes visible

A load killed before the commit leaves records of a generation that was never active; one killed
after it, records of the replaced generation. `collect` deletes both, and every load runs it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar

from kb_schema.collection_pause import paused_collection
from kb_store.audit.audit_recorder import record_async
from kb_store.errors import GenerationMoved, LoadConflict, StoreCorrupt, StoreError
from kb_store.knowledge_records import document_records, edge_records, records_in, vertex_records
from kb_store.lease_owners import is_certainly_dead, this_process
from kb_store.ports import Counts, DocumentStore, Generation, GraphStore, LoadLease

if TYPE_CHECKING:
    from kb_schema import KnowledgeBase

LEASE_SECONDS = 30.0
"""The lease of a loader in seconds. It is renewed with every batch."""

BATCH = 2_000
"""Records per transaction: large enough to be fast, small enough to renew the lease in between."""

T = TypeVar("T")

Stage = Literal["lease", "documents", "vertices", "edges", "commit", "collect", "done"]


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """The progress of a load; `on_progress` receives it before each stage and after each batch."""

    stage: Stage
    written: int
    total: int


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The result of a load."""

    website_id: str
    generation: int
    replaced: int | None
    """The generation that was active before; None for a first load."""
    counts: Counts
    """Documents and edges by kind."""
    collected: tuple[int, ...]
    """The generations that were deleted: the replaced one, and those of killed loads."""
    changed: int | None = None
    """How many documents were written or deleted, if the load was one of changes only (`kb_store.changed_load`)."""


async def load_knowledge(
    documents: DocumentStore,
    graph: GraphStore,
    knowledge: KnowledgeBase,
    *,
    on_progress: Callable[[LoadProgress], None] = lambda _: None,
    batch: int = BATCH,
    replacing: int | None = None,
    check: Callable[[], Awaitable[None]] | None = None,
) -> LoadReport:
    """Make `knowledge` the active knowledge of its website, all at once.

    `check` is awaited while no other loader can change the website; an error it raises ends the load.
    `replacing` is the generation that `knowledge` was made from; if a different one is active, nothing is
    loaded. Raises `GenerationMoved` then, `LoadConflict` if another loader holds the lease, `LeaseLost` if
    one took over, `StoreUnavailable`, and `StoreCorrupt` if the stores do not contain what was written.
    """
    website_id = knowledge.website.website_id
    await documents.prepare()
    await graph.prepare()
    on_progress(LoadProgress("lease", 0, 0))
    lease = await take_lease(documents, website_id)
    try:
        if replacing is not None:  # no other loader commits while the lease is held
            await _check_active(documents, website_id, replacing)
        if check is not None:
            await check()
        with paused_collection():
            generation = await _write(documents, graph, knowledge, lease, on_progress, batch)
        total = records_in(knowledge)
        on_progress(LoadProgress("commit", total, total))
        replaced = await documents.commit(lease, generation)
    except BaseException:
        with contextlib.suppress(StoreError):  # the lease also expires by itself
            await documents.release(lease)
        raise
    await record_async("knowledge_changed", f"generation {lease.generation}", website=website_id)
    on_progress(LoadProgress("collect", total, total))
    collected = await collect(documents, graph, website_id)
    on_progress(LoadProgress("done", total, total))
    return LoadReport(website_id, lease.generation, replaced, count_kinds(generation), collected)


def count_kinds(generation: Generation) -> dict[str, int]:
    """Return the documents and edges of a generation by kind."""
    counts = {**generation.documents, **generation.edges}
    if generation.vertices.get("screen_group"):
        counts["screen_group"] = generation.vertices["screen_group"]
    return counts


async def collect(documents: DocumentStore, graph: GraphStore, website_id: str) -> tuple[int, ...]:
    """Delete every generation that is not in use and return their numbers.

    The generations are listed *before* those in use are queried, so that a generation that comes into use in
    between is never deleted. The graph is deleted first: the next collection finds documents without edges,
    and edges without documents too.
    """
    present = await documents.generations(website_id) | await graph.generations(website_id)
    doomed = tuple(sorted(present - await documents.in_use(website_id)))
    if doomed:
        await graph.drop(website_id, doomed)
        await documents.drop(website_id, doomed)
    return doomed


async def _check_active(documents: DocumentStore, website_id: str, expected: int) -> None:
    active = await documents.active(website_id)
    if active is None or active.generation != expected:
        raise GenerationMoved(website_id, expected, None if active is None else active.generation)


async def take_lease(documents: DocumentStore, website_id: str) -> LoadLease:
    """Take the lease, at once if its holder is certainly dead."""
    owner = this_process()
    try:
        return await documents.begin(website_id, owner, ttl=LEASE_SECONDS)
    except LoadConflict:
        holder = await documents.holder(website_id)
        if holder is not None and not is_certainly_dead(holder.owner):
            raise
        token = None if holder is None else holder.token
        return await documents.begin(website_id, owner, ttl=LEASE_SECONDS, instead_of=token)


async def _write(
    documents: DocumentStore,
    graph: GraphStore,
    knowledge: KnowledgeBase,
    lease: LoadLease,
    on_progress: Callable[[LoadProgress], None],
    batch: int,
) -> Generation:
    """Write everything under the lease's generation and check that it is complete.

    Records are made batch by batch: besides the knowledge itself, only one batch is in memory.
    """
    website_id, number = lease.website_id, lease.generation
    written = {"documents": Counter[str](), "vertices": Counter[str](), "edges": Counter[str]()}
    total = records_in(knowledge)

    def tell(stage: Stage) -> None:
        on_progress(LoadProgress(stage, sum(map(Counter.total, written.values())), total))

    tell("documents")
    for part in _batches(document_records(knowledge), batch):
        await documents.put(lease, part)
        written["documents"].update(record.kind for record in part)
        tell("documents")
    tell("vertices")
    for part in _batches(vertex_records(knowledge), batch):
        await documents.renew(lease, ttl=LEASE_SECONDS)
        await graph.put_vertices(website_id, number, part)
        written["vertices"].update(record.kind for record in part)
        tell("vertices")
    tell("edges")
    for edge_part in _batches(edge_records(knowledge), batch):
        await documents.renew(lease, ttl=LEASE_SECONDS)
        await graph.put_edges(website_id, number, edge_part)
        written["edges"].update(record.kind for record in edge_part)
        tell("edges")
    generation = Generation(
        website_id=website_id,
        generation=number,
        loaded_at=datetime.now(UTC),
        schema_version=knowledge.website.schema_version,
        documents=dict(sorted(written["documents"].items())),
        vertices=dict(sorted(written["vertices"].items())),
        edges=dict(sorted(written["edges"].items())),
    )
    await check_whole(documents, graph, generation)
    return generation


async def check_whole(documents: DocumentStore, graph: GraphStore, generation: Generation) -> None:
    """Check that both stores hold as many records of each kind as were written. Raises `StoreCorrupt`."""
    website_id, number = generation.website_id, generation.stored
    found = await documents.count(website_id, number)
    if dict(found) != dict(generation.documents):
        raise StoreCorrupt(documents.address, _difference(website_id, generation.documents, found))
    vertices, edges = await graph.count(website_id, number)
    for wanted, got in ((generation.vertices, vertices), (generation.edges, edges)):
        if dict(wanted) != dict(got):
            raise StoreCorrupt(graph.address, _difference(website_id, wanted, got))


def _difference(website_id: str, wanted: Counts, found: Counts) -> str:
    kinds = [kind for kind in sorted({*wanted, *found}) if wanted.get(kind, 0) != found.get(kind, 0)]
    listing = ", ".join(f"{found.get(kind, 0)} of {wanted.get(kind, 0)} {kind}" for kind in kinds)
    return f"of {website_id!r} it holds {listing}"


def _batches(items: Iterable[T], size: int) -> Iterator[Sequence[T]]:
    rest = iter(items)
    while part := tuple(islice(rest, size)):
        yield part
