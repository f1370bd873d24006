"""Whether a website's signatures know its pages: all of them over stored snapshots (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kb_schema.pages.folder import Labels
from kb_schema.snapshots import PageSnapshot
from mcp_server.checking.findings import findings
from mcp_server.checking.idle import idle_indicators
from mcp_server.checking.report import CheckReport, Confusion, Outcome, SnapshotResult
from mcp_server.checking.survey import PageRecord, Survey, survey
from mcp_server.compiled import View


def check_signatures(
    view: View,
    snapshots: Iterable[tuple[str, PageSnapshot]],
    *,
    labels: Labels | None = None,
    base_url: str | None = None,
    on_page: Callable[[str], None] | None = None,
) -> CheckReport:
    """Everything the snapshots, each with its name, show about the signatures of a website.

    Without `labels` only what contradicts itself is found. `base_url` is where the site was when
    the snapshots were taken; pages on loopback tell it themselves. `on_page` hears the name of each
    page that is done.
    """
    seen = survey(view, snapshots, labels=labels, base_url=base_url, on_page=on_page)
    results = tuple(_result(seen, page) for page in seen.pages)
    return CheckReport(
        website_id=view.website_id,
        screens=len(view.knowledge.screens),
        snapshots=len(results),
        labelled=sum(result.labelled for result in results),
        right=sum(result.outcome == "right" for result in results),
        matrix=_matrix(results),
        findings=findings(seen),
        idle_indicators=tuple(idle_indicators(seen)),
        screens_without_snapshot=_unseen(seen),
        results=results,
    )


def _result(seen: Survey, page: PageRecord) -> SnapshotResult:
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


def _outcome(page: PageRecord, label: str | None, *, labelled: bool) -> Outcome:
    if page.answer is None:
        return "refused"
    if page.answer.ambiguous:
        return "ambiguous"
    if not labelled:
        return "unlabelled"
    if page.answer.screen_id == label:
        return "right"
    return "not_known" if page.answer.screen_id is None else "wrong"


def _matrix(results: Iterable[SnapshotResult]) -> tuple[Confusion, ...]:
    cells: dict[tuple[str | None, str | None], list[SnapshotResult]] = {}
    for result in results:
        if result.labelled and result.outcome != "refused":
            cells.setdefault((result.label, result.screen_id), []).append(result)
    return tuple(
        Confusion(
            screen_id=label,
            taken_for=answer,
            ambiguous=sum(result.outcome == "ambiguous" for result in found),
            snapshots=tuple(result.name for result in found),
        )
        for (label, answer), found in sorted(
            cells.items(), key=lambda item: tuple(part or "" for part in item[0])
        )
    )


def _unseen(seen: Survey) -> tuple[str, ...]:
    taken = (
        {screen_id for page in seen.pages for screen_id in page.accepted} if seen.labels is None else set()
    )
    return tuple(sorted(set(seen.view.knowledge.screens) - set(seen.own) - taken))
