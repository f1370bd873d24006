"""Drafts tasks of what has no form: dialogs and pages with fields, menus to choose from, switches, buttons of rows.

A draft begins at a screen with an address and presses the controls that led on from there when the site was explored.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kb_schema.explorations import Danger
from kb_schema.tasks import Task
from loaders.exploration_import.observed_transitions import PlacedControl
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.screen_controls import ScreenControl
from loaders.exploration_import.task_drafts import SIGN_IN, DraftForm, RouteStep, TaskDraft, action_of

LONGEST_ROUTE = 4
"""Controls that are pressed on the way to a screen."""
MOST_OF_SCREEN = 30
"""Drafts of buttons and switches of one screen."""
MOST_CHOICES = 40
_CHANGING: frozenset[Danger] = frozenset(["submits", "deletes", "sends", "pays", "unknown_method"])
"""Why a control was not tried that would change something."""
_SENDING: frozenset[Danger] = frozenset(["submits", "sends", "pays", "unknown_method"])
_ENTERING = frozenset({"fill", "select_option", "check", "upload_file"})
_OTHER_BUTTON = re.compile(
    r"\b(preview|cancel|reset|clear|delete|remove|back|close|discard)\b", re.IGNORECASE
)

Arrival = tuple[PlacedControl, str]
"""A control, and the screen to which it led when it was tried."""


def find_routes(
    screens: Mapping[str, str | None], arrivals: Iterable[Arrival]
) -> dict[str, tuple[RouteStep, ...]]:
    """Return how to come to each screen without an address from one that has one, in as few steps as possible.

    `screens`: the address of each screen. Screens to which nothing led are left out.
    """
    onward: dict[str, list[RouteStep]] = defaultdict(list)
    together: dict[tuple[str, str], list[PlacedControl]] = defaultdict(list)
    for control, to_screen in arrivals:
        together[control.screen.screen_id, to_screen].append(control)
    for (from_screen, to_screen), controls in together.items():
        onward[from_screen].append(RouteStep(controls[0], to_screen, _list_others(controls)))
    routes: dict[str, tuple[RouteStep, ...]] = {name: () for name, url in screens.items() if url}
    waiting = deque(routes)
    while waiting:
        at = waiting.popleft()
        for step in onward[at]:
            if step.screen_id not in routes and len(routes[at]) < LONGEST_ROUTE:
                routes[step.screen_id] = (*routes[at], step)
                waiting.append(step.screen_id)
    return routes


def _list_others(controls: Sequence[PlacedControl]) -> tuple[PlacedControl, ...]:
    """Return the others of its make that lead to the same screen, if each has a name: else the first one is enough."""
    controls = [each for each in controls if _get_make(each) == _get_make(controls[0])]
    names = [each.control.called for each in controls]
    rows = any(each.element.selector.required_context for each in controls)
    return () if rows or "" in names or len({*names}) < len(names) else tuple(controls[1:])


def _get_make(each: PlacedControl) -> tuple[str, str]:
    known = each.control.offer.fingerprint
    return each.control.offer.tag, "" if known is None else known.attributes.get("class", "")


def draft_control_tasks(
    placed: Sequence[PlacedControl],
    arrivals: Sequence[Arrival],
    known: Sequence[Task],
    beside: Callable[[ScreenControl], str],
) -> list[Task]:
    """Return the tasks of what has no form.

    `placed`: the controls of all screens with their elements. `known`: the tasks that were drafted from forms. `beside`:
    returns the words beside a control, by which its row is called.
    """
    screens = {each.screen.screen_id: each.screen for each in placed}
    routes = find_routes({name: each.url for name, each in screens.items()}, arrivals)
    leading = {(each.screen.screen_id, each.element.element_id) for each, _ in arrivals}
    signs_in = any(task.task_id == SIGN_IN for task in known)
    taken = {task.task_id for task in known}
    drafted: set[tuple[str, ...]] = set()
    tasks = []
    for form, name in _Offered(placed, routes, leading, beside).list_all():
        opener = _find_asking(form.route)
        asked_by = () if opener is None else (opener.element.element_id, form.button.screen.screen_id)
        key = (name, form.button.element.element_id, *asked_by)
        if key in drafted:
            continue  # the same control of another state of the page
        drafted.add(key)
        task_id = make_unique_id(to_id_words(name) or "press", taken)
        taken.add(task_id)
        tasks.append(TaskDraft(form, task_id, name, SIGN_IN if signs_in and form.signed_in else None).task())
    return tasks


class _Offered:
    """What can be done on the screens that can be reached."""

    def __init__(
        self,
        placed: Sequence[PlacedControl],
        routes: Mapping[str, tuple[RouteStep, ...]],
        leading: Collection[tuple[str, str]],
        beside: Callable[[ScreenControl], str],
    ) -> None:
        self._routes, self._beside = routes, beside
        self._by_screen: dict[str, list[PlacedControl]] = defaultdict(list)
        for each in placed:
            screen_id = each.screen.screen_id
            free = each.control.offer.form is None and each.control.offer.href is None
            if free and screen_id in routes and (screen_id, each.element.element_id) not in leading:
                self._by_screen[screen_id].append(each)

    def list_all(self) -> Iterator[tuple[DraftForm, str]]:
        """Yield each with its name, those on screens with an address first."""
        for screen_id in sorted(self._by_screen, key=lambda each: len(self._routes[each])):
            own, route = self._by_screen[screen_id], self._routes[screen_id]
            found = [*_list_dialogs(own, route), *self._list_menus(own, route)]
            used = {id(each) for form, _ in found for each in (form.button, *form.choices)}
            yield from found
            yield from self._list_presses([each for each in own if id(each) not in used], route)

    def _list_menus(
        self, own: Sequence[PlacedControl], route: tuple[RouteStep, ...]
    ) -> Iterator[tuple[DraftForm, str]]:
        """Yield what can be chosen in a menu that was opened: its entries that led nowhere."""
        choices = tuple(
            each
            for each in own
            if each.screen.looks[0].page.layer == "menu"
            and action_of(each) == "click"
            and each.control.called
            and each.control.offer.danger not in ("deletes", "signs_out")
            and not each.element.selector.required_context
        )[:MOST_CHOICES]
        if not route or len(choices) < 2:  # one entry is pressed, not chosen
            return
        about = (
            self._beside(route[-1].control.control)
            or route[-1].control.control.called
            or choices[0].screen.name
        )
        form = DraftForm(
            choices[0].screen.screen_id, (), choices[0], "", "", route=route, choices=choices, told="the menu"
        )
        yield form, f"Choose {about}"

    def _list_presses(
        self, own: Sequence[PlacedControl], route: tuple[RouteStep, ...]
    ) -> Iterator[tuple[DraftForm, str]]:
        """Yield the buttons and switches that would change something."""
        count = 0
        for each in own:
            changes = each.control.offer.danger in _CHANGING or each.control.unnamed
            nameless = not each.control.called and not each.control.unnamed
            if action_of(each) != "click" or not changes or nameless or count == MOST_OF_SCREEN:
                continue
            count += 1
            form = DraftForm(each.screen.screen_id, (), each, "", "", route=route, told="the control")
            if each.control.unnamed:
                yield (
                    replace(form, told="the switch"),
                    f"Switch: {self._beside(each.control) or each.screen.name}",
                )
            else:
                opener = _find_asking(route)
                if opener is not None:  # it confirms what the opener is for
                    name = f"{opener.control.called or each.control.called}: {opener.screen.name}"
                    yield replace(form, told="the confirmation"), name
                    continue
                asks = " (a confirmation was not seen)" if each.control.offer.danger == "deletes" else ""
                yield replace(form, told=f"the button{asks}"), f"{each.control.called}: {each.screen.name}"


def _find_asking(route: Sequence[RouteStep]) -> PlacedControl | None:
    """Return the control that opened the dialog at the end of a route to ask before it changes something, if it did."""
    opener = route[-1].control if route else None
    return opener if opener is not None and opener.control.offer.danger in _CHANGING else None


def _list_dialogs(
    own: Sequence[PlacedControl], route: tuple[RouteStep, ...]
) -> Iterator[tuple[DraftForm, str]]:
    """Yield the fields of each region with each button there that would send them."""
    regions: dict[str, list[PlacedControl]] = defaultdict(list)
    for each in own:
        regions[each.control.region].append(each)
    confirms = _find_asking(route) is not None
    for controls in regions.values():
        fields = tuple(
            each
            for each in controls
            if action_of(each) in _ENTERING and not each.element.selector.required_context
        )
        buttons = [
            each
            for each in controls
            if action_of(each) == "click"
            and each.control.offer.danger in (_CHANGING if confirms else _SENDING)
            and each.control.called
            and not each.control.in_rows
            and (confirms or not _OTHER_BUTTON.search(each.control.called))
        ]
        for button in buttons if fields else ():
            form = DraftForm(
                button.screen.screen_id, fields, button, "", "", route=route, told=f"the {_kind_of(button)}"
            )
            yield form, _name_dialog(form)


def _kind_of(each: PlacedControl) -> str:
    kinds = {look.page.layer for look in each.screen.looks}
    return next((kind for kind in ("dialog", "panel", "menu") if kinds == {kind}), "fields")


def _name_dialog(form: DraftForm) -> str:
    called = form.button.control.called
    opened = form.route[-1].control.control if form.route else None
    opener = "" if opened is None or opened.in_rows else opened.called
    if len(called.split()) > 1:
        return called
    if len(opener.split()) > 1:
        return opener
    return f"{called}: {form.button.screen.name}"
