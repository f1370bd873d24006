"""Resolves expected outcomes while a plan is built: finds their elements, and what proves that a page is reached.

Every check returned from here was found on the live page. `check_evaluation` decides whether it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.locators.page_fingerprints import PageFingerprints
from agent.verification.page_checks.element_discovery import (
    OutcomeElement,
    TargetNotFound,
    count_selector,
    find_shown,
    stable_selector,
)
from agent.verification.page_checks.page_identity import (
    PageIdentity,
    list_page_name_proofs,
    read_page_identity,
)
from agent.verification.page_checks.planned_actions import expression_for
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.verification import ExpectedOutcome, PlanCheck, PlanStep

GONE = frozenset({"hidden"})
"""Outcomes about an element that disappears: it must be found before the action."""
_SAYS_IT_ITSELF = frozenset({"text"})
"""Outcomes that compare the element's own text."""


@dataclass
class ResolutionContext:
    """What is known of a step when its outcomes are resolved."""

    step: PlanStep
    """The step as far as it is built; its values are filled in."""
    before: PageIdentity
    """The page before the action."""
    seen: dict[int, PlanCheck] = field(default_factory=dict)
    """Checks that were found before the action, by the number of their outcome."""


async def find_disappearing_elements(
    site_page: VerificationPage, known: ResolutionContext, outcomes: tuple[ExpectedOutcome, ...]
) -> None:
    """Find, before the action, the elements that it must remove."""
    for number, outcome in enumerate(outcomes):
        if outcome.kind in GONE and outcome.element is not None:
            found = await find_shown(site_page, outcome.element, outcome.region, gone=True)
            if isinstance(found, OutcomeElement):
                known.seen[number] = await _check(site_page, outcome, found)


async def resolve_outcome(
    site_page: VerificationPage, known: ResolutionContext, number: int, outcome: ExpectedOutcome
) -> PlanCheck | TargetNotFound:
    """Return the check of an outcome on the current page; the outcome's values are filled in."""
    if number in known.seen:
        return known.seen[number]
    if OUTCOMES[outcome.kind].about == "page":
        return await _of_page(site_page, known, outcome)
    if outcome.element is None:
        return _own(known.step, outcome)
    if outcome.kind == "count":
        return await _counted(site_page, outcome)
    return await _of_element(site_page, outcome, outcome.element)


async def _of_element(
    site_page: VerificationPage, outcome: ExpectedOutcome, element: str
) -> PlanCheck | TargetNotFound:
    found = await find_shown(site_page, element, outcome.region)
    if isinstance(found, OutcomeElement):
        return await _check(site_page, outcome, found)
    if outcome.kind in GONE:
        return TargetNotFound(
            f"{found.reason}: it was not there before the step either, so it cannot disappear"
        )
    return found


def _own(step: PlanStep, outcome: ExpectedOutcome) -> PlanCheck | TargetNotFound:
    """Return a check of the step's own element, which is known."""
    if step.selector is None:
        return TargetNotFound("the step has no element that this outcome could refer to: name one")
    return PlanCheck(
        outcome=outcome,
        selector=step.selector,
        expression=step.expression,
        fingerprint=step.fingerprint,
        name=step.name,
        role=step.role,
        confidence=step.confidence,
        strategy=step.strategy,
    )


async def _check(site_page: VerificationPage, outcome: ExpectedOutcome, found: OutcomeElement) -> PlanCheck:
    fingerprint = PageFingerprints(found.index).of(found.at)
    selector = await stable_selector(site_page, found)
    judged = outcome.value if outcome.kind in _SAYS_IT_ITSELF else None
    return PlanCheck(
        outcome=outcome,
        selector=_without(selector, judged),
        expression=await expression_for(site_page, selector, fingerprint, without=judged),
        fingerprint=fingerprint,
        name=(outcome.element or "") if judged else describe_element_name(fingerprint, outcome.element or ""),
        role=fingerprint.role,
        confidence=found.confidence,
        strategy=found.strategy,
    )


def _without(selector: Selector, said: str | None) -> Selector:
    """Without the strategies that ask for what is to be judged: such a check could not fail otherwise than
    by not finding its element.
    """
    if not said:
        return selector
    kept = tuple(each for each in selector.strategies if said not in each.model_dump_json())
    return Selector(strategies=kept, frame=selector.frame) if kept else selector


async def _counted(site_page: VerificationPage, outcome: ExpectedOutcome) -> PlanCheck | TargetNotFound:
    selector = await count_selector(site_page, outcome.element or "", outcome.region)
    if isinstance(selector, TargetNotFound):
        return selector
    return PlanCheck(outcome=outcome, selector=selector, name=outcome.element or "", strategy="role_name")


async def _of_page(
    site_page: VerificationPage, known: ResolutionContext, outcome: ExpectedOutcome
) -> PlanCheck | TargetNotFound:
    if outcome.kind == "stays_on_page":
        return PlanCheck(outcome=outcome, url=known.before.path)
    if outcome.kind != "navigates_to":
        return PlanCheck(outcome=outcome)
    wanted = outcome.value or ""
    if wanted.startswith(("/", "http://", "https://")):
        return PlanCheck(outcome=outcome, url=wanted)
    now = await read_page_identity(site_page)
    found = list(list_page_name_proofs(wanted, now))
    if not found:
        return TargetNotFound(
            f"the page is {now.path}, titled {now.title!r}",
            tuple(dict.fromkeys(each for each in (*now.headings[:3], now.title) if each)),
        )
    old = list(list_page_name_proofs(wanted, known.before))
    best = next((each for each in found if each not in old), found[0])
    return PlanCheck(outcome=outcome, url=best.url, title=best.title, heading=best.heading)


def is_held_before(known: ResolutionContext, check: PlanCheck) -> bool:
    """Whether the page before the action already fits the check: the action may still navigate."""
    if check.outcome.kind != "navigates_to":
        return False
    before = list(list_page_name_proofs(check.outcome.value or "", known.before))
    return any(
        (each.url, each.title, each.heading) == (check.url, check.title, check.heading) for each in before
    )


def describe_element_name(fingerprint: Fingerprint, otherwise: str) -> str:
    """Return what people call an element."""
    said = (fingerprint.name, fingerprint.label, fingerprint.attributes.get("placeholder"), fingerprint.text)
    return next((each[:80] for each in said if each), otherwise)
