"""Making a store's collections, indexes and validators on request, and saying what was there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Prepared:
    """What initialising did with one collection."""

    name: str
    outcome: Literal["made", "mended", "found"]
    """`mended`: its validator or its indexes were not as they should be, and now are."""
    detail: str = ""


@runtime_checkable
class Initialisable(Protocol):
    """A store that can say what it makes. Those that cannot are only prepared."""

    async def initialise(self) -> Sequence[Prepared]:
        """As `prepare`, but looks at everything there is. Safe to repeat."""


class Preparable(Protocol):
    """Any store."""

    async def prepare(self) -> None:
        """Create what is missing. Safe to repeat."""


async def initialise(store: Preparable) -> Sequence[Prepared]:
    """Make what `store` lacks; nothing to tell of one that does not say. Raises `StoreUnavailable`."""
    if isinstance(store, Initialisable):
        return await store.initialise()
    await store.prepare()
    return ()
