"""What the server answers by itself, for graphs too large to compile: ways, recovery, composition.

Facts are the desk's business: whoever knows which required conditions do not hold names the
transitions to avoid. Ties between paths of equal weight are broken by the server as it likes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kb_schema.answers import Objective
from kb_store.arangodb import aql
from kb_store.arangodb.connection import Connection
from kb_store.arangodb.keys import id_of, key_of, local_id_of, sort_key
from kb_store.errors import StoreError
from kb_store.records import Node

PATHS: Mapping[Objective, str] = {
    "fewest": aql.FEWEST_PATHS,
    "fastest": aql.FASTEST_PATHS,
    "reliable": aql.RELIABLE_PATHS,
    "balanced": aql.BALANCED_PATHS,
}
WAYS: Mapping[Objective, str] = {
    "fewest": aql.FEWEST_WAYS,
    "fastest": aql.FASTEST_WAYS,
    "reliable": aql.RELIABLE_WAYS,
    "balanced": aql.BALANCED_WAYS,
}
MOST_PATHS = 20
MOST_HOPS = 10
"""A traversal looks at every way of this many steps; more would not end."""


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


class ArangoQueries:
    """Questions to one ArangoDB about one generation of a website."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def shortest_paths(
        self, website_id: str, generation: int, start: str, goal: str, objective: Objective, k: int = 1
    ) -> tuple[ServerPath, ...]:
        """Up to `k` loopless paths over the whole graph, best first. Raises `NoSuchVertex`."""
        await self._check("screen", website_id, generation, start, goal)
        if start == goal:
            return (_standing(start),)
        return _paths(
            await self._connection.query(
                PATHS[objective],
                start=id_of(website_id, generation, Node("screen", start)),
                goal=id_of(website_id, generation, Node("screen", goal)),
                k=min(k, MOST_PATHS),
            )
        )

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
        """Up to `k` loopless paths of at most `hops` steps that avoid some things, best first."""
        await self._check("screen", website_id, generation, start, goal)
        if start == goal:
            return (_standing(start),)
        return _paths(
            await self._connection.query(
                WAYS[objective],
                start=id_of(website_id, generation, Node("screen", start)),
                goal=id_of(website_id, generation, Node("screen", goal)),
                hops=min(hops, MOST_HOPS),
                k=min(k, MOST_PATHS),
                avoid_screens=[id_of(website_id, generation, Node("screen", s)) for s in avoid.screens],
                avoid_transitions=[sort_key(transition) for transition in avoid.transitions],
                avoid_actions=list(avoid.actions),
            )
        )

    async def recovery_paths(
        self, website_id: str, generation: int, screen_id: str, *, most: int = MOST_PATHS
    ) -> tuple[RecoveryWay, ...]:
        """Over all groups of a screen: by priority, reliability, cost. Raises `NoSuchVertex`."""
        await self._check("screen", website_id, generation, screen_id)
        rows = await self._connection.query(
            aql.RECOVERY_PATHS,
            screen=id_of(website_id, generation, Node("screen", screen_id)),
            most=most,
            c_recoveries="global_recovery",
        )
        return tuple(
            RecoveryWay(
                group_id=local_id_of(row["group"]),
                recovery_id=local_id_of(row["recovery"]),
                to_screen=row["to_screen"],
                priority=row["priority"],
                reliability=row["reliability"],
                expected_ms=row["expected_ms"],
            )
            for row in rows
        )

    async def composition(
        self, website_id: str, generation: int, task_id: str, *, hops: int = MOST_HOPS
    ) -> tuple[Reached, ...]:
        """The tasks that a task is composed of or depends on, nearest first. Raises `NoSuchVertex`."""
        await self._check("task", website_id, generation, task_id)
        return _reached(
            await self._connection.query(
                aql.COMPOSITION,
                task=id_of(website_id, generation, Node("task", task_id)),
                hops=min(hops, MOST_HOPS),
            )
        )

    async def reached_by_action(
        self, website_id: str, generation: int, screen_id: str, action_type: str, *, hops: int = 1
    ) -> tuple[Reached, ...]:
        """The screens one can get to by this canonical action type alone. Raises `NoSuchVertex`."""
        await self._check("screen", website_id, generation, screen_id)
        return _reached(
            await self._connection.query(
                aql.REACHED_BY_ACTION,
                start=id_of(website_id, generation, Node("screen", screen_id)),
                action_type=action_type,
                hops=min(hops, MOST_HOPS),
            )
        )

    async def _check(self, kind: str, website_id: str, generation: int, *ids: str) -> None:
        keys = {key_of(website_id, generation, local_id): local_id for local_id in ids}
        found = await self._connection.query(aql.KNOWN_KEYS, c_collection=f"{kind}s", keys=sorted(keys))
        for key, local_id in keys.items():
            if key not in found:
                raise NoSuchVertex(kind, local_id, website_id, generation)


def _standing(screen_id: str) -> ServerPath:
    return ServerPath((screen_id,), (), weight=0.0, expected_ms=0.0, reliability=1.0)


def _paths(rows: Sequence[dict[str, Any]]) -> tuple[ServerPath, ...]:
    return tuple(
        ServerPath(
            screens=tuple(map(local_id_of, row["screens"])),
            transitions=tuple(map(local_id_of, row["transitions"])),
            weight=row["weight"],
            expected_ms=row["expected_ms"],
            reliability=row["reliability"],
        )
        for row in rows
    )


def _reached(rows: Sequence[dict[str, Any]]) -> tuple[Reached, ...]:
    return tuple(Reached(local_id_of(row["name"]), row["depth"]) for row in rows)
