"""The port for queries that a graph database answers itself, and its values.

For graphs that the knowledge server does not compile. A query is about one generation of one website; the
caller checks that it is still active when the answer arrives, because only an active generation is never
collected. The port does not evaluate conditions: the caller names the transitions to avoid. Implemented by
`kb_store.arangodb.ArangoQueries`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from kb_schema.objectives import Objective
from kb_store.errors import StoreError

MOST_PATHS = 100
"""The most paths per query; each further one costs the server a search."""
MOST_HOPS = 10
"""The most steps of a path with exclusions: the traversal visits every path of this length."""


class NoSuchVertex(StoreError):
    """The generation has no screen of that id; the server itself would return an empty answer."""

    def __init__(self, kind: str, local_id: str, website_id: str, generation: int) -> None:
        self.kind, self.local_id = kind, local_id
        super().__init__(
            f"generation {generation} of {website_id!r} has no {kind} {local_id!r}",
            fix="ask for one it has, or read the active generation again",
        )


@dataclass(frozen=True, slots=True)
class ServerPath:
    """A path: one screen more than transitions."""

    screens: tuple[str, ...]
    transitions: tuple[str, ...]
    weight: float
    """The sum of the objective's weights."""
    expected_ms: float
    reliability: float


@dataclass(frozen=True, slots=True)
class ServerRecoveryEdge:
    """A recovery edge of one of the groups of a screen."""

    group_id: str
    recovery_id: str
    to_screen: str
    """`current`: the current screen."""
    priority: int
    reliability: float
    expected_ms: float


@dataclass(frozen=True, slots=True)
class ReachableVertex:
    """A screen, and the least number of edges to it."""

    local_id: str
    depth: int


@dataclass(frozen=True, slots=True)
class ServerPathExclusions:
    """What a path must not use: ids of screens and transitions, canonical action types."""

    screens: Collection[str] = ()
    transitions: Collection[str] = ()
    actions: Collection[str] = ()


NO_EXCLUSIONS = ServerPathExclusions()


class GraphQueries(Protocol):
    """Queries to one graph database about one generation of a website.

    All methods raise `StoreUnavailable` if the server does not answer in time, and `NoSuchVertex` for a
    start, goal or screen that the generation does not have. The order of paths with equal weight is the
    server's choice.
    """

    @property
    def address(self) -> str:
        """The address of the server for messages, without credentials."""

    async def shortest_paths(
        self, website_id: str, generation: int, start: str, goal: str, objective: Objective, k: int = 1
    ) -> tuple[ServerPath, ...]:
        """Return up to `k` paths (at most `MOST_PATHS`) without repeated screens, over the whole graph, best
        first.
        """

    async def filtered_paths(
        self,
        website_id: str,
        generation: int,
        start: str,
        goal: str,
        objective: Objective,
        *,
        k: int = 1,
        hops: int = MOST_HOPS,
        avoid: ServerPathExclusions = NO_EXCLUSIONS,
    ) -> tuple[ServerPath, ...]:
        """Return paths like `shortest_paths`, of at most `hops` steps (at most `MOST_HOPS`), with exclusions."""

    async def recovery_paths(
        self, website_id: str, generation: int, screen_id: str, *, most: int = MOST_PATHS
    ) -> tuple[ServerRecoveryEdge, ...]:
        """Return the recovery edges of all groups of a screen: by priority, reliability, cost."""

    async def reachable_screens(
        self,
        website_id: str,
        generation: int,
        screen_id: str,
        *,
        inbound: bool = False,
        action_type: str | None = None,
        hops: int = 1,
    ) -> tuple[ReachableVertex, ...]:
        """Return the screens that it leads to, or (`inbound`) that lead to it, within `hops` steps; nearest first.

        With `action_type` (canonical) only by transitions of that type. The screen itself is left out. `hops` is at
        most `MOST_HOPS`.
        """
