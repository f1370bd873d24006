"""The “Where am I?” page: identifies the screen of a pasted page and shows the evidence."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from kb_schema import url_patterns
from kb_schema.tool_answers import Identification
from mcp_server.errors import KnowledgeServerError
from mcp_server.identification import base_urls
from mcp_server.identification.client_pages import ClientPage
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.server_context import WebsiteRequest
from mcp_server.tools.identification_tools import identify_current_screen
from periplus.console.console_framework import ConsoleContextParam, render

LONGEST_ADDRESS = 8_000
FEW = 20
"""Maximum number of candidates listed for an address alone."""

router = APIRouter()


@router.get("/sites/{site}/where")
async def show_identification_form(request: Request, site: str, parts: ConsoleContextParam) -> Response:
    """Show the form. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    return _page(request, site, visit.view, note)


@router.post("/sites/{site}/where")
async def show_identification(
    request: Request,
    site: str,
    parts: ConsoleContextParam,
    url: Annotated[str, Form(max_length=LONGEST_ADDRESS)] = "",
    html: Annotated[str, Form()] = "",
    runs_there: Annotated[bool, Form()] = False,
) -> Response:
    """Identify the page. It is a POST only because pages are large. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    url = url.strip()
    base = url_patterns.origin_of(url) if runs_there and url_patterns.is_web_address(url) else visit.base_url
    possible: list[str] = []
    found: Identification | None = None
    problem: str | None = None
    try:
        if url and base_urls.is_foreign(visit.view.website, url, base or visit.view.website.base_url):
            problem = (
                f"this address does not belong to {site}, whose address is {visit.view.website.base_url}"
            )
        elif html.strip():
            found = await anyio.to_thread.run_sync(_identify_page, visit, _read(url, html), base)
        elif url:
            possible = await anyio.to_thread.run_sync(_list_screens_by_address, visit, url, base)
        else:
            problem = "give an address, the page's HTML, or both"
    except KnowledgeServerError as exc:
        problem = str(exc)
    return _page(
        request,
        site,
        visit.view,
        note,
        422 if problem else 200,
        url,
        html,
        found,
        possible,
        problem,
        runs_there=runs_there,
    )


def _read(url: str, pasted: str) -> ClientPage:
    """Return the pasted text as a page: as HTML if it contains a tag, else as visible text."""
    return ClientPage(url=url, html=pasted) if "<" in pasted else ClientPage(url=url, text=pasted)


def _identify_page(visit: WebsiteRequest, page: ClientPage, base: str | None) -> Identification:
    return identify_current_screen(visit, page, base_url=base, detail="full").answer


def _list_screens_by_address(visit: WebsiteRequest, url: str, base: str | None) -> list[str]:
    """Return the screens whose URL patterns match; screens without URL patterns are left out."""
    view = visit.view
    possible = view.screens.possible(url, base or view.website.base_url)
    return sorted(screen for screen in possible if screen not in possible.anywhere)


def _page(
    request: Request,
    site: str,
    view: KnowledgeView,
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
