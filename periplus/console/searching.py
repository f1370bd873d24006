"""Search in what is known of a website."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema import KnowledgeBase
from kb_schema.answers import SearchHit
from kb_schema.graph import Transition
from periplus.console.shell import TheParts, render, site_path

HITS = 50
KINDS = ("screen", "task", "workflow", "transition", "presentation_flow", "error_recovery", "screen_group")
"""What people look for: what joins it together is on the pages of these."""

IN_WORDS = {
    "transition": "way",
    "presentation_flow": "demo",
    "error_recovery": "recovery",
    "screen_group": "group",
}
"""Kinds as people call them, where that is not what they are called."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found."""

    kind: str
    name: str
    excerpt: str
    """Empty where it says no more than the name."""
    where: str | None
    """Its page; None: it has none of its own."""


@router.get("/sites/{site}/search")
async def search(
    request: Request, site: str, parts: TheParts, q: Annotated[str, Query(max_length=500)] = ""
) -> Response:
    """Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    found = None
    if q.strip():
        found = await anyio.to_thread.run_sync(lambda: visit.view.search.hits(q, HITS, kinds=KINDS))
    hits = [] if found is None else [_hit(site, each, visit.view.knowledge) for each in found.hits]
    more = found is not None and found.more
    return render(request, "search.html.j2", site=site, note=note, q=q, hits=hits, more=more)


def _hit(site: str, hit: SearchHit, knowledge: KnowledgeBase) -> Hit:
    """A hit in names that people have: ways by the screens at their ends."""
    way = knowledge.transitions.get(hit.id) if hit.kind == "transition" else None
    name = (
        hit.name.replace("_", " ")
        if way is None
        else " → ".join(
            (knowledge.screens[each].name or each) if each in knowledge.screens else each
            for each in (way.from_screen, way.to_screen)
        )
    )
    said = "" if hit.excerpt in (None, hit.name, hit.id) else str(hit.excerpt)
    if way is not None and way.description:
        said = way.description
    return Hit(
        IN_WORDS.get(hit.kind, hit.kind.replace("_", " ")),
        name,
        said,
        _where(site, hit, knowledge.transitions),
    )


def _where(site: str, hit: SearchHit, transitions: Mapping[str, Transition]) -> str | None:
    """The page of what was found; None: it has none of its own."""
    if hit.kind == "screen":
        return site_path(site, "screens", hit.id)
    if hit.kind in ("task", "workflow"):
        return site_path(site, "tasks", hit.id)
    if hit.kind == "presentation_flow":
        return "/demos"
    if hit.kind == "transition" and hit.id in transitions:
        return site_path(site, "screens", transitions[hit.id].from_screen)
    return None
