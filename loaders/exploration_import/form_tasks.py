"""Drafts a task for each form of an explored site: sign in, search, create, edit.

A draft fills what the form offers and sends it. It was not tried: only the tasks for signing in and searching have
success criteria, so that a run of another one ends `unverified`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kb_schema.explorations import SentSignInForm
from kb_schema.tasks import Task
from kb_schema.url_patterns import path_of
from loaders.exploration_import.draft_routes import (
    Arrival,
    Route,
    StateOpeners,
    choose_route,
    find_routes,
    is_asking_for_row,
)
from loaders.exploration_import.named_addresses import find_named_address
from loaders.exploration_import.observed_transitions import ROW, PlacedControl
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.screen_addresses import ScreenAddresses
from loaders.exploration_import.screen_titles import without_counts
from loaders.exploration_import.sign_in_tasks import draft_sign_in
from loaders.exploration_import.task_drafts import (
    CREATES,
    SIGN_IN,
    DraftForm,
    DrawnList,
    RouteStep,
    TaskDraft,
    action_of,
)
from loaders.screen_learner.url_patterns import place

MOST_SIGN_IN_FIELDS = 6
MOST_SEARCH_FIELDS = 3
_ENTERING = frozenset({"fill", "select_option", "check", "upload_file"})
_SENDING_KINDS = frozenset({"submit", "image"})
_OTHER_BUTTON = re.compile(r"\b(preview|cancel|reset|clear|delete|remove|back)\b", re.IGNORECASE)
_LEADING_VERB = re.compile(
    r"^(?:(?:create|add|new|edit|editing|change|update|a|an|the)\s+)+(?=\S)", re.IGNORECASE
)
_NAMED = re.compile(r"(?:the )?(?P<noun>[^\W\d_]+) name|name of (?:the )?(?P<of>[^\W\d_]+)", re.IGNORECASE)
"""A field that says what the form is about: `Project name`."""
_OF_PEOPLE = frozenset(
    [
        "account",
        "display",
        "family",
        "file",
        "first",
        "full",
        "given",
        "host",
        "last",
        "login",
        "middle",
        "nick",
        "screen",
        "user",
        "your",
    ]
)
"""What a name is called that is not that of the thing."""
SENTENCE_WORDS = 4
"""A screen's name of so many words says what the site is for, not what its form makes."""
ALIKE = 0.5
"""The share of fields from which two forms with one address are one form."""
_ASKS = frozenset(["search", "find", "filter", "update", "redisplay", "refresh", "show"])
_SAYS_NOTHING = frozenset(
    [
        "draft",
        "save",
        "submit",
        "send",
        "apply",
        "update",
        "add",
        "create",
        "changes",
        "change",
        "new",
        "entry",
        "ok",
        "go",
        "continue",
        "edit",
        "form",
        "now",
    ]
)


def draft_tasks(
    placed: Sequence[PlacedControl],
    addresses: ScreenAddresses,
    arrivals: Sequence[Arrival],
    lists: Mapping[str, Sequence[DrawnList]],
    openings: Sequence[tuple[PlacedControl, str, str]],
    *,
    has_sign_in_conditions: bool,
    sent: Sequence[SentSignInForm],
    base_url: str,
) -> list[Task]:
    """Return the tasks; the one for signing in, if there is one, is called `sign_in`.

    `placed`: the controls of all screens with their elements. `arrivals`: those that led on, with the screen to which. `lists`:
    those that each screen draws. `openings`: the controls that led to another page, with the screen and that page.
    `has_sign_in_conditions`: whether the knowledge says when a user is signed in. `sent`: the forms with which the exploration signed
    in, of which the task is written if no page that was seen signed out has one.
    """
    forms = [_with_lists(form, lists.get(form.screen_id, ())) for form in _list_forms(placed)]
    signing = _find_sign_in(forms) if has_sign_in_conditions else None
    names = {each.screen.screen_id: each.screen.name for each in placed}
    sign_in = None if signing is None else TaskDraft(signing, SIGN_IN, "Sign in", login=None).task()
    if sign_in is None and sent and has_sign_in_conditions:
        sign_in = draft_sign_in(sent, base_url)
    tasks = [] if sign_in is None else [sign_in]
    taken = {SIGN_IN} if sign_in is not None else set()
    storing = Counter(form.screen_id for form in forms if form.method != "GET")
    forms = [replace(form, beside=storing[form.screen_id] > 1) for form in forms]
    states = StateOpeners(openings)
    routes = find_routes(
        {each.screen.screen_id: each.screen.url for each in placed}, arrivals, placed, states
    )
    known = (
        _with_state(led, states)
        for form in _list_distinct(forms)
        for led in ([form] if form.url else _list_led(form, placed, addresses, routes))
    )
    for form in known:
        if form is None:
            continue  # nothing would say which of many things is changed
        if signing is not None and form.path == signing.path and form.passwords:
            continue
        results = names.get(addresses.screen(form.action) or "", "")
        name = _find_name(form, results)
        task_id = make_unique_id(to_id_words(name) or "send_form", taken)
        taken.add(task_id)
        tasks.append(TaskDraft(form, task_id, name, sign_in if form.signed_in else None).task())
    return tasks


def _list_forms(placed: Sequence[PlacedControl]) -> Iterator[DraftForm]:
    """Yield the forms that have a button and a field with an element of its own, in the order of the screens."""
    by_form: dict[tuple[str, str, int | None], list[PlacedControl]] = defaultdict(list)
    for each in placed:
        offer = each.control.offer
        if offer.form and not each.control.in_rows:
            method, _, action = offer.form.partition(" ")
            by_form[
                each.screen.screen_id, f"{method} {'/'.join(place(path_of(action)))}", offer.form_number
            ].append(each)
    for (screen_id, *_), controls in by_form.items():
        fields = _list_fields(controls)
        button = _find_button(controls)
        if fields and button is not None:
            method, _, action = (button.control.offer.form or "").partition(" ")
            stores = button.control.offer.danger == "submits"  # by a script, if the form says nothing else
            yield DraftForm(screen_id, fields, button, "POST" if stores else method, action)


def _with_lists(form: DraftForm, lists: Sequence[DrawnList]) -> DraftForm:
    """Return a form with the lists that are drawn in it."""
    own = form.button.control.offer
    inside = (each for each in lists if each.opener.control.offer.form_number == own.form_number)
    return replace(form, lists=tuple(each for each in inside if each.opener.control.offer.form))


def _list_fields(controls: Sequence[PlacedControl]) -> tuple[PlacedControl, ...]:
    found = {
        each.element.element_id: each
        for each in controls
        if action_of(each) in _ENTERING and not each.element.selector.required_context
    }
    return tuple(found.values())


def _find_button(controls: Sequence[PlacedControl]) -> PlacedControl | None:
    """Return the button that sends a form: not the one for a preview, or to delete what it shows."""
    sending = (each for each in controls if sends_form(each))
    return next((each for each in sending if not _OTHER_BUTTON.search(each.control.called)), None)


def sends_form(each: PlacedControl) -> bool:
    """Whether a control sends the form in which it is, by its kind or by what was found of it."""
    offer = each.control.offer
    sends = offer.kind in _SENDING_KINDS or offer.danger == "submits"
    return action_of(each) == "click" and offer.href is None and sends


def _list_distinct(forms: Sequence[DraftForm]) -> Iterator[DraftForm]:
    """Yield each form once: one that several screens show, such as a search, where its address is fixed."""
    alike: list[list[DraftForm]] = []
    for form in forms:
        same = next((each for each in alike if _are_alike(each[0], form)), None)
        if same is None:
            alike.append([form])
        else:
            same.append(form)
    for same in alike:
        first = min(same, key=lambda each: (not each.url, forms.index(each)))
        yield replace(first, shared=len(same) > 1)


def _are_alike(one: DraftForm, two: DraftForm) -> bool:
    """Whether two forms are sent to one address with the same fields; of what is stored most are enough."""
    own, other = ({each.element.element_id for each in form.fields} for form in (one, two))
    if (one.method, one.path) != (two.method, two.path):
        return False
    if one.method == "GET" or one.screen_id == two.screen_id:
        return own == other
    return len(own & other) >= ALIKE * len(own | other)


def _with_entry(
    form: DraftForm, placed: Sequence[PlacedControl], addresses: ScreenAddresses
) -> DraftForm | None:
    """Return a form with the control that leads to its screen from any row of a list with an address; None if none does."""
    for each in placed:
        hrefs = [offer.href for _, offer in each.control.seen]
        leads = all(href is not None and addresses.screen(href) == form.screen_id for href in hrefs)
        if (
            leads
            and each.control.in_rows
            and each.screen.url
            and each.element.selector.required_context == {ROW}
        ):
            return replace(form, route=(RouteStep(each, form.screen_id),))
    return None


def _list_led(
    form: DraftForm,
    placed: Sequence[PlacedControl],
    addresses: ScreenAddresses,
    routes: Mapping[str, Sequence[Route]],
) -> list[DraftForm]:
    """Return a form of a screen without an address with what leads there; none if that does not say which of many things it shows.

    A screen of a thing that its address names is opened by that. What makes a new thing belongs to no row, if it can be reached
    without one. A dialog that is opened from a row and without
    one is for both.
    """
    entry = _with_entry(form, placed, addresses)
    if entry is not None:
        return [entry]
    named = find_named_address(form.button.screen)
    if named is not None:
        return [replace(form, named=named)]
    found = routes.get(form.screen_id, ())
    plain = next((each for each in found if each and not is_asking_for_row(each)), None)
    if form.creates and plain is not None:
        return [replace(form, route=plain)]
    route = choose_route(found, form.button.screen)
    both = form.button.screen.layer and route is not None and plain is not None and is_asking_for_row(route)
    led = [route, plain] if both else [route]
    return [replace(form, route=each) for each in led if each]


def _with_state(form: DraftForm | None, states: StateOpeners) -> DraftForm | None:
    """Return a form with what must be pressed before its button is there; None if that is something of the first row."""
    if form is None or states.shows_one_row(form.button):
        return None
    return replace(form, route=(*form.route, *(states.find_steps(form.button) or ())))


def _find_sign_in(forms: Sequence[DraftForm]) -> DraftForm | None:
    """Return the form with one password and few other fields that was seen signed out."""
    asking = [
        form
        for form in forms
        if form.seen_signed_out and form.passwords == 1 and len(form.fields) <= MOST_SIGN_IN_FIELDS
    ]
    asking = [form for form in asking if not CREATES.search(form.button.control.called)]
    return min(
        asking,
        key=lambda each: (not each.starts, not each.url, len(each.fields), len(each.url), each.url),
        default=None,
    )


def _find_name(form: DraftForm, results: str) -> str:
    """Return a name as people say it: by the button if it says something, else by the screen.

    `results`: the name of the screen to which the form leads, or nothing.
    """
    screen = without_counts(form.button.screen.name)
    called = " ".join(re.findall(r"[^\W_][\w'\u2019-]*", form.button.control.called))
    told = [each for each in called.split() if each.casefold() not in _SAYS_NOTHING]
    if form.method == "GET" and not set(map(str.casefold, told)) - _ASKS:
        asks = "Search" in called or (form.texts and len(form.fields) <= MOST_SEARCH_FIELDS)
        about = results if form.shared else screen
        if asks and (not about or "search" in about.casefold()):
            return "Search"
        return f"{'Search' if asks else 'Filter'} {about}".rstrip()
    noun = _LEADING_VERB.sub("", _find_noun(form) or screen)
    if told and len(called.split()) > 1:
        return called
    if told:
        return f"{called}: {noun}" if noun.casefold() != called.casefold() else called
    return f"{'Create' if form.creates else 'Edit'} {noun}"


def _find_noun(form: DraftForm) -> str:
    """Return what a form that makes something is about by its fields, if the screen does not tell: else nothing.

    A form with one field, beside others on its screen, is about that; in a screen that is named by a sentence a field such
    as `Project name` tells it.
    """
    if not form.creates:
        return ""
    if form.beside and len(form.fields) == 1:
        return " ".join(re.findall(r"[^\W_][\w'\u2019-]*", form.fields[0].control.called)[:SENTENCE_WORDS])
    if len(form.button.screen.name.split()) < SENTENCE_WORDS:
        return ""
    named = (_NAMED.fullmatch(each.control.called.rstrip(" :*")) for each in form.texts)
    nouns = ((found["noun"] or found["of"]).casefold() for found in named if found is not None)
    return next((noun for noun in nouns if noun not in _OF_PEOPLE), "")
