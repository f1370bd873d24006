"""Proposed corrections of a signature: a condition that separates pages, with its evidence."""

from __future__ import annotations

from typing import Literal

from mcp_server.signature_checks.check_report import IndicatorProposal
from mcp_server.signature_checks.snapshot_evaluation import SnapshotEvaluation
from web_pages.indicator_candidates import IndicatorCandidate, condition_to_json
from web_pages.page_masks import page_numbers

Slot = Literal["required_indicators", "negative_indicators"]


def propose_rejection(survey: SnapshotEvaluation, screen_id: str, of: str | None) -> IndicatorProposal | None:
    """A condition by which `screen_id` would be rejected on the pages of `of` and keep its own: a
    negative indicator, or a required one where that is simpler or more stable. None where no
    snapshot of `screen_id` could show it harmless, or nothing separates them.
    """
    own, foreign = (page_numbers(survey.own.get(each, 0)) for each in (screen_id, of))
    if not own or not foreign:
        return None
    found: list[tuple[tuple[int, int, int], Slot, IndicatorCandidate]] = []
    against = survey.book.separator(foreign, own)
    if against is not None:
        found.append(((len(against.signs), against.stability, 0), "negative_indicators", against))
    speaking = survey.book.separator(own, foreign)
    if speaking is not None:
        found.append(((len(speaking.signs), speaking.stability, 1), "required_indicators", speaking))
    if not found:
        return None
    _, slot, candidate = min(found, key=lambda each: each[0])
    return build_proposal(screen_id, slot, candidate)


def propose_requirement(survey: SnapshotEvaluation, screen_id: str) -> IndicatorProposal | None:
    """A condition that holds on every page of a screen and on no other screen's."""
    own = survey.own.get(screen_id, 0)
    others = 0
    for other, pages in survey.own.items():
        others |= 0 if other == screen_id else pages
    candidate = survey.book.separator(page_numbers(own), page_numbers(others))
    return None if candidate is None else build_proposal(screen_id, "required_indicators", candidate)


def build_proposal(screen_id: str, slot: Slot, candidate: IndicatorCandidate) -> IndicatorProposal:
    """A candidate as what to add where."""
    return IndicatorProposal(
        screen_id=screen_id,
        slot=slot,
        condition=condition_to_json(candidate.condition),
        holds=candidate.holds,
        of=candidate.of,
        elsewhere=candidate.elsewhere,
        others=candidate.others,
    )
