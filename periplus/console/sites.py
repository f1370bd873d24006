"""The page of a website: its map, and the same as a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.answers import WebsiteSummary
from mcp_server import describe
from mcp_server.compiled import View
from periplus.console import chart
from periplus.console.shell import ConsoleParts, TheParts, render

ROWS = 200
"""Of the list, on one page."""
TABBED = 150
"""Screens beyond which the keyboard goes to the list instead of through the drawing."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Row:
    """One screen in the list."""

    screen_id: str
    name: str
    groups: tuple[str, ...]
    ways_out: int
    ways_in: int
    tasks: int


@router.get("/sites/{site}")
async def site_map(
    request: Request, site: str, parts: TheParts, page: Annotated[int, Query(ge=1, le=100_000)] = 1
) -> Response:
    """The map and the list. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    view = visit.view
    # A large site is drawn in a thread: meanwhile others are answered.
    return await anyio.to_thread.run_sync(_drawn, request, site, parts, view, note, page)


def _drawn(
    request: Request, site: str, parts: ConsoleParts, view: View, note: str | None, page: int
) -> Response:
    pictured = parts.pictures.known(site, view.knowledge.screens.values())
    rows = _rows(view)
    pages = max(1, -(-len(rows) // ROWS))
    page = min(page, pages)
    summary: WebsiteSummary = describe.website_summary(view)
    return render(
        request,
        "site.html.j2",
        site=site,
        note=note,
        summary=summary,
        workflows=len(view.knowledge.workflows),
        groups=len(view.knowledge.groups),
        chart=chart.chart_of(view, pictured=bool(pictured)),
        pictured=pictured,
        tabbed=len(rows) <= TABBED,
        rows=rows[(page - 1) * ROWS : page * ROWS],
        page=page,
        pages=pages,
    )


def _rows(view: View) -> list[Row]:
    ways_in: dict[str, int] = {}
    for edges in view.leaving.values():
        for edge in edges:
            ways_in[edge.to_screen] = ways_in.get(edge.to_screen, 0) + 1
    groups = view.knowledge.groups
    rows = [
        Row(
            screen_id=screen_id,
            name=screen.name or screen_id,
            groups=tuple(
                groups[each].name if each in groups else each for each in view.groups_of.get(screen_id, ())
            ),
            ways_out=len(view.leaving.get(screen_id, ())),
            ways_in=ways_in.get(screen_id, 0),
            tasks=len(view.tasks_of.get(screen_id, ())),
        )
        for screen_id, screen in view.knowledge.screens.items()
    ]
    return sorted(rows, key=lambda row: (row.name.casefold(), row.screen_id))
