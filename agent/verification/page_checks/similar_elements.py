"""Finds the most similar element for the evidence of a failure; lists elements that a lost one is certainly not.

The search itself is `agent.healing.fingerprint_search`; this module adds what the test has already acted on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from agent.healing.fingerprint_comparison import compare_fingerprints as judge_likeness
from agent.healing.fingerprint_comparison import is_same_kind
from agent.healing.fingerprint_search import (
    SearchOutcome,
    find_by_same_address,
    find_fingerprint,
    list_fingerprints_outside_dialog,
    list_search_candidates,
)
from agent.healing.recorded_words import find_harm
from agent.healing.rewording_search import ActRisk, RewordedCandidate, find_reworded
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.action_types import ACTION_TYPES, canonical
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector
from kb_schema.text_similarity import without_glyphs, words
from kb_schema.verification import PlanStep

LikenessVerdict = Literal["same", "offered", "ambiguous", "other"]
READ_ONLY = ActRisk(repeatable=False, checked=False)
"""For an element that an outcome names: it is never taken under other words, since it may truly be gone."""


@dataclass(frozen=True, slots=True)
class SimilarElement:
    """The most similar element of the page, and the result of the comparison."""

    description: str
    score: float
    verdict: LikenessVerdict
    reworded: RewordedCandidate | None = None
    """With `offered`: the candidate and what speaks for and against it."""


async def find_most_similar(
    site_page: VerificationPage,
    known: Fingerprint | None,
    selector: Selector | None,
    risk: ActRisk = READ_ONLY,
    index: PageIndex | None = None,
) -> SimilarElement | None:
    """Return the most similar element; None without a fingerprint, or if the page has nothing similar.

    `risk` is that of the act for which it is searched.
    """
    known = with_present_names(site_page, known)
    if known is None:
        return None
    index = index or await scan_page(site_page.page)
    prints = PageFingerprints(index)
    linked = find_by_same_address(prints, known)
    if linked is not None and find_harm(known, prints.of(linked)) is None:
        return _build_similar_element(known, prints.of(linked), "same")
    everything = list_search_candidates(index, known)
    excluded = collect_excluded_elements(site_page, index, known, selector)
    match = find_fingerprint(known, everything, others=excluded)
    harmful = match.best is not None and find_harm(known, match.best.seen) is not None
    if match.outcome is not SearchOutcome.FOUND or harmful:
        reworded = find_reworded(index, known, risk, others=excluded)
        usable = bool(reworded) and not reworded[0].against
        if reworded and (usable or harmful or match.outcome is SearchOutcome.NOT_FOUND):
            found_now = _build_similar_element(known, reworded[0].seen, "same" if usable else "offered")
            return found_now if usable else replace(found_now, reworded=reworded[0])
    if match.best is not None:
        found: LikenessVerdict = "other"
        if match.outcome is SearchOutcome.FOUND and not harmful:
            found = "same"
        elif match.outcome is SearchOutcome.AMBIGUOUS:
            found = "ambiguous"
        return _build_similar_element(known, match.best.seen, found)
    alike = [seen for _, seen in everything if is_same_kind(known, seen)]
    ranked = sorted(alike, key=lambda seen: -judge_likeness(known, seen).similarity.score)
    return _build_similar_element(known, ranked[0], "other") if ranked else None


def assess_risk(step: PlanStep) -> ActRisk:
    """Return what is known of a step's act: it may be repeated if it sent no data when the plan was built."""
    kind = ACTION_TYPES.get(canonical(step.intent.action) or "")
    repeatable = step.sent_data is False or (kind is not None and kind.idempotent)
    return ActRisk(repeatable, checked=bool(step.checks))


def with_present_names(site_page: VerificationPage, known: Fingerprint | None) -> Fingerprint | None:
    """Return the fingerprint with neighbours that were found again under other words called as they are now."""
    if known is None or not site_page.renamed:
        return known
    called = tuple(site_page.renamed.get(words(each), each) for each in known.neighbours)
    return known.model_copy(update={"neighbours": called})


def collect_excluded_elements(
    site_page: VerificationPage, index: PageIndex, known: Fingerprint, selector: Selector | None
) -> tuple[Fingerprint, ...]:
    """What it surely is not: what else the test has acted on here; of what stood in a dialog that is open
    now, everything outside of dialogs.
    """
    here, again = site_page.path, site_page.healed_before(selector)
    found = [
        seen
        for path, where, seen in site_page.known
        if path == here and where not in (selector, again) and not _bears_name(seen, known)
    ]
    return (*found, *list_fingerprints_outside_dialog(PageFingerprints(index), known))


def _bears_name(seen: Fingerprint, known: Fingerprint) -> bool:
    """Whether it is the same element, or has its name: a link that became a button is no other element."""
    return seen == known or (bool(known.name) and seen.name == known.name and is_same_kind(known, seen))


def _build_similar_element(known: Fingerprint, seen: Fingerprint, verdict: LikenessVerdict) -> SimilarElement:
    said = without_glyphs(seen.name or seen.label or seen.text or "")[:80]
    score = judge_likeness(known, seen).similarity.score
    return SimilarElement(f"{seen.role or seen.tag} {said!r}", score, verdict)
