"""Search in what is known of a website."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.answers import SearchHit
from kb_schema.graph import Transition
from periplus.console.shell import TheParts, render, site_path

HITS = 50
KINDS = ("screen", "task", "workflow", "transition", "presentation_flow", "error_recovery", "screen_group")
"""What people look for: what joins it together is on the pages of these."""

router = APIRouter()


@router.get("/sites/{site}/search")
async def search(
    request: Request, site: str, parts: TheParts, q: Annotated[str, Query(max_length=500)] = ""
) -> Response:
    """Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    found = visit.view.search.hits(q, HITS, kinds=KINDS) if q.strip() else None
    hits = (
        []
        if found is None
        else [(each, _where(site, each, visit.view.knowledge.transitions)) for each in found.hits]
    )
    more = found is not None and found.more
    return render(request, "search.html.j2", site=site, note=note, q=q, hits=hits, more=more)


def _where(site: str, hit: SearchHit, transitions: Mapping[str, Transition]) -> str | None:
    """The page of what was found; None: it has none of its own."""
    if hit.kind == "screen":
        return site_path(site, "screens", hit.id)
    if hit.kind in ("task", "workflow"):
        return site_path(site, "tasks", hit.id)
    if hit.kind == "transition" and hit.id in transitions:
        return site_path(site, "screens", transitions[hit.id].from_screen)
    return None
