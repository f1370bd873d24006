"""Where am I: which screen a pasted page is, with the evidence."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from kb_schema import urls
from kb_schema.answers import Identification
from kb_schema.snapshots import PageSnapshot
from mcp_server import addresses
from mcp_server.compiled import View
from mcp_server.errors import DeskError
from mcp_server.tools.reply import Visit
from mcp_server.tools.where import identify_current_screen
from periplus.console.shell import TheParts, render

LONGEST_ADDRESS = 8_000
FEW = 20
"""Screens named that an address alone leaves possible."""

router = APIRouter()


@router.get("/sites/{site}/where")
async def asked(request: Request, site: str, parts: TheParts) -> Response:
    """The form. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    return _page(request, site, visit.view, note)


@router.post("/sites/{site}/where")
async def where(
    request: Request,
    site: str,
    parts: TheParts,
    url: Annotated[str, Form(max_length=LONGEST_ADDRESS)] = "",
    html: Annotated[str, Form()] = "",
    runs_there: Annotated[bool, Form()] = False,
) -> Response:
    """The answer. Changes nothing: it is a POST because pages are large. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    url = url.strip()
    base = urls.origin_of(url) if runs_there and urls.is_web_address(url) else visit.base_url
    possible: list[str] = []
    found: Identification | None = None
    problem: str | None = None
    try:
        if url and addresses.is_foreign(visit.view.website, url, base or visit.view.website.base_url):
            problem = f"this address is not of {site}, which is at {visit.view.website.base_url}"
        elif html.strip():
            found = await anyio.to_thread.run_sync(_identified, visit, _read(url, html), base)
        elif url:
            possible = await anyio.to_thread.run_sync(_by_address, visit, url, base)
        else:
            problem = "give an address, the page's HTML, or both"
    except DeskError as exc:
        problem = str(exc)
    return _page(
        request, site, visit.view, note, 422 if problem else 200, url, html, found, possible, problem,
        runs_there=runs_there,
    )  # fmt: skip


def _read(url: str, pasted: str) -> PageSnapshot:
    """HTML where there is a tag, else the page's words."""
    return PageSnapshot(url=url, html=pasted) if "<" in pasted else PageSnapshot(url=url, text=pasted)


def _identified(visit: Visit, page: PageSnapshot, base: str | None) -> Identification:
    return identify_current_screen(visit, page, base_url=base, detail="full").answer


def _by_address(visit: Visit, url: str, base: str | None) -> list[str]:
    """The screens whose address patterns fit, those that any address may be left out."""
    view = visit.view
    possible = view.screens.possible(url, base or view.website.base_url)
    return sorted(screen for screen in possible if screen not in possible.anywhere)


def _page(
    request: Request,
    site: str,
    view: View,
    note: str | None,
    status: int = 200,
    url: str = "",
    html: str = "",
    found: Identification | None = None,
    possible: list[str] | None = None,
    problem: str | None = None,
    *,
    runs_there: bool = False,
) -> Response:
    return render(
        request,
        "where.html.j2",
        status,
        site=site,
        note=note,
        url=url,
        html=html,
        found=found,
        possible=None if possible is None or found is not None or problem else possible[:FEW],
        names={key: each.name or key for key, each in view.knowledge.screens.items()},
        problem=problem,
        runs_there=runs_there,
        base_url=view.website.base_url,
    )
