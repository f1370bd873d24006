"""The two protocols that every store implements, and their values.

A store keeps records safely and knows nothing of their meaning. `knowledge_loader.py` makes a load
visible at once across both stores, using these operations:

- everything a load writes has its *generation*, an increasing number per website;
- the document store has the *active* generation of each website; `commit` changes it, and only then
  does a load become visible;
- readers *pin* the active generation, so that it is not deleted while they read;
- a *lease* keeps two loaders from loading one website at the same time. It expires by itself, and a
  loader that lost it cannot commit.

Implementations: `kb_store.sqlite` and `kb_store.mongodb` have both, `kb_store.arangodb` has a
`GraphStore`, to be used beside either. Each must pass `tests/kb_store/test_conformance.py`. Learned
numbers, proposals and runs have ports of their own in `learned/`, `proposals/` and `runs/`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from kb_store.errors import StoreError, StoreUnavailable

if TYPE_CHECKING:
    from kb_store.knowledge_records import EdgeRecord, KnowledgeRecord

Counts = Mapping[str, int]
"""Records by kind; kinds without records are left out."""


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """The holder of a lease: identifies it for people, and allows to check whether it is alive."""

    place: str
    """A namespace of process ids: processes of the same place can be looked up."""
    pid: int
    started: str
    """When the process started, in the operating system's format; process ids are reused."""
    host: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass(frozen=True, slots=True)
class LoadLease:
    """The right to load one website, and the generation to write under."""

    website_id: str
    generation: int
    token: str
    owner: LeaseOwner
    expires_in: float
    """Seconds until it expires unless renewed, as seen when this value was created."""


@dataclass(frozen=True, slots=True)
class GenerationPin:
    """A reader's hold on one generation; it expires by itself."""

    website_id: str
    generation: int
    token: str
    records_under: int | None = None
    """The generation under which the records are stored, if it is another one (`kb_store.record_changes`)."""

    @property
    def stored(self) -> int:
        """The number to read records with."""
        return self.generation if self.records_under is None else self.records_under


@dataclass(frozen=True, slots=True)
class Generation:
    """A website's active generation, with the counts of its records."""

    website_id: str
    generation: int
    loaded_at: datetime
    schema_version: int
    documents: Counts = field(default_factory=dict)
    vertices: Counts = field(default_factory=dict)
    edges: Counts = field(default_factory=dict)
    records_under: int | None = None
    """The generation under which the records are stored, if it is another one (`kb_store.record_changes`)."""

    @property
    def stored(self) -> int:
        """The number to read records with."""
        return self.generation if self.records_under is None else self.records_under


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """Whether a store answers, for `periplus kb status`."""

    address: str
    """Its address, without credentials."""
    ok: bool
    detail: str = ""
    """Version and settings if it answers, else the reason and what to do."""

    @classmethod
    def down(cls, address: str, error: StoreError) -> StoreHealth:
        """Return the health of a store that does not answer, from its error."""
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
        """The address of the store for messages, without credentials."""

    async def prepare(self) -> None:
        """Create what is missing (files, collections, indexes). Safe to repeat."""

    async def close(self) -> None:
        """Close connections. Safe to repeat."""

    async def health(self) -> StoreHealth:
        """Return whether the store answers. Raises nothing."""

    # -- active generations

    async def websites(self) -> Sequence[Generation]:
        """Return the active generation of every website, by website id."""

    async def active(self, website_id: str) -> Generation | None:
        """Return the active generation of one website; cheap enough to read every second."""

    # -- loading

    async def begin(
        self, website_id: str, owner: LeaseOwner, *, ttl: float, instead_of: str | None = None
    ) -> LoadLease:
        """Take the website's lease for `ttl` seconds, with a generation never used before.

        Possible if the lease is free or expired, or has the token `instead_of` (of a holder known to be
        dead). Raises `LoadConflict`.
        """

    async def holder(self, website_id: str) -> LoadLease | None:
        """Return the lease that is held now, if any."""

    async def renew(self, lease: LoadLease, *, ttl: float) -> None:
        """Renew the lease for `ttl` seconds. Raises `LeaseLost`."""

    async def put(self, lease: LoadLease, records: Sequence[KnowledgeRecord]) -> None:
        """Write records under the lease's generation, all or none. Raises `LeaseLost`."""

    async def commit(self, lease: LoadLease, generation: Generation) -> int | None:
        """Make the lease's generation the active one and release the lease, in one step.

        Returns the generation it replaced. Raises `LeaseLost` and then changes nothing.
        """

    async def release(self, lease: LoadLease) -> None:
        """Release the lease without committing. Does nothing if it is already lost."""

    # -- reading

    async def pin(self, website_id: str, *, ttl: float) -> GenerationPin | None:
        """Pin the active generation for `ttl` seconds; return None if there is none."""

    async def unpin(self, pin: GenerationPin) -> None:
        """Release a pin. Safe to repeat."""

    async def holds(self, pin: GenerationPin) -> bool:
        """Return whether the pinned records are all there and unchanged: nobody deleted or changed them since."""

    def records(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Yield every record that is stored under a generation (`stored` of a pin), by kind and id."""

    async def count(self, website_id: str, generation: int) -> Counts:
        """Return the number of records of one generation by kind."""

    # -- deleting

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return every generation with at least one record."""

    async def in_use(self, website_id: str) -> frozenset[int]:
        """Return the generations that must not be deleted: active, pinned, or being loaded; and those that hold their records."""

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete every record of these generations. Safe to repeat."""


class GraphStore(Protocol):
    """Vertices and edges of websites in generations.

    It decides nothing: the document store decides which generation is active, pinned or to be deleted. All
    methods raise `StoreUnavailable` if the store does not answer; writes may be repeated.
    """

    @property
    def address(self) -> str:
        """The address of the store for messages, without credentials."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""

    async def close(self) -> None:
        """Close connections. Safe to repeat."""

    async def health(self) -> StoreHealth:
        """Return whether the store answers. Raises nothing."""

    async def put_vertices(
        self, website_id: str, generation: int, records: Sequence[KnowledgeRecord]
    ) -> None:
        """Write vertices, all or none."""

    async def put_edges(self, website_id: str, generation: int, records: Sequence[EdgeRecord]) -> None:
        """Write edges, all or none."""

    def vertices(self, website_id: str, generation: int) -> AsyncIterator[KnowledgeRecord]:
        """Yield every vertex of one generation, by kind and id."""

    def edges(self, website_id: str, generation: int) -> AsyncIterator[EdgeRecord]:
        """Yield every edge of one generation, by kind and id."""

    async def count(self, website_id: str, generation: int) -> tuple[Counts, Counts]:
        """Return the number of vertices and edges of one generation by kind."""

    async def generations(self, website_id: str) -> frozenset[int]:
        """Return every generation with at least one vertex or edge."""

    async def drop(self, website_id: str, generations: Collection[int]) -> None:
        """Delete every vertex and edge of these generations. Safe to repeat."""
