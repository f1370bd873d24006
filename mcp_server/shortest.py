"""The k cheapest ways through a multigraph in which facts become known on the way.

A place is a screen together with the facts known there. Plain Dijkstra on places finds the cheapest
route; Yen's deviations, with parallel ways told apart by id, the next ones. A route comes back to a
screen only after a known fact has changed its value (signed out, then signed in): coming back
knowing no more, or only more, would be a detour.

Not here: objectives, avoidance, conditions; `Steps` says which ways are open where.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from mcp_server.errors import BadRequest
from mcp_server.graph import Way, Weight

FactSet = frozenset[tuple[str, str]]
"""Known facts: (name, value as JSON)."""
Place = tuple[str, FactSet]
Steps = Callable[[Place], Sequence[tuple[Way, Place, Weight]]]
"""The ways open at a place, each with the place it leads to and its weight; asked often."""
Weigh = Callable[[Way], Weight]
Cost = tuple[float, float, int]
"""Weight in both parts, then the number of ways: of equals, the shorter."""

MOST_PLACES = 500_000
"""Places looked at before a search is given up: facts multiply them."""


@dataclass(frozen=True, slots=True)
class Route:
    """Ways in order, with every place on them: one more than there are ways."""

    ways: tuple[Way, ...]
    places: tuple[Place, ...]
    cost: Cost

    @property
    def ids(self) -> tuple[str, ...]:
        """What tells two routes apart."""
        return tuple(way.transition_id for way in self.ways)


def routes(start: Place, goal: str, steps: Steps, weigh: Weigh) -> Iterator[Route]:
    """Every route from `start` to the screen `goal`, cheapest first; equals by transition ids."""
    first = _cheapest(start, goal, steps, banned=frozenset(), passed=())
    found: list[Route] = []
    waiting: list[tuple[Cost, tuple[str, ...], int, Route]] = []
    if first is not None:
        waiting.append((first.cost, first.ids, 0, first))
    seen = {route.ids for _, _, _, route in waiting}
    while waiting:
        _, _, deviation, route = heapq.heappop(waiting)
        found.append(route)
        yield route
        for at in range(deviation, len(route.ways)):
            other = _deviating(route, at, found, goal, steps, weigh)
            if other is not None and other.ids not in seen:
                seen.add(other.ids)
                heapq.heappush(waiting, (other.cost, other.ids, at, other))


def _deviating(
    route: Route, at: int, found: Sequence[Route], goal: str, steps: Steps, weigh: Weigh
) -> Route | None:
    """The cheapest route that keeps the first `at` ways and then leaves every route found so far."""
    root = route.ids[:at]
    banned = frozenset(each.ids[at] for each in found if each.ids[:at] == root and len(each.ids) > at)
    rest = _cheapest(route.places[at], goal, steps, banned=banned, passed=route.places[:at])
    if rest is None:
        return None
    ways = route.ways[:at] + rest.ways
    return Route(ways, route.places[:at] + rest.places, cost_of(ways, weigh))


def cost_of(ways: Sequence[Way], weigh: Weigh) -> Cost:
    """The cost of ways in order, added from the first."""
    total: Cost = (0.0, 0.0, 0)
    for way in ways:
        weight = weigh(way)
        total = (total[0] + weight[0], total[1] + weight[1], total[2] + 1)
    return total


def _cheapest(
    start: Place, goal: str, steps: Steps, *, banned: frozenset[str], passed: Sequence[Place]
) -> Route | None:
    """Dijkstra from `start`, whose `banned` ways are closed, never back to a place `passed`."""
    tie = count()
    before: dict[Place, tuple[Place, Way]] = {}
    best: dict[Place, Cost] = {start: (0.0, 0.0, 0)}
    closed: set[Place] = set()
    waiting: list[tuple[Cost, int, Place]] = [(best[start], next(tie), start)]
    been: defaultdict[str, list[Place]] = defaultdict(list)
    for earlier in (*passed, start):
        been[earlier[0]].append(earlier)
    while waiting:
        cost, _, place = heapq.heappop(waiting)
        if place in closed:
            continue
        if place[0] == goal:
            return _route(start, place, before, cost)
        closed.add(place)
        if len(closed) > MOST_PLACES:
            raise BadRequest("the search is too large", hint="give fewer facts, or a nearer target")
        for way, after, weight in steps(place):
            onward = (cost[0] + weight[0], cost[1] + weight[1], cost[2] + 1)
            known = best.get(after)
            if known is not None and known <= onward:
                continue
            if place == start and way.transition_id in banned:
                continue
            if after[0] in been and any(comes_back(earlier, after) for earlier in been[after[0]]):
                continue
            best[after] = onward
            before[after] = (place, way)
            heapq.heappush(waiting, (onward, next(tie), after))
    return None


def comes_back(earlier: Place, later: Place) -> bool:
    """Whether it is the same screen and no known fact has changed its value."""
    if earlier[0] != later[0]:
        return False
    then = dict(earlier[1])
    return all(then.get(fact, value) == value for fact, value in later[1])


def _route(start: Place, end: Place, before: dict[Place, tuple[Place, Way]], cost: Cost) -> Route:
    ways: list[Way] = []
    places = [end]
    while places[-1] != start:
        place, way = before[places[-1]]
        ways.append(way)
        places.append(place)
    return Route(tuple(reversed(ways)), tuple(reversed(places)), cost)
