"""The search page of a website's knowledge base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema import KnowledgeBase
from kb_schema.graph_documents import Transition
from kb_schema.tool_answers import SearchHit
from periplus.console.console_framework import ConsoleContextParam, render, site_path
from periplus.console.display_names import site_name

HITS = 50
KINDS = ("screen", "task", "workflow", "transition", "presentation_flow", "error_recovery", "screen_group")
"""The kinds of documents that are searched."""

IN_WORDS = {
    "presentation_flow": "demo",
    "error_recovery": "recovery",
    "screen_group": "group",
}
"""Labels of kinds that differ from their names."""

router = APIRouter()


@dataclass(frozen=True, slots=True)
class SearchHitView:
    """One search result."""

    kind: str
    name: str
    excerpt: str
    """Empty if it adds nothing to the name."""
    document_id: str
    where: str | None
    """The path of its page; None if it has none."""


@router.get("/sites/{site}/search")
async def search(
    request: Request, site: str, parts: ConsoleContextParam, q: Annotated[str, Query(max_length=500)] = ""
) -> Response:
    """Show the search results. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    found = None
    if q.strip():
        found = await anyio.to_thread.run_sync(lambda: visit.view.search.hits(q, HITS, kinds=KINDS))
    hits = (
        [] if found is None else _tell_apart([_hit(site, each, visit.view.knowledge) for each in found.hits])
    )
    more = found is not None and found.more
    return render(
        request,
        "search.html.j2",
        site=site,
        name=site_name(visit.view.knowledge, site),
        note=note,
        q=q,
        hits=hits,
        more=more,
    )


def _tell_apart(hits: list[SearchHitView]) -> list[SearchHitView]:
    """Return the results with ids in place of an excerpt where several have the same kind and name."""
    often = Counter((each.kind, each.name) for each in hits)
    return [
        replace(each, excerpt=each.document_id)
        if often[each.kind, each.name] > 1 and each.excerpt in ("", each.name)
        else each
        for each in hits
    ]


def _hit(site: str, hit: SearchHit, knowledge: KnowledgeBase) -> SearchHitView:
    """Return a search result with display names; transitions are named by their screens."""
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
    return SearchHitView(
        IN_WORDS.get(hit.kind, hit.kind.replace("_", " ")),
        name,
        said,
        hit.id,
        _where(site, hit, knowledge.transitions),
    )


def _where(site: str, hit: SearchHit, transitions: Mapping[str, Transition]) -> str | None:
    """Return the path of the result's page; None if it has none."""
    if hit.kind == "screen":
        return site_path(site, "screens", hit.id)
    if hit.kind in ("task", "workflow"):
        return site_path(site, "tasks", hit.id)
    if hit.kind == "presentation_flow":
        return "/demos"
    if hit.kind == "transition" and hit.id in transitions:
        return site_path(site, "screens", transitions[hit.id].from_screen)
    return None
