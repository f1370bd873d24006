"""Resolves expected outcomes while a plan is built: which element one is about, what proves a page.

A check that comes out of here was found on the live page. Whether it holds is judged by `judging.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.locating.fingerprints import Fingerprints
from agent.verifying.bench.bench import Bench
from agent.verifying.bench.doing import expression_for
from agent.verifying.bench.finding import NotThere, Shown, count_selector, find_shown, stable_selector
from agent.verifying.bench.places import Place, place_of, proofs
from kb_schema.fingerprints import Fingerprint
from kb_schema.outcomes import OUTCOMES
from kb_schema.selectors import Selector
from kb_schema.verification import Check, Outcome, PlanStep

GONE = frozenset({"hidden"})
"""Outcomes about what is to go: it must be seen before it goes."""
_SAYS_IT_ITSELF = frozenset({"text"})
"""What the element says is what is judged."""


@dataclass
class Known:
    """What a step knows when its outcomes are resolved."""

    step: PlanStep
    """As far as it is known; its values are filled in."""
    before: Place
    """The page before the action."""
    seen: dict[int, Check] = field(default_factory=dict)
    """Checks by the number of their outcome, found before the action."""


async def look_ahead(bench: Bench, known: Known, outcomes: tuple[Outcome, ...]) -> None:
    """Before the action: find what is to go by it."""
    for number, outcome in enumerate(outcomes):
        if outcome.kind in GONE and outcome.element is not None:
            found = await find_shown(bench, outcome.element, outcome.region, gone=True)
            if isinstance(found, Shown):
                known.seen[number] = await _check(bench, outcome, found)


async def resolve(bench: Bench, known: Known, number: int, outcome: Outcome) -> Check | NotThere:
    """The check of an outcome on the page as it is now; its values are filled in."""
    if number in known.seen:
        return known.seen[number]
    if OUTCOMES[outcome.kind].about == "page":
        return await _of_page(bench, known, outcome)
    if outcome.element is None:
        return _own(known.step, outcome)
    if outcome.kind == "count":
        return await _counted(bench, outcome)
    return await _of_element(bench, outcome, outcome.element)


async def _of_element(bench: Bench, outcome: Outcome, element: str) -> Check | NotThere:
    found = await find_shown(bench, element, outcome.region)
    if isinstance(found, Shown):
        return await _check(bench, outcome, found)
    if outcome.kind in GONE:
        return NotThere(f"{found.reason}: it was not there before the step either, so nothing can go")
    return found


def _own(step: PlanStep, outcome: Outcome) -> Check | NotThere:
    """About the step's own element, which is known."""
    if step.selector is None:
        return NotThere("the step has no element that this could be about; name one")
    return Check(
        outcome=outcome, selector=step.selector, expression=step.expression, fingerprint=step.fingerprint,
        name=step.name, role=step.role, confidence=step.confidence, strategy=step.strategy,
    )  # fmt: skip


async def _check(bench: Bench, outcome: Outcome, found: Shown) -> Check:
    fingerprint = Fingerprints(found.index).of(found.at)
    selector = await stable_selector(bench, found)
    judged = outcome.value if outcome.kind in _SAYS_IT_ITSELF else None
    return Check(
        outcome=outcome,
        selector=_without(selector, judged),
        expression=await expression_for(bench, selector, fingerprint, without=judged),
        fingerprint=fingerprint,
        name=(outcome.element or "") if judged else called(fingerprint, outcome.element or ""),
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


async def _counted(bench: Bench, outcome: Outcome) -> Check | NotThere:
    selector = await count_selector(bench, outcome.element or "", outcome.region)
    if isinstance(selector, NotThere):
        return selector
    return Check(outcome=outcome, selector=selector, name=outcome.element or "", strategy="role_name")


async def _of_page(bench: Bench, known: Known, outcome: Outcome) -> Check | NotThere:
    if outcome.kind == "stays_on_page":
        return Check(outcome=outcome, url=known.before.path)
    if outcome.kind != "navigates_to":
        return Check(outcome=outcome)
    wanted = outcome.value or ""
    if wanted.startswith(("/", "http://", "https://")):
        return Check(outcome=outcome, url=wanted)
    now = await place_of(bench)
    found = list(proofs(wanted, now))
    if not found:
        return NotThere(
            f"the page is {now.path}, titled {now.title!r}",
            tuple(dict.fromkeys(each for each in (*now.headings[:3], now.title) if each)),
        )
    old = list(proofs(wanted, known.before))
    best = next((each for each in found if each not in old), found[0])
    return Check(outcome=outcome, url=best.url, title=best.title, heading=best.heading)


def holds_already(known: Known, check: Check) -> bool:
    """Whether the page before the action showed it, too: the action may yet lead elsewhere."""
    if check.outcome.kind != "navigates_to":
        return False
    before = list(proofs(check.outcome.value or "", known.before))
    return any(
        (each.url, each.title, each.heading) == (check.url, check.title, check.heading) for each in before
    )


def called(fingerprint: Fingerprint, otherwise: str) -> str:
    """What people call an element."""
    said = (fingerprint.name, fingerprint.label, fingerprint.attributes.get("placeholder"), fingerprint.text)
    return next((each[:80] for each in said if each), otherwise)
