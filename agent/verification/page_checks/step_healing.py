"""Runs one round of healing for a step of a plan: reveal, reprobe, stabilise (PACTS 4.5).

It only finds elements again, by their fingerprints. An outcome that does not hold is never healed: a wrong
value, a missing message or a failing server remains a failure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from agent.healing.element_reveal import reveal_page
from agent.healing.fingerprint_comparison import compare_fingerprints as judge_likeness
from agent.healing.fingerprint_search import FingerprintCandidate, find_by_same_address
from agent.healing.fingerprint_search import SearchOutcome as Match
from agent.healing.healer import Healer, HealPolicy, IntendedElement
from agent.healing.recorded_words import find_harm
from agent.healing.rewording_search import find_reworded
from agent.healing.word_search import ElementWords, find_by_words
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.page.errors import GateFailed, GatePoint, PageError
from agent.page.live_selectors import resolve_selector, summarize_selector
from agent.page.page_watchdog import page_deadline
from agent.telemetry import span
from agent.verification.page_checks import planned_actions
from agent.verification.page_checks.failure_evidence import FailedStep, StepHealing
from agent.verification.page_checks.named_elements import (
    ABSENT,
    find_acting_step,
    find_other_words,
    fingerprint_led_to,
)
from agent.verification.page_checks.named_rows import find_in_named_row
from agent.verification.page_checks.overlay_dismissal import dismiss_overlay
from agent.verification.page_checks.similar_elements import (
    assess_risk,
    collect_excluded_elements,
    with_present_names,
)
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.text_similarity import is_destructive, without_glyphs, words
from kb_schema.verification import ExpectedOutcome, FailureKind, HealEvent, PlanCheck, PlanStep

_SCROLLS = 2
"""The round in which lists that render only what is in view are scrolled through."""
_THERE = frozenset({GatePoint.DISABLED, GatePoint.NOT_SCOPED, GatePoint.UNSTABLE, GatePoint.NOT_VISIBLE})
"""Points at which the gate refuses an element that is there."""


@dataclass
class _HealingTurn:
    """The state of one round."""

    site_page: VerificationPage
    number: int
    began: float = field(default_factory=time.monotonic)
    did: list[str] = field(default_factory=list)
    reason: str = ""
    element: str = ""
    """What was looked for, as the requirement names it."""
    found: str = ""
    """What was found again: `button 'Book now'`."""
    there: Selector | None = None
    """Leads to the element that was found again but does not pass the gate."""


@dataclass(frozen=True, slots=True)
class _RecoveredElement:
    """An element that was found again, and passed the gate."""

    selector: Selector
    known: planned_actions.ExaminedElement


async def heal_step(
    site_page: VerificationPage,
    step: PlanStep,
    undone: FailedStep,
    round: int,  # noqa: A002 - the name that the graph's nodes pass
) -> StepHealing:
    """Run one round of healing. Never raises for problems of the page."""
    turn = _HealingTurn(site_page, round)
    began = site_page.heal_began.setdefault(step.step_idx, turn.began)
    healed: PlanStep | None = None
    with span("bench.heal", step_idx=step.step_idx, round=round, failure=undone.failure.value):
        try:
            if round > site_page.policy.max_heal_rounds:
                turn.reason = f"no more than {site_page.policy.max_heal_rounds} rounds"
            elif turn.began - began > site_page.policy.heal_s:
                turn.reason = f"healing this step took {site_page.policy.heal_s:.0f} s already"
            else:
                async with page_deadline(site_page.page, site_page.policy.step_s, "healing"):
                    healed = await _healed(turn, step, undone)
        except PageError as exc:
            turn.reason = str(exc)
    return _build_step_healing(turn, step, healed, undone)


async def _healed(turn: _HealingTurn, step: PlanStep, undone: FailedStep) -> PlanStep | None:
    what = undone.evidence.what
    if what == "page":
        turn.reason = "the page itself did not load"
        return None
    if undone.evidence.missing_option is not None:
        turn.reason = f"the list is there; it has no option {undone.evidence.missing_option!r}"
        return None
    if what == "outcome":
        return await _checks_healed(turn, step)
    return await _element_healed(turn, step, undone)


async def _element_healed(turn: _HealingTurn, step: PlanStep, undone: FailedStep) -> PlanStep | None:
    site_page = turn.site_page
    filled = site_page.usable(step)
    if filled.selector is None:
        turn.reason = "the step has no element"
        return None
    await _reveal(turn, undone.failure)
    again = await _in_named_row(turn, filled)
    if again is None and undone.evidence.matched != 0 and turn.number == 1:
        turn.did.append("gate again")
        again = await _stable(turn, filled.selector, filled.fingerprint)
    if again is None:
        again = await _found_again(turn, filled.selector, filled.fingerprint, filled)
    if again is None and turn.number > 1:
        turn.did.append("gate again")  # the element may only have been slow
        again = await _stable(turn, filled.selector, filled.fingerprint)
    if again is None and turn.there is not None and filled.fingerprint is not None:
        return await _pointed_out(site_page, step, turn.there, filled.fingerprint)
    if again is None:
        return None
    site_page.healed[site_page.path, filled.selector.model_dump_json()] = again.selector
    _note_name(turn, step.intent.element, filled.fingerprint, again.known.fingerprint)
    kept = _get_keepable_fields(site_page, again)
    own = [_about(each, step.selector) for each in step.checks]
    checks = tuple(
        each.model_copy(update=kept) if mine else each for each, mine in zip(step.checks, own, strict=True)
    )
    return step.model_copy(update={**kept, "checks": checks})


def _note_name(turn: _HealingTurn, element: str, known: Fingerprint | None, seen: Fingerprint) -> None:
    """Note what was looked for and found, and its name if it is another one: its neighbours are known by it."""
    before, now = (None if each is None else each.name or each.label for each in (known, seen))
    turn.element = element
    called = without_glyphs(now or seen.text or "")[:80]
    turn.found = f"{seen.role or seen.tag} {called!r}" if called else f"{seen.role or seen.tag} (an icon)"
    if before and now and words(before) != words(now):
        turn.site_page.renamed[words(before)] = now


async def _in_named_row(turn: _HealingTurn, step: PlanStep) -> _RecoveredElement | None:
    """Find the element by its name in the row that the requirement names."""
    selector = await find_in_named_row(turn.site_page, step)
    if selector is None or step.fingerprint is None:
        return None
    turn.did.append("asked for its name in the row that is named")
    again = await _stable(turn, selector, None)
    return (
        again
        if again is not None and _against_row(step.fingerprint, again.known.fingerprint) is None
        else None
    )


async def _pointed_out(
    site_page: VerificationPage, step: PlanStep, selector: Selector, known: Fingerprint
) -> PlanStep:
    """Return the step with an element that was found again but cannot be used: its own gate gives the reason."""
    expression = await planned_actions.expression_for(site_page, selector, known)
    fresh = site_page.keepable(
        PlanCheck(outcome=ExpectedOutcome(kind="visible", said=""), selector=selector, expression=expression)
    )
    now = await fingerprint_led_to(site_page, selector) or known
    return step.model_copy(
        update={
            "selector": fresh.selector,
            "expression": fresh.expression,
            "fingerprint": site_page.keepable(now),
        }
    )


def _about(check: PlanCheck, selector: Selector | None) -> bool:
    """Whether a check is about the step's own element."""
    return check.selector is not None and check.outcome.element is None and check.selector == selector


async def _checks_healed(turn: _HealingTurn, step: PlanStep) -> PlanStep | None:
    """Find elements of outcomes again; the outcomes themselves are evaluated as before."""
    site_page, found = turn.site_page, 0
    checks: list[PlanCheck] = []
    for check in step.checks:
        filled = site_page.usable(check)
        selector = filled.selector
        if selector is None or check.outcome.kind in ABSENT or await _is_found(site_page, step, filled):
            checks.append(check)
            continue
        site_page.compared += int(turn.number == 1)
        own = check.outcome.element is None
        acting = None if own else find_acting_step(site_page, step, check.fingerprint)
        acted = None if acting is None else site_page.usable(acting)
        sought = selector if acted is None or acted.selector is None else acted.selector
        again = await _found_again(turn, sought, filled.fingerprint, site_page.usable(step) if own else None)
        if again is None and acted is not None and filled.fingerprint is not None:
            again = await _in_place_of_named(turn, sought, filled.fingerprint, acted)
        if again is None:
            checks.append(check)
            continue
        found += 1
        named = check.outcome.element or step.intent.element
        _note_name(turn, named, filled.fingerprint, again.known.fingerprint)
        checks.append(check.model_copy(update=_get_keepable_fields(site_page, again)))
    if not found:
        turn.reason = turn.reason or "an outcome that does not hold is not healed"
        return None
    return step.model_copy(update={"checks": tuple(checks)})


async def _is_found(site_page: VerificationPage, step: PlanStep, check: PlanCheck) -> bool:
    if check.selector is None or (await resolve_selector(site_page.page, check.selector)).visible != 1:
        return False
    return await find_other_words(site_page, site_page.usable(step), check) is None


async def _in_place_of_named(
    turn: _HealingTurn, selector: Selector, known: Fingerprint, acting: PlanStep
) -> _RecoveredElement | None:
    """Search under other words for an element that a step acts on, as that step would."""
    index = await scan_page(turn.site_page.page)
    others = collect_excluded_elements(turn.site_page, index, known, selector)
    return await _in_its_place(turn, others, known, acting)


def _get_keepable_fields(site_page: VerificationPage, again: _RecoveredElement) -> dict[str, object]:
    seen = again.known.fingerprint
    fresh = site_page.keepable(
        PlanCheck(
            outcome=ExpectedOutcome(kind="visible", said=""),
            selector=again.selector,
            expression=again.known.expression,
            fingerprint=seen,
        )
    )
    return {
        "selector": fresh.selector,
        "expression": fresh.expression,
        "fingerprint": fresh.fingerprint,
        "role": seen.role,
    }


# -- reveal ------------------------------------------------------------------------------------------


async def _reveal(turn: _HealingTurn, failure: FailureKind) -> None:
    site_page, cover = turn.site_page, turn.site_page.cover
    turn.did += await reveal_page(
        site_page.page,
        turn.number,
        covered=failure is FailureKind.NOT_SCOPED,
        dismiss=None if cover is None else partial(dismiss_overlay, site_page, cover),
        dismissed="" if cover is None else cover.described,
    )


# -- reprobe -----------------------------------------------------------------------------------------


async def _found_again(
    turn: _HealingTurn, selector: Selector, known: Fingerprint | None, step: PlanStep | None
) -> _RecoveredElement | None:
    """Find an element by its fingerprint, then by its words in the requirement and on the page."""
    site_page = turn.site_page
    known = with_present_names(site_page, known)
    if known is None:
        turn.reason = "nothing is known of it besides its selector"
        return None
    before = site_page.healed_before(selector)
    if before is not None:
        turn.did.append("tried where it was before")
        again = await _stable(turn, before, known)
        if again is not None:
            return again
    surely_not = collect_excluded_elements(site_page, await scan_page(site_page.page), known, selector)
    name = (step.intent.intent or step.intent.element) if step else known.name or known.tag or ""
    meant = IntendedElement(
        name, selector, known, surely_not, action=step.intent.action or None if step else None
    )
    healer = Healer(
        site_page.page, site_page.tell, policy=HealPolicy(max_rounds=site_page.policy.max_heal_rounds)
    )
    turn.did.append("compared with what is known")
    found = await healer.locate(meant)
    if found is None and turn.number == _SCROLLS:
        turn.did.append("scrolled through")
        found = await healer.locate_in_lists(meant)
    again = None if found is None else await _stable(turn, found, known, found=True)
    again = again or await _by_address(turn, known)
    if again is not None:
        return again
    if step is None:
        turn.reason = turn.reason or "nothing on the page is surely it"
        return None
    return await _by_words(turn, meant, known, step) or await _in_its_place(turn, meant.others, known, step)


async def _in_its_place(
    turn: _HealingTurn, others: Sequence[Fingerprint], known: Fingerprint, step: PlanStep
) -> _RecoveredElement | None:
    """Search for the element under other words; only for the act itself, and once the page has come to rest."""
    if turn.site_page.monitor.pending or turn.site_page.acted == step.step_idx:
        return None
    index = await scan_page(turn.site_page.page)
    found = find_reworded(index, known, assess_risk(step), others=others)
    if not found:
        return None
    turn.did.append("asked for what stands in its place")
    if found[0].against:
        turn.reason = "; ".join(found[0].against)
        return None
    return await _written(turn, index, found[0].at)


async def _by_address(turn: _HealingTurn, known: Fingerprint) -> _RecoveredElement | None:
    index = await scan_page(turn.site_page.page)
    at = find_by_same_address(PageFingerprints(index), known)
    if at is None:
        return None
    harm = find_harm(known, PageFingerprints(index).of(at))
    if harm is not None:
        turn.reason = harm
        return None
    turn.did.append("asked for what leads to the same address")
    return await _written(turn, index, at)


async def _by_words(
    turn: _HealingTurn, meant: IntendedElement, known: Fingerprint, step: PlanStep
) -> _RecoveredElement | None:
    """Search by words (PACTS's ladder of rounds: name and role, then label and placeholder).

    A match that the fingerprint contradicts is rejected.
    """
    site_page = turn.site_page
    ladder = {
        1: [ElementWords(step.intent.element, known.role)],
        2: [ElementWords(each, None) for each in (known.label, known.attributes.get("placeholder")) if each],
    }
    calls = ladder.get(turn.number, [])
    if not calls:
        turn.reason = turn.reason or "nothing on the page is surely it"
        return None
    turn.did.append(f"asked for {' / '.join(each.words for each in calls)}")
    index = await scan_page(site_page.page)
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


def _against(known: Fingerprint, found: FingerprintCandidate) -> str | None:
    """Return why an element that was found by its words is not the known one; None if nothing contradicts."""
    judged = judge_likeness(known, found.seen)
    if judged.contradictions:
        return "; ".join(judged.contradictions)
    if not judged.same and (judged.context or 0.0) < 0.3:
        return judged.evidence
    return None


def _against_row(known: Fingerprint, seen: Fingerprint) -> str | None:
    """Return why what a named row has under the words of the requirement is not to be pressed; None if nothing is."""
    return find_harm(known, seen) or (
        None if (known.role, known.tag) == (seen.role, seen.tag) else "another role"
    )


async def _written(turn: _HealingTurn, index: PageIndex, at: int) -> _RecoveredElement | None:
    choice = (await choose_selectors(turn.site_page.page, index, [at]))[0]
    if choice.selector is None:
        turn.reason = "no selector leads to it alone"
        return None
    return await _stable(turn, choice.selector, None)


# -- stabilise ---------------------------------------------------------------------------------------


async def _stable(
    turn: _HealingTurn, selector: Selector, known: Fingerprint | None, *, found: bool = False
) -> _RecoveredElement | None:
    """Return the element if it passes the gate, with more time every round, and matches the fingerprint.

    `found`: it was found by its fingerprint, so it is on the page even if it does not pass the gate.
    """
    site_page = turn.site_page
    gate_s = site_page.policy.healed_gate_s * (1 + turn.number)
    try:
        seen = await planned_actions.examine_element(site_page, selector, gate_s)
        if known is not None:
            planned_actions.require_same_element(known, seen.fingerprint, selector)
            harm = find_harm(known, seen.fingerprint)
            if harm is not None:
                turn.reason = harm
                return None
    except PageError as exc:
        turn.reason = str(exc)
        if found and isinstance(exc, GateFailed) and exc.point in _THERE:
            turn.there = selector
        return None
    turn.did.append("gate passed")
    return _RecoveredElement(selector, seen)


def _build_step_healing(
    turn: _HealingTurn, step: PlanStep, healed: PlanStep | None, undone: FailedStep
) -> StepHealing:
    site_page = turn.site_page
    before, after = _short(step, undone), "" if healed is None else _short(healed, undone)
    if healed is not None and before != after:
        site_page.drifted += 1
    event = HealEvent(
        step_idx=step.step_idx,
        round=turn.number,
        actions=tuple(site_page.redact(each) for each in dict.fromkeys(turn.did)),
        success=healed is not None,
        duration_ms=(time.monotonic() - turn.began) * 1000,
        before=site_page.redact(before),
        after=site_page.redact(after),
        reason="" if healed is not None else site_page.redact(turn.reason),
        element=site_page.redact(turn.element) if healed is not None else "",
        found=site_page.redact(turn.found) if healed is not None else "",
    )
    return StepHealing(event, healed or step)


def _short(step: PlanStep, undone: FailedStep) -> str:
    if undone.evidence.what == "outcome":
        return "; ".join(
            summarize_selector(each.selector) for each in step.checks if each.selector is not None
        )
    return "" if step.selector is None else summarize_selector(step.selector)
