"""The best paths from one screen to another, as executable transitions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated

from pydantic import Field

from kb_schema import action_types
from kb_schema.base import Model
from kb_schema.effects import EFFECT_TYPES
from kb_schema.objectives import Objective
from kb_schema.probes import VerdictStatus
from kb_schema.tool_answers import Path, PathSearchResult
from mcp_server.cancellation import iterate_until_cancelled
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths import path_explanations
from mcp_server.paths.bidirectional_search import search_from_both_ends
from mcp_server.paths.k_shortest_paths import iterate_routes
from mcp_server.paths.open_transitions import OpenTransitions, ResolvedExclusions
from mcp_server.paths.required_values import add_required_values
from mcp_server.transition_graph.fact_conditions import KnownFacts, count_helping, judge_on_facts
from mcp_server.transition_graph.next_hop_tables import read_path

MOST_PATHS = 20
FURTHER = 4
"""How much further one looks back from the goal where several searches are guided by what was seen, and how many more
paths are compared where optional conditions may decide between equals."""
Names = Annotated[tuple[str, ...], Field(max_length=1_000)]


class PathExclusions(Model):
    """What a path may not use."""

    screens: Names = ()
    transitions: Names = ()
    actions: Names = ()
    """Action types, by any of their names, or ids of action documents."""
    effects: Names = ()
    """Types of effects, e.g. `creates_entity`: a transition that only leads somewhere has none."""


NO_EXCLUSIONS = PathExclusions()
_NOTHING_EXCLUDED = ResolvedExclusions()
PathWithFacts = tuple[Sequence[int], Sequence[int]]
"""The transitions of a path in order, by number, each with the facts known before it."""


def find_paths(
    view: KnowledgeView,
    from_screen: str,
    to_screen: str,
    *,
    objective: Objective = "balanced",
    k: int = 1,
    avoid: PathExclusions = NO_EXCLUSIONS,
    facts: KnownFacts | None = None,
) -> PathSearchResult:
    """Up to `k` paths, best first; parallel transitions make paths of their own.

    A transition whose required condition is known not to hold is not used; one whose condition is
    unknown is, and the condition is listed under the path's assumptions. From a screen to itself
    there is one path: no step. Of paths equally good the one with fewer steps comes first, then the
    one whose transitions come first by id; among paths of one cost, first those whose optional conditions are known
    to hold. Raises `UnknownName` for a screen, transition or action
    to avoid, or type of effect, that there is not. The caller has made sure that both screens exist.
    """
    terrain = OpenTransitions(view.network, objective, resolve_exclusions(view, avoid), facts or {})
    more = FURTHER if _may_help(terrain) else 0
    found = [*islice(_iterate_paths(terrain, from_screen, to_screen, k + more), k + more)]
    if more:
        found.sort(key=lambda path: _rank_by_help(terrain, path))
        found = found[:k]
    if not found:
        return path_explanations.explain_missing_path(view, terrain, from_screen, to_screen)
    return build_answer(view, terrain, from_screen, to_screen, found)


def _may_help(terrain: OpenTransitions) -> bool:
    """Whether a fact decides an optional condition of some transition."""
    return bool(terrain.facts) and any(
        judge_on_facts(each, terrain.facts, terrain.network.ways[way].source).status
        is not VerdictStatus.UNKNOWN
        for way in terrain.network.helped
        for each in terrain.network.ways[way].transition.conditions.optional
    )


def _rank_by_help(terrain: OpenTransitions, path: PathWithFacts) -> tuple[float, int]:
    """Sort key: what the objective minimises, then how many optional conditions are known to hold (KS 4.4)."""
    taken = [terrain.network.ways[way] for way in path[0]]
    cost = sum(way.weights[terrain.objective][0] for way in taken)
    helped = sum(
        count_helping(way.transition.conditions.optional, terrain.facts, way.source) for way in taken
    )
    return round(cost, 6), -helped


def build_answer(
    view: KnowledgeView,
    terrain: OpenTransitions,
    from_screen: str,
    to_screen: str,
    found: Sequence[PathWithFacts],
) -> PathSearchResult:
    """What was found, best first, at least one path."""
    paths = [_to_path(view, terrain, ways, known) for ways, known in found]
    return PathSearchResult(
        website_id=view.website_id,
        from_screen=from_screen,
        to_screen=to_screen,
        objective=terrain.objective,
        paths=path_explanations.compare_paths(terrain, paths, [ways for ways, _ in found]),
    )


def find_best_path(terrain: OpenTransitions, start: int, goal: int) -> tuple[int, ...] | None:
    """The best transitions were every one open: read off a table where there is one, else searched."""
    network = terrain.network
    arcs = network.arcs(terrain.objective)
    row = network.tables.row(terrain.objective, goal, arcs.into)
    if row is not None:
        return read_path(row, start, goal, network.heads)
    meeting = search_from_both_ends(arcs, start, goal)
    return None if meeting is None else meeting.ways()


def _iterate_paths(
    terrain: OpenTransitions, from_screen: str, to_screen: str, k: int
) -> Iterator[PathWithFacts]:
    """Paths, best first.

    The best path were every transition open is the best of all where it is open throughout: facts and
    things to avoid only close transitions. Only where it is not, or more paths are wanted, states are searched.
    """
    if from_screen == to_screen:
        yield (), ()
        return
    numbers = terrain.network.numbers
    start, goal = numbers.get(from_screen), numbers.get(to_screen)
    if start is None or goal is None:  # no transition leaves it, none arrives
        return
    if k == 1:
        best = find_best_path(terrain, start, goal)
        if best is None:
            return
        if (known := terrain.known_along(best)) is not None:
            yield best, known
            return
    meeting = search_from_both_ends(terrain.network.arcs(terrain.objective), start, goal, terrain.closed)
    if meeting is None:
        return
    if k == 1:
        best = meeting.ways()
        if (known := terrain.known_along(best)) is not None:
            yield best, known
            return
    terrain.remaining, terrain.at_least = meeting.remaining(FURTHER if k > 1 else 0)
    for route in iterate_until_cancelled(iterate_routes((start, 0), goal, terrain)):
        yield route.ways, [known for _, known in route.places]


def _to_path(
    view: KnowledgeView, terrain: OpenTransitions, ways: Sequence[int], known: Sequence[int]
) -> Path:
    taken = [terrain.network.ways[way] for way in ways]
    assumed: dict[str, None] = {}
    for at, way in enumerate(taken):
        if way.required:
            assumed |= dict.fromkeys(terrain.verdict(ways[at], known[at])[1])
    return Path(
        steps=add_required_values([way.step for way in taken], view.elements, terrain.facts),
        expected_ms=sum([way.expected_ms for way in taken]),
        reliability=math.prod([way.reliability for way in taken]),
        assumptions=tuple(assumed),
    )


def resolve_exclusions(view: KnowledgeView, avoid: PathExclusions) -> ResolvedExclusions:
    """Validate the exclusions: a typing mistake must not open a transition."""
    if avoid is NO_EXCLUSIONS:
        return _NOTHING_EXCLUDED
    for screen in avoid.screens:
        if screen not in view.knowledge.screens:
            raise UnknownName("screen", screen, view.knowledge.screens, hint="named in `avoid.screens`")
    for transition in avoid.transitions:
        if transition not in view.transition_ids:
            raise UnknownName(
                "transition", transition, view.transition_ids, hint="named in `avoid.transitions`"
            )
    for action in avoid.actions:
        if action not in (known := {*action_types.known_names(), *view.knowledge.actions}):
            raise UnknownName("action", action, known, hint="named in `avoid.actions`")
    for effect in avoid.effects:
        if effect not in EFFECT_TYPES:
            raise UnknownName("effect", effect, EFFECT_TYPES, hint="named in `avoid.effects`")
    return ResolvedExclusions(
        screens=frozenset(avoid.screens),
        transitions=frozenset(avoid.transitions),
        actions=frozenset(action_types.canonical(action) or action for action in avoid.actions),
        effects=frozenset(avoid.effects),
    )
