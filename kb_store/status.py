"""What is in the stores and how they are, for `periplus kb status`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kb_schema.base import SCHEMA_VERSION
from kb_schema.proposals import ProposalStatus
from kb_schema.runs import RunStatus
from kb_store.errors import StoreCorrupt
from kb_store.learned import Kind, LearnedStore
from kb_store.load import check_whole
from kb_store.ports import DocumentStore, Generation, GraphStore, Health, Lease
from kb_store.proposals import ProposalStore
from kb_store.runs import RunStore


@dataclass(frozen=True, slots=True)
class WebsiteStatus:
    """One website."""

    active: Generation
    whole: bool
    """Whether both stores hold as many records as were written."""
    problem: str
    """Why not; empty where whole."""
    leftovers: tuple[int, ...]
    """Generations nobody uses, which the next load collects."""
    pinned: tuple[int, ...]
    """Older generations that readers still hold."""
    loading: Lease | None
    """A load that is under way."""
    lasting: Lasting | None = None
    """None where it was not asked for, or one of the stores that hold it is down."""


class Checkable(Protocol):
    """Any store that can say how it is."""

    async def health(self) -> Health:
        """Whether the store answers. Raises nothing."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Stores that hold what has no generation."""

    learned: LearnedStore
    proposals: ProposalStore
    runs: RunStore


@dataclass(frozen=True, slots=True)
class Lasting:
    """How much there is of what has no generation; what there is none of is left out."""

    learned: Mapping[Kind, int]
    """Subjects something was learned of."""
    proposals: Mapping[ProposalStatus, int]
    runs: Mapping[RunStatus | None, int]
    """None: they go on, or were killed."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """All stores."""

    documents: Health
    graph: Health
    schema_version: int
    """The version this program writes."""
    websites: tuple[WebsiteStatus, ...]
    beside: Mapping[str, Health] = field(default_factory=dict)
    """Stores that hold no knowledge, by what they hold."""

    @property
    def stores(self) -> Mapping[str, Health]:
        """Every store by what it holds."""
        return {"documents": self.documents, "graph": self.graph, **self.beside}

    @property
    def healthy(self) -> bool:
        """Whether all stores answer and every website is whole."""
        return all(health.ok for health in self.stores.values()) and all(w.whole for w in self.websites)


async def store_status(
    documents: DocumentStore, graph: GraphStore, beside: Beside | None = None
) -> StoreStatus:
    """The state of the stores. A store that is down is told, not raised."""
    asked: dict[str, Checkable] = {"documents": documents, "graph": graph}
    if beside is not None:  # proposals are beside the documents
        asked |= {"learned": beside.learned, "runs": beside.runs}
    # All at once: a server that does not answer is waited for once.
    healths = await asyncio.gather(*(store.health() for store in asked.values()))
    health, others = healths[:2], dict(zip(list(asked)[2:], healths[2:], strict=True))
    websites: list[WebsiteStatus] = []
    if all(each.ok for each in health):
        counted = beside if all(each.ok for each in others.values()) else None
        websites = [
            await _website(documents, graph, active, counted) for active in await documents.websites()
        ]
    return StoreStatus(health[0], health[1], SCHEMA_VERSION, tuple(websites), others)


async def _website(
    documents: DocumentStore, graph: GraphStore, active: Generation, beside: Beside | None
) -> WebsiteStatus:
    website_id = active.website_id
    try:
        await check_whole(documents, graph, active)
        problem = ""
    except StoreCorrupt as exc:
        problem = exc.reason
    present = await documents.generations(website_id) | await graph.generations(website_id)
    in_use = await documents.in_use(website_id)
    loading = await documents.holder(website_id)
    being_written = {loading.generation} if loading else set()
    return WebsiteStatus(
        active=active,
        whole=not problem,
        problem=problem,
        leftovers=tuple(sorted(present - in_use)),
        pinned=tuple(sorted(in_use - {active.generation} - being_written)),
        loading=loading,
        lasting=None if beside is None else await _lasting(beside, website_id),
    )


async def _lasting(beside: Beside, website_id: str) -> Lasting:
    return Lasting(
        learned=await beside.learned.counts(website_id),
        proposals=await beside.proposals.counts(website_id),
        runs=await beside.runs.run_counts(website_id),
    )
