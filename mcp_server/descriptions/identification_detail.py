"""Detail of an identification answer: a few lines, or the whole evidence."""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema.excerpts import excerpt
from kb_schema.tool_answers import Detail, Evidence, Identification, RejectedScreen

SUMMARY_CANDIDATES = 2
SUMMARY_RECOVERIES = 2
SUMMARY_DISTINGUISHING = 4
SUMMARY_REASON = 160
"""Most characters of a rejection reason in a summary."""
LONGEST_BECAUSE = 240


def reduce_identification(found: Identification, detail: Detail) -> Identification:
    """Return the identification with its evidence in one line, or with all evidence at `full`.

    The summary of a known screen names no other screens. That of an unknown page names the two nearest.
    """
    told = found.model_copy(update={"because": summarize_evidence(found.evidence)})
    if detail == "full":
        return told
    if detail == "working":
        brief = tuple(each.model_copy(update={"detail": ""}) for each in found.evidence)
        return told.model_copy(update={"evidence": brief})
    unknown = found.screen_id is None
    return told.model_copy(
        update={
            "evidence": (),
            "candidates": tuple(map(_shorten_candidate, found.candidates[:SUMMARY_CANDIDATES]))
            if unknown
            else (),
            "distinguishing": found.distinguishing[:SUMMARY_DISTINGUISHING],
            "recovery": found.recovery[:SUMMARY_RECOVERIES],
        }
    )


def summarize_evidence(evidence: Sequence[Evidence]) -> str:
    """`3 of 4 indicators hold; not optional dom_contains 'Welcome'`. Empty without evidence."""
    counted = [each for each in evidence if each.weight]
    if not counted:
        return ""
    held = sum(each.status == "held" for each in counted)
    lacking = [
        f"{'not' if each.status == 'not_held' else 'untold:'} {each.kind} {each.indicator}"
        for each in counted
        if each.status != "held"
    ]
    return excerpt("; ".join([f"{held} of {len(counted)} indicators hold", *lacking]), LONGEST_BECAUSE)


def _shorten_candidate(candidate: RejectedScreen) -> RejectedScreen:
    return candidate.model_copy(update={"because": excerpt(candidate.because, SUMMARY_REASON)})
