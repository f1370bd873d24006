"""Ranked, verified candidates for the element a failing locator meant (OL's locator synthesis).

By what was known of the element when the test passed; where nobody saw it, by two witnesses that agree.
Every candidate is proven unique on the page, and passed the gate where something is done to it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from playwright.async_api import Error as DriverError
from playwright.async_api import Page

from agent.healing.likeness import outside_its_dialog, same_address
from agent.healing.matching import USUAL, Match, Outcome, find_again
from agent.healing.matching import Candidate as Matched
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import PageIndex
from agent.locating.looking import look_around
from agent.locating.selecting import selectors_at
from agent.optimizing.meaning import Meaning, meaning_of
from agent.optimizing.witnesses import Hearing, hear, says_as_much
from agent.page import gate, library
from agent.page.errors import GateFailed
from agent.playwright_python.expressions import candidates as expressions
from agent.playwright_python.expressions import proven, to_locator, to_source
from kb_schema.fingerprints import Fingerprint
from kb_schema.optimizing import Candidate, FailedTest
from kb_schema.playwright_calls import Expression
from kb_schema.selectors import Selector
from kb_schema.wording import is_destructive

LINKED = 0.8
"""How sure a link is that leads where it led: as sure as most that was found again by its words."""
MOST = 3
"""Ways to write the one element down."""
LIKE_ENOUGH_TO_BE_THERE = 0.6
"""Similarity of what is only read, where a test asserts no more than that it is there."""
_EXISTENCE = frozenset({"to_be_visible", "to_be_attached", "to_be_in_viewport", "to_have_count", "wait_for", "wait_for_selector"})  # fmt: skip
_OPERATING = frozenset({
    "click", "dblclick", "hover", "fill", "clear", "press", "press_sequentially", "type", "check", "uncheck",
    "set_checked", "select_option", "set_input_files", "tap", "focus",
})  # fmt: skip
_FIELDS = frozenset({"fill", "type", "press_sequentially", "clear"})
_CHOOSING = frozenset({"first", "last", "nth", "filter", "and_", "describe", "visible"})
_LISTS = frozenset({"to_have_count", "evaluate", "drag_to"})
"""What is asked of several elements, or of more than one may know."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """The most similar element that is there."""

    called: str
    score: float
    verdict: Literal["same", "ambiguous", "other"]


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Ways to the element that was meant, best first; none where that is not sure."""

    candidates: tuple[Candidate, ...]
    reason: str
    nearest: Nearest | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    at: int
    seen: Fingerprint
    confidence: float
    witnesses: tuple[str, ...]


async def synthesize(
    page: Page,
    failed: FailedTest,
    *,
    known: Fingerprint | None = None,
    others: Sequence[Fingerprint] = (),
    gate_s: float = 1.0,
    stored: bool = False,
) -> Synthesis:
    """What leads to the element now. `known`: of when the test passed; `stored`: the page is only a copy,
    on which no gate says anything. Raises `PageGone`, `ScriptFailed`.
    """
    action = failed.action.removeprefix("expect.")
    if failed.locator is None or (action in _LISTS and known is None):
        return Synthesis((), f"what {action} is asked of is not one element that could be told again")
    meaning = meaning_of(failed.locator.links)
    expecting = action not in _OPERATING
    asked = _asked_of_its_state(meaning, action) if expecting else None
    if asked is not None:
        return Synthesis((), asked)
    index = await look_around(page, everything=expecting)
    if known is not None:
        match = _found_again(index, known, others)
        nearest, found = _nearest_of(match), _accepted(match, meaning, action, expecting=expecting)
        if found is None and not expecting:
            found = _by_address(index, known)
            nearest = nearest if found is None else Nearest(_called(found.seen), found.confidence, "same")
        if expecting and found is not None and meaning is not None and not meaning.container:
            found = None if _as_it_was(known, found.seen) else found
        reason = match.reason
    elif meaning is None:
        return Synthesis((), "what its locator means cannot be read off it")
    else:
        inside = await _inside(page, index, meaning)
        heard = hear(
            index, meaning, action=action, inside=inside, expecting=expecting, existence=action in _EXISTENCE
        )
        nearest, reason = _nearest_heard(heard), heard.reason
        found = _trusted(heard, meaning, action)
    if found is None:
        if nearest is not None and nearest.verdict == "same":
            nearest, reason = (
                replace(nearest, verdict="other"),
                f"{nearest.called} is not what the test expects",
            )
        return Synthesis((), reason, nearest)
    ways, why = await _written(page, index, found, failed, action, None if stored else gate_s)
    return Synthesis(ways, why or reason, nearest)


# -- which element -------------------------------------------------------------------------------------


def _found_again(index: PageIndex, known: Fingerprint, others: Sequence[Fingerprint]) -> Match:
    prints = Fingerprints(index)
    candidates = list(prints.all())
    if known.place is None:  # it is read, not operated
        seen = (each for each in index.elements if each.tag == known.tag and each.visible)
        candidates = [(each.at, prints.of(each.at)) for each in seen]
    demand = USUAL.stricter if any(map(is_destructive, known.words)) else USUAL
    return find_again(known, candidates, demand, others=(*others, *outside_its_dialog(prints, known)))


def _by_address(index: PageIndex, known: Fingerprint) -> _Found | None:
    prints = Fingerprints(index)
    at = same_address(prints, known)
    if at is None:
        return None
    return _Found(at, prints.of(at), LINKED, ("it leads to the same address, in the same surroundings",))


def _accepted(match: Match, meaning: Meaning | None, action: str, *, expecting: bool) -> _Found | None:
    """What was found again, where nothing that the test expects is given up with it."""
    best = match.best
    if match.outcome is not Outcome.FOUND or best is None:
        return None
    if expecting and meaning is not None and meaning.is_content and not says_as_much(meaning, best.seen):
        return None
    read_only = best.seen.place is None
    if action in _EXISTENCE and read_only and not _is_told(best):
        return None
    confidence = min(0.99, 0.5 + 0.5 * best.score)
    told = best.judgement.anchors or ("everything known",)
    return _Found(best.at, best.seen, confidence, tuple(f"{each} as when the test passed" for each in told))


def _asked_of_its_state(meaning: Meaning | None, action: str) -> str | None:
    """Why nothing may stand in where something is expected: its locator says more than which element it is."""
    if meaning is None:
        return "what its locator means cannot be read off it"
    around = meaning_of(meaning.container)
    states = (*meaning.states, *(around.states if around is not None else ()))
    if states:
        return f"its locator asks for {', '.join(states)}: that is expected, not how it is found"
    if meaning.chosen:
        return "its locator takes one of several by its number: which one that is, is expected"
    if action in _EXISTENCE and meaning.classes:
        return f"its locator asks for the class {', '.join(meaning.classes)}: that may be what is expected"
    return None


def _as_it_was(known: Fingerprint, seen: Fingerprint) -> bool:
    """Whether nothing a locator says of an element is another: then it is the test that asks for more."""
    told = (known.role, known.tag, known.name, known.label, known.attributes)
    return told == (seen.role, seen.tag, seen.name, seen.label, seen.attributes)


def _is_told(best: Matched) -> bool:
    return bool(best.judgement.anchors) and best.score >= LIKE_ENOUGH_TO_BE_THERE


def _trusted(heard: Hearing, meaning: Meaning, action: str) -> _Found | None:
    best = heard.best
    if best is None or (action in _EXISTENCE and meaning.words and not says_as_much(meaning, best.seen)):
        return None
    return _Found(best.at, best.seen, min(0.9, 0.5 + 0.1 * len(best.witnesses)), best.reasons)


async def _inside(page: Page, index: PageIndex, meaning: Meaning) -> Collection[int] | None:
    """Places of what stands in the locator's container, where that is one element of the page."""
    if not meaning.container:
        return None
    try:
        box = to_locator(page, meaning.container)
        if await box.count() != 1:
            return None
        places: list[int] = await box.evaluate(_WITHIN, [index.token, len(index.elements)])
    except (DriverError, ValueError):
        return None
    return frozenset(places)


_WITHIN = """(box, [token, length]) => {
  const library = window.top[Symbol.for("periplus.page.1")];
  const holds = (el) => { for (let at = el; at; at = at.parentNode || at.host) if (at === box) return true; return false; };
  return [...Array(length).keys()].filter((at) => { const el = library.pick(token, at); return el && el !== box && holds(el); });
}"""


def _nearest_of(match: Match) -> Nearest | None:
    if match.best is None:
        return None
    verdicts: dict[Outcome, Literal["same", "ambiguous", "other"]] = {
        Outcome.FOUND: "same", Outcome.AMBIGUOUS: "ambiguous", Outcome.NOT_FOUND: "other",
    }  # fmt: skip
    return Nearest(_called(match.best.seen), match.best.score, verdicts[match.outcome])


def _nearest_heard(heard: Hearing) -> Nearest | None:
    if heard.nearest is None:
        return None
    score = min(1.0, heard.nearest.weight / 4)
    verdict: Literal["same", "ambiguous", "other"] = (
        "same" if heard.best else "ambiguous" if heard.ambiguous else "other"
    )
    return Nearest(_called(heard.nearest.seen), score, verdict)


def _called(seen: Fingerprint) -> str:
    return f"{seen.role or seen.tag or 'element'} {(seen.words[0] if seen.words else '')[:60]!r}"


# -- how it is written down ----------------------------------------------------------------------------


async def _written(
    page: Page, index: PageIndex, found: _Found, failed: FailedTest, action: str, gate_s: float | None
) -> tuple[tuple[Candidate, ...], str]:
    """The ways to the element, and why there are none."""
    choice = (await selectors_at(page, index, [found.at]))[0]
    if choice.selector is None:
        return (), "no selector leads to it alone"
    selector = choice.selector
    passed: Literal["passed", "not_asked"] = "not_asked"
    if action in _OPERATING and gate_s is not None:
        try:
            await gate.judge(page, selector, timeout_s=gate_s, editable=action in _FIELDS)
        except GateFailed as error:
            return (), f"what was found does not pass the gate: {error.evidence}"
        passed = "passed"
    ways = await _ways(page, selector, found.seen, failed, _conditions(failed, action))
    if not ways:
        return (), "no locator of Playwright's leads to it alone"
    made = tuple(
        Candidate(
            selector=selector,
            expression=to_source(way).removeprefix("page."),
            links=way,
            fingerprint=found.seen,
            confidence=found.confidence,
            witnesses=found.witnesses,
            gate=passed,
        )
        for way in ways
    )
    return made, ""


def _kept(links: Expression) -> Expression:
    """The author's calls up to the last one that says what: where to look."""
    said = [at for at, each in enumerate(links) if each.method not in _CHOOSING]
    where = links[: said[-1]] if said else ()
    return tuple(each.model_copy(update={"made_at": None}) for each in where)


def _conditions(failed: FailedTest, action: str) -> Expression:
    """What the author's locator asks of the element beside which one it is: that is asked on."""
    meaning = meaning_of(failed.locator.links) if failed.locator else None
    asked = meaning.conditions if meaning is not None else ()
    return tuple(
        each.model_copy(update={"made_at": None})
        for each in asked
        if each.method == "and_" or action not in _OPERATING
    )


async def _ways(
    page: Page, selector: Selector, seen: Fingerprint, failed: FailedTest, conditions: Expression
) -> list[Expression]:
    """Proven expressions, those in the author's own manner first; none that asks less of the element."""
    links = failed.locator.links if failed.locator else ()
    manner = next((each.method for each in reversed(links) if each.method not in _CHOOSING), "")
    manner = "" if manner == "locator" else manner
    foreign = failed.locator is not None and "internal:testid=" in failed.locator.selector and (
        "internal:testid=[data-testid=" not in failed.locator.selector
    )  # fmt: skip
    proposed = [
        each
        for each in expressions(selector, seen)
        if not (foreign and any(link.method == "get_by_test_id" for link in each))
    ]
    proposed.sort(key=lambda way: way[-1].method != manner)
    kept = _kept(links)
    if kept:  # only the last call of the author's is another one then
        lone = {to_source((each[-1],)): each[-1] for each in proposed if each[-1].method != "nth"}
        proposed = [*((*kept, each) for each in lone.values()), *proposed]
    await library.call(page, "revision")
    found: list[Expression] = []
    manner_of = {to_source((*each, *conditions)): each[-1].method for each in reversed(proposed)}
    proposed = [(*each, *conditions) for each in proposed]
    while proposed and len(found) < MOST:
        way = await proven(page, selector, proposed)
        if not way:
            break
        found.append(way)
        if way not in proposed:  # only by its number
            break
        manners = {manner_of[to_source(each)] for each in found}  # another way is one of another manner
        rest = proposed[proposed.index(way) + 1 :]
        proposed = [each for each in rest if manner_of[to_source(each)] not in manners]
    return found if len(found) == 1 else [each for each in found if each[-1].method != "nth"] or found[:1]
