"""Outcomes that name an element by words: they hold only for an element that has these words.

The selector of an outcome has strategies without words (an id, a position). Such a strategy finds an element, but does not
prove that it is the named one. An element that was healed has other words, and its fingerprint says which.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.healing.recorded_words import read_same_words, read_words
from agent.locators.element_descriptions import ElementDescription, list_readings
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import check_selectors, scan_page
from agent.locators.word_comparison import WordFit, compare_words, normalize_words
from agent.page.errors import ElementChanged
from agent.page.live_selectors import resolve_selector, summarize_selector
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.excerpts import excerpt
from kb_schema.expected_outcomes import OUTCOMES
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import NameStrategy, Selector, Strategy, ValueStrategy
from kb_schema.text_similarity import without_glyphs
from kb_schema.text_similarity import words as split_words
from kb_schema.verification import PlanCheck, PlanStep

ABSENT = frozenset({"hidden", "count"})
"""Outcomes about the absence of elements, or about several."""
_BY_WORDS = frozenset({"xpath-text", "aria"})
_BESIDE = "/following-sibling::"
"""In the XPath of a value beside its term (`element_discovery`)."""


async def find_other_words(site_page: VerificationPage, step: PlanStep, check: PlanCheck) -> str | None:
    """Return what stands where the named element was, if it does not have the words: `button 'Hold on'`; else None.

    None, too, if the outcome names no element, if its element is not on the page, or if it is that of the step's action,
    which was compared before it was used. Values are filled in. Raises `PageGone`.
    """
    required = _read_required_words(step, check)
    if required is None or check.selector is None:
        return None
    named = _keep_worded_strategies(check.selector, required.words)
    if named is not None and (await resolve_selector(site_page.page, named)).visible:
        return None
    found = await fingerprint_led_to(site_page, check.selector, everything=True)
    if found is None or required.are_of(found):
        return None
    return f"{found.role or found.tag} {excerpt(found.name or found.label or found.text or '', 80)!r}"


async def require_named_words(site_page: VerificationPage, step: PlanStep) -> None:
    """Check that what a step's selector leads to is still called as it was, if only strategies without words lead there.

    Values are filled in; numbers in a name may differ. Raises `ElementChanged`, `PageGone`.
    """
    known, selector = step.fingerprint, step.selector
    ours = None if known is None else read_words(known)
    if known is None or selector is None or ours is None:
        return
    named = _keep_worded_strategies(selector, ours)
    if named is not None and (await resolve_selector(site_page.page, named)).visible:
        return
    if (await resolve_selector(site_page.page, selector)).visible != 1:
        return  # the gate says why
    found = await fingerprint_led_to(site_page, selector)
    theirs = None if found is None else read_same_words(known, found)
    if theirs is not None and _without_numbers(theirs) != _without_numbers(ours):
        raise ElementChanged(
            summarize_selector(selector),
            f"it is called {excerpt(theirs, 80)!r}, not {excerpt(ours, 80)!r}",
            by_words=True,
        )


async def fingerprint_led_to(
    site_page: VerificationPage, selector: Selector, *, everything: bool = False
) -> Fingerprint | None:
    """Return the fingerprint of the first visible element that a selector leads to; None if there is none.

    `everything`: also elements that are only read. Raises `PageGone`.
    """
    index = await scan_page(site_page.page, everything=everything)
    visible = [each for each in index.elements if each.visible]
    leads = await check_selectors(site_page.page, index, [(each.at, selector) for each in visible])
    found = next((each for each, there in zip(visible, leads, strict=True) if there), None)
    return None if found is None else PageFingerprints(index).of(found.at)


def _without_numbers(text: str) -> tuple[str, ...]:
    return tuple(each for each in split_words(without_glyphs(text)) if not each.isdecimal())


@dataclass(frozen=True, slots=True)
class _RequiredWords:
    """The words that an element must have."""

    words: str
    by_identifier: bool = False
    """They were only those of its id, name or test id, never shown to people."""

    def are_of(self, known: Fingerprint) -> bool:
        beside = (known.before or "", known.after or "", known.column or "", *known.row)
        identifiers = tuple(known.attributes.values()) if self.by_identifier else ()
        readings = [each.words for each in list_readings(ElementDescription(self.words)) if each.words]
        texts = (*known.words, *beside, *identifiers)
        return any(compare_words(each, text) is not WordFit.NOT for each in readings for text in texts)


def find_acting_step(
    site_page: VerificationPage, step: PlanStep, known: Fingerprint | None
) -> PlanStep | None:
    """Return the step of the plan that acts on this element, the next one rather than one before: under its risk the
    element is judged.
    """
    if known is None:
        return None
    acting = [
        each for each in site_page.plan if each.intent.action and is_same_description(each.fingerprint, known)
    ]
    later = [each for each in acting if each.step_idx > step.step_idx]
    return next(iter([*later, *acting]), None)


def is_same_description(one: Fingerprint | None, other: Fingerprint | None) -> bool:
    """Whether two fingerprints were taken from one element: the same words and identifiers, in the same row."""
    if one is None or other is None:
        return False
    return _describe(one) == _describe(other)


def _describe(known: Fingerprint) -> tuple[object, ...]:
    attributes = known.attributes
    return (known.role, known.tag, known.name, known.label, known.test_id, attributes.get("id"), attributes.get("name"),
            known.row, known.region)  # fmt: skip


def _read_required_words(step: PlanStep, check: PlanCheck) -> _RequiredWords | None:
    kind = OUTCOMES.get(check.outcome.kind)
    if kind is None or kind.about != "element" or kind.name in ABSENT or check.fingerprint is None:
        return None
    words = check.outcome.element
    if words is None:
        words = None if step.intent.action else step.intent.element
    if not words:
        return None
    known = check.fingerprint
    shown, identified = _RequiredWords(words), _RequiredWords(words, by_identifier=True)
    if shown.are_of(known) or (check.selector and _keep_worded_strategies(check.selector, words)):
        return shown
    if identified.are_of(known):
        return identified
    healed = known.name or known.label  # the words of an element that was found again
    return _RequiredWords(healed) if healed and check.outcome.kind != "text" else None


def _keep_worded_strategies(selector: Selector, words: str) -> Selector | None:
    kept = tuple(each for each in selector.strategies if _says(each, words))
    return Selector(strategies=kept, frame=selector.frame) if kept else None


def _says(strategy: Strategy, words: str) -> bool:
    if isinstance(strategy, NameStrategy):
        return compare_words(words, strategy.name) is not WordFit.NOT
    if isinstance(strategy, ValueStrategy) and (strategy.type in _BY_WORDS or _BESIDE in strategy.value):
        return f" {normalize_words(words)} " in f" {normalize_words(strategy.value)} "
    return False
