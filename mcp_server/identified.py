"""How much of an identification is told: what to go by in a few lines, or all of the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from kb_schema.answers import Candidate, Detail, Evidence, Identification
from kb_schema.excerpts import excerpt

SUMMARY_CANDIDATES = 2
SUMMARY_RECOVERIES = 2
SUMMARY_DISTINGUISHING = 4
SUMMARY_REASON = 160
"""Characters of why a screen is not the page, in a summary."""
LONGEST_BECAUSE = 240


def at_detail(found: Identification, detail: Detail) -> Identification:
    """The identification with its evidence in a line; with all of it at `full`.

    A summary of a known screen names no others, one of an unknown page the two that came nearest.
    """
    told = found.model_copy(update={"because": in_a_line(found.evidence)})
    if detail == "full":
        return told
    if detail == "working":
        brief = tuple(each.model_copy(update={"detail": ""}) for each in found.evidence)
        return told.model_copy(update={"evidence": brief})
    unknown = found.screen_id is None
    return told.model_copy(
        update={
            "evidence": (),
            "candidates": tuple(map(_shortly, found.candidates[:SUMMARY_CANDIDATES])) if unknown else (),
            "distinguishing": found.distinguishing[:SUMMARY_DISTINGUISHING],
            "recovery": found.recovery[:SUMMARY_RECOVERIES],
        }
    )


def in_a_line(evidence: Sequence[Evidence]) -> str:
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


def _shortly(candidate: Candidate) -> Candidate:
    return candidate.model_copy(update={"because": excerpt(candidate.because, SUMMARY_REASON)})
