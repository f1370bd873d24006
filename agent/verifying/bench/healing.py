"""One round of bringing an element of a plan back: reveal, reprobe, stabilise (PACTS 4.5).

It only finds elements again, by what is known of them. An outcome that does not hold is never healed: a
wrong value, a missing message, a failing server stay what they are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from agent.healing.by_words import Called, find_by_words
from agent.healing.healer import Healer, HealPolicy, Meant
from agent.healing.judging import judge as judge_likeness
from agent.healing.likeness import same_address
from agent.healing.matching import Candidate
from agent.healing.matching import Outcome as Match
from agent.healing.reveal import dismiss_dialogs, parts, wait_for_idle
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import PageIndex
from agent.locating.looking import look_around
from agent.locating.selecting import selectors_at
from agent.page.errors import GateFailed, PageError, Point
from agent.page.locating import locate, summary
from agent.telemetry import span
from agent.verifying.bench import doing
from agent.verifying.bench.bench import Bench
from agent.verifying.bench.likeness import others
from agent.verifying.bench.obstacles import put_away
from agent.verifying.bench.results import Healing, Undone
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.verification import Check, Failure, HealEvent, Outcome, PlanStep
from kb_schema.wording import is_destructive

_SCROLLS = 2
"""The round in which lists that draw only what is in view are scrolled through."""
_ABSENT = frozenset({"hidden", "count"})
"""Outcomes that are about what is not there: nothing is to be found."""

_THERE = frozenset({Point.DISABLED, Point.NOT_SCOPED, Point.UNSTABLE, Point.NOT_VISIBLE})
"""Points at which the gate refuses an element that is there."""


@dataclass
class _Round:
    """What is done in one round."""

    bench: Bench
    number: int
    began: float = field(default_factory=time.monotonic)
    did: list[str] = field(default_factory=list)
    reason: str = ""
    there: Selector | None = None
    """Leads to the element, which was found again and is refused by the gate."""


@dataclass(frozen=True, slots=True)
class _Again:
    """An element that was found again, and passed the gate."""

    selector: Selector
    known: doing.Known


async def heal_step(bench: Bench, step: PlanStep, undone: Undone, round: int) -> Healing:  # noqa: A002 - the agreed name
    """One round of healing. Never raises for the page's troubles."""
    turn = _Round(bench, round)
    began = bench.heal_began.setdefault(step.step_idx, turn.began)
    healed: PlanStep | None = None
    with span("bench.heal", step_idx=step.step_idx, round=round, failure=undone.failure.value):
        try:
            if round > bench.policy.max_heal_rounds:
                turn.reason = f"no more than {bench.policy.max_heal_rounds} rounds"
            elif turn.began - began > bench.policy.heal_s:
                turn.reason = f"healing this step took {bench.policy.heal_s:.0f} s already"
            else:
                healed = await _healed(turn, step, undone)
        except PageError as exc:
            turn.reason = str(exc)
    return _told(turn, step, healed, undone)


async def _healed(turn: _Round, step: PlanStep, undone: Undone) -> PlanStep | None:
    what = undone.evidence.what
    if what == "page":
        turn.reason = "the page itself did not come"
        return None
    if what == "outcome":
        return await _checks_healed(turn, step)
    return await _element_healed(turn, step, undone)


async def _element_healed(turn: _Round, step: PlanStep, undone: Undone) -> PlanStep | None:
    bench = turn.bench
    filled = bench.usable(step)
    if filled.selector is None:
        turn.reason = "the step has no element"
        return None
    await _reveal(turn, undone.failure)
    again = None
    if undone.evidence.matched != 0 and turn.number == 1:
        turn.did.append("gate again")
        again = await _stable(turn, filled.selector, filled.fingerprint)
    if again is None:
        again = await _found_again(turn, filled.selector, filled.fingerprint, filled)
    if again is None and turn.number > 1:
        turn.did.append("gate again")  # it may only have been slow
        again = await _stable(turn, filled.selector, filled.fingerprint)
    if again is None and turn.there is not None and filled.fingerprint is not None:
        return await _pointed_out(bench, step, turn.there, filled.fingerprint)
    if again is None:
        return None
    bench.healed[bench.path, filled.selector.model_dump_json()] = again.selector
    kept = _kept(bench, again)
    own = [_about(each, step.selector) for each in step.checks]
    checks = tuple(
        each.model_copy(update=kept) if mine else each for each, mine in zip(step.checks, own, strict=True)
    )
    return step.model_copy(update={**kept, "checks": checks})


async def _pointed_out(bench: Bench, step: PlanStep, selector: Selector, known: Fingerprint) -> PlanStep:
    """The step with an element that was found again and cannot be used yet: its own gate says why."""
    expression = await doing.expression_for(bench, selector, known)
    fresh = bench.keepable(
        Check(outcome=Outcome(kind="visible", said=""), selector=selector, expression=expression)
    )
    return step.model_copy(update={"selector": fresh.selector, "expression": fresh.expression})


def _about(check: Check, selector: Selector | None) -> bool:
    """Whether a check is about the step's own element."""
    return check.selector is not None and check.outcome.element is None and check.selector == selector


async def _checks_healed(turn: _Round, step: PlanStep) -> PlanStep | None:
    """Elements of outcomes that are not where they were; the outcomes themselves are judged as before."""
    bench, found = turn.bench, 0
    checks: list[Check] = []
    for check in step.checks:
        filled = bench.usable(check)
        selector = filled.selector
        lost = selector is not None and check.outcome.kind not in _ABSENT
        if not lost or selector is None or (await locate(bench.page, selector)).visible == 1:
            checks.append(check)
            continue
        bench.compared += int(turn.number == 1)
        own = check.outcome.element is None
        again = await _found_again(turn, selector, filled.fingerprint, bench.usable(step) if own else None)
        found += again is not None
        checks.append(check if again is None else check.model_copy(update=_kept(bench, again)))
    if not found:
        turn.reason = turn.reason or "an outcome that does not hold is not healed"
        return None
    return step.model_copy(update={"checks": tuple(checks)})


def _kept(bench: Bench, again: _Again) -> dict[str, object]:
    seen = again.known.fingerprint
    fresh = bench.keepable(
        Check(
            outcome=Outcome(kind="visible", said=""),
            selector=again.selector,
            expression=again.known.expression,
            fingerprint=seen,
        )
    )
    return {
        "selector": fresh.selector, "expression": fresh.expression, "fingerprint": fresh.fingerprint,
        "role": seen.role,
    }  # fmt: skip


# -- reveal ------------------------------------------------------------------------------------------


async def _reveal(turn: _Round, failure: Failure) -> None:
    bench = turn.bench
    await bench.page.bring_to_front()
    if failure is Failure.NOT_SCOPED:
        index = await look_around(bench.page)
        turn.did += [f"dismissed {each}" for each in await dismiss_dialogs(bench.page, index)]
        if bench.cover is not None and await put_away(bench, bench.cover):
            turn.did.append(f"dismissed {bench.cover.described}")
    if await wait_for_idle(bench.page, float(turn.number)):
        turn.did.append("waited for idle")


# -- reprobe -----------------------------------------------------------------------------------------


async def _found_again(
    turn: _Round, selector: Selector, known: Fingerprint | None, step: PlanStep | None
) -> _Again | None:
    """By what is known of it; then by what the requirement and the page called it."""
    if known is None:
        turn.reason = "nothing is known of it beside its selector"
        return None
    bench = turn.bench
    before = bench.healed_before(selector)
    if before is not None:
        turn.did.append("tried where it was before")
        again = await _stable(turn, before, known)
        if again is not None:
            return again
    surely_not = others(bench, await look_around(bench.page), known, selector)
    name = (step.intent.intent or step.intent.element) if step else known.name or known.tag or ""
    meant = Meant(name, selector, known, surely_not, action=step.intent.action or None if step else None)
    healer = Healer(bench.page, bench.tell, policy=HealPolicy(max_rounds=bench.policy.max_heal_rounds))
    turn.did.append("compared with what is known")
    found = await healer.locate(meant)
    if found is None and turn.number == _SCROLLS:
        turn.did.append("scrolled through")
        async for _ in parts(bench.page):
            found = await healer.locate(meant)
            if found is not None:
                break
    again = None if found is None else await _stable(turn, found, known, found=True)
    again = again or await _by_address(turn, known)
    if again is not None:
        return again
    if step is not None:
        return await _by_words(turn, meant, known, step)
    turn.reason = turn.reason or "nothing on the page is surely it"
    return None


async def _by_address(turn: _Round, known: Fingerprint) -> _Again | None:
    index = await look_around(turn.bench.page)
    at = same_address(Fingerprints(index), known)
    if at is None:
        return None
    turn.did.append("asked for what leads to the same address")
    return await _written(turn, index, at)


async def _by_words(turn: _Round, meant: Meant, known: Fingerprint, step: PlanStep) -> _Again | None:
    """PACTS's ladder of rounds: role and name, then label and placeholder; never against what is known."""
    bench = turn.bench
    ladder = {
        1: [Called(step.intent.element, known.role)],
        2: [Called(each, None) for each in (known.label, known.attributes.get("placeholder")) if each],
    }
    calls = ladder.get(turn.number, [])
    if not calls:
        turn.reason = turn.reason or "nothing on the page is surely it"
        return None
    turn.did.append(f"asked for {' / '.join(each.words for each in calls)}")
    index = await look_around(bench.page)
    careful = any(map(is_destructive, known.words))
    match, _ = find_by_words(
        index, calls, action=meant.action, identity=step.intent.element, others=meant.others, careful=careful
    )
    if match.outcome is not Match.FOUND or match.best is None:
        turn.reason = turn.reason or match.reason
        return None
    against = _against(known, match.best)
    if against is not None:
        turn.reason = against
        return None
    return await _written(turn, index, match.best.at)


def _against(known: Fingerprint, found: Candidate) -> str | None:
    """What speaks against an element that is only called so."""
    judged = judge_likeness(known, found.seen)
    if judged.contradictions:
        return "; ".join(judged.contradictions)
    if not judged.same and (judged.context or 0.0) < 0.3:
        return judged.evidence
    return None


async def _written(turn: _Round, index: PageIndex, at: int) -> _Again | None:
    choice = (await selectors_at(turn.bench.page, index, [at]))[0]
    if choice.selector is None:
        turn.reason = "no selector leads to it alone"
        return None
    return await _stable(turn, choice.selector, None)


# -- stabilise ---------------------------------------------------------------------------------------


async def _stable(
    turn: _Round, selector: Selector, known: Fingerprint | None, *, found: bool = False
) -> _Again | None:
    """It passes the gate, with more time every round, and is what is known. `found`: it was recognised by
    what is known of it, so that where the gate refuses it, it is there all the same.
    """
    bench = turn.bench
    gate_s = bench.policy.healed_gate_s * (1 + turn.number)
    try:
        seen = await doing.know(bench, selector, gate_s)
        if known is not None:
            doing.same(known, seen.fingerprint, selector)
    except PageError as exc:
        turn.reason = str(exc)
        if found and isinstance(exc, GateFailed) and exc.point in _THERE:
            turn.there = selector
        return None
    turn.did.append("gate passed")
    return _Again(selector, seen)


def _told(turn: _Round, step: PlanStep, healed: PlanStep | None, undone: Undone) -> Healing:
    bench = turn.bench
    before, after = _short(step, undone), "" if healed is None else _short(healed, undone)
    if healed is not None and before != after:
        bench.drifted += 1
    event = HealEvent(
        step_idx=step.step_idx,
        round=turn.number,
        actions=tuple(bench.redact(each) for each in dict.fromkeys(turn.did)),
        success=healed is not None,
        duration_ms=(time.monotonic() - turn.began) * 1000,
        before=bench.redact(before),
        after=bench.redact(after),
        reason="" if healed is not None else bench.redact(turn.reason),
    )
    return Healing(event, healed or step)


def _short(step: PlanStep, undone: Undone) -> str:
    if undone.evidence.what == "outcome":
        return "; ".join(summary(each.selector) for each in step.checks if each.selector is not None)
    return "" if step.selector is None else summary(step.selector)
