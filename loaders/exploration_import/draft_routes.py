"""Finds how to come to screens without an address: by the controls that led there when the site was explored."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence

from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.observed_transitions import ROW, PlacedControl
from loaders.exploration_import.screen_controls import find_sent_name
from loaders.exploration_import.task_drafts import RouteStep, action_of
from loaders.screen_learner.url_patterns import is_open, place

LONGEST_ROUTE = 4
"""Controls that are pressed on the way to a screen."""
SEARCH = "search"
MOST_ROUTES = 4
"""The routes to one screen, each from another screen."""

Arrival = tuple[PlacedControl, str]
"""A control, and the screen to which it led when it was tried."""
Route = tuple[RouteStep, ...]


def find_routes(
    screens: Mapping[str, str | None], arrivals: Iterable[Arrival], placed: Iterable[PlacedControl]
) -> dict[str, list[Route]]:
    """Return how to come to each screen without an address from one that has one, in as few steps as possible.

    Further routes end with a control of another screen: the dialog for labels opens from issues and from epics.

    `screens`: the address of each screen. Screens to which nothing led are left out. `placed`: the controls of all screens: if
    one has a field to search in, a row of its list may be found by that.
    """
    onward: dict[str, list[RouteStep]] = defaultdict(list)
    together: dict[tuple[str, str], list[PlacedControl]] = defaultdict(list)
    for control, to_screen in arrivals:
        together[control.screen.screen_id, to_screen].append(control)
    fields: dict[str, PlacedControl] = {}
    for each in placed:
        if _is_search(each):
            fields.setdefault(each.screen.screen_id, each)
    for (from_screen, to_screen), controls in together.items():
        controls.sort(key=lambda each: ROW not in each.element.selector.required_context)
        rows = ROW in controls[0].element.selector.required_context
        search = fields.get(from_screen) if rows else None
        onward[from_screen].append(RouteStep(controls[0], to_screen, _list_others(controls), search))
    routes: dict[str, list[Route]] = {name: [()] for name, url in screens.items() if url}
    waiting = deque(routes)
    while waiting:
        at = waiting.popleft()
        first = routes[at][0]
        for step in onward[at]:
            if len(first) >= LONGEST_ROUTE:
                continue
            if step.screen_id not in routes:
                routes[step.screen_id] = [(*first, step)]
                waiting.append(step.screen_id)
            elif _is_another(step, first, routes[step.screen_id]):
                routes[step.screen_id].append((*first, step))
    return routes


def choose_route(routes: Sequence[Route], screen: ExploredScreen) -> Route | None:
    """Return the route to a screen; None if there is none.

    If the screen shows one of many things, the route says which: by the row of a list, else by the name of a control. A list that
    can be searched is preferred; the first page of a site often shows a part of one.
    """
    if not routes or not any(is_open(place(look.observed.path)) for look in screen.looks):
        return routes[0] if routes else None
    rows = sorted(
        filter(is_asking_for_row, routes), key=lambda each: (not _is_searched(each), _is_of_start(each))
    )
    named = (each for each in routes if any(step.others for step in each))
    return next(iter(rows), None) or next(named, None)


def is_asking_for_row(route: Route) -> bool:
    """Return whether the row of a list tells which of many things a route leads to."""
    return any(ROW in step.control.element.selector.required_context for step in route)


def _is_searched(route: Route) -> bool:
    """Return whether the list of a row can be searched: such a list is the whole one."""
    return any(step.search is not None for step in route)


def _is_of_start(route: Route) -> bool:
    """Return whether the row that a route asks for is on a page at which the exploration began."""
    asked = (each for each in route if ROW in each.control.element.selector.required_context)
    return any(look.page.start for step in asked for look, _ in step.control.control.seen)


def _is_another(step: RouteStep, before: Route, known: Sequence[Route]) -> bool:
    """Return whether a step ends a further route to its screen, which has no address and is not passed on the way."""
    passed = {each.screen_id for each in before}
    return len(known) < MOST_ROUTES and known[0] != () and step.screen_id not in passed


def _is_search(each: PlacedControl) -> bool:
    """Return whether a field outside of rows says that it searches."""
    offer = each.control.offer
    told = offer.role == "searchbox" or SEARCH in f"{each.control.called} {find_sent_name(offer)}".casefold()
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
