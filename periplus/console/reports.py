"""`/reports`: how each requirement stands, and reports of rehearsals, demos, verifications and syntheses.

A report has words of websites in it: it is shown in a frame that runs nothing, or saved.
"""

from __future__ import annotations

import asyncio
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from periplus.console import reports_views
from periplus.console.runs import FRAMED, foreign_html, saved, today
from periplus.console.runs_listing import LOOKED_AT
from periplus.console.shell import ConsoleParts, TheParts, render
from periplus.service.keeping import inside
from periplus.service.problems import ApiProblem

MOST = 300
"""Requirements that are listed, failing ones first."""
MOST_BYTES = 60_000_000
"""Of a report: they carry their pictures."""

router = APIRouter()
Where = Annotated[str, Query(min_length=1, max_length=1_000)]


@router.get("/reports")
async def reports(request: Request, parts: TheParts) -> Response:
    """Requirements, failing ones first; then the reports that lie among the runs."""
    found = reports_views.standings(await parts.runs.runs(limit=LOOKED_AT), today())
    left = await asyncio.to_thread(reports_views.left_in, parts.folder, today())
    return render(
        request, "reports.html.j2", standings=found[:MOST], more=max(0, len(found) - MOST), totals=reports_views.totals(found), reports=left,
        folder=parts.folder.name,
    )  # fmt: skip


@router.get("/reports/shown")
async def report(request: Request, parts: TheParts, path: Where) -> Response:
    """One report, in a frame."""
    _report(parts, path)
    run_id = path.partition("/")[0]
    known = await parts.runs.run(run_id) if "/" in path else None
    response = render(request, "report.html.j2", path=path, run_id=None if known is None else run_id)
    response.headers["Content-Security-Policy"] = FRAMED
    return response


@router.get("/reports/file")
async def file(request: Request, parts: TheParts, path: Where) -> Response:
    """The report itself: for the frame, else to save."""
    found = _report(parts, path)
    content = await asyncio.to_thread(found.read_bytes)
    if request.headers.get("sec-fetch-dest") != "iframe":
        return saved(content, found.name)
    return foreign_html(request, content.decode("utf-8", "replace"), found.name)


def _report(parts: ConsoleParts, told: str) -> FilePath:
    """The report a path within the runs' folder leads to. Raises `ApiProblem` for anything else."""
    found = inside(parts.folder, told)
    if found is None or found.name not in reports_views.KINDS or found.stat().st_size > MOST_BYTES:
        raise ApiProblem(
            404, "not_found", "there is no such report", fix="the list of reports has those there are"
        )
    return found
