"""Drafts tasks of what has no form: dialogs and pages with fields, menus to choose from, switches, buttons of rows.

A draft begins at a screen with an address and presses the controls that led on from there when the site was explored.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from kb_schema.explorations import SHARED, Danger
from kb_schema.tasks import Task
from loaders.exploration_import.draft_routes import (
    Arrival,
    Route,
    StateOpeners,
    choose_route,
    find_routes,
    is_asking_for_row,
    is_search,
    is_untold,
)
from loaders.exploration_import.drawn_lists import list_choices
from loaders.exploration_import.form_tasks import sends_form
from loaders.exploration_import.observed_transitions import PlacedControl
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.screen_controls import ScreenControl, is_named_switch
from loaders.exploration_import.task_drafts import (
    CREATES,
    SIGN_IN,
    DraftForm,
    DrawnList,
    RouteStep,
    TaskDraft,
    action_of,
)

MOST_OF_SCREEN = 30
"""Drafts of buttons and switches of one screen."""
LEAST_SHARING = 3
"""On so many screens, and on half of them, a button is part of the site's frame."""
_CHANGING: frozenset[Danger] = frozenset(["submits", "deletes", "sends", "pays", "unknown_method"])
"""Why a control was not tried that would change something."""
_SENDING: frozenset[Danger] = frozenset(["submits", "sends", "pays", "unknown_method"])
_SIGNS: Mapping[Danger | None, str] = {"deletes": "Remove", "pays": "Pay", "sends": "Send"}
_ENTERING = frozenset({"fill", "select_option", "check", "upload_file"})
_COPIES = re.compile(r"(?:copy|duplicate|clone)$", re.IGNORECASE)
"""A button that makes another one of the thing that is shown, although it leads on to that."""
_OTHER_BUTTON = re.compile(
    r"^(?!.*\b(?:save|send|submit|apply)\b.*\bclose\b).*\b(preview|cancel|reset|clear|delete|remove|back|close|discard)\b",
    re.IGNORECASE,
)
"""A button that sends nothing: not `Save changes & close`."""


def draft_control_tasks(
    placed: Sequence[PlacedControl],
    arrivals: Sequence[Arrival],
    known: Sequence[Task],
    lists: Mapping[str, Sequence[DrawnList]],
    openings: Sequence[tuple[PlacedControl, str, str]],
    beside: Callable[[ScreenControl], str],
    idle: Collection[tuple[str, str]],
) -> list[Task]:
    """Return the tasks of what has no form.

    `placed`: the controls of all screens with their elements. `known`: the tasks that were drafted from forms. `lists`: those
    that each screen draws. `openings`: the controls that led to another page, with the screen and that page. `beside`: returns
    the words beside a control, by which its row is called. `idle`: offers, by page, at whose press nothing happened: pictures of
    controls in a manual, or what does something only after another control.
    """
    screens = {each.screen.screen_id: each.screen for each in placed}
    states = StateOpeners(openings)
    routes = find_routes({name: each.url for name, each in screens.items()}, arrivals, placed, states)
    leading = {(each.screen.screen_id, each.element.element_id) for each, _ in arrivals}
    sign_in = next((task for task in known if task.task_id == SIGN_IN), None)
    taken = {task.task_id for task in known}
    drafted: set[tuple[str, ...]] = set()
    frame = _list_frame_keys(placed)
    tasks: list[Task] = []
    for form, said in _Offered(placed, routes, leading, beside, lists, states, idle).list_all():
        of_frame = _get_frame_key(form.button) if not form.fields and not form.choices else ()
        name = form.button.control.called if of_frame in frame else said
        if of_frame in drafted:
            continue  # the same button in the frame of another page
        drafted.update({of_frame} & frame)
        opener = _find_asking(form.route)
        asked_by = () if opener is None else (opener.element.element_id, form.button.screen.screen_id)
        begins = form.route[-1].control.screen.screen_id if form.route else ""
        fields = sorted(
            {each.element.element_id for each in (*form.fields, *(each.opener for each in form.lists))}
        )
        of_row = str(is_asking_for_row(form.route))
        key = (name, form.button.element.element_id, *asked_by, begins, of_row, *fields)
        if key in drafted:
            continue  # the same control of another state of the page
        drafted.add(key)
        screen = form.button.screen.name
        again = screen not in name and any(each.name == name for each in tasks)
        called = f"{name}: {screen}" if again else name
        task_id = make_unique_id(to_id_words(called) or "press", taken)
        taken.add(task_id)
        tasks.append(TaskDraft(form, task_id, called, sign_in if form.signed_in else None).task())
    return tasks


def _get_frame_key(each: PlacedControl) -> tuple[str, ...]:
    """Return by what a control of a site's frame is the same on every page; empty for one of no landmark that pages share."""
    landmark = each.control.region.partition(":")[0]
    return (landmark, each.control.offer.role, each.control.called) if landmark in SHARED else ()


def _list_frame_keys(placed: Sequence[PlacedControl]) -> set[tuple[str, ...]]:
    """Return the keys of the controls that most screens without a layer have in a landmark."""
    usual = [each for each in placed if not each.screen.layer]
    shown: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for each in usual:
        shown[_get_frame_key(each)].add(each.screen.screen_id)
    least = max(LEAST_SHARING, len({each.screen.screen_id for each in usual}) / 2)
    return {key for key, screens in shown.items() if key and len(screens) >= least}


class _Offered:
    """What can be done on the screens that can be reached."""

    def __init__(
        self,
        placed: Sequence[PlacedControl],
        routes: Mapping[str, Sequence[Route]],
        leading: Collection[tuple[str, str]],
        beside: Callable[[ScreenControl], str],
        lists: Mapping[str, Sequence[DrawnList]],
        states: StateOpeners,
        idle: Collection[tuple[str, str]],
    ) -> None:
        self._routes, self._beside, self._lists, self._idle = routes, beside, lists, idle
        self._states = states
        self._by_screen: dict[str, list[PlacedControl]] = defaultdict(list)
        sent = _list_sent_forms(placed)
        for each in placed:
            screen_id = each.screen.screen_id
            free = each.control.offer.href is None and (
                each.control.offer.form is None or _get_form(each) not in sent
            )
            onward = (screen_id, each.element.element_id) in leading and not _COPIES.match(
                each.control.called
            )
            if free and screen_id in routes and not onward:
                self._by_screen[screen_id].append(each)

    def list_all(self) -> Iterator[tuple[DraftForm, str]]:
        """Yield each with its name, those on screens with an address first."""
        for screen_id in sorted(self._by_screen, key=lambda each: len(self._routes[each][0])):
            own, routes = self._by_screen[screen_id], self._routes[screen_id]
            first = choose_route(routes, own[0].screen)
            if first is None:  # nothing would say which of many things is changed
                continue
            for route in routes if own[0].screen.layer else [first]:
                lists = self._lists.get(screen_id, ())
                dialogs = (
                    dialog
                    for part, opened in self._list_states(own)
                    for dialog in _list_dialogs(part, lists, (*route, *opened))
                )
                found = [*dialogs, *self._list_menus(own, route)]
                used = {id(each) for form, _ in found for each in (form.button, *form.choices)}
                yield from found
                yield from self._list_presses([each for each in own if id(each) not in used], route)

    def _list_menus(self, own: Sequence[PlacedControl], route: Route) -> Iterator[tuple[DraftForm, str]]:
        """Yield what can be chosen in a menu that was opened: its entries that led nowhere."""
        choices = list_choices(own)
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

    def _list_presses(self, own: Sequence[PlacedControl], route: Route) -> Iterator[tuple[DraftForm, str]]:
        """Yield the buttons and switches that would change something."""
        count = 0
        for each in own:
            changes = (
                each.control.offer.danger in _CHANGING
                or each.control.unnamed
                or _COPIES.match(each.control.called)
            )
            called = _call_in_words(each)
            nameless = not called and not each.control.unnamed
            if (
                action_of(each) != "click"
                or each.control.offer.role == "option"  # it is chosen in a list, and does nothing by itself
                or not changes
                or nameless
                or is_untold(each)
                or any((look.page_id, offer.offer_id) in self._idle for look, offer in each.control.seen)
                or count == MOST_OF_SCREEN
            ):
                continue
            opened = self._states.find_steps(each)
            if opened is None:
                continue
            count += 1
            form = DraftForm(
                each.screen.screen_id, (), each, "", "", route=(*route, *opened), told="the control"
            )
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
                yield replace(form, told=f"the button{asks}"), f"{called}: {each.screen.name}"

    def _list_states(self, own: Sequence[PlacedControl]) -> list[tuple[list[PlacedControl], Route]]:
        """Return what a screen always has, or has in a state to which nothing is known to lead, and what each other state has, with
        the steps to it.
        """
        found: dict[str, tuple[list[PlacedControl], Route]] = {"": ([], ())}
        for each in own:
            if self._states.shows_one_row(each):
                continue
            steps = self._states.find_steps(each) or ()
            opener = steps[0].control.element.element_id if steps else ""
            found.setdefault(opener, ([], steps))[0].append(each)
        return list(found.values())


def _call_in_words(each: PlacedControl) -> str:
    """Return what a control is called; of a sign alone (a cross) what its address or code says that it does, else nothing."""
    called = each.control.called
    if any(map(str.isalpha, called)):
        return called
    return _SIGNS.get(each.control.offer.danger, "") if called else ""


def _find_asking(route: Sequence[RouteStep]) -> PlacedControl | None:
    """Return the control that opened the dialog at the end of a route to ask before it changes something, if it did."""
    opener = route[-1].control if route else None
    return opener if opener is not None and opener.control.offer.danger in _CHANGING else None


def _list_dialogs(
    own: Sequence[PlacedControl], lists: Sequence[DrawnList], route: Route
) -> Iterator[tuple[DraftForm, str]]:
    """Yield the fields of each region with each button there that would send them."""
    confirms = _find_asking(route) is not None
    for controls in _list_parts(own, _list_sending(own, confirms=confirms)):
        fields = tuple(filter(_is_entered, controls))
        buttons = _list_sending(controls, confirms=confirms)
        if not buttons:
            buttons = _list_last_buttons(controls, making=controls[0].screen.layer != "dialog")
        regions_here = {each.control.region for each in controls}
        drawn = tuple(each for each in lists if each.opener.control.region in regions_here)
        for button in buttons if fields or drawn else ():
            form = DraftForm(
                button.screen.screen_id, fields, button, "", "",
                lists=drawn, route=route, told=f"the {_kind_of(button)}",
            )  # fmt: skip
            yield form, _name_dialog(form)


def _list_parts(own: Sequence[PlacedControl], sending: Sequence[PlacedControl]) -> list[list[PlacedControl]]:
    """Return the controls that belong together: those of a region. What is entered in a dialog, or in the main part of a page, that has
    one button that sends is sent by that: many pages have it in a bar above. `sending`: the buttons that send.
    """
    regions: dict[str, list[PlacedControl]] = defaultdict(list)
    for each in own:
        regions[each.control.region].append(each)
    if len(sending) > 1 or not own or own[0].screen.layer not in ("", "dialog"):
        return list(regions.values())
    if own[0].screen.layer == "dialog":
        return [list(own)]
    above = sending[0].control.region if sending else ""
    main = [region for region in regions if region.partition(":")[0] == "main"]
    if above and above not in main and len(main) == 1 and not any(map(_is_entered, regions[above])):
        regions[main[0]].append(sending[0])
        regions[above].remove(sending[0])
    return list(regions.values())


def _is_entered(each: PlacedControl) -> bool:
    """Return whether a control takes what a person enters, and is not one of a row."""
    entering = action_of(each) in _ENTERING or is_named_switch(each.control.offer)
    return entering and not each.element.selector.required_context


def _get_form(each: PlacedControl) -> tuple[str, str | None, int | None]:
    return each.screen.screen_id, each.control.offer.form, each.control.offer.form_number


def _list_sent_forms(placed: Sequence[PlacedControl]) -> set[tuple[str, str | None, int | None]]:
    """Return the forms with a button that sends them. That of a dialog is often outside of its form, beside which the form's other
    buttons only fill something in.
    """
    buttons = list(filter(_is_button, placed))
    outside = {each.screen.screen_id for each in buttons if each.screen.layer and not each.control.offer.form}
    return {_get_form(each) for each in buttons if sends_form(each) or each.screen.screen_id not in outside}


def _is_button(each: PlacedControl) -> bool:
    """Return whether it is a button in words, of a dialog that it does not close."""
    return (
        each.control.offer.role == "button"
        and action_of(each) == "click"
        and not each.control.in_rows
        and any(map(str.isalpha, each.control.called))
        and not _OTHER_BUTTON.search(each.control.called)
    )


def _list_sending(controls: Sequence[PlacedControl], *, confirms: bool) -> list[PlacedControl]:
    """Return the buttons that would send what was entered. `confirms`: the dialog asks before something is changed."""
    return [
        each
        for each in controls
        if action_of(each) == "click"
        and each.control.offer.danger in (_CHANGING if confirms else _SENDING)
        and each.control.called
        and not each.control.in_rows
        and (confirms or not _OTHER_BUTTON.search(each.control.called))
    ]


def _list_last_buttons(controls: Sequence[PlacedControl], *, making: bool) -> list[PlacedControl]:
    """Return the last button in words, if one did nothing when it was pressed with empty fields: `Deposit`.

    `making`: it must say that it makes something, beside a text to enter, as on a page there may be other buttons.
    """
    if making and not any(action_of(each) == "fill" and not is_search(each) for each in controls):
        return []
    return [
        each for each in controls if _is_button(each) and (not making or CREATES.search(each.control.called))
    ][-1:]


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
