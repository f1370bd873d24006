"""Drafts a task for each form of an explored site: sign in, search, create, edit.

A draft fills what the form offers and sends it. It was not tried: only the tasks for signing in and searching have
success criteria, so that a run of another one ends `unverified`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kb_schema.action_types import canonical
from kb_schema.secret_fields import is_secret_name
from kb_schema.tasks import DRAFT, Task
from kb_schema.url_patterns import path_of
from loaders.exploration_import.observed_transitions import ROW, PlacedControl, name_row_input
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.screen_addresses import ScreenAddresses
from loaders.exploration_import.screen_controls import find_sent_name
from loaders.exploration_import.screen_titles import without_counts
from loaders.screen_learner.url_patterns import place

SIGN_IN = "sign_in"
MOST_SIGN_IN_FIELDS = 6
MOST_SEARCH_FIELDS = 3
MOST_OPTIONS = 12
"""Options that the description of an input lists."""
_ENTERING = frozenset({"fill", "select_option", "check", "upload_file"})
_SENDING_KINDS = frozenset({"submit", "image"})
_OTHER_BUTTON = re.compile(r"\b(preview|cancel|reset|clear|delete|remove|back)\b", re.IGNORECASE)
_CREATES = re.compile(r"\b(new|add|create|register|compose|sign up)\b", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class _Form:
    """One form on one screen."""

    screen_id: str
    fields: tuple[PlacedControl, ...]
    button: PlacedControl
    method: str
    action: str
    """The address to which it is sent."""
    shared: bool = False
    """Whether several screens show it."""
    beside: bool = False
    """Whether its screen has other forms that store something."""
    entry: PlacedControl | None = None
    """The control in the rows of a list that leads to the screen, if it has no address of its own."""

    @property
    def path(self) -> str:
        """The path to which it is sent, without ids."""
        return "/".join(place(path_of(self.action)))

    @property
    def creates(self) -> bool:
        """Whether it makes a new thing: else it shows what it changes."""
        told = (self.button.screen.name, self.button.control.called, self.path.replace("/", " "))
        return any(map(_CREATES.search, told))

    @property
    def signed_in(self) -> bool:
        """Whether only who is signed in is shown it: others may be shown the screen without it."""
        return all(look.page.signed_in for look, _ in self.button.control.seen)

    @property
    def url(self) -> str:
        """The address of the screen; empty if it has none of its own."""
        return self.button.screen.url or ""

    @property
    def starts(self) -> bool:
        """Whether the exploration began there."""
        return bool(self.url) and any(look.page.start for look in self.button.screen.looks)

    @property
    def passwords(self) -> int:
        return sum(each.control.offer.kind == "password" for each in self.fields)

    @property
    def texts(self) -> list[PlacedControl]:
        """The fields that are typed into."""
        return [each for each in self.fields if _action(each) == "fill"]


def draft_tasks(
    placed: Sequence[PlacedControl], addresses: ScreenAddresses, *, has_sign_in_conditions: bool
) -> list[Task]:
    """Return the tasks; the one for signing in, if there is one, is called `sign_in`.

    `placed`: the controls of all screens with their elements. `has_sign_in_conditions`: whether the knowledge says
    when a user is signed in.
    """
    forms = list(_list_forms(placed))
    signing = _find_sign_in(forms) if has_sign_in_conditions else None
    names = {each.screen.screen_id: each.screen.name for each in placed}
    tasks = [] if signing is None else [_Draft(signing, SIGN_IN, "Sign in", login=None).task()]
    taken = {SIGN_IN} if signing is not None else set()
    storing = Counter(form.screen_id for form in forms if form.method != "GET")
    forms = [replace(form, beside=storing[form.screen_id] > 1) for form in forms]
    known = (form if form.url else _with_entry(form, placed, addresses) for form in _list_distinct(forms))
    for form in known:
        if form is None:
            continue  # nothing would say which of many things is changed
        if signing is not None and form.path == signing.path and form.passwords:
            continue
        results = names.get(addresses.screen(form.action) or "", "")
        name = _find_name(form, results)
        task_id = make_unique_id(to_id_words(name) or "send_form", taken)
        taken.add(task_id)
        login = SIGN_IN if signing is not None and form.signed_in else None
        tasks.append(_Draft(form, task_id, name, login).task())
    return tasks


def _list_forms(placed: Sequence[PlacedControl]) -> Iterator[_Form]:
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
            yield _Form(screen_id, fields, button, method, action)


def _list_fields(controls: Sequence[PlacedControl]) -> tuple[PlacedControl, ...]:
    found = {
        each.element.element_id: each
        for each in controls
        if _action(each) in _ENTERING and not each.element.selector.required_context
    }
    return tuple(found.values())


def _find_button(controls: Sequence[PlacedControl]) -> PlacedControl | None:
    """Return the button that sends a form: not the one for a preview, or to delete what it shows."""
    buttons = [
        each
        for each in controls
        if _action(each) == "click"
        and each.control.offer.href is None
        and (each.control.offer.kind in _SENDING_KINDS or each.control.offer.danger == "submits")
    ]
    sending = [each for each in buttons if not _OTHER_BUTTON.search(each.control.called)]
    return next(iter(sending), None)


def _list_distinct(forms: Sequence[_Form]) -> Iterator[_Form]:
    """Yield each form once: one that several screens show, such as a search, where its address is fixed."""
    alike: list[list[_Form]] = []
    for form in forms:
        same = next((each for each in alike if _are_alike(each[0], form)), None)
        if same is None:
            alike.append([form])
        else:
            same.append(form)
    for same in alike:
        first = min(same, key=lambda each: (not each.url, forms.index(each)))
        yield replace(first, shared=len(same) > 1)


def _are_alike(one: _Form, two: _Form) -> bool:
    """Whether two forms are sent to one address with the same fields; of what is stored most are enough."""
    own, other = ({each.element.element_id for each in form.fields} for form in (one, two))
    if (one.method, one.path) != (two.method, two.path):
        return False
    if one.method == "GET" or one.screen_id == two.screen_id:
        return own == other
    return len(own & other) >= ALIKE * len(own | other)


def _with_entry(form: _Form, placed: Sequence[PlacedControl], addresses: ScreenAddresses) -> _Form | None:
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
            return replace(form, entry=each)
    return None


def _find_sign_in(forms: Sequence[_Form]) -> _Form | None:
    """Return the form with one password and few other fields that was seen signed out."""
    asking = [
        form
        for form in forms
        if not form.signed_in and form.passwords == 1 and len(form.fields) <= MOST_SIGN_IN_FIELDS
    ]
    asking = [form for form in asking if not _CREATES.search(form.button.control.called)]
    return min(
        asking,
        key=lambda each: (not each.starts, not each.url, len(each.fields), len(each.url), each.url),
        default=None,
    )


def _find_name(form: _Form, results: str) -> str:
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


def _find_noun(form: _Form) -> str:
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


def _action(each: PlacedControl) -> str:
    action = each.element.affordances[0].action_type
    return canonical(action) or action


_SIGNED_IN: Mapping[str, Any] = {"type": "authenticated"}


class _Draft:
    """Writes the task of one form."""

    def __init__(self, form: _Form, task_id: str, name: str, login: str | None) -> None:
        self._form, self._task_id, self._name, self._login = form, task_id, name, login
        self._taken: set[str] = set()

    def task(self) -> Task:
        """Return the task."""
        form, screen = self._form, self._form.button.screen
        inputs: list[Mapping[str, Any]] = []
        opened = screen if form.entry is None else form.entry.screen
        steps: list[Mapping[str, Any]] = [self._open(opened.screen_id)]
        if form.entry is not None:
            row = name_row_input(form.screen_id)
            self._taken.add(row)
            said = f"The text of the row of {opened.name} that leads to {screen.name}"
            inputs.append({"name": row, "description": said, "source": "user_input"})
            steps.append(self._choose_row(form.entry, row))
        needed = self._needed()
        for fields in _group_options(form.fields):
            spec = self._input(fields, required=any(each.element.element_id in needed for each in fields))
            inputs.append(spec)
            steps += self._choose(fields, spec) if len(fields) > 1 else self._set(fields[0], spec)
        steps.append(
            {
                "step_id": "send",
                "type": "submit",
                "action": {
                    "action_type": "click",
                    "element_selector": form.button.element.element_id,
                },
            }
        )
        if self._task_id == SIGN_IN:
            steps = [{**step, "skip_when": [*step.get("skip_when", ()), _SIGNED_IN]} for step in steps]
        criteria = tuple(self._criteria())
        return Task.model_validate(
            {
                "type": "task",
                "task_id": self._task_id,
                "name": self._name,
                "description": f"{self._name}, with the form on {screen.name}",
                "io_spec": {"inputs": inputs},
                "steps": steps,
                "success_criteria": criteria,
                "already_done_when": criteria if self._task_id == SIGN_IN else (),
                "metadata": {DRAFT: "written from a form that was seen, not tried"},
            }
        )

    def _choose_row(self, entry: PlacedControl, row: str) -> dict[str, Any]:
        return {
            "step_id": "choose_row",
            "type": "navigation",
            "action": {
                "action_type": "click",
                "element_selector": entry.element.element_id,
                "parameters": {ROW: f"{{{row}}}"},
            },
            "postconditions": [{"type": "on_screen", "screen_id": self._form.screen_id}],
        }

    def _open(self, screen_id: str) -> dict[str, Any]:
        before: list[dict[str, Any]] = []
        if self._login is not None:
            before.append(
                {
                    "type": "authenticated",
                    "hard_dependency": False,
                    "auto_remediate": True,
                    "remediation_task_id": self._login,
                }
            )
        on_screen = {"type": "on_screen", "screen_id": screen_id}
        step = {
            "step_id": "open",
            "type": "navigation",
            "action": {"action_type": "navigate", "target_screen": screen_id, "method": "any"},
            "preconditions": before,
            "postconditions": [on_screen],
        }
        if self._task_id == SIGN_IN:  # the form may not be shown to who is signed in
            step["postconditions"] = [{"type": "any_of", "conditions": [on_screen, _SIGNED_IN]}]
        return step

    def _needed(self) -> Collection[str]:
        """Return the elements without which the form says nothing: the required ones, else the first text."""
        form = self._form
        if self._task_id == SIGN_IN:
            return {each.element.element_id for each in form.texts}
        needed = {
            each.element.element_id
            for each in form.fields
            if any(affordance.required for affordance in each.element.affordances)
        }
        if form.method != "GET" and not form.creates:
            return set()  # the form shows what it changes
        return needed or {each.element.element_id for each in form.texts[:1]}

    def _input(self, fields: Sequence[PlacedControl], *, required: bool) -> dict[str, Any]:
        first = fields[0]
        label = (
            first.control.called
            if len(fields) == 1
            else find_sent_name(first.control.offer).replace("_", " ")
        )
        name = to_id_words(label, numbers=True) or first.element.element_id
        name = make_unique_id(name if name[0].isalpha() else f"n_{name}", self._taken)
        self._taken.add(name)
        kind = {"check": "boolean", "upload_file": "file"}.get(_action(first), "string")
        return {
            "name": name,
            "type": kind if len(fields) == 1 else "string",
            "required": required,
            "description": _describe(label.rstrip(" :*"), _list_options(fields)),
            "source": "global_context|user_input" if self._task_id == SIGN_IN else "user_input",
            "secret": _action(first) == "fill"
            and (first.control.offer.kind == "password" or is_secret_name(label)),
        }

    def _set(self, each: PlacedControl, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the steps that enter a value."""
        name, action = str(spec["name"]), _action(each)
        if action == "check":
            for act, value in (("check", True), ("uncheck", False)):
                yield _fill_in(f"{act}_{name}", each, act, only_if=(name, value))
            return
        step = _fill_in(f"set_{name}", each, action, only_if=None if spec["required"] else (name, None))
        step["action"]["value"] = f"{{{name}}}"
        yield step

    def _choose(self, options: Sequence[PlacedControl], spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the steps of which one chooses the option that was given."""
        for number, each in enumerate(options, start=1):
            given = (str(spec["name"]), each.control.called)
            yield _fill_in(f"choose_{spec['name']}_{number}", each, "check", only_if=given)

    def _criteria(self) -> Iterator[Mapping[str, Any]]:
        if self._task_id == SIGN_IN:
            yield _SIGNED_IN
            return
        sent = [
            name
            for each in self._form.texts
            if re.fullmatch(r"\w+", name := find_sent_name(each.control.offer))
        ]
        if self._form.method == "GET" and sent:
            yield {"type": "url_matches", "pattern": f"[?&]{sent[0]}=[^&#]"}


def _fill_in(
    step_id: str, each: PlacedControl, action: str, *, only_if: tuple[str, Any] | None
) -> dict[str, Any]:
    """Return a step on a field. `only_if`: the input and the value it must have; any value if that is None."""
    step: dict[str, Any] = {
        "step_id": step_id,
        "type": "form_fill",
        "action": {"action_type": action, "element_selector": each.element.element_id},
    }
    if only_if is not None:
        given = {"type": "context_equals", "name": only_if[0], "value": only_if[1]}
        step["skip_when"] = [{"type": "none_of", "conditions": [given]}]
    return step


def _group_options(fields: Sequence[PlacedControl]) -> list[list[PlacedControl]]:
    """Return the fields, with the radio buttons of one choice together."""
    groups: dict[str, list[PlacedControl]] = {}
    for each in fields:
        sent = find_sent_name(each.control.offer) if each.control.offer.kind == "radio" else ""
        groups.setdefault(f"choice {sent}" if sent else each.element.element_id, []).append(each)
    return list(groups.values())


def _list_options(fields: Sequence[PlacedControl]) -> list[str]:
    if len(fields) > 1:
        return [each.control.called for each in fields]
    told = [option.label or option.value for a in fields[0].element.affordances for option in a.options]
    return [each for each in told if each.strip(" -")]


def _describe(label: str, options: Sequence[str]) -> str:
    if not options:
        return label
    return f"{label}: one of {', '.join(options[:MOST_OPTIONS])}{' and others' if len(options) > MOST_OPTIONS else ''}"
