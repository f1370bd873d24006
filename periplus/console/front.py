"""The first page: websites, what needs a person, and the last runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from kb_store import StoreError
from periplus.console.shell import TheParts, render
from periplus.service.runs import Desk, desk_of, listed

FEW = 50

router = APIRouter()


@router.get("/")
async def front(
    request: Request,
    parts: TheParts,
    desk: Annotated[Desk, Depends(desk_of)],
    every: Annotated[int, Query(ge=0, le=3_600)] = 0,
) -> Response:
    """`?every=5`: draws itself anew every five seconds."""
    health = await parts.health()
    try:
        runs = await listed(desk, limit=FEW)
    except StoreError:
        runs = []
    return render(request, "front.html.j2", health=health, runs=runs, every=every)
