"""Idle indicators: their result is the same on every page, so they never help."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_server.screen_index.compiled_signatures import Indicator
from mcp_server.signature_checks.check_report import IdleIndicator, IdleReason
from mcp_server.signature_checks.snapshot_evaluation import IndicatorPages, SnapshotEvaluation

AGAINST = ("negative", "exclusion")
NECESSARY = ("url_patterns", "required")


def idle_indicators(survey: SnapshotEvaluation) -> Iterator[IdleIndicator]:
    """By screen, in the order of its signature. Screens without a snapshot are not judged."""
    for screen_id in sorted(survey.truths):
        own = survey.own.get(screen_id, 0)
        if not own:
            continue
        earlier: dict[tuple[bool, int], Indicator] = {}
        for indicator, truth in survey.truths[screen_id]:
            speaks_against = indicator.kind in AGAINST
            found = _reason_alone(survey, indicator, truth, own)
            twin = earlier.setdefault((speaks_against, truth.held), indicator)
            if found is None and twin is not indicator:
                found = "redundant", f"holds exactly where {twin.words} does"
            if found is not None:
                yield IdleIndicator(
                    screen_id=screen_id,
                    kind=indicator.kind,
                    indicator=indicator.words,
                    because=found[0],
                    detail=found[1],
                )


def _reason_alone(
    survey: SnapshotEvaluation, indicator: Indicator, truth: IndicatorPages, own: int
) -> tuple[IdleReason, str] | None:
    """Why an indicator says nothing, by itself."""
    everywhere = survey.all_pages
    count = everywhere.bit_count()
    if truth.unknown == everywhere:
        return "never_told", f"could not be evaluated on any of {count} snapshots"
    if indicator.kind in AGAINST:
        return None if truth.held else ("rejects_nothing", f"holds on none of {count} snapshots")
    if not truth.held & own:
        if indicator.kind in NECESSARY:
            return None  # that breaks identification, and is found as such
        return "never_holds", f"holds on 0 of {own.bit_count()} snapshots of {_describe_counts(survey, own)}"
    if truth.held == everywhere and everywhere != own:
        return "holds_everywhere", f"holds on all {count} snapshots"
    return None


def _describe_counts(survey: SnapshotEvaluation, own: int) -> str:
    return "its own" if survey.labels is not None else f"those taken for it ({own.bit_count()})"
