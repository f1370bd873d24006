"""Changes of a few records in place: the next generation keeps its records where those of the active one are.

A whole load writes every record under its own number. A change writes only what differs, under the number that the active
generation's records have (`Generation.stored`), and makes the new generation visible in the same transaction. A reader
that has pinned the generation before finds out with `DocumentStore.holds`, and reads again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from kb_store.knowledge_records import EdgeRecord, KnowledgeRecord
    from kb_store.ports import Generation, GraphStore, LoadLease

RecordKey = tuple[str, str]
"""Kind and local id."""

CHANGED_REMEMBERED = 100
"""Of so many whole loads of a website it is remembered which generation changed their records last; a pin lives two minutes."""


@dataclass(frozen=True, slots=True)
class RecordChanges:
    """What differs from the active generation."""

    documents: Sequence[KnowledgeRecord] = ()
    vertices: Sequence[KnowledgeRecord] = ()
    edges: Sequence[EdgeRecord] = ()
    gone: Collection[RecordKey] = ()
    """What is deleted: from documents, vertices and edges."""


@runtime_checkable
class ChangeableStore(Protocol):
    """A document store that changes records in place, of its own and of the graph beside it. ArangoDB's graph is not."""

    def keeps_graph(self, graph: GraphStore) -> bool:
        """Return whether the graph is in the same database, so that one transaction changes both."""
        ...

    async def find_records(
        self, website_id: str, stored: int, keys: Collection[RecordKey]
    ) -> list[KnowledgeRecord]:
        """Return the whole documents of these keys, edges too; missing ones are left out. Raises `StoreUnavailable`."""
        ...

    async def change(
        self, lease: LoadLease, base: Generation, changes: RecordChanges, generation: Generation
    ) -> bool:
        """Change the records of `base` and make the lease's generation the active one, all or nothing.

        Returns False, and changes nothing, if `base` is not active any more. Raises `LeaseLost`, `StoreUnavailable`.
        """
        ...
