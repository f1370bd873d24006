"""The two protocols every store implements, and the small values that cross them.

A port is about keeping records safely; it knows nothing of what the records mean. How a load
becomes visible all at once across both stores is `load.py`'s business, built on these verbs:

- everything a load writes carries its *generation*, a number that grows per website;
- the document store names the *active* generation of each website, and `commit` - flipping that
  name - is the only moment at which a load becomes visible;
- readers *pin* the active generation, so that nothing they read is collected under them;
- a *lease* keeps two loaders from working on one website at the same time. It runs out by
  itself, and it fences: whoever lost it can no longer commit.

Implementations: `kb_store.embedded` and `kb_store.mongodb` have both, `kb_store.arangodb` has a
`GraphStore`, to be used beside either. Each must pass `tests/kb_store/test_conformance.py`. What
was learned and what was run have ports of their own: `learned.py`, `runs.py`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from kb_store.errors import StoreError, StoreUnavailable
from kb_store.records import EdgeRecord, Record

Counts = Mapping[str, int]
"""Records by kind; kinds without records are left out."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lease: enough to tell a person, and to tell whether it is still alive."""

    place: str
    """One namespace of process ids: of the same place, processes can be looked up."""
    pid: int
    started: str
    """When the process started, in the operating system's own words; ids are used again."""
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to load one website, and the generation to write under."""

    website_id: str
    generation: int
    token: str
    owner: Owner
    expires_in: float
    """Seconds until it runs out unless renewed, as seen when this value was made."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A reader's hold on one generation; runs out by itself."""

    website_id: str
    generation: int
    token: str


@dataclass(frozen=True, slots=True)
class Generation:
    """A website's active generation, with what was counted when it was written."""

    website_id: str
    generation: int
    loaded_at: datetime
    schema_version: int
    documents: Counts = field(default_factory=dict)
    vertices: Counts = field(default_factory=dict)
    edges: Counts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Health:
    """Whether a store answers, for `periplus kb status`."""

    address: str
    """Where it is, without credentials."""
    ok: bool
    detail: str = ""
    """Version and settings when it answers, else why it does not and what to do."""

    @classmethod
    def down(cls, address: str, error: StoreError) -> Health:
        """Of a store that does not answer: what its error says, its address once."""
        reason = error.reason if isinstance(error, StoreUnavailable) else error.message
        return cls(address, ok=False, detail=f"{reason} -> {error.fix}")


class DocumentStore(Protocol):
    """Documents of websites under generations, leases, pins and the one commit point.

    It is not a query engine: finding a way or a screen is asked of a compiled view. All methods
    raise `StoreUnavailable` where the store does not answer. Writes of the same record under the
    same generation replace each other, so that a batch may be sent again.
    """

    @property
    def address(self) -> str:
        """Where the store is, for messages: never with credentials."""

    async def prepare(self) -> None:
        """Create what is missing (files, collections, indexes). Safe to repeat."""

    async def close(self) -> None:
        """Give connections back. Safe to repeat."""

    async def health(self) -> Health:
        """Whether the store answers. Raises nothing."""

    # -- what is active

    async def websites(self) -> Sequence[Generation]:
        """The active generation of every website, by website id."""

    async def active(self, website_id: str) -> Generation | None:
        """The active generation of one website; cheap enough to ask every second."""

    # -- loading

    async def begin(
        self, website_id: str, owner: Owner, *, ttl: float, instead_of: str | None = None
    ) -> Lease:
        """Take the website's lease for `ttl` seconds, with a generation never used before.

        Possible where the lease is free or has run out, or is the one whose token is
        `instead_of` (its holder is known to be dead). Raises `LoadConflict`.
        """

    async def holder(self, website_id: str) -> Lease | None:
        """The lease that is held now, if any."""

    async def renew(self, lease: Lease, *, ttl: float) -> None:
        """Hold on for another `ttl` seconds. Raises `LeaseLost`."""

    async def put(self, lease: Lease, records: Sequence[Record]) -> None:
        """Write records under the lease's generation, all or none. Raises `LeaseLost`."""

    async def commit(self, lease: Lease, generation: Generation) -> int | None:
        """Make the lease's generation the active one and give the lease back, in one step.

        Returns the generation it replaced. Raises `LeaseLost`, and then changes nothing.
        """

    async def release(self, lease: Lease) -> None:
        """Give the lease back without committing. Nothing happens where it is lost already."""

    # -- reading

    async def pin(self, website_id: str, *, ttl: float) -> Pin | None:
        """Pin the active generation for `ttl` seconds; None where there is none."""

    async def unpin(self, pin: Pin) -> None:
        """Let go of a pin. Safe to repeat."""

    def records(self, website_id: str, generation: int) -> AsyncIterator[Record]:
        """Every record of one generation, by kind and id."""

    async def count(self, website_id: str, generation: int) -> Counts:
        """The records of one generation by kind."""

    # -- collecting

    async def generations(self, website_id: str) -> frozenset[int]:
        """Every generation of which there is at least one record."""

    async def in_use(self, website_id: str) -> frozenset[int]:
        """Generations that may not be dropped: active, pinned, or being written under a lease."""

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete every record of these generations. Safe to repeat."""


class GraphStore(Protocol):
    """Vertices and edges of websites under generations.

    It decides nothing: which generation is active, pinned or to be dropped is the document
    store's to say. All methods raise `StoreUnavailable` where the store does not answer; writes
    may be sent again.
    """

    @property
    def address(self) -> str:
        """Where the store is, for messages: never with credentials."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def close(self) -> None:
        """Give connections back. Safe to repeat."""

    async def health(self) -> Health:
        """Whether the store answers. Raises nothing."""

    async def put_vertices(self, website_id: str, generation: int, records: Sequence[Record]) -> None:
        """Write vertices, all or none."""

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """Write edges, all or none."""

    def vertices(self, website_id: str, generation: int) -> AsyncIterator[Record]:
        """Every vertex of one generation, by kind and id."""

    def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """Every edge of one generation, by kind and id."""

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """The vertices and the edges of one generation by kind."""

    async def generations(self, website_id: str) -> frozenset[int]:
        """Every generation of which there is at least one vertex or edge."""

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete every vertex and edge of these generations. Safe to repeat."""
