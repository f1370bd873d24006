"""The pages about proposals: the list at `/sites/{site}/proposals`, one proposal, and the decision.

`kb_store.proposals.review_decisions` carries out a decision, as on the command line.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema import KnowledgeError
from kb_schema.proposals import Proposal
from kb_store.audit.audit_recorder import record_async
from kb_store.proposals import review_decisions
from kb_store.proposals.accepted_changes import ChangeTargetMissing, ScreenMissing
from kb_store.proposals.review_decisions import (
    ChangedSinceProposal,
    ProposalAlreadyAccepted,
    ScreenNotAccepted,
)
from periplus.console import proposal_evidence, proposal_view_models
from periplus.console.console_framework import (
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
    site_path,
)
from periplus.console.run_pages import FRAMED, load_knowledge, today_utc
from periplus.service.problem_details import ApiProblem

PER_PAGE = 50
"""Rows per page of the list."""

router = APIRouter()
Site = Annotated[str, Path(max_length=200)]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{1,64}$")]


@router.get("/sites/{site}/proposals")
async def proposals(
    request: Request,
    parts: ConsoleContextParam,
    site: Site,
    show: Annotated[str, Query(max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Response:
    """List open proposals; `?show=all` includes the decided ones."""
    await parts.knowledge_server.open_request(site)  # raises for an unknown website
    knowledge = await load_knowledge(parts, site)
    every = await parts.stores.proposals.proposals(site)
    waiting = [each for each in every if each.status == "proposed"]
    listed = proposal_view_models.sort_proposals(every if show == "all" else waiting)
    pages = max(1, -(-len(listed) // PER_PAGE))
    page = min(page, pages)
    shown = listed[(page - 1) * PER_PAGE : page * PER_PAGE]
    return render(
        request,
        "proposals.html.j2",
        site=site,
        rows=[proposal_view_models.build_proposal_row(each, today_utc(), knowledge) for each in shown],
        waiting=len(waiting),
        all=len(every),
        everything=show == "all",
        page=page,
        pages=pages,
    )


@router.get("/sites/{site}/proposals/{proposal_id}")
async def proposal(
    request: Request,
    parts: ConsoleContextParam,
    site: Site,
    proposal_id: Id,
    done: Annotated[str, Query(pattern=r"^(accepted|rejected|was_so)?$")] = "",
) -> Response:
    """Show what a proposal would change, its evidence, and the buttons to decide."""
    found = await _find(parts, site, proposal_id)
    ahead = None
    knowledge = await load_knowledge(parts, site)
    if knowledge is not None and found.status == "proposed":
        ahead = await asyncio.to_thread(proposal_view_models.preview_acceptance, knowledge, found)
    page = proposal_view_models.build_proposal_page(
        found, today_utc(), knowledge, await _list_existing_runs(parts, found)
    )
    looks = await proposal_evidence.collect_evidence(parts, found, knowledge)
    response = render(
        request,
        "proposal.html.j2",
        site=site,
        page=page,
        looks=looks,
        done=done,
        ahead=ahead,
        may_decide=get_person(request).may("review"),
    )
    response.headers["Content-Security-Policy"] = FRAMED
    return response


@router.get("/sites/{site}/proposals/{proposal_id}/pictures/{number}")
async def picture(
    parts: ConsoleContextParam,
    site: Site,
    proposal_id: Id,
    number: Annotated[int, Path(ge=0, lt=proposal_evidence.MOST_SEEN)],
) -> Response:
    """Return a screenshot that a run names as evidence."""
    shot = await proposal_evidence.read_evidence_picture(parts, await _find(parts, site, proposal_id), number)
    if shot is None:
        raise ApiProblem(404, "not_found", "no such screenshot, or it was deleted")
    about = f"picture {number} of proposal {proposal_id}"
    await record_async("artifact_opened", about, website=site)
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'"}
    return Response(shot.content, media_type=shot.media_type, headers=headers)


@router.post("/sites/{site}/proposals/{proposal_id}", dependencies=[Depends(require_role("review"))])
async def decide(
    parts: ConsoleContextParam,
    site: Site,
    proposal_id: Id,
    decision: Annotated[Literal["accept", "accept_anyway", "reject"], Form()],
) -> Response:
    """Accept or reject a proposal.

    `accept` creates the next generation of the knowledge; `accept_anyway` also overwrites later changes of the
    same document. `reject` keeps the proposal, so that it is not proposed again.
    """
    found = await _find(parts, site, proposal_id)
    if decision != "reject":
        generation = await _accept(parts, found, anyway=decision == "accept_anyway")
        done = "was_so" if generation is None else "accepted"
    else:
        await _reject(parts, found)
        done = "rejected"
    return RedirectResponse(f"{site_path(site, 'proposals', found.proposal_id)}?done={done}", 303)


# -- steps -----------------------------------------------------------------------------------------


async def _find(parts: ConsoleContext, site: str, proposal_id: str) -> Proposal:
    await parts.knowledge_server.open_request(site)
    found = await parts.stores.proposals.proposal(site, proposal_id)
    if found is None:
        raise ApiProblem(
            404,
            "not_found",
            f"website {site} has no proposal {proposal_id!r}",
            fix="choose one from the list of proposals",
        )
    return found


async def _accept(parts: ConsoleContext, proposal: Proposal, *, anyway: bool) -> int | None:
    """Accept the proposal; return the new generation, or None if the knowledge already contained the change."""
    if proposal.status == "accepted":
        return None
    try:
        _, generation = await review_decisions.accept(parts.stores, proposal, anyway=anyway)
    except ScreenNotAccepted as exc:
        raise _build_refusal(str(exc), f"first accept the proposal {exc.screen.proposal_id}") from exc
    except ScreenMissing as exc:
        raise _build_refusal(
            str(exc), f"add the screen {exc.screen_id!r} to your files and load them, or reject it"
        ) from exc
    except ChangedSinceProposal as exc:
        raise _build_refusal(
            str(exc), "open the proposal again to see the current value, then accept it anyway or reject it"
        ) from exc
    except ChangeTargetMissing as exc:
        raise _build_refusal(
            str(exc), "reject it: the knowledge base no longer contains its subject"
        ) from exc
    except KnowledgeError as exc:
        raise _build_refusal(str(exc).splitlines()[0], "reject it, or correct the knowledge first") from exc
    return generation


async def _reject(parts: ConsoleContext, proposal: Proposal) -> None:
    try:
        await review_decisions.reject(parts.stores, [proposal])
    except ProposalAlreadyAccepted as exc:
        raise _build_refusal(
            str(exc), "load files without it: `periplus kb load DIR --replace-learned`"
        ) from exc


def _build_refusal(message: str, fix: str) -> ApiProblem:
    return ApiProblem(409, "not_decided", message, fix=fix)


async def _list_existing_runs(parts: ConsoleContext, proposal: Proposal) -> frozenset[str]:
    """Return the ids of its runs that have a page; recordings have none."""
    asked = [each.run_id for each in proposal.supports[: proposal_view_models.MOST_SPOKEN]]
    found = await asyncio.gather(*(parts.runs.run(each) for each in asked))
    return frozenset(each.run_id for each in found if each is not None)
