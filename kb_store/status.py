"""The state and content of the stores, for `periplus kb status`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kb_schema.base import SCHEMA_VERSION
from kb_store.errors import StoreCorrupt
from kb_store.knowledge_loader import check_whole

if TYPE_CHECKING:
    from kb_schema.proposals import ProposalStatus
    from kb_schema.run_records import RunStatus
    from kb_store.learned.learned_numbers import LearnedStore, SubjectKind
    from kb_store.ports import DocumentStore, Generation, GraphStore, LoadLease, StoreHealth
    from kb_store.proposals.proposal_store import ProposalStore
    from kb_store.runs.run_store import RunStore


@dataclass(frozen=True, slots=True)
class WebsiteStatus:
    """One website."""

    active: Generation
    whole: bool
    """Whether both stores hold as many records as were written."""
    problem: str
    """The reason; empty if it is whole."""
    leftovers: tuple[int, ...]
    """Unused generations, which the next load deletes."""
    pinned: tuple[int, ...]
    """Older generations that readers still pin."""
    loading: LoadLease | None
    """A running load."""
    lasting: UnversionedCounts | None = None
    """None if it was not requested, or one of the stores is down."""


class CheckableStore(Protocol):
    """Any store that can report its state."""

    async def health(self) -> StoreHealth:
        """Return whether the store answers. Raises nothing."""


@dataclass(frozen=True, slots=True)
class UnversionedStores:
    """Stores of data without a generation."""

    learned: LearnedStore
    proposals: ProposalStore
    runs: RunStore


@dataclass(frozen=True, slots=True)
class UnversionedCounts:
    """The amount of data without a generation; kinds without any are left out."""

    learned: Mapping[SubjectKind, int]
    """The number of subjects with learned numbers."""
    proposals: Mapping[ProposalStatus, int]
    runs: Mapping[RunStatus | None, int]
    """None: they are going on, or were killed."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """All stores."""

    documents: StoreHealth
    graph: StoreHealth
    schema_version: int
    """The version that this program writes."""
    websites: tuple[WebsiteStatus, ...]
    beside: Mapping[str, StoreHealth] = field(default_factory=dict)
    """Stores of other data than knowledge, by what they hold."""

    @property
    def stores(self) -> Mapping[str, StoreHealth]:
        """Every store by what it holds."""
        return {"documents": self.documents, "graph": self.graph, **self.beside}

    @property
    def healthy(self) -> bool:
        """Whether all stores answer and every website is whole."""
        return all(health.ok for health in self.stores.values()) and all(w.whole for w in self.websites)


async def store_status(
    documents: DocumentStore, graph: GraphStore, beside: UnversionedStores | None = None
) -> StoreStatus:
    """Return the state of the stores. A store that is down is reported, not raised."""
    asked: dict[str, CheckableStore] = {"documents": documents, "graph": graph}
    if beside is not None:  # proposals are stored with the documents
        asked |= {"learned": beside.learned, "runs": beside.runs}
    # All at once: the timeouts of servers that do not answer run concurrently.
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
    documents: DocumentStore, graph: GraphStore, active: Generation, beside: UnversionedStores | None
) -> WebsiteStatus:
    website_id = active.website_id
    try:
        await check_whole(documents, graph, active)
        problem = ""
    except StoreCorrupt as exc:
        now = await documents.active(website_id)
        if now is not None and now != active:  # its records were changed while they were counted
            return await _website(documents, graph, now, beside)
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
        pinned=tuple(sorted(in_use - {active.generation, active.stored} - being_written)),
        loading=loading,
        lasting=None if beside is None else await _lasting(beside, website_id),
    )


async def _lasting(beside: UnversionedStores, website_id: str) -> UnversionedCounts:
    return UnversionedCounts(
        learned=await beside.learned.counts(website_id),
        proposals=await beside.proposals.counts(website_id),
        runs=await beside.runs.run_counts(website_id),
    )
