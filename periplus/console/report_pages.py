"""`/reports`: the verdicts of requirements, and reports of rehearsals, demos, verifications and syntheses.

Reports contain text of websites, so they are shown in a sandboxed frame or downloaded.
"""

from __future__ import annotations

import asyncio
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_store.audit.audit_recorder import record_async
from periplus.console import report_view_models
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, render
from periplus.console.run_list import LOOKED_AT
from periplus.console.run_pages import FRAMED, download_response, today_utc, website_html_response
from periplus.service.problem_details import ApiProblem
from periplus.service.submission_records import resolve_inside

MOST = 300
"""Maximum number of requirements listed."""
MOST_BYTES = 60_000_000
"""Maximum size of a report; reports embed their pictures."""

router = APIRouter()
Where = Annotated[str, Query(min_length=1, max_length=1_000)]


@router.get("/reports")
async def reports(request: Request, parts: ConsoleContextParam) -> Response:
    """List the requirements, failing ones first, and the reports in the runs' folder."""
    found = report_view_models.list_requirement_standings(await parts.runs.runs(limit=LOOKED_AT), today_utc())
    left = await asyncio.to_thread(report_view_models.find_reports, parts.folder, today_utc())
    return render(
        request,
        "reports.html.j2",
        standings=found[:MOST],
        more=max(0, len(found) - MOST),
        totals=report_view_models.count_verdicts(found),
        reports=left,
        folder=parts.folder.name,
    )


@router.get("/reports/shown")
async def report(request: Request, parts: ConsoleContextParam, path: Where) -> Response:
    """Show one report in a frame."""
    _report(parts, path)
    run_id = path.partition("/")[0]
    known = await parts.runs.run(run_id) if "/" in path else None
    response = render(request, "report.html.j2", path=path, run_id=None if known is None else run_id)
    response.headers["Content-Security-Policy"] = FRAMED
    return response


@router.get("/reports/file")
async def file(request: Request, parts: ConsoleContextParam, path: Where) -> Response:
    """Return the report file, for the frame or as a download."""
    found = _report(parts, path)
    content = await asyncio.to_thread(found.read_bytes)
    await record_async("artifact_opened", f"report {path}")
    if request.headers.get("sec-fetch-dest") != "iframe":
        return download_response(content, found.name)
    return website_html_response(request, content.decode("utf-8", "replace"), found.name)


def _report(parts: ConsoleContext, told: str) -> FilePath:
    """Return the report at a path in the runs' folder. Raises `ApiProblem` for any other path."""
    found = resolve_inside(parts.folder, told)
    if found is None or found.name not in report_view_models.KINDS or found.stat().st_size > MOST_BYTES:
        raise ApiProblem(404, "not_found", "no such report", fix="choose one from the list of reports")
    return found
