"""Writes the draft of a task from what a form, a dialog or a control offers: how to come there, what to fill in, what to press."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kb_schema.action_types import canonical
from kb_schema.secret_fields import is_secret_name
from kb_schema.tasks import DRAFT, Task
from kb_schema.url_patterns import path_of
from loaders.exploration_import.named_addresses import NamedAddress
from loaders.exploration_import.observed_transitions import ROW, PlacedControl, name_row_input
from loaders.exploration_import.readable_ids import make_unique_id, to_id_words
from loaders.exploration_import.screen_controls import find_sent_name
from loaders.screen_learner.url_patterns import place

SIGN_IN = "sign_in"
MOST_OPTIONS = 12
"""Options that the description of an input lists."""
CREATES = re.compile(r"\b(new|add|create|register|compose|sign up)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A control that leads to a screen; of one in rows, the row must be told."""

    control: PlacedControl
    screen_id: str
    others: tuple[PlacedControl, ...] = ()
    """Others of its screen that lead there, each to the same for another thing: the task asks which one is pressed."""
    search: PlacedControl | None = None
    """The field in which the rows of its list are searched, if it is in rows."""


@dataclass(frozen=True, slots=True)
class DrawnList:
    """A control that opens a menu, one of whose entries is chosen: a list that the application draws itself.

    The control may be a field that shows the entries that have what is typed.
    """

    opener: PlacedControl
    entries: tuple[PlacedControl, ...]
    """One alone if it is found by its row."""
    label: str


@dataclass(frozen=True, slots=True)
class DraftForm:
    """One form on one screen."""

    screen_id: str
    fields: tuple[PlacedControl, ...]
    button: PlacedControl
    method: str
    action: str
    """The address to which it is sent."""
    shared: bool = False
    """Whether several screens show it."""
    lists: tuple[DrawnList, ...] = ()
    """Further fields, from which one chooses."""
    choices: tuple[PlacedControl, ...] = ()
    """What can be chosen, one of which is pressed instead of a button."""
    told: str = "the form"
    """What it is, for people."""
    beside: bool = False
    """Whether its screen has other forms that store something."""
    route: tuple[RouteStep, ...] = ()
    """How to come to the screen from one with an address, if it has none of its own."""
    named: NamedAddress | None = None
    """Its address for each of many named things, if it has one and no other."""

    @property
    def path(self) -> str:
        """The path to which it is sent, without ids."""
        return "/".join(place(path_of(self.action)))

    @property
    def creates(self) -> bool:
        """Whether it makes a new thing: else it shows what it changes."""
        told = (self.button.screen.name, self.button.control.called, self.path.replace("/", " "))
        return any(map(CREATES.search, told))

    @property
    def seen_signed_out(self) -> bool:
        """Whether who is signed out is shown it: others may be shown the screen without it."""
        return not all(look.page.signed_in for look, _ in self.button.control.seen)

    @property
    def signed_in(self) -> bool:
        """Whether one signs in before: what stores is shown to some who may not send it. Forms that only ask, and those
        by which one signs in or registers, are used as they are if who is signed out is shown them.
        """
        if self.seen_signed_out and (self.method == "GET" or self.passwords):
            return False
        return any(look.page.signed_in for look, _ in self.button.control.seen)

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
        """How many fields ask for a password."""
        return sum(each.control.offer.kind == "password" for each in self.fields)

    @property
    def texts(self) -> list[PlacedControl]:
        """The fields that are typed into."""
        return [each for each in self.fields if action_of(each) == "fill"]


def action_of(each: PlacedControl) -> str:
    """Return the canonical action of a control."""
    action = each.element.affordances[0].action_type
    return canonical(action) or action


SIGNED_IN: Mapping[str, Any] = {"type": "authenticated"}


def open_screen(screen_id: str, login: str | None) -> dict[str, Any]:
    """Return the step that opens a screen. `login`: the task that signs in before."""
    before = {
        "type": "authenticated",
        "hard_dependency": False,
        "auto_remediate": True,
        "remediation_task_id": login,
    }
    return {
        "step_id": "open",
        "type": "navigation",
        "action": {"action_type": "navigate", "target_screen": screen_id, "method": "any"},
        "preconditions": [] if login is None else [before],
        "postconditions": [{"type": "on_screen", "screen_id": screen_id}],
    }


class TaskDraft:
    """Writes the task of one form. `login`: the task that signs in before, if there is one."""

    def __init__(self, form: DraftForm, task_id: str, name: str, login: Task | None) -> None:
        self._form, self._task_id, self._name = form, task_id, name
        self._login = None if login is None else login.task_id
        self._given = set() if login is None else {each.name for each in login.io_spec.inputs}
        """The inputs of signing in: a run takes those of both by their names, and they are not the same values."""
        self._taken = set(self._given)
        self._required: dict[str, str] = {}
        """Element id -> the required input of a field."""

    def task(self) -> Task:
        """Return the task."""
        form, screen = self._form, self._form.button.screen
        inputs: list[Mapping[str, Any]] = []
        opened = form.route[0].control.screen if form.route else screen
        steps: list[Mapping[str, Any]] = [self._open(opened.screen_id)]
        if form.named is not None:
            inputs.append(self._ask_name(form.named))
            steps = [self._open_named(screen.screen_id, form.named.fill(str(inputs[-1]["name"])))]
        for number, step in enumerate(form.route, start=1):
            if step.others:
                entries = (step.control, *step.others)
                inputs.append(
                    self._input(entries, required=True, label=f"entry {number}" if number > 1 else "entry")
                )
                steps += self._choose(entries, inputs[-1], action="click")
                continue
            if action_of(step.control) == "fill":
                inputs.append(self._input((step.control,), required=True))
                steps += self._set(step.control, inputs[-1])
                continue
            if step.search is not None:
                inputs.append(self._input((step.search,), required=False))
                steps += self._set(step.search, inputs[-1])
            inputs += self._ask_row(step.control, name_row_input(step.screen_id), screen.name)
            steps.append(self._follow(step, "choose_row" if len(form.route) == 1 else f"go_{number}"))
        needed = self._needed()
        for fields in _group_options(form.fields):
            spec = self._input(fields, required=any(each.element.element_id in needed for each in fields))
            inputs.append(spec)
            if spec["required"] and len(fields) == 1:
                self._required[fields[0].element.element_id] = str(spec["name"])
            steps += self._choose(fields, spec) if len(fields) > 1 else self._set(fields[0], spec)
        for drawn in form.lists:
            entries = (drawn.opener,) if action_of(drawn.opener) == "fill" else drawn.entries
            inputs.append(self._input(entries, required=False, label=drawn.label))
            steps += self._choose_in(drawn, inputs[-1])
        if form.choices:
            inputs.append(self._input(form.choices, required=True, label="option"))
            steps += self._choose(form.choices, inputs[-1], action="click")
        else:
            inputs += self._ask_row(form.button, ROW, form.button.control.called or screen.name)
            steps.append(self._send(form.button))
        if self._task_id == SIGN_IN:
            steps = [{**step, "skip_when": [*step.get("skip_when", ()), SIGNED_IN]} for step in steps]
        criteria = tuple(self._criteria())
        return Task.model_validate(
            {
                "type": "task",
                "task_id": self._task_id,
                "name": self._name,
                "description": f"{self._name}, with {form.told} on {screen.name}",
                "io_spec": {"inputs": inputs},
                "steps": steps,
                "success_criteria": criteria,
                "already_done_when": criteria if self._task_id == SIGN_IN else (),
                "metadata": {
                    DRAFT: f"written from {form.told.replace('the ', 'a ', 1)} that was seen, not tried"
                },
            }
        )

    def _ask_row(self, control: PlacedControl, name: str, leads_to: str) -> list[Mapping[str, Any]]:
        """Return the input that tells the row of a control; none if it is in no rows."""
        if ROW not in control.element.selector.required_context:
            return []
        self._taken.add(name)
        said = f"The text of the row of {control.screen.name} that leads to {leads_to}"
        if not name.endswith(f"_{ROW}"):
            said = f"The text of the row of {control.screen.name} whose control is used"
        return [{"name": name, "description": said, "source": "user_input"}]

    def _follow(self, step: RouteStep, step_id: str) -> dict[str, Any]:
        return {
            "step_id": step_id,
            "type": "navigation",
            "action": _press(step.control, name_row_input(step.screen_id)),
            "postconditions": [{"type": "on_screen", "screen_id": step.screen_id}],
        }

    def _send(self, button: PlacedControl) -> dict[str, Any]:
        return {"step_id": "send", "type": "submit", "action": _press(button, ROW)}

    def _open(self, screen_id: str) -> dict[str, Any]:
        step = open_screen(screen_id, self._login)
        if self._task_id == SIGN_IN:  # the form may not be shown to who is signed in
            step["postconditions"] = [{"type": "any_of", "conditions": [*step["postconditions"], SIGNED_IN]}]
        return step

    def _ask_name(self, named: NamedAddress) -> dict[str, Any]:
        """Return the input for the name of the thing, as it is in addresses."""
        name = make_unique_id(named.called, self._taken)
        self._taken.add(name)
        spoken = named.called.replace("_", " ")
        said = f"{spoken[:1].upper()}{spoken[1:]}, as in its address: {', '.join(named.examples)}"
        return {"name": name, "description": said, "source": "user_input"}

    def _open_named(self, screen_id: str, url: str) -> dict[str, Any]:
        step = self._open(screen_id)
        action = {
            "action_type": "navigate",
            "target_screen": screen_id,
            "url": url,
            "method": "direct_url",
        }
        return {**step, "action": action}

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

    def _input(self, fields: Sequence[PlacedControl], *, required: bool, label: str = "") -> dict[str, Any]:
        first = fields[0]
        label = label or (
            _call_field(first) if len(fields) == 1 else find_sent_name(first.control.offer).replace("_", " ")
        )
        name = to_id_words(label, numbers=True) or first.element.element_id
        name = f"new_{name}" if name in self._given and self._form.method != "GET" else name
        name = make_unique_id(name if name[0].isalpha() else f"n_{name}", self._taken)
        self._taken.add(name)
        several = len(fields) > 1 or fields == self._form.choices
        kind = {"check": "boolean", "click": "boolean", "upload_file": "file"}.get(action_of(first), "string")
        return {
            "name": name,
            "type": "string" if several else kind,
            "required": required,
            "description": _describe(label.rstrip(" :*"), _list_options(fields)),
            "source": "global_context|user_input" if self._task_id == SIGN_IN else "user_input",
            "secret": action_of(first) == "fill"
            and (first.control.offer.kind == "password" or is_secret_name(label)),
        }

    def _set(self, each: PlacedControl, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the steps that enter a value."""
        name, action = str(spec["name"]), action_of(each)
        if action == "check":
            for act, value in (("check", True), ("uncheck", False)):
                yield _fill_in(f"{act}_{name}", each, act, only_if=(name, value))
            return
        if action == "click":  # a drawn check box: whether it is ticked is not known
            yield _fill_in(f"switch_{name}", each, action, only_if=(name, True))
            return
        step = _fill_in(f"set_{name}", each, action, only_if=None if spec["required"] else (name, None))
        step["action"]["value"] = f"{{{name}}}"
        yield step

    def _choose(
        self, options: Sequence[PlacedControl], spec: Mapping[str, Any], action: str = "check"
    ) -> Iterator[dict[str, Any]]:
        """Yield the steps of which one chooses the option that was given."""
        for number, each in enumerate(options, start=1):
            given = (str(spec["name"]), each.control.called)
            yield _fill_in(f"choose_{spec['name']}_{number}", each, action, only_if=given)

    def _choose_in(self, drawn: DrawnList, spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the steps that open a drawn list, if an option was given, and choose it."""
        name, given = str(spec["name"]), (str(spec["name"]), None)
        opens = _fill_in(f"open_{name}", drawn.opener, action_of(drawn.opener), only_if=given)
        if action_of(drawn.opener) == "fill":
            opens["action"]["value"] = f"{{{name}}}"
        yield opens
        if ROW not in drawn.entries[0].element.selector.required_context:
            yield from self._choose(drawn.entries, spec, action="click")
            return
        chosen = _fill_in(f"choose_{name}", drawn.entries[0], "click", only_if=given)
        chosen["action"]["parameters"] = {ROW: f"{{{name}}}"}
        yield chosen

    def _criteria(self) -> Iterator[Mapping[str, Any]]:
        if self._task_id == SIGN_IN:
            yield SIGNED_IN
            return
        if self._form.method != "GET" or not (
            sent := [each for each in self._form.texts if find_sent_name(each.control.offer)]
        ):
            return
        name = _spell_in_address(find_sent_name(sent[0].control.offer))
        asked = {"type": "url_matches", "pattern": f"[?&]{name}=[^&#]"}
        given = self._required.get(sent[0].element.element_id)
        if given is None or len(self._form.texts) > 1:
            yield asked
        else:  # a form that only leads to the one that is named, such as an issue by its number
            led_on = {"type": "url_matches", "pattern": f"/[A-Za-z_-]*{{{given}}}(?:[/?#]|$)"}
            yield {"type": "any_of", "conditions": [asked, led_on]}


def _spell_in_address(name: str) -> str:
    """Return a pattern for a field's name in an address, where signs such as `@` may be percent-encoded."""
    signs = (
        each if re.fullmatch(r"\w", each) else f"(?:{re.escape(each)}|{quote(each, safe='')})"
        for each in name
    )
    return "".join(signs)


def _press(control: PlacedControl, row: str) -> dict[str, Any]:
    """Return the action that presses a control. `row`: the input that tells the row, if it is in rows."""
    given = {ROW: f"{{{row}}}"} if ROW in control.element.selector.required_context else None
    found: dict[str, Any] = {
        "action_type": "check" if action_of(control) == "check" else "click",
        "element_selector": control.element.element_id,
    }
    return found if given is None else {**found, "parameters": given}


def _call_field(each: PlacedControl) -> str:
    """Return what a field is called, without the links in its label: `Password` of `Password Lost password`."""
    called = each.control.called
    links = {
        offer.name for look, _ in each.control.seen for offer in look.page.offers if offer.href and offer.name
    }
    beside = max((name for name in links if called.endswith(f" {name}")), key=len, default="")
    return called.removesuffix(beside).rstrip() if beside else called


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
