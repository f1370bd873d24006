"""The review of a map: one doubt after the other with its picture, and the decision."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema import KnowledgeBase
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from loaders.map_review.map_doubts import Doubt, list_doubts
from loaders.map_review.review_decisions import Decision, decide
from periplus.console.console_framework import (
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
    site_path,
)
from periplus.console.edit_requests import edit_knowledge
from periplus.runs.tried_tasks import list_tried_tasks

MOST_LISTED = 100
"""Maximum number of doubts in the list below the current one."""

router = APIRouter()


@router.get("/sites/{site}/review")
async def review(
    request: Request,
    site: str,
    parts: ConsoleContextParam,
    at: Annotated[int, Query(ge=0, le=100_000)] = 0,
) -> Response:
    """Show the doubt at a position, with the keys to decide it, and the list of all. Raises `UnknownName`."""
    visit, note = await parts.knowledge_server.open_request(site)
    knowledge = visit.view.knowledge
    doubts = list_doubts(knowledge, await list_tried_tasks(parts.runs, site))
    at = min(at, max(0, len(doubts) - 1))
    doubt = doubts[at] if doubts else None
    return render(
        request,
        "review.html.j2",
        site=site,
        note=note,
        doubt=doubt,
        at=at,
        number=len(doubts),
        doubts=doubts[:MOST_LISTED],
        pictured=[] if doubt is None else _list_pictured(parts, site, knowledge, doubt),
        names={key: each.name or key for key, each in knowledge.screens.items()},
        may_edit=get_person(request).may("review"),
    )


@router.post("/sites/{site}/review", dependencies=[Depends(require_role("review"))])
async def decide_doubt(
    site: str,
    parts: ConsoleContextParam,
    name: Annotated[str, Form(max_length=200)],
    mark: Annotated[str, Form(max_length=500)],
    decision: Annotated[Decision, Form()],
    at: Annotated[int, Form(ge=0, le=100_000)] = 0,
    answer: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Carry out a decision and show the next doubt."""
    tried = await list_tried_tasks(parts.runs, site)

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        found = [each for each in list_doubts(knowledge, tried) if (each.name, each.mark) == (name, mark)]
        if not found:
            raise EditRefused(f"{name}: this was decided meanwhile", "open the review again")
        return decide(knowledge, found[0], decision, answer or None)

    await edit_knowledge(parts, site, make)
    return RedirectResponse(f"{site_path(site, 'review')}?at={at}", 303)


def _list_pictured(parts: ConsoleContext, site: str, knowledge: KnowledgeBase, doubt: Doubt) -> list[str]:
    """Return the screens of a doubt that have a picture."""
    named = (knowledge.screens.get(each or "") for each in (doubt.name, doubt.other))
    screens = [each for each in named if each is not None]
    return [each.screen_id for each in screens if parts.pictures.of(site, each) is not None]
