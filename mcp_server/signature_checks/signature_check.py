"""Checks whether a website's signatures recognise its pages, over all stored snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import Labels
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.signature_checks.check_report import (
    CheckReport,
    ScreenConfusion,
    SnapshotOutcome,
    SnapshotResult,
)
from mcp_server.signature_checks.idle_indicators import idle_indicators
from mcp_server.signature_checks.signature_findings import collect_findings
from mcp_server.signature_checks.snapshot_evaluation import (
    EvaluatedPage,
    SnapshotEvaluation,
    evaluate_snapshots,
)


def check_signatures(
    view: KnowledgeView,
    snapshots: Iterable[tuple[str, PageSnapshot]],
    *,
    labels: Labels | None = None,
    base_url: str | None = None,
    on_page: Callable[[str], None] | None = None,
) -> CheckReport:
    """Check the signatures of a website on snapshots, given by name.

    Without `labels` only contradictions are found. `base_url` is where the site was when the snapshots were taken;
    pages on loopback state it themselves. `on_page` receives the name of each page that is done.
    """
    seen = evaluate_snapshots(view, snapshots, labels=labels, base_url=base_url, on_page=on_page)
    results = tuple(_result(seen, page) for page in seen.pages)
    return CheckReport(
        website_id=view.website_id,
        screens=len(view.knowledge.screens),
        snapshots=len(results),
        labelled=sum(result.labelled for result in results),
        right=sum(result.outcome == "right" for result in results),
        matrix=_matrix(results),
        findings=collect_findings(seen),
        idle_indicators=tuple(idle_indicators(seen)),
        screens_without_snapshot=_screens_without_snapshots(seen),
        results=results,
    )


def _result(seen: SnapshotEvaluation, page: EvaluatedPage) -> SnapshotResult:
    labelled = seen.labels is not None and page.name in seen.labels
    label = seen.labels[page.name] if seen.labels is not None and labelled else None
    answer = page.answer
    return SnapshotResult(
        name=page.name,
        labelled=labelled,
        label=label,
        screen_id=None if answer is None else answer.screen_id,
        confidence=0.0 if answer is None else answer.confidence,
        accepted=page.accepted,
        outcome=_outcome(page, label, labelled=labelled),
        because=page.refused or ("" if answer is None or answer.screen_id else answer.hint or ""),
    )


def _outcome(page: EvaluatedPage, label: str | None, *, labelled: bool) -> SnapshotOutcome:
    if page.answer is None:
        return "refused"
    if page.answer.ambiguous:
        return "ambiguous"
    if not labelled:
        return "unlabelled"
    if page.answer.screen_id == label:
        return "right"
    return "not_known" if page.answer.screen_id is None else "wrong"


def _matrix(results: Iterable[SnapshotResult]) -> tuple[ScreenConfusion, ...]:
    cells: dict[tuple[str | None, str | None], list[SnapshotResult]] = {}
    for result in results:
        if result.labelled and result.outcome != "refused":
            cells.setdefault((result.label, result.screen_id), []).append(result)
    return tuple(
        ScreenConfusion(
            screen_id=label,
            taken_for=answer,
            ambiguous=sum(result.outcome == "ambiguous" for result in found),
            snapshots=tuple(result.name for result in found),
        )
        for (label, answer), found in sorted(
            cells.items(), key=lambda item: tuple(part or "" for part in item[0])
        )
    )


def _screens_without_snapshots(seen: SnapshotEvaluation) -> tuple[str, ...]:
    taken = (
        {screen_id for page in seen.pages for screen_id in page.accepted} if seen.labels is None else set()
    )
    return tuple(sorted(set(seen.view.knowledge.screens) - set(seen.own) - taken))
