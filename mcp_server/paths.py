"""The best ways from a screen to another, as executable transitions (DESIGN 5)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated

from pydantic import Field

from kb_schema import vocabulary
from kb_schema.answers import Objective, Path, Paths
from kb_schema.base import Model
from kb_schema.effects import EFFECT_TYPES
from mcp_server import reasons
from mcp_server.compiled import View
from mcp_server.errors import UnknownName
from mcp_server.foresight import Known
from mcp_server.meeting import meet
from mcp_server.patience import while_wanted
from mcp_server.shortest import routes
from mcp_server.tables import read_off
from mcp_server.terrain import OpenWays, Shut

MOST_PATHS = 20
FURTHER = 4
"""How much further one looks back from the goal where several searches are guided by what was seen."""
Names = Annotated[tuple[str, ...], Field(max_length=1_000)]


class Avoid(Model):
    """What a path may not use."""

    screens: Names = ()
    transitions: Names = ()
    actions: Names = ()
    """Action types, by any of their names, or ids of action documents."""
    effects: Names = ()
    """Types of effects, e.g. `creates_entity`: a way that only leads somewhere has none."""


NOTHING = Avoid()
_OPEN = Shut()
Taken = tuple[Sequence[int], Sequence[int]]
"""The ways of a path in order, by number, each with the facts known before it."""


def find_paths(
    view: View,
    from_screen: str,
    to_screen: str,
    *,
    objective: Objective = "balanced",
    k: int = 1,
    avoid: Avoid = NOTHING,
    facts: Known | None = None,
) -> Paths:
    """Up to `k` paths, best first; parallel transitions make paths of their own.

    A transition whose required condition is known not to hold is not used; one whose condition is
    unknown is, and the condition is listed under the path's assumptions. From a screen to itself
    there is one path: no step. Of paths equally good the one with fewer steps comes first, then the
    one whose transitions come first by id. Raises `UnknownName` for a screen, transition or action
    to avoid, or type of effect, that there is not. The caller has made sure that both screens exist.
    """
    terrain = OpenWays(view.network, objective, shut_by(view, avoid), facts or {})
    found = [*islice(_ways(terrain, from_screen, to_screen, k), k)]
    if not found:
        return reasons.no_way(view, terrain, from_screen, to_screen)
    return answered(view, terrain, from_screen, to_screen, found)


def answered(
    view: View, terrain: OpenWays, from_screen: str, to_screen: str, found: Sequence[Taken]
) -> Paths:
    """What was found, best first, at least one path."""
    paths = [_told(terrain, ways, known) for ways, known in found]
    return Paths(
        website_id=view.website_id,
        from_screen=from_screen,
        to_screen=to_screen,
        objective=terrain.objective,
        paths=reasons.compared(terrain, paths, [ways for ways, _ in found]),
    )


def best_ways(terrain: OpenWays, start: int, goal: int) -> tuple[int, ...] | None:
    """The best ways were every one open: read off a table where there is one, else searched."""
    network = terrain.network
    arcs = network.arcs(terrain.objective)
    row = network.tables.row(terrain.objective, goal, arcs.into)
    if row is not None:
        return read_off(row, start, goal, network.heads)
    meeting = meet(arcs, start, goal)
    return None if meeting is None else meeting.ways()


def _ways(terrain: OpenWays, from_screen: str, to_screen: str, k: int) -> Iterator[Taken]:
    """Paths, best first.

    The best path were every way open is the best of all where it is open throughout: facts and
    things to avoid only close ways. Only where it is not, or more paths are wanted, places are searched.
    """
    if from_screen == to_screen:
        yield (), ()
        return
    numbers = terrain.network.numbers
    start, goal = numbers.get(from_screen), numbers.get(to_screen)
    if start is None or goal is None:  # no way leaves it, none arrives
        return
    if k == 1:
        best = best_ways(terrain, start, goal)
        if best is None:
            return
        if (known := terrain.known_along(best)) is not None:
            yield best, known
            return
    meeting = meet(terrain.network.arcs(terrain.objective), start, goal, terrain.closed)
    if meeting is None:
        return
    if k == 1:
        best = meeting.ways()
        if (known := terrain.known_along(best)) is not None:
            yield best, known
            return
    terrain.remaining, terrain.at_least = meeting.remaining(FURTHER if k > 1 else 0)
    for route in while_wanted(routes((start, 0), goal, terrain)):
        yield route.ways, [known for _, known in route.places]


def _told(terrain: OpenWays, ways: Sequence[int], known: Sequence[int]) -> Path:
    taken = [terrain.network.ways[way] for way in ways]
    assumed: dict[str, None] = {}
    for at, way in enumerate(taken):
        if way.required:
            assumed |= dict.fromkeys(terrain.verdict(ways[at], known[at])[1])
    return Path(
        steps=tuple([way.step for way in taken]),
        expected_ms=sum([way.expected_ms for way in taken]),
        reliability=math.prod([way.reliability for way in taken]),
        assumptions=tuple(assumed),
    )


def shut_by(view: View, avoid: Avoid) -> Shut:
    """What to avoid, checked: a slip of the pen must not open a way."""
    if avoid is NOTHING:
        return _OPEN
    for screen in avoid.screens:
        if screen not in view.knowledge.screens:
            raise UnknownName("screen", screen, view.knowledge.screens, hint="named in `avoid.screens`")
    for transition in avoid.transitions:
        if transition not in view.transition_ids:
            raise UnknownName(
                "transition", transition, view.transition_ids, hint="named in `avoid.transitions`"
            )
    for action in avoid.actions:
        if action not in (known := {*vocabulary.known_names(), *view.knowledge.actions}):
            raise UnknownName("action", action, known, hint="named in `avoid.actions`")
    for effect in avoid.effects:
        if effect not in EFFECT_TYPES:
            raise UnknownName("effect", effect, EFFECT_TYPES, hint="named in `avoid.effects`")
    return Shut(
        screens=frozenset(avoid.screens),
        transitions=frozenset(avoid.transitions),
        actions=frozenset(vocabulary.canonical(action) or action for action in avoid.actions),
        effects=frozenset(avoid.effects),
    )
