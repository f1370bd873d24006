"""Finds the most similar element for the evidence of a failure; lists elements that a lost one is certainly not.

The search itself is `agent.healing.fingerprint_search`; this module adds what the test has already acted on.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import scan_page
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector


@dataclass(frozen=True, slots=True)
class SimilarElement:
    """The most similar element of the page, and the result of the comparison."""

    description: str
    score: float
    verdict: Literal["same", "ambiguous", "other"]


async def find_most_similar(
    site_page: VerificationPage, known: Fingerprint | None, selector: Selector | None
) -> SimilarElement | None:
    """Return the most similar element; None without a fingerprint, or if the page has nothing similar."""
    if known is None:
        return None
    index = await scan_page(site_page.page)
    prints = PageFingerprints(index)
    linked = find_by_same_address(prints, known)
    if linked is not None:
        return _build_similar_element(known, prints.of(linked), "same")
    everything = list_search_candidates(index, known)
    match = find_fingerprint(
        known, everything, others=collect_excluded_elements(site_page, index, known, selector)
    )
    if match.best is not None:
        found: Literal["same", "ambiguous", "other"] = "other"
        if match.outcome is SearchOutcome.FOUND:
            found = "same"
        elif match.outcome is SearchOutcome.AMBIGUOUS:
            found = "ambiguous"
        return _build_similar_element(known, match.best.seen, found)
    alike = [seen for _, seen in everything if is_same_kind(known, seen)]
    ranked = sorted(alike, key=lambda seen: -judge_likeness(known, seen).similarity.score)
    return _build_similar_element(known, ranked[0], "other") if ranked else None


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
        if path == here and seen != known and where not in (selector, again)
    ]
    return (*found, *list_fingerprints_outside_dialog(PageFingerprints(index), known))


def _build_similar_element(
    known: Fingerprint, seen: Fingerprint, verdict: Literal["same", "ambiguous", "other"]
) -> SimilarElement:
    said = (seen.name or seen.label or seen.text or "")[:80]
    score = judge_likeness(known, seen).similarity.score
    return SimilarElement(f"{seen.role or seen.tag} {said!r}", score, verdict)
