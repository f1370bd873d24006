"""Expected outcomes as conditions of the one model.

One registered function is one kind of outcome (`kb_schema/outcomes.py`): from a resolved check to what is
asked of the page. Resolving (which element, which address proves it) is `resolving.py`'s; `judging.py` asks.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Literal

from playwright.async_api import Error as DriverError

from agent.page.complaints import RefusedField, complaints
from agent.page.evaluating import evaluate
from agent.playwright_python.expressions import to_locator
from agent.verifying.bench.bench import Bench
from kb_schema.conditions import (
    BaseCondition,
    Combined,
    Condition,
    DomContains,
    DomElement,
    ElementCount,
    ElementEnabled,
    ElementHidden,
    ElementVisible,
    FieldFilled,
    FieldHasValue,
    ShowsMessage,
    TitleContains,
    UrlMatches,
)
from kb_schema.probes import (
    ElementProbe,
    Facts,
    Probe,
    Scope,
    Verdict,
    held,
    unknown,
)
from kb_schema.selectors import Selector, css
from kb_schema.verification import Check, PlanStep

HEADINGS = 'h1, h2, h3, h4, h5, h6, [role="heading"]'
DIALOGS = '[role="dialog"], [role="alertdialog"], dialog[open], [aria-modal="true"]'
_FIELD_ACTIONS = frozenset({"fill", "input_and_submit"})


class Literally:
    """How conditions of a plan look elements up: they carry their selectors with them."""

    signed_in_when: tuple[BaseCondition, ...] = ()

    def element(self, reference: str | Selector) -> Selector | None:
        """The selector itself; a text is CSS."""
        return css(reference) if isinstance(reference, str) else reference


SCOPE = Literally()


class ElementSays(BaseCondition):
    """The text of an element is this, white space and what it is called itself aside."""

    type: Literal["element_says"] = "element_says"
    element: Selector
    value: str
    name: str = ""

    def probes(self, scope: Scope) -> tuple[Probe, ...]:  # noqa: ARG002, D102 - as every condition's
        return (ElementProbe(selector=self.element),)

    def judge(self, facts: Facts, scope: Scope) -> Verdict:  # noqa: D102 - as every condition's
        answer = facts.answer(self.probes(scope)[0])
        if answer is None or answer.error or not answer.visible:
            return unknown("the element cannot be read")
        said = without_name(answer.value or answer.text or "", self.name)
        return held(said == squeezed(self.value), f"it says {said[:120]!r}")


class TitleIs(BaseCondition):
    """The title of the document is this."""

    type: Literal["title_is"] = "title_is"
    value: str

    def judge(self, facts: Facts, scope: Scope) -> Verdict:  # noqa: ARG002, D102 - as every condition's
        if facts.title is None:
            return unknown("the title is not known")
        return held(squeezed(facts.title) == squeezed(self.value), f"the title is {facts.title[:120]!r}")


def squeezed(text: str) -> str:
    """White space as one space each."""
    return " ".join(text.split())


def without_name(text: str, name: str) -> str:
    """What an element says beside what it is called: `Total: 5` of `Total` is `5`."""
    text, name = squeezed(text), squeezed(name)
    if name and text.casefold().startswith(name.casefold()) and len(text) > len(name):
        rest = text[len(name) :]
        if not rest[0].isalnum():
            return rest.lstrip(" :=-\u2013\u2014")
    return text


Ask = Callable[[Bench], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an outcome asks of the page."""

    conditions: tuple[BaseCondition, ...] = ()
    """All of them must hold."""
    lasting: bool = False
    """It may hold before the action has its effect: it must still hold when all others do."""
    ask: Ask | None = None
    """What no probe can say."""


@dataclass(frozen=True, slots=True)
class Case:
    """A check with what it depends on; values are filled in."""

    check: Check
    step: PlanStep
    own: bool
    """It is about the step's own element."""

    @property
    def selector(self) -> Selector:
        """Of its element."""
        if self.check.selector is None:
            raise ValueError(f"{self.check.outcome.said} is about an element, and has none")
        return self.check.selector

    @property
    def value(self) -> str:
        """What is expected; empty where anything is."""
        return self.check.outcome.value or ""


Maker = Callable[[Case], Asked]
MAKERS: dict[str, Maker] = {}


def outcome(kind: str) -> Callable[[Maker], Maker]:
    """Register how a kind of outcome is asked. Raises `ValueError` for two of a kind."""

    def register(maker: Maker) -> Maker:
        if kind in MAKERS:
            raise ValueError(f"two ways to ask for {kind!r}")
        MAKERS[kind] = maker
        return maker

    return register


def asked(case: Case) -> Asked:
    """What the check asks. Raises `KeyError` for a kind nobody registered."""
    return MAKERS[case.check.outcome.kind](case)


# -- fields ------------------------------------------------------------------------------------------


@outcome("field_populated")
def _field_populated(case: Case) -> Asked:
    """In the step that fills it: the step's value, or what the list made of it when it was first chosen."""
    filled = FieldFilled(type="field_filled", element=case.selector)
    typed = case.step.intent.value
    if case.own and case.step.intent.action in _FIELD_ACTIONS and typed:
        return Asked((FieldHasValue(type="field_has_value", element=case.selector, value=typed),))
    if case.own and case.check.observed:
        value = case.check.observed
        return Asked((FieldHasValue(type="field_has_value", element=case.selector, value=value),))
    return Asked((filled,))


@outcome("field_value")
def _field_value(case: Case) -> Asked:
    return Asked((FieldHasValue(type="field_has_value", element=case.selector, value=case.value),))


@outcome("field_empty")
def _field_empty(case: Case) -> Asked:
    return Asked((FieldHasValue(type="field_has_value", element=case.selector, value=""),))


@outcome("checked")
def _checked(case: Case) -> Asked:
    return Asked((FieldHasValue(type="field_has_value", element=case.selector, value=True),))


@outcome("unchecked")
def _unchecked(case: Case) -> Asked:
    return Asked((FieldHasValue(type="field_has_value", element=case.selector, value=False),))


@outcome("selected")
def _selected(case: Case) -> Asked:
    async def ask(bench: Bench) -> Verdict:
        state = await state_of(bench, case.check)
        if state is None:
            return unknown("the element cannot be asked")
        if not case.value:
            return held(state.selected, "it is selected" if state.selected else "it is not selected")
        chosen = [squeezed(each) for each in state.options]
        return held(squeezed(case.value) in chosen, f"chosen: {', '.join(chosen)[:120] or 'nothing'}")

    return Asked(ask=ask)


@outcome("focused")
def _focused(case: Case) -> Asked:
    async def ask(bench: Bench) -> Verdict:
        state = await state_of(bench, case.check)
        if state is None:
            return unknown("the element cannot be asked")
        return held(state.focused, "it has the focus" if state.focused else "it does not have the focus")

    return Asked(ask=ask)


@outcome("invalid")
def _invalid(case: Case) -> Asked:
    async def ask(bench: Bench) -> Verdict:
        said = await refused(bench, case.selector)
        if said is None:
            return held(False, "the field is not marked as invalid")
        if case.value and squeezed(case.value) not in squeezed(said.message):
            return held(False, f"it is marked as invalid, and says {said.message[:200]!r}")
        return held(True, f"it says {said.message[:200]!r}")

    return Asked(ask=ask)


# -- elements ----------------------------------------------------------------------------------------


@outcome("enabled")
def _enabled(case: Case) -> Asked:
    return Asked((ElementEnabled(type="element_enabled", element=case.selector),))


@outcome("disabled")
def _disabled(case: Case) -> Asked:
    enabled = ElementEnabled(type="element_enabled", element=case.selector)
    return Asked((ElementVisible(type="element_visible", element=case.selector), _none(enabled)))


@outcome("visible")
def _visible(case: Case) -> Asked:
    return Asked((ElementVisible(type="element_visible", element=case.selector),))


@outcome("hidden")
def _hidden(case: Case) -> Asked:
    return Asked((ElementHidden(type="element_hidden", element=case.selector),), lasting=True)


@outcome("text")
def _text(case: Case) -> Asked:
    return Asked((ElementSays(element=case.selector, value=case.value, name=case.check.name),))


@outcome("count")
def _count(case: Case) -> Asked:
    number = int(case.value)
    counted = ElementCount(type="element_count", element=case.selector, min=number, max=number)
    return Asked((counted,), lasting=True)


# -- the page ----------------------------------------------------------------------------------------


@outcome("navigates_to")
def _navigates_to(case: Case) -> Asked:
    check = case.check
    conditions: list[BaseCondition] = []
    if check.url is not None:
        conditions.append(at_path(check.url))
    if check.title is not None:
        conditions.append(TitleContains(type="title_contains", value=check.title))
    if check.heading is not None:
        conditions.append(DomContains(type="dom_contains", value=check.heading, selector=HEADINGS))
    return Asked(tuple(conditions), lasting=True)


@outcome("stays_on_page")
def _stays_on_page(case: Case) -> Asked:
    return Asked((at_path(case.check.url or "/"),), lasting=True)


@outcome("url")
def _url(case: Case) -> Asked:
    return Asked((at_path(case.value),), lasting=True)


@outcome("title")
def _title(case: Case) -> Asked:
    return Asked((TitleIs(value=case.value),), lasting=True)


@outcome("heading")
def _heading(case: Case) -> Asked:
    return Asked((DomContains(type="dom_contains", value=case.value, selector=HEADINGS),))


@outcome("shows")
def _shows(case: Case) -> Asked:
    return Asked((DomContains(type="dom_contains", value=case.value),))


@outcome("not_shows")
def _not_shows(case: Case) -> Asked:
    return Asked((_none(DomContains(type="dom_contains", value=case.value)),), lasting=True)


@outcome("message")
def _message(case: Case) -> Asked:
    return Asked((ShowsMessage(type="shows_message", text_contains=case.value),))


@outcome("dialog_opens")
def _dialog_opens(case: Case) -> Asked:
    opened = DomElement(type="dom_element", selector=DIALOGS, text_contains=case.value)

    async def ask(bench: Bench) -> Verdict:
        said = [each.message for each in bench.happenings.said]
        if any(squeezed(case.value) in squeezed(each) for each in said):
            return held(True, f"the browser's dialog said {said[-1][:120]!r}")
        judged, _ = await evaluate(bench.page, [opened], SCOPE)
        return judged[0]

    return Asked(ask=ask)


@outcome("dialog_closes")
def _dialog_closes(case: Case) -> Asked:
    opened = DomElement(type="dom_element", selector=DIALOGS, text_contains=case.value)
    return Asked((_none(opened),), lasting=True)


@outcome("downloads")
def _downloads(case: Case) -> Asked:
    async def ask(bench: Bench) -> Verdict:
        names = [each.suggested_filename for each in bench.happenings.downloads]
        if not names:
            return held(False, "nothing was downloaded")
        fits = any(fnmatchcase(name, case.value or "*") for name in names)
        return held(fits, f"downloaded {', '.join(names)[:200]}")

    return Asked(ask=ask)


@outcome("no_console_errors")
def _no_console_errors(case: Case) -> Asked:
    async def ask(bench: Bench) -> Verdict:
        lines = bench.watch.of_step(case.step.step_idx)
        errors = [each.text for each in lines if each.kind in ("error", "pageerror")]
        return held(not errors, errors[0][:200] if errors else "no error on the console")

    return Asked(lasting=True, ask=ask)


def _none(*conditions: Condition) -> Combined:
    return Combined(type="none_of", conditions=conditions)


def at_path(where: str) -> UrlMatches:
    """The address is this path (or absolute URL), whatever its query; `*` stands for anything."""
    plain = where.rstrip("/") if len(where) > 1 else where
    pattern = ".*".join(re.escape(part) for part in plain.split("*"))
    tail = "" if any(mark in where for mark in "?#") else r"/?(?:\?[^#]*)?(?:#.*)?"
    if not where.startswith(("/", "http://", "https://")):
        pattern = f"/(?:.*/)?{pattern}" if not plain.startswith("*") else f"/{pattern}"
    return UrlMatches(type="url_matches", pattern=f"^{pattern}{tail}$")


# -- what no probe says ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """What an element is at the moment."""

    focused: bool
    selected: bool
    options: tuple[str, ...]


@cache
def _script() -> str:
    return (Path(__file__).parent / "state.js").read_text(encoding="utf-8")


async def state_of(bench: Bench, check: Check) -> State | None:
    """Focus, selection and chosen options of a check's element; None where it cannot be asked."""
    if not check.expression:
        return None
    try:
        found = to_locator(bench.page, check.expression)
        if await found.count() != 1:
            return None
        said = await found.evaluate(_script(), timeout=1_000)
    except DriverError:
        return None
    return State(bool(said["focused"]), bool(said["selected"]), tuple(said["options"]))


async def refused(bench: Bench, selector: Selector) -> RefusedField | None:
    """What the page says of a field it refuses; None where it does not."""
    said = await complaints(bench.page, {"it": selector})
    return next((each for each in said.fields if each.element == "it"), None)
