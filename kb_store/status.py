"""What is in the stores and how they are, for `periplus kb status`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kb_schema.base import SCHEMA_VERSION
from kb_store.errors import StoreCorrupt
from kb_store.load import check_whole
from kb_store.ports import DocumentStore, Generation, GraphStore, Health, Lease


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


class Checkable(Protocol):
    """Any store that can say how it is."""

    async def health(self) -> Health:
        """Whether the store answers. Raises nothing."""


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
    documents: DocumentStore, graph: GraphStore, beside: Mapping[str, Checkable] | None = None
) -> StoreStatus:
    """The state of the stores. A store that is down is told, not raised."""
    health = await documents.health(), await graph.health()
    others = {name: await store.health() for name, store in (beside or {}).items()}
    websites: list[WebsiteStatus] = []
    if all(h.ok for h in health):
        websites = [await _website(documents, graph, active) for active in await documents.websites()]
    return StoreStatus(*health, SCHEMA_VERSION, tuple(websites), others)


async def _website(documents: DocumentStore, graph: GraphStore, active: Generation) -> WebsiteStatus:
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
    )
