"""The pages about proposals: `/sites/{site}/proposals`, one of them, and deciding on it.

What a decision does is `kb_store.deciding`, as on the command line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Path, Query, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema import KnowledgeError
from kb_schema.proposals import Proposal, Seen
from kb_store import deciding
from kb_store.changing import NothingToChange, ScreenMissing
from kb_store.deciding import AlreadyAccepted, ScreenFirst
from periplus.console import proposals_views, runs_left
from periplus.console.runs import knowledge_of, today
from periplus.console.shell import ConsoleParts, TheParts, person, render, requires, site_path
from periplus.service.problems import ApiProblem

MOST_PICTURES = 12
"""Of one proposal."""

router = APIRouter()
Site = Annotated[str, Path(max_length=200)]
Id = Annotated[str, Path(pattern=r"^[0-9a-f]{1,64}$")]


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture that a run shows for what it says."""

    number: int
    words: str


@router.get("/sites/{site}/proposals")
async def proposals(
    request: Request, parts: TheParts, site: Site, show: Annotated[str, Query(max_length=20)] = ""
) -> Response:
    """Those that wait for a decision; `?show=all`: those decided, too."""
    await parts.desk.visit(site)  # a website there is not is no page
    found = proposals_views.rows(await parts.stores.proposals.proposals(site), today())
    waiting = [each for each in found if each.status in ("proposed", "confirmed")]
    shown = found if show == "all" else waiting
    return render(
        request, "proposals.html.j2", site=site, rows=shown, waiting=len(waiting), all=len(found),
        everything=show == "all",
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
    knowledge = await knowledge_of(parts, site) if found.status == "proposed" else None
    if knowledge is not None:
        ahead = await asyncio.to_thread(proposals_views.foreseen, knowledge, found)
    shots = [
        Shot(number, f"{seen.when or 'seen'} in run {run_id}")
        for number, (run_id, seen) in enumerate(_pictured(found))
    ]
    return render(
        request, "proposal.html.j2", site=site, page=proposals_views.page(found, today()), shots=shots, done=done, ahead=ahead,
        may_decide=person(request).may("review"),
    )  # fmt: skip


@router.get("/sites/{site}/proposals/{proposal_id}/pictures/{number}")
async def picture(
    parts: TheParts, site: Site, proposal_id: Id, number: Annotated[int, Path(ge=0, lt=MOST_PICTURES)]
) -> Response:
    """A picture that a run shows for it: out of the run's own folder, or not at all."""
    pictured = _pictured(await _find(parts, site, proposal_id))
    if number < len(pictured):
        run_id, seen = pictured[number]
        for folder in await _folders(parts, run_id):
            shot = await asyncio.to_thread(runs_left.picture, folder, seen.picture)
            if shot is not None:
                return Response(
                    shot.content, media_type=shot.media_type, headers={"X-Content-Type-Options": "nosniff"}
                )
    raise ApiProblem(404, "not_found", "there is no such picture (any more)")


@router.post("/sites/{site}/proposals/{proposal_id}", dependencies=[Depends(requires("review"))])
async def decide(
    parts: TheParts, site: Site, proposal_id: Id, decision: Annotated[Literal["accept", "reject"], Form()]
) -> Response:
    """Accept: it is part of the knowledge, as its next generation. Reject: it is kept, and not proposed anew."""
    found = await _find(parts, site, proposal_id)
    if decision == "accept":
        done = "was_so" if await _accept(parts, found) is None else "accepted"
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


async def _accept(parts: ConsoleParts, proposal: Proposal) -> int | None:
    """The generation that has it now; None where the knowledge said so already."""
    if proposal.status == "accepted":
        return None
    try:
        _, generation = await deciding.accept(parts.stores, proposal)
    except ScreenFirst as exc:
        raise _refused(str(exc), f"accept that one first: proposal {exc.screen.proposal_id}") from exc
    except ScreenMissing as exc:
        raise _refused(
            str(exc), f"add the screen {exc.screen_id!r} to your files and load them, or reject it"
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


def _pictured(proposal: Proposal) -> list[tuple[str, Seen]]:
    """Runs and the pictures they show, the first few."""
    found = [(support.run_id, seen) for support in proposal.supports for seen in support.seen if seen.picture]
    return found[:MOST_PICTURES]


async def _folders(parts: ConsoleParts, run_id: str) -> Sequence[FilePath]:
    """Where files of a run may lie: its own folder among the runs, and the one its trace was left in."""
    root = parts.folder.resolve()
    own = (root / run_id).resolve()
    found = [own] if own.is_relative_to(root) and own != root else []
    for artifact in await parts.runs.artifacts(run_id):
        if artifact.artifact_type == runs_left.TRACE:
            trace = await asyncio.to_thread(runs_left.found, artifact)
            found += [trace.parent] if trace is not None else []
    return found
