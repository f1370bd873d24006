"""The port for questions that a graph database answers by itself, and the small values that cross it.

For graphs that a server would rather not compile (DESIGN 5). A question is about one generation of one
website; whoever asks makes sure that it is still the active one when the answer is there, for only an
active generation is never collected. Facts are not the port's business: whoever knows which conditions
do not hold names the transitions to avoid. Implemented by `kb_store.arangodb.ArangoQueries`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from kb_schema.answers import Objective
from kb_store.errors import StoreError

MOST_PATHS = 100
"""Asked for at once; each further one costs the server a search."""
MOST_HOPS = 10
"""A traversal around what is to be avoided looks at every way of this many steps; more would not end."""


class NoSuchVertex(StoreError):
    """The generation has no screen or task of that id: to the server that would be an empty answer."""

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
    """The sum of what the objective minimises."""
    expected_ms: float
    reliability: float


@dataclass(frozen=True, slots=True)
class RecoveryWay:
    """A recovery edge of one of the groups of a screen."""

    group_id: str
    recovery_id: str
    to_screen: str
    """`current`: the screen one is on."""
    priority: int
    reliability: float
    expected_ms: float


@dataclass(frozen=True, slots=True)
class Reached:
    """A screen or task, and the least number of edges to it."""

    local_id: str
    depth: int


@dataclass(frozen=True, slots=True)
class ToAvoid:
    """What a way may not use: ids of screens and transitions, canonical action types."""

    screens: Collection[str] = ()
    transitions: Collection[str] = ()
    actions: Collection[str] = ()


NOTHING = ToAvoid()


class GraphQueries(Protocol):
    """Questions to one graph database about one generation of a website.

    All methods raise `StoreUnavailable` where the server does not answer, or not in time, and
    `NoSuchVertex` for a start, goal, screen or task that the generation does not have. Of paths of
    equal weight the server takes whichever it likes.
    """

    @property
    def address(self) -> str:
        """Where the server is, for messages: never with credentials."""

    async def shortest_paths(
        self, website_id: str, generation: int, start: str, goal: str, objective: Objective, k: int = 1
    ) -> tuple[ServerPath, ...]:
        """Up to `k` paths (at most `MOST_PATHS`) that visit no screen twice, over the whole graph, best first."""

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
        avoid: ToAvoid = NOTHING,
    ) -> tuple[ServerPath, ...]:
        """As `shortest_paths`, of at most `hops` steps (at most `MOST_HOPS`), avoiding some things."""

    async def recovery_paths(
        self, website_id: str, generation: int, screen_id: str, *, most: int = MOST_PATHS
    ) -> tuple[RecoveryWay, ...]:
        """The recovery edges of all groups of a screen: by priority, reliability, cost."""

    async def composition(
        self, website_id: str, generation: int, task_id: str, *, hops: int = MOST_HOPS
    ) -> tuple[Reached, ...]:
        """The tasks that a task is composed of or depends on, nearest first."""

    async def reached_by_action(
        self, website_id: str, generation: int, screen_id: str, action_type: str, *, hops: int = 1
    ) -> tuple[Reached, ...]:
        """The screens one can get to by this canonical action type alone."""
