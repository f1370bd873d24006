"""The k cheapest paths through a multigraph in which facts become known on the way.

A state is a screen together with the facts known there. Yen's algorithm, with parallel transitions kept apart, gives
one path after the other. Each is found by an A* search. A path returns to a screen only after a known fact has changed
its value (signed out, then signed in). A return with the same facts, or only more of them, would be a detour.

Not here: objectives, exclusions, conditions. A `SearchSpace` says which transitions are open where.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from mcp_server.errors import BadRequest

SearchState = tuple[int, int]
"""A screen, and what is known there: two numbers."""
SearchEdge = tuple[int, SearchState, int]
"""Cost, where it leads, the transition."""

MOST_STATES = 500_000
"""Places looked at before a search is given up: facts multiply them."""
REACHABILITY_CHECK_AFTER = 256
"""Places looked at before a search asks whether the goal can be reached at all."""


class SearchSpace(Protocol):
    """What a search explores. Called often, so implementations cache their answers."""

    remaining: Mapping[int, int]
    """By screen, where that is known: what remains to the goal at least, never more than a step from
    there and what remains then."""
    at_least: int
    """What remains from all other screens."""

    def steps(self, place: SearchState) -> Sequence[SearchEdge]:
        """The transitions open at a state; none is free of cost."""
        ...

    def comes_back(self, earlier: SearchState, later: SearchState) -> bool:
        """Whether, on the same screen, no fact known earlier has another value later."""
        ...

    def cut_off(self, start: int, goal: int, passed: Sequence[int], banned: frozenset[int]) -> bool:
        """Whether it is certain that the goal cannot be reached once the start's `banned` transitions are closed
        and nothing leads back to the screens `passed`; False where that is not known.
        """
        ...


@dataclass(frozen=True, slots=True)
class SearchRoute:
    """Transitions in order, with every place on them: one more than there are transitions."""

    ways: tuple[int, ...]
    places: tuple[SearchState, ...]
    costs: tuple[int, ...]
    """From the start to each state."""


@dataclass(frozen=True, slots=True)
class _SpurBranch:
    """All routes that begin with the first `at` transitions of a route and go on by none of `banned`."""

    route: SearchRoute
    at: int
    banned: frozenset[int]


def iterate_routes(start: SearchState, goal: int, terrain: SearchSpace) -> Iterator[SearchRoute]:
    """Every route from `start` to the screen `goal`, cheapest first; equals in the order of their transitions.

    A branch waits under the least its routes may cost, and is searched only when that is next.
    """
    tie = count()
    waiting: list[tuple[int, bool, tuple[int, ...], int, _SpurBranch]] = []

    def put(branch: _SpurBranch) -> None:
        least = _lower_bound(branch, terrain)
        if least is not None:
            heapq.heappush(waiting, (least, False, (), next(tie), branch))

    put(_SpurBranch(SearchRoute((), (start,), (0,)), 0, frozenset()))
    while waiting:
        _, searched, _, _, branch = heapq.heappop(waiting)
        if not searched:
            found = _best_route(branch, goal, terrain)
            if found is not None:
                kept = _SpurBranch(found, branch.at, branch.banned)
                heapq.heappush(waiting, (found.costs[-1], True, found.ways, next(tie), kept))
            continue
        route = branch.route
        yield route
        for at in range(branch.at, len(route.ways)):
            before = branch.banned if at == branch.at else frozenset()
            put(_SpurBranch(route, at, before | {route.ways[at]}))


def _lower_bound(branch: _SpurBranch, terrain: SearchSpace) -> int | None:
    """At most what the best of a branch costs; None: it is empty."""
    here, so_far = branch.route.places[branch.at], branch.route.costs[branch.at]
    left, at_least = terrain.remaining.get, terrain.at_least
    costs = [
        cost + left(after[0], at_least)
        for cost, after, way in terrain.steps(here)
        if way not in branch.banned
    ]
    return so_far + min(costs) if costs else None


def _best_route(branch: _SpurBranch, goal: int, terrain: SearchSpace) -> SearchRoute | None:
    route, at = branch.route, branch.at
    rest = _cheapest(route.places[at], goal, terrain, branch.banned, route.places[:at])
    if rest is None:
        return None
    return SearchRoute(
        route.ways[:at] + rest.ways,
        route.places[:at] + rest.places,
        route.costs[:at] + tuple(route.costs[at] + cost for cost in rest.costs),
    )


def _cheapest(
    start: SearchState, goal: int, terrain: SearchSpace, banned: frozenset[int], passed: Sequence[SearchState]
) -> SearchRoute | None:
    """The best route from `start`, whose `banned` transitions are closed, never back to a state `passed`."""
    costs: dict[SearchState, int] = {start: 0}
    before: dict[SearchState, list[tuple[int, SearchState]]] = {}
    closed: set[SearchState] = set()
    ends: list[SearchState] = []
    left, at_least = terrain.remaining.get, terrain.at_least
    waiting = [(left(start[0], at_least), start)]
    been: defaultdict[int, list[SearchState]] = defaultdict(list)
    for earlier in (*passed, start):
        been[earlier[0]].append(earlier)
    while waiting:
        estimate, place = heapq.heappop(waiting)
        if ends and estimate > costs[ends[0]]:
            break
        if place in closed:
            continue
        closed.add(place)
        if place[0] == goal:
            ends.append(place)
            continue
        _check_size(len(closed))
        if len(closed) == REACHABILITY_CHECK_AFTER and terrain.cut_off(
            start[0], goal, [each[0] for each in passed], banned
        ):
            return None
        so_far = costs[place]
        for cost, after, way in terrain.steps(place):
            onward = so_far + cost
            known = costs.get(after)
            if (
                (known is not None and known < onward)
                or (place == start and way in banned)
                or (after[0] in been and any(terrain.comes_back(each, after) for each in been[after[0]]))
            ):
                continue
            if known == onward:
                before[after].append((way, place))
                continue
            costs[after] = onward
            before[after] = [(way, place)]
            heapq.heappush(waiting, (onward + left(after[0], at_least), after))
    return _first_by_ways(start, ends, before, costs) if ends else None


def _check_size(places: int) -> None:
    if places > MOST_STATES:
        raise BadRequest("the search is too large", hint="give fewer facts, or a nearer target")


def _first_by_ways(
    start: SearchState,
    ends: Sequence[SearchState],
    before: dict[SearchState, list[tuple[int, SearchState]]],
    costs: dict[SearchState, int],
) -> SearchRoute:
    """Of the best routes, all of which `before` has backwards, the one whose transitions come first."""
    onward: dict[SearchState, list[tuple[int, SearchState]]] = {}
    waiting = list(ends)
    while waiting:
        place = waiting.pop()
        for way, earlier in before.get(place, ()):
            if earlier not in onward:
                onward[earlier] = []
                waiting.append(earlier)
            onward[earlier].append((way, place))
    ways: list[int] = []
    places = [start]
    while places[-1] in onward:
        way, place = min(onward[places[-1]])
        ways.append(way)
        places.append(place)
    return SearchRoute(tuple(ways), tuple(places), tuple(costs[place] for place in places))
