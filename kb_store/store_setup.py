"""Creates a store's collections, indexes and validators on request, and reports what existed already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class CollectionSetup:
    """The result of initialising one collection."""

    name: str
    outcome: Literal["made", "mended", "found"]
    """`mended`: its validator or its indexes differed and were corrected."""
    detail: str = ""


@runtime_checkable
class InitialisableStore(Protocol):
    """A store that reports what it creates. Others are only prepared."""

    async def initialise(self) -> Sequence[CollectionSetup]:
        """Like `prepare`, but check everything. Safe to repeat."""


class PreparableStore(Protocol):
    """Any store."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""


async def initialise(store: PreparableStore) -> Sequence[CollectionSetup]:
    """Create what `store` lacks; return an empty report if it gives none. Raises `StoreUnavailable`."""
    if isinstance(store, InitialisableStore):
        return await store.initialise()
    await store.prepare()
    return ()
