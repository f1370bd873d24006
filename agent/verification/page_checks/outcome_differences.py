"""Says of an outcome that does not hold what was expected and what the page has instead.

One registered function per kind of outcome: `Shop name: expected "Velo Two", the field holds "Velo"`. The words are for
people, in reports; root causes are decided from `FailureEvidence.expected` and `received`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from playwright.async_api import Error as DriverError
from rapidfuzz import fuzz, process

from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.page_scan import scan_page
from agent.page.live_selectors import resolve_selector
from agent.page.secret_holders import is_value_hidden
from agent.verification.page_checks.arrivals import NO_ARRIVAL
from agent.verification.page_checks.check_evaluation import CheckResults, summarize_unmet_check
from agent.verification.page_checks.element_discovery import is_message
from agent.verification.page_checks.named_elements import find_other_words
from agent.verification.page_checks.outcome_conditions import (
    OutcomeCase,
    read_element_state,
    read_refusal,
    without_name,
)
from agent.verification.page_checks.text_evidence import DIALOGS, NO_EVIDENCE, SEEN
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.placeholders import find_secret_names
from kb_schema.probes import ProbeAnswer
from kb_schema.registry import Registry
from kb_schema.verification import ExpectedOutcome, OutcomeDifference, RequirementStep

_LONGEST = 120
"""Characters of a text of the page in a sentence."""
_MOST = 3
_ALIKE = 60


@dataclass(frozen=True, slots=True)
class _UnmetCase:
    """The outcome, with what the page answers."""

    site_page: VerificationPage
    case: OutcomeCase
    answer: ProbeAnswer | None
    evidence: str
    held: bool
    """Whether the field's value is shown nowhere, whatever was typed."""
    index: PageIndex
    title: str
    dialogs: tuple[str, ...]

    @property
    def value(self) -> str:
        return self.case.value

    @property
    def hidden(self) -> bool:
        """The value must not be shown: of a password field, or a secret."""
        secret = bool(find_secret_names(self.case.step.intent.value or "")) and self.case.own
        return self.held or (self.case.own and (self.case.step.password or secret))


_Wording = Callable[[_UnmetCase], tuple[str, str]]
_WORDINGS = Registry[_Wording]("outcome")
"""By kind of outcome: what was expected, and what is there."""


async def describe_difference(
    site_page: VerificationPage, case: OutcomeCase, judged: CheckResults, number: int
) -> OutcomeDifference:
    """Return the difference of an outcome that does not hold. Without an answer of the page, the evidence is said.

    Without secrets. Raises `PageGone`.
    """
    subject, kind = _name_subject(case.check.outcome, case.step.intent), case.check.outcome.kind
    evidence = summarize_unmet_check(judged.verdicts[number])
    held = await is_value_hidden(site_page.page, case.check.selector)
    gone = await _describe_absence(site_page, case)
    index = await scan_page(site_page.page)
    unmet = _UnmetCase(
        site_page,
        case,
        judged.answer(number),
        "the field holds another value" if held else evidence,
        held,
        index,
        judged.seen.title or index.title,
        await _list_dialogs(site_page) if "dialog" in kind else (),
    )
    expected, received = _WORDINGS[kind](unmet) if kind in _WORDINGS else (case.check.outcome.said, evidence)
    received = evidence if evidence.startswith(NO_EVIDENCE) else received
    if kind in ("focused", "selected", "invalid") and gone is None:
        received = await _read_state(unmet)
    found = OutcomeDifference(subject=subject, expected=expected, received=gone or received)
    return site_page.redacted(found)


def describe_unfound(outcome: ExpectedOutcome, intent: RequirementStep, reason: str) -> OutcomeDifference:
    """Return the difference of an outcome whose element was not found. `reason`: why."""
    return OutcomeDifference(
        subject=_name_subject(outcome, intent), expected=outcome.said or outcome.kind, received=reason
    )


def list_worded_kinds() -> frozenset[str]:
    """Return the kinds of outcomes that have a wording."""
    return frozenset(_WORDINGS)


def _name_subject(outcome: ExpectedOutcome, intent: RequirementStep) -> str:
    if OUTCOMES[outcome.kind].about == "page":
        return ""
    region = outcome.region if outcome.element else intent.region
    name = outcome.element or intent.element
    return f"{name}@{region}" if region else name


async def _describe_absence(site_page: VerificationPage, case: OutcomeCase) -> str | None:
    """Return that the outcome's element is not there; None if it is, or if the outcome needs none."""
    check = case.check
    if check.selector is None or check.outcome.kind in ("hidden", "count"):
        return None
    other = await find_other_words(site_page, case.step, check)
    if other is not None:
        return f"no element has these words; where it was is {other}"
    found = await resolve_selector(site_page.page, check.selector)
    if found.visible or (found.count and check.outcome.kind == "selected"):
        return None  # a list may be hidden behind the widget that stands for it
    return "it is hidden" if found.count else "it is not on the page"


async def _read_state(unmet: _UnmetCase) -> str:
    case = unmet.case
    if case.check.outcome.kind == "invalid" and case.check.selector is not None:
        said = await read_refusal(unmet.site_page, case.check.selector)
        return "it is not marked as invalid" if said is None else f"it says {_quote(said.message)}"
    state = await read_element_state(unmet.site_page, case.check)
    if state is None:
        return unmet.evidence
    if case.check.outcome.kind == "focused":
        return "another element has it"
    if not case.value:
        return "it is not"
    return f"selected is {_list_quoted(state.options)}" if state.options else "nothing is selected"


def _quote(text: str) -> str:
    plain = " ".join(text.split())
    return f'"{plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"}"'


def _list_quoted(texts: tuple[str, ...] | list[str]) -> str:
    return ", ".join(map(_quote, texts[:_MOST]))


# -- fields and elements -------------------------------------------------------------------------------


def _holds(unmet: _UnmetCase) -> str:
    value = None if unmet.answer is None else unmet.answer.value
    if value is None:
        return unmet.evidence
    if unmet.hidden:
        return "the field holds another value" if value else "the field is empty"
    return f"the field holds {_quote(value)}" if value else "the field is empty"


@_WORDINGS.register("field_populated")
def _field_populated(unmet: _UnmetCase) -> tuple[str, str]:
    wanted = unmet.case.typed or (unmet.case.check.observed if unmet.case.own else "")
    if not wanted:
        return "a value", _holds(unmet)
    return "the value that was entered" if unmet.hidden else _quote(wanted), _holds(unmet)


@_WORDINGS.register("field_value")
def _field_value(unmet: _UnmetCase) -> tuple[str, str]:
    return "the value that was entered" if unmet.hidden else _quote(unmet.value), _holds(unmet)


@_WORDINGS.register("field_empty")
def _field_empty(unmet: _UnmetCase) -> tuple[str, str]:
    return "no value", _holds(unmet)


@_WORDINGS.register("text")
def _text(unmet: _UnmetCase) -> tuple[str, str]:
    answer = unmet.answer
    said = (
        ""
        if answer is None or unmet.held
        else without_name(answer.value or answer.text or "", unmet.case.check.name)
    )
    return _quote(unmet.value), f"it says {_quote(said)}" if said else "it says nothing"


@_WORDINGS.register("count")
def _count(unmet: _UnmetCase) -> tuple[str, str]:
    return unmet.value, f"there are {unmet.answer.visible}" if unmet.answer is not None else unmet.evidence


@_WORDINGS.register("selected")
def _selected(unmet: _UnmetCase) -> tuple[str, str]:
    return _quote(unmet.value) if unmet.value else "it to be selected", unmet.evidence


@_WORDINGS.register("invalid")
def _invalid(unmet: _UnmetCase) -> tuple[str, str]:
    wanted = f" with {_quote(unmet.value)}" if unmet.value else ""
    return f"it to be marked as invalid{wanted}", unmet.evidence


def _fixed(expected: str, received: str) -> _Wording:
    return lambda _: (expected, received)


for _kind, _expected, _received in (
    ("checked", "it to be on", "it is off"),
    ("unchecked", "it to be off", "it is on"),
    ("focused", "the keyboard focus", "another element has it"),
    ("enabled", "it to be enabled", "it is disabled"),
    ("disabled", "it to be disabled", "it is enabled"),
    ("visible", "it to be visible", "it is hidden"),
    ("hidden", "it to be gone", "it is visible"),
):
    _WORDINGS.register(_kind)(_fixed(_expected, _received))


# -- the page ------------------------------------------------------------------------------------------


def _describe_page(unmet: _UnmetCase) -> str:
    return f"the page is {unmet.site_page.path}, titled {_quote(unmet.title)}"


@_WORDINGS.register("navigates_to")
def _navigates_to(unmet: _UnmetCase) -> tuple[str, str]:
    check = unmet.case.check
    proof = (
        check.url
        or (check.heading and f"heading {_quote(check.heading)}")
        or (check.title and f"title {_quote(check.title)}")
    )
    named = unmet.value if not proof or proof == unmet.value else f"{unmet.value} ({proof})"
    received = _describe_page(unmet)
    return f"the page {named}", f"{unmet.evidence}; {received}" if unmet.evidence.startswith(
        NO_ARRIVAL
    ) else received


@_WORDINGS.register("stays_on_page")
def _stays_on_page(unmet: _UnmetCase) -> tuple[str, str]:
    return f"the page to stay {unmet.case.check.url or '/'}", _describe_page(unmet)


@_WORDINGS.register("url")
def _url(unmet: _UnmetCase) -> tuple[str, str]:
    return f"the address {unmet.value}", f"it is {unmet.site_page.path}"


@_WORDINGS.register("title")
def _title(unmet: _UnmetCase) -> tuple[str, str]:
    return f"the title {_quote(unmet.value)}", f"it is {_quote(unmet.title)}"


@_WORDINGS.register("heading")
def _heading(unmet: _UnmetCase) -> tuple[str, str]:
    texts = [_text_of(each) for each in unmet.index.elements if each.visible and each.role == "heading"]
    return f"the heading {_quote(unmet.value)}", _name_those(unmet.value, texts, "heading")


@_WORDINGS.register("shows")
def _shows(unmet: _UnmetCase) -> tuple[str, str]:
    texts = [_text_of(each) for each in unmet.index.elements if each.visible]
    near = process.extractOne(unmet.value, texts, scorer=fuzz.WRatio, score_cutoff=_ALIKE)
    received = f"the nearest text is {_quote(near[0])}" if near else "no text of the page is like it"
    return f"the text {_quote(unmet.value)}", received


@_WORDINGS.register("not_shows")
def _not_shows(unmet: _UnmetCase) -> tuple[str, str]:
    texts = [_text_of(each) for each in unmet.index.elements if each.visible]
    wanted = " ".join(unmet.value.split()).casefold()
    said = sorted((each for each in texts if wanted in " ".join(each.split()).casefold()), key=len)
    if not said and unmet.evidence.startswith(SEEN):
        return f"no text {_quote(unmet.value)}", unmet.evidence
    return f"no text {_quote(unmet.value)}", f"the page shows {_quote(said[0] if said else unmet.value)}"


@_WORDINGS.register("message")
def _message(unmet: _UnmetCase) -> tuple[str, str]:
    said = [_text_of(each) for each in unmet.index.elements if each.visible and is_message(each)]
    wanted = f"the message {_quote(unmet.value)}" if unmet.value else "a message"
    return wanted, _name_those(unmet.value, said, "message")


@_WORDINGS.register("dialog_opens")
def _dialog_opens(unmet: _UnmetCase) -> tuple[str, str]:
    wanted = f"the dialog {_quote(unmet.value)}" if unmet.value else "a dialog"
    return wanted, _name_those(unmet.value, unmet.dialogs, "dialog") if unmet.dialogs else unmet.evidence


@_WORDINGS.register("dialog_closes")
def _dialog_closes(unmet: _UnmetCase) -> tuple[str, str]:
    wanted = f"no dialog {_quote(unmet.value)}" if unmet.value else "no open dialog"
    return wanted, _name_those("", unmet.dialogs, "dialog")


@_WORDINGS.register("downloads")
def _downloads(unmet: _UnmetCase) -> tuple[str, str]:
    return f"the file {unmet.value}" if unmet.value else "a file", unmet.evidence


@_WORDINGS.register("no_console_errors")
def _no_console_errors(unmet: _UnmetCase) -> tuple[str, str]:
    return "no error on the console", f"it has {_quote(unmet.evidence)}"


@_WORDINGS.register("judged")
def _judged(unmet: _UnmetCase) -> tuple[str, str]:
    return f"a page that fits the statement {_quote(unmet.value)}", unmet.evidence


def _text_of(element: IndexedElement) -> str:
    return element.text or element.name


async def _list_dialogs(site_page: VerificationPage) -> tuple[str, ...]:
    """Return the texts of the open dialogs, also of those that the browser itself showed."""
    shown = [each.message for each in site_page.side_effects.answered_dialogs]
    with suppress(DriverError):
        shown += await site_page.page.locator(DIALOGS).filter(visible=True).all_inner_texts()
    return tuple(shown)


def _name_those(wanted: str, texts: Sequence[str], what: str) -> str:
    """Return which texts of a kind the page has, the nearest first."""
    there = list(dict.fromkeys(each for each in texts if each))
    if not there:
        return f"the page has no {what}"
    if wanted:
        there.sort(key=lambda each: -fuzz.WRatio(wanted, each))
    return f"the page has the {what}{'s' if len(there) > 1 else ''} {_list_quoted(there)}"
