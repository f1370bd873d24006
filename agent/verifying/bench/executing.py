"""Executes one planned step: its action through the gate, its outcomes until they hold (PACTS 4.4).

Whatever the page does, the answer is a value: `ExecutedStep`, or `Undone` with its evidence.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from agent.page.changing import wait_for_change
from agent.page.errors import GateFailed, PageError, Point
from agent.page.locating import locate, summary
from agent.page.snapshot import revision_of
from agent.telemetry import span
from agent.verifying.bench import evidence
from agent.verifying.bench.bench import Bench
from agent.verifying.bench.doing import about_to_act, act, expecting
from agent.verifying.bench.expecting import Case, refused, without_name
from agent.verifying.bench.finding import texts_like
from agent.verifying.bench.judging import Judged, judge_until_held, short
from agent.verifying.bench.likeness import nearest
from agent.verifying.bench.results import Undone
from kb_schema.placeholders import SecretMissing
from kb_schema.probes import ProbeAnswer
from kb_schema.verification import Check, Evidence, ExecutedStep, Failure, PlanStep

_ABOUT_ADDRESS = frozenset({"navigates_to", "stays_on_page", "url"})


@dataclass(frozen=True, slots=True)
class _Open:
    """An outcome that does not hold."""

    check: Check
    case: Case
    judged: Judged
    number: int


async def execute_step(bench: Bench, step: PlanStep, *, heal_round: int = 0) -> ExecutedStep | Undone:
    """The step, on the page as it is. Never raises for the page's troubles.

    With a `heal_round`, an action that came off before is not done again: only its outcomes are open.
    """
    began = time.monotonic()
    with span("bench.execute", step_idx=step.step_idx, action=step.intent.action, heal_round=heal_round):
        try:
            filled = bench.usable(step)
        except SecretMissing as exc:
            return await _undone(bench, step, began, heal_round, await _unfilled(bench, step, exc))
        done_before = heal_round > 0 and bench.acted == step.step_idx
        if not done_before:
            bench.begin(step.step_idx, expecting(filled))
            bench.acted = None
            if step.selector is not None and heal_round == 0:
                bench.compared += 1
        took_s = 0.0
        try:
            if not done_before:
                took_s = await _act(bench, filled, heal_round)
            judged = await _judged(bench, filled)
        except PageError as exc:
            return await _undone(bench, step, began, heal_round, await evidence.of_action(bench, filled, exc))
        wrong = _first_open(filled, judged)
        if wrong is not None:
            told = await _of_outcome(bench, filled, wrong)
            return await _undone(bench, step, began, heal_round, told)
        late_s = took_s - bench.policy.outcome_s
        if step.checks and late_s > 0:
            return await _undone(bench, step, began, heal_round, await _of_lateness(bench, filled, late_s))
        held = tuple(each.outcome.said or each.outcome.kind for each in step.checks)
        shot = await bench.shoot(_picture(step, heal_round))
        return evidence.executed(bench, step, began, heal_round, checks=held, screenshot=shot)


async def _act(bench: Bench, step: PlanStep, heal_round: int) -> float:
    """The action, and what the plan knows that it leads to; the seconds it took after the gate."""
    took_s = 0.0
    if step.intent.action:
        await bench.arrived()
        await about_to_act(bench, step.intent)
        await _there(bench, step)
        took_s = await act(bench, step, bench.policy.gate_s + heal_round)
        if step.selector is not None and step.fingerprint is not None:
            bench.known.append((bench.path_of(bench.before[0]), step.selector, step.fingerprint))
    bench.acted = step.step_idx
    if step.new_tab:
        await bench.happenings.tab(bench.policy.tab_s)
    if any(each.outcome.kind == "downloads" for each in step.checks):
        await bench.happenings.download(bench.policy.download_s)
    return took_s


async def _there(bench: Bench, step: PlanStep) -> None:
    """Not to wait at the gate for what surely is elsewhere: the page of the plan has come to rest, nothing
    leads to the element, and what is known of it is seen in another place. Raises `GateFailed`.
    """
    known, selector = step.fingerprint, step.selector
    if known is None or selector is None:
        return
    began = time.monotonic()
    rested, seen = began, await revision_of(bench.page)
    while (left := bench.policy.gate_s - (time.monotonic() - began)) > 0:
        if (await locate(bench.page, selector)).count:
            return
        if bench.watch.pending or seen is None:
            rested = time.monotonic()
        elif time.monotonic() - rested >= bench.policy.rest_s and bench.path == step.page_url:
            found = await nearest(bench, known, selector)
            if found is not None and found.verdict == "same":
                waited = time.monotonic() - began
                raise GateFailed(Point.NOT_FOUND, "nothing leads to it", summary(selector), waited_s=waited)
            return
        await wait_for_change(bench.page, left, seen)
        now = await revision_of(bench.page)
        if now != seen:
            rested, seen = time.monotonic(), now


async def _judged(bench: Bench, step: PlanStep) -> Judged | None:
    if not step.checks:
        return None
    return await judge_until_held(bench, cases_of(step), bench.policy.outcome_s)


def cases_of(step: PlanStep) -> list[Case]:
    """The step's checks with what they depend on."""
    return [
        Case(each, step, own=each.outcome.element is None and each.selector is not None)
        for each in step.checks
    ]


def _first_open(step: PlanStep, judged: Judged | None) -> _Open | None:
    if judged is None:
        return None
    cases = cases_of(step)
    for number, verdict in enumerate(judged.verdicts):
        if not verdict.held:
            return _Open(step.checks[number], cases[number], judged, number)
    return None


async def _undone(bench: Bench, step: PlanStep, began: float, heal_round: int, told: Evidence) -> Undone:
    shot = await bench.shoot(_picture(step, heal_round))
    done = evidence.executed(bench, step, began, heal_round, error=told.message, screenshot=shot)
    return Undone(told.failure, told.model_copy(update={"heal_rounds": heal_round}), done)


async def _unfilled(bench: Bench, step: PlanStep, exc: SecretMissing) -> Evidence:
    return await bench.evidence_now(
        failure=Failure.TIMEOUT, step_idx=step.step_idx, action=step.intent.action, message=str(exc),
        element=step.intent.intent,
    )  # fmt: skip


async def _of_outcome(bench: Bench, step: PlanStep, wrong: _Open) -> Evidence:
    """Why an outcome does not hold: what was expected, and what the page says instead."""
    check, verdict = wrong.check, wrong.judged.verdicts[wrong.number]
    said = check.outcome.said or check.outcome.kind
    known: dict[str, object] = {
        "failure": Failure.TIMEOUT,
        "what": "outcome",
        "step_idx": step.step_idx,
        "action": step.intent.action,
        "element": check.outcome.element or step.intent.intent or step.intent.element,
        "outcome": check.outcome,
        "message": f"expected {said}: {short(verdict)}",
        "expected": check.outcome.value or check.url or check.title or check.heading or said,
        "pending": bench.watch.owed(),
    }
    try:
        if bench.watch.leaving(bench.page):  # it cannot be asked anything before it has come
            known["came_late_s"] = await _came_late(bench, step, wrong)
            return await bench.evidence_now(**known)
        known["received"] = await _received(bench, step, wrong)
        if check.selector is not None and not await _is_there(bench, check):
            known["matched"] = (await locate(bench.page, check.selector)).count
            known.update(await evidence.nearest_known(bench, check.fingerprint, check.selector))
        known["came_late_s"] = await _came_late(bench, step, wrong)
    except PageError as exc:
        known["message"] = f"{known['message']}; {exc}"
    return await bench.evidence_now(**known)


async def _of_lateness(bench: Bench, step: PlanStep, late_s: float) -> Evidence:
    """Everything came, but later than an outcome may."""
    first = step.checks[0].outcome
    said = "; ".join(each.outcome.said or each.outcome.kind for each in step.checks)
    return await bench.evidence_now(
        failure=Failure.TIMEOUT, what="outcome", step_idx=step.step_idx, action=step.intent.action,
        element=step.intent.intent or step.intent.element, outcome=first, came_late_s=late_s,
        expected=first.value or said, received=None, pending=(),
        message=f"expected {said} within {bench.policy.outcome_s:.0f} s: it came {late_s:.1f} s later",
    )  # fmt: skip


async def _is_there(bench: Bench, check: Check) -> bool:
    if check.selector is None:
        return True
    return (await locate(bench.page, check.selector)).visible > 0


async def _received(bench: Bench, step: PlanStep, wrong: _Open) -> str | None:
    """What is there instead; never what a password field holds."""
    check, kind = wrong.check, wrong.check.outcome.kind
    if kind in _ABOUT_ADDRESS:
        return bench.path
    if kind == "title":
        return wrong.judged.seen.title
    if kind == "invalid" and check.selector is not None:
        said = await refused(bench, check.selector)
        return None if said is None else said.message
    answer = wrong.judged.answer(wrong.number)
    if answer is not None:
        return None if step.password and wrong.case.own else _said(check, answer)
    return next(iter(await texts_like(bench, check.outcome.value)), None) if check.outcome.value else None


def _said(check: Check, answer: ProbeAnswer) -> str | None:
    if check.outcome.kind == "count":
        return str(answer.visible)
    if check.outcome.kind == "text":
        return without_name(answer.text or "", check.name)[:300]
    return (answer.value if answer.value is not None else answer.text or "")[:300] or None


async def _came_late(bench: Bench, step: PlanStep, wrong: _Open) -> float | None:
    """A second look, after giving up: longer where the site still owes an answer."""
    began = time.monotonic()
    longest = bench.policy.late_pending_s if bench.watch.pending else bench.policy.late_s
    again = await judge_until_held(bench, cases_of(step), longest)
    return time.monotonic() - began if again.verdicts[wrong.number].held else None


def _picture(step: PlanStep, heal_round: int) -> str:
    return f"step-{step.step_idx + 1:02}{f'-healed-{heal_round}' if heal_round else ''}"
