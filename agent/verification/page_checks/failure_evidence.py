"""Results of failed and healed steps; collects the evidence of a failure from the page while it is unchanged.

Called only after a failure. `agent.verification.root_cause` interprets the evidence.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any
from urllib.parse import urljoin

from playwright.async_api import Error as DriverError

from agent.browser.browser_life import is_alive
from agent.healing.rewording_search import ActRisk, RewordedCandidate
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page.errors import (
    ElementChanged,
    GateFailed,
    GatePoint,
    NavigationFailed,
    OptionMissing,
    PageError,
    PageGone,
)
from agent.page.live_selectors import resolve_selector, summarize_selector
from agent.page.page_changes import wait_for_change
from agent.page.page_problems import NO_PAGE_PROBLEMS, PageProblems, read_page_problems
from agent.page.page_watchdog import read_end_reason
from agent.playwright_locators.locator_proof import to_locator
from agent.verification.page_checks import planned_actions, similar_elements
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.action_types import canonical
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import to_source
from kb_schema.selectors import Selector
from kb_schema.verification import (
    ExecutedStep,
    FailureEvidence,
    FailureKind,
    HealEvent,
    OfferedElement,
    OutcomeDifference,
    PlanStep,
    RequirementStep,
)

BROWSERS_OWN_ERROR = "chrome-error:"
_POINTS = {
    GatePoint.NOT_FOUND: FailureKind.TIMEOUT,
    GatePoint.NOT_UNIQUE: FailureKind.NOT_UNIQUE,
    GatePoint.NOT_VISIBLE: FailureKind.NOT_VISIBLE,
    GatePoint.DISABLED: FailureKind.DISABLED,
    GatePoint.UNSTABLE: FailureKind.UNSTABLE,
    GatePoint.NOT_SCOPED: FailureKind.NOT_SCOPED,
}


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that did not come off, with everything a root cause is decided from."""

    failure: FailureKind
    evidence: FailureEvidence
    executed: ExecutedStep


@dataclass(frozen=True, slots=True)
class StepHealing:
    """One round of healing: `step` leads to the element again where it succeeded, else it is as it was."""

    event: HealEvent
    step: PlanStep


def failure_of(error: Exception) -> FailureKind:
    """Return the kind of failure (PACTS 7.1) of an error of the page layer."""
    return _POINTS[error.point] if isinstance(error, GateFailed) else FailureKind.TIMEOUT


def describe_unusable_element(error: Exception) -> dict[str, Any]:
    """Return why an element that is there could not be used, as fields of `FailureEvidence` and `MissingItem`."""
    known: dict[str, Any] = {"failure": failure_of(error)}
    if isinstance(error, GateFailed) and error.cover is not None:
        known["cover"] = error.cover.described
    if isinstance(error, OptionMissing):
        known |= {"missing_option": error.option, "options": error.options}
    return known


def shown_value(intent: RequirementStep) -> str:
    """Return a step's value for reports: of files to upload the names, without the folders of this machine."""
    value = intent.value or ""
    if canonical(intent.action) != "upload_file":
        return value
    return "\n".join(PurePath(each.strip()).name for each in value.splitlines() if each.strip())


def build_executed_step(
    site_page: VerificationPage,
    step: PlanStep,
    began: float,
    heal_round: int,
    *,
    checks: tuple[str, ...] = (),
    error: str | None = None,
    difference: OutcomeDifference | None = None,
    screenshot: str | None = None,
) -> ExecutedStep:
    """Return the step for reports: without secrets, with the requirement's values."""
    intent = step.intent
    hidden = step.password and intent.value is not None
    return ExecutedStep(
        step_idx=step.step_idx,
        element=site_page.redact(intent.element),
        region=intent.region,
        action=intent.spoken_action,
        value="\u2022\u2022\u2022"
        if hidden
        else None
        if intent.value is None
        else site_page.redact(shown_value(intent)),
        locator=site_page.redact(to_source(step.expression)) if step.expression else None,
        selector=None if step.selector is None else site_page.redact(summarize_selector(step.selector)),
        strategy=step.strategy,
        confidence=step.confidence,
        status="success" if error is None else "failed",
        heal_round=heal_round,
        checks=tuple(site_page.redact(each) for each in checks),
        error=None if error is None else site_page.redact(error),
        difference=None if difference is None else site_page.redacted(difference),
        duration_ms=(time.monotonic() - began) * 1000,
        timestamp=datetime.now(UTC),
        screenshot=screenshot,
    )


async def build_unopened_page(site_page: VerificationPage, error: PageError, began: float) -> FailedStep:
    """Return the failure of a first page that did not load."""
    reached = not isinstance(error, NavigationFailed) or await is_site_reachable(site_page)
    evidence = await collect_evidence(
        site_page,
        failure=FailureKind.TIMEOUT,
        what="page",
        action="navigate",
        message=str(error),
        reachable=reached,
    )
    executed = ExecutedStep(
        step_idx=site_page.step_idx,
        element="",
        action="navigate",
        value=site_page.redact(site_page.started or ""),
        status="failed",
        error=site_page.redact(str(error)),
        duration_ms=(time.monotonic() - began) * 1000,
        timestamp=datetime.now(UTC),
        screenshot=await site_page.shoot("start"),
    )
    return FailedStep(FailureKind.TIMEOUT, evidence, executed)


async def status_of(site_page: VerificationPage) -> int | None:
    """Return the HTTP status of the document; None if unknown."""
    return (await _read_problems(site_page)).status or None


async def collect_evidence(site_page: VerificationPage, **known: Any) -> FailureEvidence:
    """Return the evidence of the current page; `known` overrides single fields."""
    said = await _read_problems(site_page)
    url = site_page.page.url
    found: dict[str, Any] = {
        "step_idx": site_page.step_idx,
        "url": _address_of(site_page),
        "error_page": url.startswith(BROWSERS_OWN_ERROR),
        "status": said.status or None,
        "console": site_page.console,
        "answers": site_page.answers,
        "refused_fields": tuple(
            f"{each.label}: {each.message}"
            for each in said.fields
            if each.marked or (each.value and each.message)
        ),
        "alerts": said.alerts,
        "drifted": site_page.drifted,
        "compared": site_page.compared,
        "page_changed": await _changed(site_page),
        "previous_changed": site_page.previous_changed,
        "pending": site_page.monitor.owed(),
        "browser_alive": _alive(site_page),
        "page_ended": read_end_reason(site_page.page),
    }
    if url.startswith(BROWSERS_OWN_ERROR) and "reachable" not in known:
        found["reachable"] = await is_site_reachable(site_page)
    return site_page.redacted(FailureEvidence(**{**found, **known}))


def _address_of(site_page: VerificationPage) -> str:
    """Return the address of the page; for the browser's own error page the address that was asked for."""
    url = site_page.page.url
    if not url.startswith(BROWSERS_OWN_ERROR):
        return url
    asked = [each.url for each in site_page.answers if each.resource_type == "document"]
    return asked[-1] if asked else urljoin(f"{site_page.base_url}/", (site_page.started or "").lstrip("/"))


async def build_action_failure(
    site_page: VerificationPage, step: PlanStep, error: PageError
) -> FailureEvidence:
    """Return the evidence of a failed action; the values of `step` are filled in."""
    known: dict[str, Any] = {
        **describe_unusable_element(error),
        "what": "page" if isinstance(error, NavigationFailed) else "action",
        "step_idx": step.step_idx,
        "action": step.intent.action,
        "element": step.intent.intent or step.intent.element,
        "message": str(error),
    }
    known["pending"] = site_page.monitor.owed()
    if step.selector is not None:
        known["compared"] = max(0, site_page.compared - 1)  # without the one that failed
    if isinstance(error, GateFailed):
        site_page.cover = error.cover
        known["moving"] = error.point is GatePoint.UNSTABLE
    if isinstance(error, OptionMissing):
        return await collect_evidence(site_page, **known, matched=1)
    if isinstance(error, PageGone | NavigationFailed):
        known["reachable"] = await is_site_reachable(site_page)
    if step.selector is not None and _alive(site_page):
        with suppress(PageError):
            there = await resolve_selector(site_page.page, step.selector)
            known["matched"] = there.count
            if there.count > 1 and not there.visible:  # several that are hidden: none of them is meant
                known |= {"matched": 0, "failure": FailureKind.TIMEOUT}
            if isinstance(error, ElementChanged) and error.by_words:
                known["matched"] = 0
            risk = similar_elements.assess_risk(step)
            known.update(await describe_nearest_known(site_page, step.fingerprint, step.selector, risk, step))
            if known.get("nearest_verdict") != "same":  # otherwise its place is known already
                known["came_late_s"] = await _came_late(site_page, step.selector, error)
    return await collect_evidence(site_page, **known)


async def describe_nearest_known(
    site_page: VerificationPage,
    known: Fingerprint | None,
    selector: Selector | None,
    risk: ActRisk = similar_elements.READ_ONLY,
    step: PlanStep | None = None,
) -> dict[str, Any]:
    """Return the evidence fields of the most similar element. With a step, one that leads is offered for it."""
    index = await scan_page(site_page.page)
    found = await similar_elements.find_most_similar(site_page, known, selector, risk, index)
    if found is None:
        return {}
    fields = {"nearest": found.description, "nearest_score": found.score, "nearest_verdict": found.verdict}
    if step is None or found.reworded is None:
        return fields
    return {**fields, "offered": await _build_offer(site_page, step, index, found, found.reworded)}


async def _build_offer(
    site_page: VerificationPage,
    step: PlanStep,
    index: PageIndex,
    found: similar_elements.SimilarElement,
    candidate: RewordedCandidate,
) -> OfferedElement:
    """Return the candidate with a selector that leads to it alone, without values of this run."""
    choice = (await choose_selectors(site_page.page, index, [candidate.at]))[0]
    offered = OfferedElement(
        step_idx=step.step_idx,
        element=step.intent.intent or step.intent.element,
        description=found.description,
        likeness=found.score,
        support=candidate.support,
        against=candidate.against,
        harmful=candidate.harmful,
        selector=choice.selector,
        fingerprint=candidate.seen,
    )
    if choice.selector is not None:
        expression = await planned_actions.expression_for(site_page, choice.selector, candidate.seen)
        offered = offered.model_copy(update={"expression": expression})
    offered = site_page.keepable(offered)
    if not offered.expression:
        return offered
    place = to_locator(site_page.page, offered.expression)
    picture = await site_page.shoot(f"step_{step.step_idx + 1}_offered", place)
    return offered.model_copy(update={"screenshot": picture})


async def is_site_reachable(site_page: VerificationPage) -> bool:
    """Whether the site answers at all, with any status."""
    try:
        answer = await site_page.context.request.head(
            site_page.base_url or "/", timeout=site_page.policy.reach_s * 1000
        )
    except DriverError:
        return False
    await answer.dispose()
    return True


async def _came_late(site_page: VerificationPage, selector: Selector, error: PageError) -> float | None:
    """Return after how many seconds a missing or hidden element became visible; None if it did not."""
    if not isinstance(error, GateFailed) or error.point not in (GatePoint.NOT_FOUND, GatePoint.NOT_VISIBLE):
        return None
    began = time.monotonic()
    longest = site_page.policy.late_pending_s if site_page.monitor.pending else site_page.policy.late_s
    while (left := longest - (time.monotonic() - began)) > 0:
        await site_page.monitor.arrived(site_page.page, left)
        found = await resolve_selector(site_page.page, selector)
        if found.visible == 1:
            return time.monotonic() - began
        await wait_for_change(site_page.page, left)
        if not site_page.monitor.pending:
            longest = min(longest, time.monotonic() - began + site_page.policy.late_s)
    return None


async def _read_problems(site_page: VerificationPage) -> PageProblems:
    with suppress(PageError, DriverError):
        return await read_page_problems(site_page.page, {})
    return NO_PAGE_PROBLEMS


async def _changed(site_page: VerificationPage) -> bool | None:
    with suppress(PageError, DriverError):
        changed = await site_page.changed()
        return (
            changed if changed or site_page.pressed else None
        )  # a changed field value is no change of the page
    return None


def _alive(site_page: VerificationPage) -> bool:
    browser = site_page.context.browser
    return (browser is None or is_alive(browser)) and not site_page.page.is_closed()
