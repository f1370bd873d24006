"""The page for people at `/`: how the service is, and the runs there are. Plain HTML, no script."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from kb_store import StoreError
from periplus.service.runs import Desk, desk_of, listed

FEW = 50

router = APIRouter()
_HERE = resources.files("periplus.service")
_STYLE = _HERE.joinpath("page.css").read_text(encoding="utf-8")
_PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    _HERE.joinpath("page.html.j2").read_text(encoding="utf-8")
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'; base-uri 'none'"


@router.get("/", response_class=HTMLResponse, include_in_schema=False)
async def page(
    request: Request,
    desk: Annotated[Desk, Depends(desk_of)],
    every: Annotated[int, Query(ge=0, le=3_600)] = 5,
) -> HTMLResponse:
    """Draws itself anew every few seconds; `?every=0`: never."""
    health = await request.app.state.health()
    try:
        runs = await listed(desk, limit=FEW)
    except StoreError:
        runs = []
    text = _PAGE.render(health=health, runs=runs, style=_STYLE, every=every)
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})
