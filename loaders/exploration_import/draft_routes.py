"""Finds how to come to screens without an address: by the controls that led there when the site was explored."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kb_schema.search_fields import is_search_field
from kb_schema.selectors import ValueStrategy
from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.observed_transitions import ROW, PlacedControl
from loaders.exploration_import.screen_controls import find_sent_name
from loaders.exploration_import.task_drafts import RouteStep, action_of
from loaders.screen_learner.url_patterns import is_open, place

LONGEST_ROUTE = 4
"""Controls that are pressed on the way to a screen."""
_RECORD_ID = re.compile(r"\bdata-(?:[\w-]+-)?id\s*=\s*['\"][^'\"]*\d")
MOST_ROUTES = 4
"""The routes to one screen, each from another screen."""

Arrival = tuple[PlacedControl, str]
"""A control, and the screen to which it led when it was tried."""
Route = tuple[RouteStep, ...]


def find_routes(
    screens: Mapping[str, str | None],
    arrivals: Iterable[Arrival],
    placed: Iterable[PlacedControl],
    states: StateOpeners,
) -> dict[str, list[Route]]:
    """Return how to come to each screen without an address from one that has one, in as few steps as possible.

    Further routes end with a control of another screen: the dialog for labels opens from issues and from epics.

    `screens`: the address of each screen. Screens to which nothing led are left out. `placed`: the controls of all screens: if
    one has a field to search in, a row of its list may be found by that. `states`: what must be pressed before, for a control that
    only a state of its screen has; one of which that is not known is passed over.
    """
    onward: dict[str, list[Route]] = defaultdict(list)
    together: dict[tuple[str, str], list[PlacedControl]] = defaultdict(list)
    for control, to_screen in arrivals:
        if states.find_steps(control) is not None:
            together[control.screen.screen_id, to_screen].append(control)
    fields: dict[str, PlacedControl] = {}
    placed = list(placed)
    for each in placed:
        if is_search(each):
            fields.setdefault(each.screen.screen_id, each)
    shown = {each.screen.screen_id: each.screen for each in placed}
    many = {name for name, screen in shown.items() if _shows_one_of_many(screen)}
    for (from_screen, to_screen), controls in together.items():
        layer = to_screen not in shown or bool(shown[to_screen].layer)
        asking = [each for each in controls if ROW in each.element.selector.required_context]
        plain = [each for each in controls if each not in asking]
        groups = [asking, plain] if layer or to_screen in many else [plain, asking]
        found = [each for each in groups if each]
        for group in (
            found if layer else found[:1]
        ):  # one dialog may be for a new thing, and for that of a row
            search = fields.get(from_screen) if group is asking else None
            group.sort(
                key=lambda each: len(states.find_steps(each) or ())
            )  # those that are always there first
            others = _list_others(group)
            if others or not is_untold(group[0]):
                before = states.find_steps(group[0]) or ()
                onward[from_screen].append((*before, RouteStep(group[0], to_screen, others, search)))
    routes: dict[str, list[Route]] = {name: [()] for name, url in screens.items() if url}
    at_once = list(routes)
    while at_once:
        ways = [(at, way) for at in at_once for way in onward[at] if len(routes[at][0]) < LONGEST_ROUTE]
        ways.sort(
            key=lambda each: (
                _asks_for_row(each[1][-1]) != (each[1][-1].screen_id in many),
                len(each[1]),
                *_rank_list(each[1][-1]),
            )
        )
        at_once = []
        for at, way in ways:
            first, step = routes[at][0], way[-1]
            if step.screen_id not in routes:
                routes[step.screen_id] = [(*first, *way)]
                at_once.append(step.screen_id)
            elif _is_another(step, first, routes[step.screen_id]):
                routes[step.screen_id].append((*first, *way))
    return routes


def choose_route(routes: Sequence[Route], screen: ExploredScreen) -> Route | None:
    """Return the route to a screen; None if there is none.

    If the screen shows one of many things, the route says which: by the row of a list, else by the name of a control. A list that
    can be searched is preferred; the first page of a site often shows a part of one.
    """
    if not routes or not _shows_one_of_many(screen):
        return routes[0] if routes else None
    rows = sorted(
        filter(is_asking_for_row, routes),
        key=lambda each: (not _asks_for_row(each[-1]), *_rank_list(each[-1])),
    )
    named = (each for each in routes if any(step.others for step in each))
    return next(iter(rows), None) or next(named, None)


def _shows_one_of_many(screen: ExploredScreen) -> bool:
    """Return whether a screen was seen with an id in its address, or at addresses that differ in one part alone."""
    places = {place(look.observed.path) for look in screen.looks}
    beside = Counter((at, parts[:at], parts[at + 1 :]) for parts in places for at in range(1, len(parts)))
    return any(map(is_open, places)) or max(beside.values(), default=0) > 1


def is_asking_for_row(route: Route) -> bool:
    """Return whether the row of a list tells which of many things a route leads to."""
    return any(map(_asks_for_row, route))


def _asks_for_row(step: RouteStep) -> bool:
    return ROW in step.control.element.selector.required_context


def _rank_list(step: RouteStep) -> tuple[bool, bool]:
    """Return the order of steps from a list: those that can be searched first, then those where the exploration did not begin."""
    return step.search is None, any(look.page.start for look, _ in step.control.control.seen)


def is_untold(each: PlacedControl) -> bool:
    """Return whether an element stands for one record alone: the first row of a list, or the one whose id its selectors name."""
    strategies = each.element.selector.strategies
    of_record = all(isinstance(s, ValueStrategy) and _RECORD_ID.search(s.value) for s in strategies)
    in_row = each.control.in_rows or each.control.offer.in_row
    return of_record or (in_row and ROW not in each.element.selector.required_context)


class StateOpeners:
    """What must be pressed before a control is there that only a state of its screen has, such as the choice of a row."""

    def __init__(self, openings: Sequence[tuple[PlacedControl, str, str]]) -> None:
        """`openings`: the controls that led to another page, with the screen and that page."""
        self._openers = {
            page: opener for opener, to_screen, page in openings if opener.screen.screen_id == to_screen
        }
        self._entries = {page for opener, to_screen, page in openings if opener.screen.screen_id != to_screen}

    def find_steps(self, each: PlacedControl) -> Route | None:
        """Return the steps, none for what its screen always has. None: nothing is known to lead there, or only something of the
        first row.
        """
        if not self._is_of_state(each):
            return ()
        opener = self._find(each)
        return None if opener is None or is_untold(opener) else (RouteStep(opener, each.screen.screen_id),)

    def shows_one_row(self, each: PlacedControl) -> bool:
        """Return whether only something of the first row leads to a control."""
        opener = self._find(each) if self._is_of_state(each) else None
        return opener is not None and is_untold(opener)

    def _find(self, each: PlacedControl) -> PlacedControl | None:
        pages = (look.page_id for look, _ in each.control.seen)
        return next((self._openers[page] for page in pages if page in self._openers), None)

    def _is_of_state(self, each: PlacedControl) -> bool:
        """Whether nothing but a control of its own screen led to a page that has it."""
        if each.screen.layer or any(look.page_id in self._entries for look, _ in each.control.seen):
            return False
        return all(look.page.layer for look, _ in each.control.seen)


def _is_another(step: RouteStep, before: Route, known: Sequence[Route]) -> bool:
    """Return whether a step ends a further route to its screen, which has no address and is not passed on the way."""
    passed = {each.screen_id for each in before}
    return len(known) < MOST_ROUTES and known[0] != () and step.screen_id not in passed


def is_search(each: PlacedControl) -> bool:
    """Return whether a field outside of rows says that it searches."""
    offer = each.control.offer
    told = is_search_field(offer.role, offer.kind, (each.control.called, find_sent_name(offer)))
    return action_of(each) == "fill" and not each.control.in_rows and not each.screen.layer and told


def _list_others(controls: Sequence[PlacedControl]) -> tuple[PlacedControl, ...]:
    """Return the others of its make that lead to the same screen, if each has a name: else the first one is enough."""
    controls = [each for each in controls if _get_make(each) == _get_make(controls[0])]
    names = [each.control.called for each in controls]
    rows = any(each.element.selector.required_context for each in controls)
    return () if rows or "" in names or len({*names}) < len(names) else tuple(controls[1:])


def _get_make(each: PlacedControl) -> tuple[str, str]:
    known = each.control.offer.fingerprint
    return each.control.offer.tag, "" if known is None else known.attributes.get("class", "")
