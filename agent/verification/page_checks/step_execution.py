"""Executes one planned step: its action through the gate, then its outcomes until they hold (PACTS 4.4).

Problems of the page are results, not exceptions: `ExecutedStep`, or `FailedStep` with its evidence.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from agent.locators.page_scan import scan_page
from agent.page.errors import GateFailed, GatePoint, NavigationFailed, PageError
from agent.page.live_selectors import resolve_selector, summarize_selector
from agent.page.page_actions import perform_action
from agent.page.page_changes import wait_for_change
from agent.page.page_watchdog import page_deadline
from agent.page.secret_holders import is_value_hidden
from agent.page.snapshot_capture import read_page_revision
from agent.telemetry import span
from agent.verification.page_checks import failure_evidence
from agent.verification.page_checks.check_evaluation import (
    CheckResults,
    evaluate_checks_until_held,
    summarize_unmet_check,
)
from agent.verification.page_checks.element_discovery import list_expected_data, list_new_lines, texts_like
from agent.verification.page_checks.failure_evidence import FailedStep
from agent.verification.page_checks.named_elements import (
    find_acting_step,
    find_other_words,
    require_named_words,
)
from agent.verification.page_checks.named_rows import require_named_row
from agent.verification.page_checks.outcome_conditions import OutcomeCase, read_refusal, without_name
from agent.verification.page_checks.outcome_differences import describe_difference
from agent.verification.page_checks.planned_actions import (
    find_side_effects,
    perform_planned_action,
    record_page_before,
)
from agent.verification.page_checks.similar_elements import READ_ONLY, assess_risk, find_most_similar
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.placeholders import SecretMissing
from kb_schema.probes import ProbeAnswer
from kb_schema.url_patterns import resolve
from kb_schema.verification import (
    ExecutedStep,
    FailureEvidence,
    FailureKind,
    OutcomeDifference,
    PlanCheck,
    PlanStep,
)

_SERVER_FAILED = 500
_ABOUT_ADDRESS = frozenset({"navigates_to", "stays_on_page", "url"})


@dataclass(frozen=True, slots=True)
class _UnmetOutcome:
    """An outcome that does not hold."""

    check: PlanCheck
    case: OutcomeCase
    judged: CheckResults
    number: int


async def open_first_page(site_page: VerificationPage, url: str) -> FailedStep | None:
    """Open the first page: absolute, or a path below the base URL. Return the failure where it does not open."""
    began = time.monotonic()
    site_page.started, site_page.acted = url, None
    site_page.begin(site_page.step_idx)
    where = resolve(site_page.filled(url), authored_base="", base=site_page.base_url)
    with span("bench.start"):
        try:
            await perform_action(site_page.page, "navigate", url=where)
        except PageError as exc:
            return await failure_evidence.build_unopened_page(site_page, exc, began)
        status = await failure_evidence.status_of(site_page)
        if status is not None and status >= _SERVER_FAILED:
            failed = NavigationFailed(where, f"the site answered {status}")
            return await failure_evidence.build_unopened_page(site_page, failed, began)
    return None


async def execute_step(
    site_page: VerificationPage, step: PlanStep, *, heal_round: int = 0
) -> ExecutedStep | FailedStep:
    """Execute the step on the current page. Problems of the page are returned, not raised.

    In a `heal_round`, an action that succeeded before is not repeated: only its outcomes are evaluated.
    """
    with site_page.within(step.intent):
        return await _execute_step(site_page, step, heal_round)


async def _execute_step(
    site_page: VerificationPage, step: PlanStep, heal_round: int
) -> ExecutedStep | FailedStep:
    began = time.monotonic()
    with span("bench.execute", step_idx=step.step_idx, action=step.intent.action, heal_round=heal_round):
        filled = site_page.usable(step)
        done_before = heal_round > 0 and site_page.acted == step.step_idx
        if not done_before:
            site_page.begin(step.step_idx, find_side_effects(filled))
            site_page.acted = None
            site_page.met.clear()
            if step.selector is not None and heal_round == 0:
                site_page.compared += 1
        took_s = 0.0
        try:
            async with page_deadline(site_page.page, site_page.policy.step_s, f"step {step.step_idx + 1}"):
                if not done_before:
                    took_s = await _act(site_page, filled, heal_round)
                judged = await _judged(site_page, filled)
        except SecretMissing as exc:
            return await _undone(site_page, step, began, heal_round, await _unfilled(site_page, step, exc))
        except PageError as exc:
            return await _undone(
                site_page,
                step,
                began,
                heal_round,
                await failure_evidence.build_action_failure(site_page, filled, exc),
            )
        wrong = _first_open(site_page, filled, judged)
        if wrong is not None:
            evidence = await _build_outcome_failure(site_page, filled, wrong)
            return await _undone(site_page, step, began, heal_round, evidence)
        late_s = took_s - site_page.policy.outcome_s
        if step.checks and late_s > 0:
            return await _undone(
                site_page, step, began, heal_round, await _build_late_failure(site_page, filled, late_s)
            )
        held = tuple(each.outcome.said or each.outcome.kind for each in step.checks)
        shot = await site_page.shoot(_picture(step, heal_round))
        return failure_evidence.build_executed_step(
            site_page, step, began, heal_round, checks=held, screenshot=shot
        )


async def _act(site_page: VerificationPage, step: PlanStep, heal_round: int) -> float:
    """Perform the action, wait for its tab and download; return the seconds it took after the gate."""
    took_s = 0.0
    if step.intent.action:
        await site_page.arrived()
        await record_page_before(site_page, step.intent, [each.outcome for each in step.checks])
        await _is_target_reachable(site_page, step)
        await require_named_row(site_page, step)
        await require_named_words(site_page, step)
        took_s = await perform_planned_action(site_page, step, site_page.policy.gate_s + heal_round)
        if step.selector is not None and step.fingerprint is not None:
            site_page.known.append((site_page.path_of(site_page.before[0]), step.selector, step.fingerprint))
    site_page.acted = step.step_idx
    if step.new_tab:
        await site_page.side_effects.tab(site_page.policy.tab_s)
    if any(each.outcome.kind == "downloads" for each in step.checks):
        await site_page.side_effects.download(site_page.policy.download_s)
    return took_s


async def _is_target_reachable(site_page: VerificationPage, step: PlanStep) -> None:
    """Not to wait at the gate for what surely is elsewhere: the page of the plan has come to rest, nothing
    leads to the element, and what is known of it is seen in another place. Raises `GateFailed`.
    """
    known, selector = step.fingerprint, step.selector
    if known is None or selector is None:
        return
    began = time.monotonic()
    rested, seen = began, await read_page_revision(site_page.page)
    while (left := site_page.policy.gate_s - (time.monotonic() - began)) > 0:
        if (await resolve_selector(site_page.page, selector)).count:
            return
        if site_page.monitor.pending or seen is None:
            rested = time.monotonic()
        elif time.monotonic() - rested >= site_page.policy.rest_s and site_page.path == step.page_url:
            found = await find_most_similar(site_page, known, selector, assess_risk(step))
            if found is not None and found.verdict == "same":
                waited = time.monotonic() - began
                raise GateFailed(
                    GatePoint.NOT_FOUND, "no element matches", summarize_selector(selector), waited_s=waited
                )
            return
        await wait_for_change(site_page.page, left, seen)
        now = await read_page_revision(site_page.page)
        if now != seen:
            rested, seen = time.monotonic(), now


async def _judged(site_page: VerificationPage, step: PlanStep) -> CheckResults | None:
    if not step.checks:
        return None
    return await evaluate_checks_until_held(
        site_page, build_outcome_cases(site_page, step), site_page.policy.outcome_s, site_page.met
    )


def build_outcome_case(site_page: VerificationPage, step: PlanStep, check: PlanCheck) -> OutcomeCase:
    """Return a check with its step, and with what the step typed. Raises `SecretMissing`."""
    own = check.outcome.element is None and check.selector is not None
    types = own and step.intent.types_value
    typed = site_page.text_to_type(step.intent, password=step.password).text if types else ""
    return OutcomeCase(check, step, own, typed)


def build_outcome_cases(site_page: VerificationPage, step: PlanStep) -> list[OutcomeCase]:
    """Return the step's checks, each with its step. Raises `SecretMissing`."""
    return [build_outcome_case(site_page, step, check) for check in step.checks]


def _first_open(
    site_page: VerificationPage, step: PlanStep, judged: CheckResults | None
) -> _UnmetOutcome | None:
    if judged is None:
        return None
    cases = build_outcome_cases(site_page, step)
    for number, verdict in enumerate(judged.verdicts):
        if not verdict.held:
            return _UnmetOutcome(step.checks[number], cases[number], judged, number)
    return None


async def _undone(
    site_page: VerificationPage, step: PlanStep, began: float, heal_round: int, evidence: FailureEvidence
) -> FailedStep:
    shot = await site_page.shoot(_picture(step, heal_round))
    done = failure_evidence.build_executed_step(
        site_page,
        step,
        began,
        heal_round,
        error=evidence.message,
        difference=evidence.difference,
        screenshot=shot,
    )
    return FailedStep(evidence.failure, evidence.model_copy(update={"heal_rounds": heal_round}), done)


async def _unfilled(site_page: VerificationPage, step: PlanStep, exc: SecretMissing) -> FailureEvidence:
    return await failure_evidence.collect_evidence(
        site_page,
        failure=FailureKind.TIMEOUT,
        step_idx=step.step_idx,
        action=step.intent.action,
        message=str(exc),
        element=step.intent.intent,
    )


async def _build_outcome_failure(
    site_page: VerificationPage, step: PlanStep, wrong: _UnmetOutcome
) -> FailureEvidence:
    """Return the evidence of an outcome that does not hold: what was expected, and what the page shows instead."""
    check, verdict = wrong.check, wrong.judged.verdicts[wrong.number]
    said = check.outcome.said or check.outcome.kind
    known: dict[str, object] = {
        "failure": FailureKind.TIMEOUT,
        "what": "outcome",
        "step_idx": step.step_idx,
        "action": step.intent.action,
        "element": step.intent.intent or step.intent.element,
        "outcome": check.outcome,
        "message": f"expected {said}: {summarize_unmet_check(verdict)}",
        "expected": check.outcome.value or check.url or check.title or check.heading or said,
        "pending": site_page.monitor.owed(),
    }
    try:
        if site_page.monitor.leaving(site_page.page):  # it cannot answer before the navigation ends
            known["came_late_s"] = await _came_late(site_page, step, wrong)
            return await failure_evidence.collect_evidence(site_page, **known)
        known["received"] = await _received(site_page, step, wrong)
        wanted = check.outcome.value or ""
        index = await scan_page(site_page.page)
        known["appeared"] = list_new_lines(site_page, index, wanted)
        known["in_its_place"] = list_new_lines(site_page, index, wanted, kind=check.outcome.kind)
        known["expected_data"] = list_expected_data(site_page, wanted)
        difference = await describe_difference(site_page, wrong.case, wrong.judged, wrong.number)
        known |= {"difference": difference, "message": str(difference)}
        if check.selector is not None and not await _is_there(site_page, check):
            known["matched"] = (await resolve_selector(site_page.page, check.selector)).count
            known.update(await _describe_nearest(site_page, step, check))
        elif await find_other_words(site_page, step, check) is not None:
            known["matched"] = 0
            known.update(await _describe_nearest(site_page, step, check))
        known["came_late_s"] = await _came_late(site_page, step, wrong)
    except PageError as exc:
        known["message"] = f"{known['message']}; {exc}"
    evidence = await failure_evidence.collect_evidence(site_page, **known)
    expected = [each.outcome.value for each in step.checks if each.outcome.value]
    alerts = tuple(said for said in evidence.alerts if not any(each in said for each in expected))
    return evidence.model_copy(update={"alerts": alerts})  # an expected message refuses nothing


async def _build_late_failure(site_page: VerificationPage, step: PlanStep, late_s: float) -> FailureEvidence:
    """Return the evidence of outcomes that hold, but too late."""
    first = step.checks[0].outcome
    said = "; ".join(each.outcome.said or each.outcome.kind for each in step.checks)
    return await failure_evidence.collect_evidence(
        site_page,
        failure=FailureKind.TIMEOUT,
        what="outcome",
        step_idx=step.step_idx,
        action=step.intent.action,
        element=step.intent.intent or step.intent.element,
        outcome=first,
        came_late_s=late_s,
        expected=first.value or said,
        received=None,
        pending=(),
        message=f"expected {said} within {site_page.policy.outcome_s:.0f} s: it came {late_s:.1f} s later",
        difference=OutcomeDifference(
            expected=f"{said} within {site_page.policy.outcome_s:.0f} s",
            received=f"it came {late_s:.1f} s later",
        ),
    )


async def _describe_nearest(site_page: VerificationPage, step: PlanStep, check: PlanCheck) -> dict[str, Any]:
    """Return the evidence fields of what is like the outcome's element; for one that a step acts on, under the
    risk of that act.
    """
    acting = find_acting_step(site_page, step, check.fingerprint)
    acted = None if acting is None else site_page.usable(acting)
    risk, sought = READ_ONLY, check.selector
    if acted is not None:
        risk, sought = assess_risk(acted), acted.selector
    return await failure_evidence.describe_nearest_known(site_page, check.fingerprint, sought, risk, acted)


async def _is_there(site_page: VerificationPage, check: PlanCheck) -> bool:
    if check.selector is None:
        return True
    return (await resolve_selector(site_page.page, check.selector)).visible > 0


async def _received(site_page: VerificationPage, step: PlanStep, wrong: _UnmetOutcome) -> str | None:
    """Return what the page shows instead; never the value of a password field."""
    check, kind = wrong.check, wrong.check.outcome.kind
    if kind in _ABOUT_ADDRESS:
        return site_page.path
    if kind == "title":
        return wrong.judged.seen.title
    if kind == "invalid" and check.selector is not None:
        said = await read_refusal(site_page, check.selector)
        return None if said is None else said.message
    answer = wrong.judged.answer(wrong.number)
    if answer is not None:
        kept = (step.password and wrong.case.own) or await is_value_hidden(site_page.page, check.selector)
        return None if kept else _read_answer_text(check, answer)
    if not check.outcome.value:
        return None
    near = await texts_like(site_page, check.outcome.value)
    return next((each for each in near if each not in site_page.lines_before), next(iter(near), None))


def _read_answer_text(check: PlanCheck, answer: ProbeAnswer) -> str | None:
    if check.outcome.kind == "count":
        return str(answer.visible)
    if check.outcome.kind == "text":
        return without_name(answer.text or "", check.name)[:300]
    return (answer.value if answer.value is not None else answer.text or "")[:300] or None


async def _came_late(site_page: VerificationPage, step: PlanStep, wrong: _UnmetOutcome) -> float | None:
    """Check after giving up whether the outcome holds later; wait longer while a request is open."""
    began = time.monotonic()
    longest = site_page.policy.late_pending_s if site_page.monitor.pending else site_page.policy.late_s
    again = await evaluate_checks_until_held(site_page, build_outcome_cases(site_page, step), longest)
    return time.monotonic() - began if again.verdicts[wrong.number].held else None


def _picture(step: PlanStep, heal_round: int) -> str:
    return f"step-{step.step_idx + 1:02}{f'-healed-{heal_round}' if heal_round else ''}"
