"""Ranked, verified candidates for the element a failing locator meant (OL's locator synthesis).

They are found by the element's fingerprint from a passing test, otherwise by two independent pieces of
evidence that agree. Every candidate is unique on the page, and passed the gate if the call acts on it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from playwright.async_api import Error as DriverError
from playwright.async_api import Page

from agent.healing.fingerprint_search import (
    DEFAULT_THRESHOLDS,
    FingerprintMatch,
    SearchOutcome,
    find_by_same_address,
    find_in_index,
    list_fingerprints_outside_dialog,
)
from agent.healing.fingerprint_search import FingerprintCandidate as Matched
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from agent.locators.stable_selectors import choose_selectors
from agent.optimization.locator_description import LocatorDescription, describe_locator
from agent.optimization.locator_targets import TargetDecision, find_locator_target, has_all_words
from agent.optimization.source_history import RecordedRename
from agent.page import actionability_gate, in_page_library
from agent.page.errors import GateFailed
from agent.playwright_locators.expression_candidates import list_locator_candidates as expressions
from agent.playwright_locators.locator_proof import select_proven_expression, to_locator
from kb_schema.excerpts import excerpt
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import Expression, to_source
from kb_schema.selectors import Selector
from kb_schema.suite_optimization import FailedTest, LocatorCandidate
from kb_schema.text_similarity import is_destructive

LINKED = 0.8
"""Confidence in a link with the same target: as for most elements that are found again by their words."""
MOST = 3
"""Maximum number of expressions for one element."""
LIKE_ENOUGH_TO_BE_THERE = 0.6
"""Similarity required of an element that is only read, when a test asserts just its presence."""
_EXISTENCE = frozenset(
    {"to_be_visible", "to_be_attached", "to_be_in_viewport", "to_have_count", "wait_for", "wait_for_selector"}
)
_OPERATING = frozenset(
    {
        "click",
        "dblclick",
        "hover",
        "fill",
        "clear",
        "press",
        "press_sequentially",
        "type",
        "check",
        "uncheck",
        "set_checked",
        "select_option",
        "set_input_files",
        "tap",
        "focus",
    }
)
_FIELDS = frozenset({"fill", "type", "press_sequentially", "clear"})
_CHOOSING = frozenset({"first", "last", "nth", "filter", "and_", "describe", "visible"})
_LISTS = frozenset({"to_have_count", "evaluate", "drag_to"})
"""What is asked of several elements, or of more than one may know."""


@dataclass(frozen=True, slots=True)
class NearestCandidate:
    """The most similar element on the page."""

    called: str
    score: float
    verdict: Literal["same", "offered", "ambiguous", "other"]


@dataclass(frozen=True, slots=True)
class LocatorCandidates:
    """Candidates for the element that was meant, best first; none if that is not certain."""

    candidates: tuple[LocatorCandidate, ...]
    reason: str
    nearest: NearestCandidate | None = None


@dataclass(frozen=True, slots=True)
class _FoundElement:
    at: int
    seen: Fingerprint
    confidence: float
    witnesses: tuple[str, ...]


async def find_locator_candidates(
    page: Page,
    failed: FailedTest,
    *,
    known: Fingerprint | None = None,
    others: Sequence[Fingerprint] = (),
    gate_s: float = 1.0,
    stored: bool = False,
    renames: Sequence[RecordedRename] = (),
) -> LocatorCandidates:
    """Return the candidates for the element.

    `known`: its fingerprint from a passing test; `stored`: the page is only a stored copy, on which the gate
    cannot be checked; `renames`: what git says of its words, where no passing test is known. Raises `PageGone`, `ScriptFailed`.
    """
    action = failed.action.removeprefix("expect.")
    if failed.locator is None or (action in _LISTS and known is None):
        return LocatorCandidates((), f"what {action} is asked of is not one element that could be told again")
    meaning = describe_locator(failed.locator.links)
    expecting = action not in _OPERATING
    asked = _asked_of_its_state(meaning, action) if expecting else None
    if asked is not None:
        return LocatorCandidates((), asked)
    index = await scan_page(page, everything=expecting)
    if known is not None:
        match = _found_again(index, known, others)
        nearest, found = _nearest_of(match), _accepted(match, meaning, action, expecting=expecting)
        if found is None and not expecting:
            found = _by_address(index, known)
            nearest = (
                nearest if found is None else NearestCandidate(_called(found.seen), found.confidence, "same")
            )
        if expecting and found is not None and meaning is not None and not meaning.container:
            found = None if _as_it_was(known, found.seen) else found
        reason = match.reason
    elif meaning is None:
        return LocatorCandidates((), "what its locator means cannot be read off it")
    else:
        inside = await _inside(page, index, meaning)
        heard = find_locator_target(
            index,
            meaning,
            action=action,
            inside=inside,
            expecting=expecting,
            existence=action in _EXISTENCE,
            renames=renames,
        )
        nearest, reason = _describe_nearest(heard, expecting=expecting), heard.reason
        found = _trusted(heard, meaning, action)
    if found is None:
        if nearest is not None and nearest.verdict == "same":
            nearest, reason = (
                replace(nearest, verdict="other"),
                f"{nearest.called} is not what the test expects",
            )
        return LocatorCandidates((), reason, nearest)
    ways, why = await _written(page, index, found, failed, action, None if stored else gate_s)
    return LocatorCandidates(ways, why or reason, nearest)


# -- which element -------------------------------------------------------------------------------------


def _found_again(index: PageIndex, known: Fingerprint, others: Sequence[Fingerprint]) -> FingerprintMatch:
    demand = DEFAULT_THRESHOLDS.stricter if any(map(is_destructive, known.words)) else DEFAULT_THRESHOLDS
    excluded = (*others, *list_fingerprints_outside_dialog(PageFingerprints(index), known))
    return find_in_index(index, known, demand, others=excluded, visible_only=True)


def _by_address(index: PageIndex, known: Fingerprint) -> _FoundElement | None:
    prints = PageFingerprints(index)
    at = find_by_same_address(prints, known)
    if at is None:
        return None
    return _FoundElement(
        at, prints.of(at), LINKED, ("it leads to the same address, in the same surroundings",)
    )


def _accepted(
    match: FingerprintMatch, meaning: LocatorDescription | None, action: str, *, expecting: bool
) -> _FoundElement | None:
    """Return the found element, unless it lacks something the test expects."""
    best = match.best
    if match.outcome is not SearchOutcome.FOUND or best is None:
        return None
    if expecting and meaning is not None and meaning.is_content and not has_all_words(meaning, best.seen):
        return None
    read_only = best.seen.place is None
    if action in _EXISTENCE and read_only and not _is_told(best):
        return None
    confidence = min(0.99, 0.5 + 0.5 * best.score)
    told = best.judgement.anchors or ("everything known",)
    return _FoundElement(
        best.at, best.seen, confidence, tuple(f"{each} as when the test passed" for each in told)
    )


def _asked_of_its_state(meaning: LocatorDescription | None, action: str) -> str | None:
    """Return why no substitute is possible where something is expected: the locator demands more than
    identity.
    """
    if meaning is None:
        return "what its locator means cannot be read off it"
    around = describe_locator(meaning.container)
    states = (*meaning.states, *(around.states if around is not None else ()))
    if states:
        return f"its locator asks for {', '.join(states)}: that is expected, not how it is found"
    if meaning.chosen:
        return "its locator takes one of several by its number: which one that is, is expected"
    if action in _EXISTENCE and meaning.classes:
        return f"its locator asks for the class {', '.join(meaning.classes)}: that may be what is expected"
    return None


def _as_it_was(known: Fingerprint, seen: Fingerprint) -> bool:
    """Return whether the element contradicts nothing the locator says: then the test itself asks for more."""
    told = (known.role, known.tag, known.name, known.label, known.attributes)
    return told == (seen.role, seen.tag, seen.name, seen.label, seen.attributes)


def _is_told(best: Matched) -> bool:
    return bool(best.judgement.anchors) and best.score >= LIKE_ENOUGH_TO_BE_THERE


def _trusted(heard: TargetDecision, meaning: LocatorDescription, action: str) -> _FoundElement | None:
    best = heard.best
    if best is None or (action in _EXISTENCE and meaning.words and not has_all_words(meaning, best.seen)):
        return None
    return _FoundElement(best.at, best.seen, min(0.9, 0.5 + 0.1 * len(best.witnesses)), best.reasons)


async def _inside(page: Page, index: PageIndex, meaning: LocatorDescription) -> Collection[int] | None:
    """Return the elements within the locator's container, if that is one element of the page."""
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


def _nearest_of(match: FingerprintMatch) -> NearestCandidate | None:
    if match.best is None:
        return None
    verdicts: dict[SearchOutcome, Literal["same", "ambiguous", "other"]] = {
        SearchOutcome.FOUND: "same",
        SearchOutcome.AMBIGUOUS: "ambiguous",
        SearchOutcome.NOT_FOUND: "other",
    }
    return NearestCandidate(_called(match.best.seen), match.best.score, verdicts[match.outcome])


def _describe_nearest(heard: TargetDecision, *, expecting: bool) -> NearestCandidate | None:
    if heard.nearest is None:
        return None
    score = min(1.0, heard.nearest.weight / 4)
    verdict: Literal["same", "offered", "ambiguous", "other"] = "other"
    if heard.best is not None:
        verdict = "same"
    elif heard.ambiguous:
        verdict = "ambiguous"
    elif heard.offered and not expecting:
        verdict = "offered"
    return NearestCandidate(_called(heard.nearest.seen), score, verdict)


def _called(seen: Fingerprint) -> str:
    return f"{seen.role or seen.tag or 'element'} {excerpt(seen.words[0] if seen.words else '', 60)!r}"


# -- how it is written down ----------------------------------------------------------------------------


async def _written(
    page: Page, index: PageIndex, found: _FoundElement, failed: FailedTest, action: str, gate_s: float | None
) -> tuple[tuple[LocatorCandidate, ...], str]:
    """The candidates for the element, or why there are none."""
    choice = (await choose_selectors(page, index, [found.at]))[0]
    if choice.selector is None:
        return (), "no selector leads to it alone"
    selector = choice.selector
    passed: Literal["passed", "not_asked"] = "not_asked"
    if action in _OPERATING and gate_s is not None:
        try:
            await actionability_gate.judge_element(
                page, selector, timeout_s=gate_s, editable=action in _FIELDS
            )
        except GateFailed as error:
            return (), f"what was found does not pass the gate: {error.evidence}"
        passed = "passed"
    ways = await _ways(page, selector, found.seen, failed, _conditions(failed, action))
    if not ways:
        return (), "no locator of Playwright's leads to it alone"
    made = tuple(
        LocatorCandidate(
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


def _keep_author_links(links: Expression) -> Expression:
    """Return the author's calls up to the last one that says what to look for."""
    said = [at for at, each in enumerate(links) if each.method not in _CHOOSING]
    where = links[: said[-1]] if said else ()
    return tuple(each.model_copy(update={"made_at": None}) for each in where)


def _conditions(failed: FailedTest, action: str) -> Expression:
    """Return what the author's locator demands besides identity: the new one must demand it too."""
    meaning = describe_locator(failed.locator.links) if failed.locator else None
    asked = meaning.conditions if meaning is not None else ()
    return tuple(
        each.model_copy(update={"made_at": None})
        for each in asked
        if each.method == "and_" or action not in _OPERATING
    )


async def _ways(
    page: Page, selector: Selector, seen: Fingerprint, failed: FailedTest, conditions: Expression
) -> list[Expression]:
    """Return proven expressions, those in the author's style first; none that demands less of the element."""
    links = failed.locator.links if failed.locator else ()
    manner = next((each.method for each in reversed(links) if each.method not in _CHOOSING), "")
    manner = "" if manner == "locator" else manner
    foreign = (
        failed.locator is not None
        and "internal:testid=" in failed.locator.selector
        and ("internal:testid=[data-testid=" not in failed.locator.selector)
    )
    proposed = [
        each
        for each in expressions(selector, seen)
        if not (foreign and any(link.method == "get_by_test_id" for link in each))
    ]
    proposed.sort(key=lambda way: way[-1].method != manner)
    kept = _keep_author_links(links)
    if kept:  # only the last call of the author's is another one then
        lone = {to_source((each[-1],)): each[-1] for each in proposed if each[-1].method != "nth"}
        proposed = [*((*kept, each) for each in lone.values()), *proposed]
    await in_page_library.call(page, "revision")
    found: list[Expression] = []
    manner_of = {to_source((*each, *conditions)): each[-1].method for each in reversed(proposed)}
    proposed = [(*each, *conditions) for each in proposed]
    while proposed and len(found) < MOST:
        way = await select_proven_expression(page, selector, proposed)
        if not way:
            break
        found.append(way)
        if way not in proposed:  # only by its number
            break
        manners = {manner_of[to_source(each)] for each in found}  # another way is one of another manner
        rest = proposed[proposed.index(way) + 1 :]
        proposed = [each for each in rest if manner_of[to_source(each)] not in manners]
    return found if len(found) == 1 else [each for each in found if each[-1].method != "nth"] or found[:1]
