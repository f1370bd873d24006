"""A website's stored knowledge as it lies in the stores: records that are not parsed yet, and a digest of all of them.

Reading it takes less than the driver's own JSON. Who knows from the digest that this content was checked before may parse a
document when it is asked for (`LazyDocuments`); everybody else reads with `knowledge_reader`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kb_store.knowledge_records import GRAPH_ONLY_KINDS, from_body

if TYPE_CHECKING:
    from kb_schema.base import Document
    from kb_store.ports import DocumentStore, GraphStore

RawRecord = str | bytes
"""A record in its store's own form, with its id: text of SQLite, BSON of MongoDB."""
RawRecords = Mapping[str, Sequence[RawRecord]]
"""Kind -> its records, in the order of their ids."""
RecordSplitter = Callable[[RawRecord], tuple[str, Mapping[str, Any]]]
"""From a record to its local id and its body."""

HASHED_AT_A_TIME = 5_000


@runtime_checkable
class RawReader(Protocol):
    """A store that gives its records unparsed. SQLite and MongoDB do; ArangoDB does not."""

    async def raw_records(self, website_id: str, generation: int) -> RawRecords:
        """Return all records of a generation, from one pass. Vertices and edges together. Raises `StoreUnavailable`."""
        ...

    def split(self, raw: RawRecord) -> tuple[str, Mapping[str, Any]]:
        """Return the local id and the body of a record; manual editing may have left anything in their places."""
        ...


@dataclass(frozen=True, slots=True)
class StoredContents:
    """The records of one generation."""

    website_id: str
    generation: int
    digest: str
    """Of kinds, ids and bodies; the generation has no part in it."""
    records: Mapping[str, tuple[Sequence[RawRecord], RecordSplitter]]
    """Kind -> its records, and what splits them into id and body. Of vertices only those that are nowhere else."""

    def documents(self, kind: str, ids: Sequence[str]) -> LazyDocuments:
        """Return the documents of a kind, parsed when they are asked for.

        Raises `KeyError` for a kind without records, `ValueError` for another number of ids.
        """
        raw, split = self.records[kind]
        if len(raw) != len(ids):
            raise ValueError(f"{kind}: expected {len(ids)} records, found {len(raw)}")
        return LazyDocuments(ids, raw, split, self.website_id)


async def read_contents(
    documents: DocumentStore, graph: GraphStore, website_id: str
) -> StoredContents | None:
    """Return the active generation unparsed; None if there is none, or a store gives no unparsed records.

    Nothing is pinned: None, too, if another generation became active meanwhile, which may have changed or deleted records
    between those of documents and graph. Raises `StoreUnavailable`.
    """
    if not isinstance(documents, RawReader) or not isinstance(graph, RawReader):
        return None
    active = await documents.active(website_id)
    if active is None:
        return None
    hasher = hashlib.blake2b(website_id.encode(), digest_size=32)
    found: dict[str, tuple[Sequence[RawRecord], RecordSplitter]] = {}
    for reader, wanted in ((documents, None), (graph, GRAPH_ONLY_KINDS)):
        records = await reader.raw_records(website_id, active.stored)
        for kind in sorted(records):
            if wanted is None or kind in wanted:
                found[kind] = (records[kind], reader.split)
                hasher.update(f"{kind} {len(records[kind])}\n".encode())
                _add(hasher, records[kind])
    if await documents.active(website_id) != active:
        return None
    return StoredContents(website_id, active.generation, hasher.hexdigest(), found)


def _add(hasher: hashlib.blake2b, records: Sequence[RawRecord]) -> None:
    """Hash many records at a time; none contains the character between them, which JSON and ids escape or refuse."""
    for start in range(0, len(records), HASHED_AT_A_TIME):
        part = records[start : start + HASHED_AT_A_TIME]
        if isinstance(part[0], bytes):
            hasher.update(
                b"".join(each for each in part if isinstance(each, bytes))
            )  # BSON tells its own length
        else:
            hasher.update("\0".join(each for each in part if isinstance(each, str)).encode() + b"\0")


class LazyDocuments(Mapping[str, "Document"]):
    """The documents of one kind by id, parsed when they are asked for, in any thread. Their content was checked before."""

    __slots__ = ("_made", "_numbers", "_raw", "_split", "_website_id")

    def __init__(
        self,
        ids: Sequence[str],
        raw: Sequence[RawRecord],
        split: RecordSplitter,
        website_id: str,
    ) -> None:
        self._numbers = {local_id: number for number, local_id in enumerate(ids)}
        self._raw, self._split, self._website_id = raw, split, website_id
        self._made: dict[str, Document] = {}

    def __getitem__(self, local_id: str) -> Document:
        made = self._made.get(local_id)
        if made is None:
            document = from_body(self._split(self._raw[self._numbers[local_id]])[1])
            if document.website_id is None:
                document = document.model_copy(update={"website_id": self._website_id})
            made = self._made.setdefault(local_id, document)
        return made

    def __contains__(self, local_id: object) -> bool:
        return local_id in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
