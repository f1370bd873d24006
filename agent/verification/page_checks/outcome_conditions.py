"""Turns resolved checks of expected outcomes into conditions, one registered function per kind of outcome.

The kinds are defined in `kb_schema/expected_outcomes.py`. `outcome_resolution` finds their elements,
`check_evaluation` evaluates the conditions.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Literal

from playwright.async_api import Download
from playwright.async_api import Error as DriverError

from agent.page.condition_probes import evaluate_conditions
from agent.page.page_problems import RefusedField, read_page_problems
from agent.page.sought_texts import SoughtText
from agent.playwright_locators.locator_proof import to_locator
from agent.verification.page_checks.arrivals import find_no_arrival
from agent.verification.page_checks.text_evidence import (
    DIALOGS,
    HEADINGS,
    Standing,
    build_sought,
    judge_not_shown,
    judge_shown,
)
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.conditions import (
    BaseCondition,
    Combined,
    Condition,
    DomElement,
    ElementCount,
    ElementEnabled,
    ElementHidden,
    ElementVisible,
    FieldFilled,
    FieldHasValue,
    JudgedText,
    ShowsMessage,
    TitleContains,
    UrlMatches,
)
from kb_schema.excerpts import excerpt
from kb_schema.probes import (
    ConditionScope,
    ElementProbe,
    Probe,
    ProbeFacts,
    Verdict,
    VerdictStatus,
    held,
    unknown,
)
from kb_schema.selectors import Selector, css
from kb_schema.verification import PlanCheck, PlanStep
from web_pages.page_texts import squeeze

NO_DIALOG = (
    "no such dialog is open: a dialog is an element of the role dialog or alertdialog, with aria-modal, or "
    "<dialog>; for another element write heading:TEXT or shows:TEXT"
)
ENDED_S = 0.5
"""How long a download that has begun may take to end before it is judged as far as it has come."""


class LiteralScope:
    """Looks up elements for conditions of a plan, which carry their selectors themselves."""

    signed_in_when: tuple[BaseCondition, ...] = ()

    def element(self, reference: str | Selector) -> Selector | None:
        """Return the selector itself; a text is CSS."""
        return css(reference) if isinstance(reference, str) else reference


SCOPE = LiteralScope()


class ElementSays(BaseCondition):
    """The text of an element is this, apart from white space and the element's own name."""

    type: Literal["element_says"] = "element_says"
    element: Selector
    value: str
    name: str = ""

    def probes(self, scope: ConditionScope) -> tuple[Probe, ...]:  # noqa: ARG002, D102 - as every condition's
        return (ElementProbe(selector=self.element),)

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:  # noqa: D102 - as every condition's
        answer = facts.answer(self.probes(scope)[0])
        if answer is None or answer.error or not answer.visible:
            return unknown("the element cannot be read")
        said = without_name(answer.value or answer.text or "", self.name)
        return held(said == collapse_whitespace(self.value), f"it says {excerpt(said)!r}")


class TitleIs(BaseCondition):
    """The title of the document is this."""

    type: Literal["title_is"] = "title_is"
    value: str

    def judge(self, facts: ProbeFacts, scope: ConditionScope) -> Verdict:  # noqa: ARG002, D102 - as every condition's
        if facts.title is None:
            return unknown("the title is not known")
        return held(
            collapse_whitespace(facts.title) == collapse_whitespace(self.value),
            f"the title is {excerpt(facts.title)!r}",
        )


def collapse_whitespace(text: str) -> str:
    """Return the text with every run of white space as one space, and without signs that nobody sees."""
    return squeeze(" ".join(text.split()))


def without_name(text: str, name: str) -> str:
    """Return an element's text without its name: `Total: 5` without `Total` is `5`."""
    text, name = collapse_whitespace(text), collapse_whitespace(name)
    if name and text.casefold().startswith(name.casefold()) and len(text) > len(name):
        rest = text[len(name) :]
        if not rest[0].isalnum():
            return rest.lstrip(" :=-\u2013\u2014")
    return text


OutcomeProbe = Callable[[VerificationPage], Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class OutcomeQuery:
    """The questions of one outcome to the page."""

    conditions: tuple[BaseCondition, ...] = ()
    """All of them must hold."""
    lasting: bool = False
    """It may hold before the action has its effect, so it must still hold when all other checks do."""
    ask: OutcomeProbe | None = None
    """A question that no probe can answer; asked if the conditions hold."""


@dataclass(frozen=True, slots=True)
class OutcomeCase:
    """A check with its step; values are filled in."""

    check: PlanCheck
    step: PlanStep
    own: bool
    """The check is about the step's own element."""
    typed: str = field(default="", repr=False)
    """What the step typed into its element, with its secrets; it is compared here and not sent to the page."""

    @property
    def selector(self) -> Selector:
        """The selector of the check's element."""
        if self.check.selector is None:
            raise ValueError(f"{self.check.outcome.said} is about an element, but the check has none")
        return self.check.selector

    @property
    def value(self) -> str:
        """The expected value; empty if any value is accepted."""
        return self.check.outcome.value or ""


OutcomeQueryBuilder = Callable[[OutcomeCase], OutcomeQuery]
OUTCOME_QUERIES: dict[str, OutcomeQueryBuilder] = {}


def register_outcome(kind: str) -> Callable[[OutcomeQueryBuilder], OutcomeQueryBuilder]:
    """Register the query of a kind of outcome. Raises `ValueError` for a second one of the same kind."""

    def register(maker: OutcomeQueryBuilder) -> OutcomeQueryBuilder:
        if kind in OUTCOME_QUERIES:
            raise ValueError(f"two queries for {kind!r}")
        OUTCOME_QUERIES[kind] = maker
        return maker

    return register


def build_outcome_query(case: OutcomeCase) -> OutcomeQuery:
    """Return the query of a check. Raises `KeyError` for an unregistered kind."""
    return OUTCOME_QUERIES[case.check.outcome.kind](case)


# -- fields ------------------------------------------------------------------------------------------


@register_outcome("field_populated")
def _field_populated(case: OutcomeCase) -> OutcomeQuery:
    """In the step that fills it: the step's value, or what the list made of it when it was first chosen."""
    filled = FieldFilled(type="field_filled", element=case.selector)
    if case.own and case.typed:
        return OutcomeQuery((FieldHasValue(type="field_has_value", element=case.selector, value=case.typed),))
    if case.own and case.check.observed:
        value = case.check.observed
        return OutcomeQuery((FieldHasValue(type="field_has_value", element=case.selector, value=value),))
    return OutcomeQuery((filled,))


@register_outcome("field_value")
def _field_value(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((FieldHasValue(type="field_has_value", element=case.selector, value=case.value),))


@register_outcome("field_empty")
def _field_empty(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((FieldHasValue(type="field_has_value", element=case.selector, value=""),))


@register_outcome("checked")
def _checked(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((FieldHasValue(type="field_has_value", element=case.selector, value=True),))


@register_outcome("unchecked")
def _unchecked(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((FieldHasValue(type="field_has_value", element=case.selector, value=False),))


@register_outcome("selected")
def _selected(case: OutcomeCase) -> OutcomeQuery:
    async def ask(site_page: VerificationPage) -> Verdict:
        state = await read_element_state(site_page, case.check)
        if state is None:
            return unknown("the element cannot be read")
        if not case.value:
            return held(state.selected, "it is selected" if state.selected else "it is not selected")
        chosen = [collapse_whitespace(each) for each in state.options]
        return held(
            collapse_whitespace(case.value) in chosen, f"chosen: {', '.join(chosen)[:120] or 'nothing'}"
        )

    return OutcomeQuery(ask=ask)


@register_outcome("focused")
def _focused(case: OutcomeCase) -> OutcomeQuery:
    async def ask(site_page: VerificationPage) -> Verdict:
        state = await read_element_state(site_page, case.check)
        if state is None:
            return unknown("the element cannot be read")
        return held(state.focused, "it has the focus" if state.focused else "it does not have the focus")

    return OutcomeQuery(ask=ask)


@register_outcome("invalid")
def _invalid(case: OutcomeCase) -> OutcomeQuery:
    async def ask(site_page: VerificationPage) -> Verdict:
        said = await read_refusal(site_page, case.selector)
        if said is None:
            return held(False, "the field is not marked as invalid")
        if case.value and collapse_whitespace(case.value) not in collapse_whitespace(said.message):
            return held(False, f"it is marked as invalid, and says {excerpt(said.message, 200)!r}")
        return held(True, f"it says {excerpt(said.message, 200)!r}")

    return OutcomeQuery(ask=ask)


# -- elements ----------------------------------------------------------------------------------------


@register_outcome("enabled")
def _enabled(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((ElementEnabled(type="element_enabled", element=case.selector),))


@register_outcome("disabled")
def _disabled(case: OutcomeCase) -> OutcomeQuery:
    enabled = ElementEnabled(type="element_enabled", element=case.selector)
    return OutcomeQuery((ElementVisible(type="element_visible", element=case.selector), _none(enabled)))


@register_outcome("visible")
def _visible(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((ElementVisible(type="element_visible", element=case.selector),))


@register_outcome("hidden")
def _hidden(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((ElementHidden(type="element_hidden", element=case.selector),), lasting=True)


@register_outcome("text")
def _text(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((ElementSays(element=case.selector, value=case.value, name=case.check.name),))


@register_outcome("count")
def _count(case: OutcomeCase) -> OutcomeQuery:
    number = int(case.value)
    counted = ElementCount(type="element_count", element=case.selector, min=number, max=number)
    return OutcomeQuery((counted,), lasting=True)


# -- the page ----------------------------------------------------------------------------------------


@register_outcome("navigates_to")
def _navigates_to(case: OutcomeCase) -> OutcomeQuery:
    check = case.check
    conditions: list[BaseCondition] = []
    if check.url is not None:
        conditions.append(build_path_condition(check.url))
    if check.title is not None:
        conditions.append(TitleContains(type="title_contains", value=check.title))

    async def ask(site_page: VerificationPage) -> Verdict:
        problem = await find_no_arrival(site_page, check)
        if problem is not None:
            return held(False, problem)
        if check.heading is None:
            return held(True, f"the page is {site_page.path}")
        return await judge_shown(site_page, SoughtText(check.heading, HEADINGS), "never", whole_words=False)

    return OutcomeQuery(tuple(conditions), lasting=True, ask=ask)


@register_outcome("stays_on_page")
def _stays_on_page(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((build_path_condition(case.check.url or "/"),), lasting=True)


@register_outcome("url")
def _url(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((build_path_condition(case.value),), lasting=True)


@register_outcome("title")
def _title(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery((TitleIs(value=case.value),), lasting=True)


@register_outcome("heading")
def _heading(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery(ask=_ask_shown(case, "never", whole_words=False))


@register_outcome("shows")
def _shows(case: OutcomeCase) -> OutcomeQuery:
    return OutcomeQuery(ask=_ask_shown(case, "alone"))


@register_outcome("not_shows")
def _not_shows(case: OutcomeCase) -> OutcomeQuery:
    async def ask(site_page: VerificationPage) -> Verdict:
        return await judge_not_shown(site_page, case.value)

    return OutcomeQuery(lasting=True, ask=ask)


@register_outcome("message")
def _message(case: OutcomeCase) -> OutcomeQuery:
    any_message = () if case.value else (ShowsMessage(type="shows_message"),)
    return OutcomeQuery(any_message, ask=_ask_shown(case, "always"))


@register_outcome("dialog_opens")
def _dialog_opens(case: OutcomeCase) -> OutcomeQuery:
    opened = DomElement(type="dom_element", selector=DIALOGS, text_contains=case.value)
    shown = _ask_shown(case, "alone", whole_words=False)

    async def ask(site_page: VerificationPage) -> Verdict:
        said = [each.message for each in site_page.side_effects.answered_dialogs]
        if any(collapse_whitespace(case.value) in collapse_whitespace(each) for each in said):
            return held(True, f"the browser's dialog said {excerpt(said[-1])!r}")
        judged, _ = await evaluate_conditions(site_page.page, [opened], SCOPE)
        if judged[0].status is VerdictStatus.NOT_HELD:
            return held(False, NO_DIALOG)
        return await shown(site_page) if judged[0].held else judged[0]

    return OutcomeQuery(ask=ask)


@register_outcome("dialog_closes")
def _dialog_closes(case: OutcomeCase) -> OutcomeQuery:
    opened = DomElement(type="dom_element", selector=DIALOGS, text_contains=case.value)
    return OutcomeQuery((_none(opened),), lasting=True)


@register_outcome("downloads")
def _downloads(case: OutcomeCase) -> OutcomeQuery:
    async def ask(site_page: VerificationPage) -> Verdict:
        begun = site_page.side_effects.downloads
        if not begun:
            return held(False, "nothing was downloaded")
        meant = [each for each in begun if fnmatchcase(each.suggested_filename, case.value or "*")]
        problems = [await _find_loss(site_page, each) for each in meant]
        if meant and all(problems):
            return held(False, f"{excerpt(meant[-1].suggested_filename)} was not downloaded: {problems[-1]}")
        names = ", ".join(each.suggested_filename for each in begun)
        return held(bool(meant), f"downloaded {excerpt(names, 200)}")

    return OutcomeQuery(ask=ask)


async def _find_loss(site_page: VerificationPage, download: Download) -> str | None:
    """Return why a download that began brings no file: the site's answer is an error, or it broke off. None if it does, as far as is known."""
    status = site_page.monitor.error_of(download.url)
    if status is not None:
        return f"the site answered {status}"
    asking = asyncio.ensure_future(download.failure())
    done, _ = await asyncio.wait({asking}, timeout=ENDED_S)
    if not done:
        asking.cancel()
        return None
    with suppress(DriverError):  # the page is gone, and nothing more is known
        return asking.result()
    return None


@register_outcome("no_console_errors")
def _no_console_errors(case: OutcomeCase) -> OutcomeQuery:
    async def ask(site_page: VerificationPage) -> Verdict:
        lines = site_page.monitor.of_step(case.step.step_idx)
        errors = [each.text for each in lines if each.kind in ("error", "pageerror")]
        return held(not errors, errors[0][:200] if errors else "no error on the console")

    return OutcomeQuery(lasting=True, ask=ask)


@register_outcome("judged")
def _judged(case: OutcomeCase) -> OutcomeQuery:
    """It is unknown here: `check_evaluation` asks the model when all other outcomes hold."""
    judged = JudgedText(type="judged", statement=case.value, judged_by="model")
    return OutcomeQuery((judged,), lasting=True)


def _ask_shown(case: OutcomeCase, standing: Standing, *, whole_words: bool = True) -> OutcomeProbe:
    """Return the question whether a person can see the outcome's text, and whether it is evidence of the press."""
    sought = build_sought(case.check.outcome)

    async def ask(site_page: VerificationPage) -> Verdict:
        return await judge_shown(site_page, sought, standing, whole_words=whole_words)

    return ask


def _none(*conditions: Condition) -> Combined:
    return Combined(type="none_of", conditions=conditions)


def build_path_condition(where: str) -> UrlMatches:
    """The address is this path (or absolute URL), with any query; `*` matches anything."""
    plain = where.rstrip("/") if len(where) > 1 else where
    pattern = ".*".join(re.escape(part) for part in plain.split("*"))
    tail = "" if any(mark in where for mark in "?#") else r"/?(?:\?[^#]*)?(?:#.*)?"
    if not where.startswith(("/", "http://", "https://")):
        pattern = f"/(?:.*/)?{pattern}" if not plain.startswith("*") else f"/{pattern}"
    return UrlMatches(type="url_matches", pattern=f"^{pattern}{tail}$")


# -- what no probe says ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiveElementState:
    """The current state of an element."""

    focused: bool
    selected: bool
    options: tuple[str, ...]


@cache
def _script() -> str:
    return (Path(__file__).parent / "element_state.js").read_text(encoding="utf-8")


async def read_element_state(site_page: VerificationPage, check: PlanCheck) -> LiveElementState | None:
    """Return focus, selection and chosen options of a check's element; None if it cannot be read."""
    if not check.expression:
        return None
    try:
        found = to_locator(site_page.page, check.expression)
        if await found.count() != 1:
            return None
        said = await found.evaluate(_script(), timeout=1_000)
    except DriverError:
        return None
    return LiveElementState(bool(said["focused"]), bool(said["selected"]), tuple(said["options"]))


async def read_refusal(site_page: VerificationPage, selector: Selector) -> RefusedField | None:
    """Return the message for a field that the page refuses; None if it is not refused."""
    said = await read_page_problems(site_page.page, {"it": selector})
    return next((each for each in said.fields if each.element == "it"), None)
