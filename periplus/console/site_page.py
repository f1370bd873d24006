"""The page of a website: its map and the list of its screens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.tool_answers import WebsiteSummary
from mcp_server.descriptions import document_summaries
from mcp_server.knowledge.compiled_view import KnowledgeView
from periplus.console import site_map_layout
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, render
from periplus.console.display_names import tell_apart

ROWS = 200
"""Rows per page of the list."""
TABBED = 150
"""With more screens, the screens on the map are not keyboard-focusable; the list is."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """One screen in the list."""

    screen_id: str
    name: str
    groups: tuple[str, ...]
    ways_out: int
    ways_in: int
    tasks: int


@router.get("/sites/{site}")
async def site_map(
    request: Request,
    site: str,
    parts: ConsoleContextParam,
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
    by: Annotated[Literal["layers", "groups"], Query()] = "layers",
) -> Response:
    """Show the map and the list; a small site is drawn by layers or by groups. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    view = visit.view
    # A large site is drawn in a thread, so that other requests are not blocked.
    return await anyio.to_thread.run_sync(
        _render_site_page, request, site, parts, view, note, page, by == "groups"
    )


def _render_site_page(
    request: Request,
    site: str,
    parts: ConsoleContext,
    view: KnowledgeView,
    note: str | None,
    page: int,
    by_groups: bool,
) -> Response:
    pictured = parts.pictures.known(site, view.knowledge.screens.values())
    rows = _rows(view)
    pages = max(1, -(-len(rows) // ROWS))
    page = min(page, pages)
    summary: WebsiteSummary = document_summaries.summarize_website(view)
    return render(
        request,
        "site.html.j2",
        site=site,
        note=note,
        summary=summary,
        workflows=len(view.knowledge.workflows),
        groups=len(view.knowledge.groups),
        chart=site_map_layout.build_site_map(view, pictured=bool(pictured), by_groups=by_groups),
        layered=site_map_layout.is_layered(view),
        by_groups=by_groups,
        screens=view.knowledge.screens,
        pictured=pictured,
        tabbed=len(rows) <= TABBED,
        rows=rows[(page - 1) * ROWS : page * ROWS],
        page=page,
        pages=pages,
    )


def _rows(view: KnowledgeView) -> list[ScreenRow]:
    ways_in: dict[str, int] = {}
    for edges in view.leaving.values():
        for edge in edges:
            ways_in[edge.to_screen] = ways_in.get(edge.to_screen, 0) + 1
    groups = view.knowledge.groups
    names = tell_apart({key: screen.name or key for key, screen in view.knowledge.screens.items()})
    rows = [
        ScreenRow(
            screen_id=screen_id,
            name=names[screen_id],
            groups=tuple(
                groups[each].name if each in groups else each for each in view.groups_of.get(screen_id, ())
            ),
            ways_out=len(view.leaving.get(screen_id, ())),
            ways_in=ways_in.get(screen_id, 0),
            tasks=len(view.tasks_of.get(screen_id, ())),
        )
        for screen_id in view.knowledge.screens
    ]
    return sorted(rows, key=lambda row: (row.name.casefold(), row.screen_id))
