"""The best ways from a screen to another, as executable transitions (DESIGN 5)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from pydantic import Field

from kb_schema import vocabulary
from kb_schema.answers import Objective, Path, Paths, PathStep
from kb_schema.base import Model
from mcp_server.compiled import View
from mcp_server.details import working
from mcp_server.errors import UnknownName
from mcp_server.foresight import Known, sort_out
from mcp_server.graph import Way, Weight
from mcp_server.shortest import FactSet, Place, Route, routes

MOST_PATHS = 20
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
    there is one path: no step. Raises `UnknownName` for a screen, transition or action to avoid
    that the knowledge does not have. The caller has made sure that both screens exist.
    """
    search = _Search(view, objective, _checked(view, avoid))
    given = facts or {}
    found = tuple(islice(search.paths(from_screen, to_screen, given), k))
    return Paths(
        website_id=view.website_id,
        from_screen=from_screen,
        to_screen=to_screen,
        objective=objective,
        paths=found,
        hint=None if found else _no_way(view, from_screen, to_screen, objective, avoid, given),
    )


class _Search:
    """One query: which ways are open where, remembered while it runs."""

    def __init__(self, view: View, objective: Objective, avoid: Avoid) -> None:
        self._view = view
        self._objective = objective
        self._avoid = avoid
        self._verdicts: dict[tuple[str, FactSet], tuple[bool, tuple[str, ...]]] = {}
        self._open: dict[Place, tuple[tuple[Way, Place, Weight], ...]] = {}

    def paths(self, from_screen: str, to_screen: str, facts: Known) -> Iterator[Path]:
        """Best first."""
        start: Place = (from_screen, _fact_set(facts))
        if from_screen == to_screen:
            yield Path(steps=(), expected_ms=0.0, reliability=1.0)
            return
        for route in routes(start, to_screen, self._steps, lambda way: way.weights[self._objective]):
            yield self._told(route)

    def _steps(self, place: Place) -> tuple[tuple[Way, Place, Weight], ...]:
        found = self._open.get(place)
        if found is None:
            found = self._open[place] = tuple(self._opened(place))
        return found

    def _opened(self, place: Place) -> Iterator[tuple[Way, Place, Weight]]:
        screen, known = place
        for way in self._view.ways.get(screen, ()):
            if not self._avoided(way) and self._verdict(way, known)[0]:
                after = known if not way.sets else _fact_set_after(known, way)
                yield way, (way.target, after), way.weights[self._objective]

    def _avoided(self, way: Way) -> bool:
        return (
            way.target in self._avoid.screens
            or way.transition_id in self._avoid.transitions
            or way.action_type in self._avoid.actions
            or any(effect.type in self._avoid.effects for effect in way.transition.effects)
        )

    def _verdict(self, way: Way, known: FactSet) -> tuple[bool, tuple[str, ...]]:
        """Whether no required condition is known not to hold, and those that are unknown."""
        if not way.required:
            return True, ()
        key = (way.transition_id, known)
        if key not in self._verdicts:
            facts = {fact: json.loads(value) for fact, value in known}
            self._verdicts[key] = sort_out(way.required, facts, way.source)
        return self._verdicts[key]

    def _told(self, route: Route) -> Path:
        assumed = {
            words: None
            for way, (_, known) in zip(route.ways, route.places, strict=False)
            for words in self._verdict(way, known)[1]
        }
        return Path(
            steps=tuple(map(_step, route.ways)),
            expected_ms=sum(way.expected_ms for way in route.ways),
            reliability=math.prod(way.reliability for way in route.ways),
            assumptions=tuple(assumed),
        )


def _step(way: Way) -> PathStep:
    return PathStep(
        transition_id=way.transition_id,
        from_screen=way.source,
        to_screen=way.target,
        expected_ms=way.expected_ms,
        reliability=way.reliability,
        transition=working(way.transition),
    )


def _checked(view: View, avoid: Avoid) -> Avoid:
    for screen in avoid.screens:
        if screen not in view.knowledge.screens:
            raise UnknownName("screen", screen, view.knowledge.screens, hint="named in `avoid.screens`")
    for transition in avoid.transitions:
        if transition not in view.transition_ids:
            raise UnknownName(
                "transition", transition, view.transition_ids, hint="named in `avoid.transitions`"
            )
    known = {*vocabulary.known_names(), *view.knowledge.actions}
    for action in avoid.actions:
        if action not in known:
            raise UnknownName("action", action, known, hint="named in `avoid.actions`")
    actions = tuple(vocabulary.canonical(action) or action for action in avoid.actions)
    return avoid.model_copy(update={"actions": actions})


def _fact_set(facts: Known) -> FactSet:
    return frozenset((name, json.dumps(value, sort_keys=True)) for name, value in facts.items())


def _fact_set_after(known: FactSet, way: Way) -> FactSet:
    return frozenset({**dict(known), **dict(way.sets)}.items())


def _no_way(
    view: View, from_screen: str, to_screen: str, objective: Objective, avoid: Avoid, facts: Known
) -> str:
    """What stands in the way, and what to call next."""
    for freed, why in ((facts, "without what is to be avoided"), ({}, "if the facts given were not so")):
        if (avoid == NOTHING and freed is facts) or (not facts and not freed and freed is not facts):
            continue
        if next(_Search(view, objective, NOTHING).paths(from_screen, to_screen, freed), None) is not None:
            return f"there is a way only {why}; change that and call find_path again"
    if view.knowledge.screens[to_screen].url is not None:
        return f"no known way; {to_screen!r} can be opened directly, see `url` in get_screen"
    return "no known way; call find_global_recovery_paths for a screen to start from"
