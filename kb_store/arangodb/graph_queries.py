"""Queries that the server answers itself, for graphs too large to compile: paths, recovery, reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kb_schema.objectives import Objective
from kb_store.arangodb import aql
from kb_store.arangodb.connection import ArangoConnection
from kb_store.arangodb.document_keys import id_of, key_of, local_id_of, sort_key
from kb_store.graph_queries import (
    MOST_HOPS,
    MOST_PATHS,
    NO_EXCLUSIONS,
    NoSuchVertex,
    ReachableVertex,
    ServerPath,
    ServerPathExclusions,
    ServerRecoveryEdge,
)
from kb_store.knowledge_records import EdgeEnd

PATH_QUERIES: Mapping[Objective, str] = {
    "fewest": aql.FEWEST_PATHS,
    "fastest": aql.FASTEST_PATHS,
    "reliable": aql.RELIABLE_PATHS,
    "balanced": aql.BALANCED_PATHS,
}
FILTERED_PATH_QUERIES: Mapping[Objective, str] = {
    "fewest": aql.FEWEST_FILTERED_PATHS,
    "fastest": aql.FASTEST_FILTERED_PATHS,
    "reliable": aql.RELIABLE_FILTERED_PATHS,
    "balanced": aql.BALANCED_FILTERED_PATHS,
}
REACH_QUERIES: Mapping[tuple[bool, bool], str] = {
    (False, False): aql.REACHED,
    (False, True): aql.REACHED_BY_ACTION,
    (True, False): aql.REACHING,
    (True, True): aql.REACHING_BY_ACTION,
}
"""Inbound, by one action type -> the text."""


class ArangoQueries:
    """`GraphQueries` on an ArangoDB."""

    def __init__(self, connection: ArangoConnection) -> None:
        self._connection = connection

    @property
    def address(self) -> str:
        """The host and the database."""
        return self._connection.address

    async def shortest_paths(
        self, website_id: str, generation: int, start: str, goal: str, objective: Objective, k: int = 1
    ) -> tuple[ServerPath, ...]:
        """Return up to `k` loopless paths over the whole graph, best first. Raises `NoSuchVertex`."""
        await self._check("screen", website_id, generation, start, goal)
        if start == goal:
            return (_path_without_transitions(start),)
        return _paths(
            await self._connection.query(
                PATH_QUERIES[objective],
                start=id_of(website_id, generation, EdgeEnd("screen", start)),
                goal=id_of(website_id, generation, EdgeEnd("screen", goal)),
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
        avoid: ServerPathExclusions = NO_EXCLUSIONS,
    ) -> tuple[ServerPath, ...]:
        """Return up to `k` loopless paths of at most `hops` steps with exclusions, best first."""
        await self._check("screen", website_id, generation, start, goal)
        if start == goal:
            return (_path_without_transitions(start),)
        return _paths(
            await self._connection.query(
                FILTERED_PATH_QUERIES[objective],
                start=id_of(website_id, generation, EdgeEnd("screen", start)),
                goal=id_of(website_id, generation, EdgeEnd("screen", goal)),
                hops=min(hops, MOST_HOPS),
                k=min(k, MOST_PATHS),
                avoid_screens=[id_of(website_id, generation, EdgeEnd("screen", s)) for s in avoid.screens],
                avoid_transitions=[sort_key(transition) for transition in avoid.transitions],
                avoid_actions=list(avoid.actions),
            )
        )

    async def recovery_paths(
        self, website_id: str, generation: int, screen_id: str, *, most: int = MOST_PATHS
    ) -> tuple[ServerRecoveryEdge, ...]:
        """Return the recovery edges of all groups of a screen, by priority, reliability, cost.

        Raises `NoSuchVertex`.
        """
        await self._check("screen", website_id, generation, screen_id)
        rows = await self._connection.query(
            aql.RECOVERY_PATHS,
            screen=id_of(website_id, generation, EdgeEnd("screen", screen_id)),
            most=most,
            c_recoveries="global_recovery",
        )
        return tuple(
            ServerRecoveryEdge(
                group_id=local_id_of(row["group"]),
                recovery_id=local_id_of(row["recovery"]),
                to_screen=row["to_screen"],
                priority=row["priority"],
                reliability=row["reliability"],
                expected_ms=row["expected_ms"],
            )
            for row in rows
        )

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
        """Return the screens that lead to a screen (`inbound`) or that it leads to. Raises `NoSuchVertex`."""
        await self._check("screen", website_id, generation, screen_id)
        by_action = {} if action_type is None else {"action_type": action_type}
        rows = await self._connection.query(
            REACH_QUERIES[inbound, action_type is not None],
            start=id_of(website_id, generation, EdgeEnd("screen", screen_id)),
            hops=min(hops, MOST_HOPS),
            **by_action,
        )
        return tuple(ReachableVertex(local_id_of(row["name"]), row["depth"]) for row in rows)

    async def _check(self, kind: str, website_id: str, generation: int, *ids: str) -> None:
        keys = {key_of(website_id, generation, local_id): local_id for local_id in ids}
        found = await self._connection.query(aql.KNOWN_KEYS, c_collection=f"{kind}s", keys=sorted(keys))
        for key, local_id in keys.items():
            if key not in found:
                raise NoSuchVertex(kind, local_id, website_id, generation)


def _path_without_transitions(screen_id: str) -> ServerPath:
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
