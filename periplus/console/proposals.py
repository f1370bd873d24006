"""The pages about proposals: `/sites/{site}/proposals`, one of them, and deciding on it.

What a decision does is `kb_store.deciding`, as on the command line.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema import KnowledgeError
from kb_schema.proposals import Proposal
from kb_store import deciding
from kb_store.changing import NothingToChange, ScreenMissing
from kb_store.deciding import AlreadyAccepted, ChangedSince, ScreenFirst
from periplus.console import proposals_seen, proposals_views
from periplus.console.runs import FRAMED, knowledge_of, today
from periplus.console.shell import ConsoleParts, TheParts, person, render, requires, site_path
from periplus.service.problems import ApiProblem

PER_PAGE = 50
"""Of the list."""

router = APIRouter()
Site = Annotated[str, Path(max_length=200)]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{1,64}$")]


@router.get("/sites/{site}/proposals")
async def proposals(
    request: Request,
    parts: TheParts,
    site: Site,
    show: Annotated[str, Query(max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=10_000)] = 1,
) -> Response:
    """Those that wait for a decision; `?show=all`: those decided, too."""
    await parts.desk.visit(site)  # a website there is not is no page
    knowledge = await knowledge_of(parts, site)
    every = await parts.stores.proposals.proposals(site)
    waiting = [each for each in every if each.status == "proposed"]
    listed = proposals_views.in_order(every if show == "all" else waiting)
    pages = max(1, -(-len(listed) // PER_PAGE))
    page = min(page, pages)
    shown = listed[(page - 1) * PER_PAGE : page * PER_PAGE]
    return render(
        request, "proposals.html.j2", site=site, rows=[proposals_views.row(each, today(), knowledge) for each in shown],
        waiting=len(waiting), all=len(every), everything=show == "all", page=page, pages=pages,
    )  # fmt: skip


@router.get("/sites/{site}/proposals/{proposal_id}")
async def proposal(
    request: Request,
    parts: TheParts,
    site: Site,
    proposal_id: Id,
    done: Annotated[str, Query(pattern=r"^(accepted|rejected|was_so)?$")] = "",
) -> Response:
    """What it would change, what speaks for it, and the buttons for whoever may decide."""
    found = await _find(parts, site, proposal_id)
    ahead = None
    knowledge = await knowledge_of(parts, site)
    if knowledge is not None and found.status == "proposed":
        ahead = await asyncio.to_thread(proposals_views.foreseen, knowledge, found)
    page = proposals_views.page(found, today(), knowledge, await _runs_there_are(parts, found))
    looks = await proposals_seen.looks(parts, found, knowledge)
    response = render(
        request, "proposal.html.j2", site=site, page=page, looks=looks, done=done, ahead=ahead,
        may_decide=person(request).may("review"),
    )  # fmt: skip
    response.headers["Content-Security-Policy"] = FRAMED
    return response


@router.get("/sites/{site}/proposals/{proposal_id}/pictures/{number}")
async def picture(
    parts: TheParts,
    site: Site,
    proposal_id: Id,
    number: Annotated[int, Path(ge=0, lt=proposals_seen.MOST_SEEN)],
) -> Response:
    """A picture that a run shows for it: out of the run's own folder, or not at all."""
    shot = await proposals_seen.picture(parts, await _find(parts, site, proposal_id), number)
    if shot is None:
        raise ApiProblem(404, "not_found", "there is no such picture (any more)")
    headers = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'"}
    return Response(shot.content, media_type=shot.media_type, headers=headers)


@router.post("/sites/{site}/proposals/{proposal_id}", dependencies=[Depends(requires("review"))])
async def decide(
    parts: TheParts,
    site: Site,
    proposal_id: Id,
    decision: Annotated[Literal["accept", "accept_anyway", "reject"], Form()],
) -> Response:
    """Accept: it is part of the knowledge, as its next generation; `accept_anyway`: also over what somebody changed
    there since. Reject: it is kept, and not proposed anew.
    """
    found = await _find(parts, site, proposal_id)
    if decision != "reject":
        generation = await _accept(parts, found, anyway=decision == "accept_anyway")
        done = "was_so" if generation is None else "accepted"
    else:
        await _reject(parts, found)
        done = "rejected"
    return RedirectResponse(f"{site_path(site, 'proposals', found.proposal_id)}?done={done}", 303)


# -- how -------------------------------------------------------------------------------------------


async def _find(parts: ConsoleParts, site: str, proposal_id: str) -> Proposal:
    await parts.desk.visit(site)
    found = await parts.stores.proposals.proposal(site, proposal_id)
    if found is None:
        raise ApiProblem(
            404,
            "not_found",
            f"{site} has no proposal {proposal_id!r}",
            fix="the list of proposals has those there are",
        )
    return found


async def _accept(parts: ConsoleParts, proposal: Proposal, *, anyway: bool) -> int | None:
    """The generation that has it now; None where the knowledge said so already."""
    if proposal.status == "accepted":
        return None
    try:
        _, generation = await deciding.accept(parts.stores, proposal, anyway=anyway)
    except ScreenFirst as exc:
        raise _refused(str(exc), f"accept that one first: proposal {exc.screen.proposal_id}") from exc
    except ScreenMissing as exc:
        raise _refused(
            str(exc), f"add the screen {exc.screen_id!r} to your files and load them, or reject it"
        ) from exc
    except ChangedSince as exc:
        raise _refused(
            str(exc), "open it again: it says what is there now; accept it all the same, or reject it"
        ) from exc
    except NothingToChange as exc:
        raise _refused(str(exc), "reject it: what it is about is not part of the knowledge any more") from exc
    except KnowledgeError as exc:
        raise _refused(str(exc).splitlines()[0], "reject it, or correct the knowledge first") from exc
    return generation


async def _reject(parts: ConsoleParts, proposal: Proposal) -> None:
    try:
        await deciding.reject(parts.stores, [proposal])
    except AlreadyAccepted as exc:
        raise _refused(str(exc), "load files without it: `periplus kb load DIR --replace-learned`") from exc


def _refused(message: str, fix: str) -> ApiProblem:
    return ApiProblem(409, "not_decided", message, fix=fix)


async def _runs_there_are(parts: ConsoleParts, proposal: Proposal) -> frozenset[str]:
    """Of those that speak for or against it, the ones that have a page: recordings have none."""
    asked = [each.run_id for each in proposal.supports[: proposals_views.MOST_SPOKEN]]
    found = await asyncio.gather(*(parts.runs.run(each) for each in asked))
    return frozenset(each.run_id for each in found if each is not None)
