"""The page on which a person corrects a screen's signature and tries it on all stored pages before it is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from kb_schema import KnowledgeBase, KnowledgeError
from kb_store.audit.audit_recorder import record_async
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from loaders.edits.signature_edit import (
    KINDS,
    SignatureRow,
    SignatureRows,
    edit_signature,
    list_rows,
    read_indicator,
    with_weight,
    write_indicator,
)
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.signature_checks.signature_trial import SignatureTrial, try_signature
from mcp_server.tools.tool_parameters import require_screen
from periplus.console.console_framework import (
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
    site_path,
)
from periplus.console.edit_requests import edit_knowledge
from periplus.console.screen_pictures import KINDS as PICTURE_KINDS
from periplus.service.problem_details import ApiProblem

MOST_ROWS = 100
MOST_PAGES = 300
"""Maximum number of stored pages that are tried; each takes some 20 ms."""
EMPTY_ROWS = 2
"""Rows for new indicators below the others."""
LEAVE_OUT = "leave_out"

router = APIRouter()


@dataclass(frozen=True, slots=True)
class RowField:
    """One row of the form as it was sent: nothing of it is checked."""

    kind: str
    text: str
    weight: str = ""


@dataclass(frozen=True, slots=True)
class SignatureForm:
    """The form as it was sent."""

    rows: tuple[RowField, ...]
    threshold: float


async def read_form(
    kind: Annotated[list[str], Form(max_length=MOST_ROWS)],
    text: Annotated[list[str], Form(max_length=MOST_ROWS)],
    weight: Annotated[list[str], Form(max_length=MOST_ROWS)],
    threshold: Annotated[float, Form(ge=0, le=1)],
) -> SignatureForm:
    """Return the rows of the form; rows without a text and rows to leave out are dropped."""
    rows = zip(kind, text, weight, strict=False)
    return SignatureForm(
        tuple(RowField(*each) for each in rows if each[1].strip() and each[0] != LEAVE_OUT), threshold
    )


Sent = Annotated[SignatureForm, Depends(read_form)]


@router.get("/sites/{site}/screens/{screen_id}/signature")
async def show_signature(request: Request, site: str, screen_id: str, parts: ConsoleContextParam) -> Response:
    """Show the indicators, and what each matches on the stored pages. Raises `UnknownName`, `SourceDown`."""
    view, note = await _open(parts, site, screen_id)
    rows = list_rows(view.knowledge, screen_id)
    form = SignatureForm(
        tuple(
            RowField(each.kind, write_indicator(each.condition), _write_weight(each.condition.weight))
            for each in rows.rows
        ),
        rows.threshold,
    )
    trial = await _try(parts, view, view, screen_id)
    return _page(request, parts, view, screen_id, form, trial, note)


@router.post(
    "/sites/{site}/screens/{screen_id}/signature/try", dependencies=[Depends(require_role("review"))]
)
async def try_changed_signature(
    request: Request, site: str, screen_id: str, parts: ConsoleContextParam, form: Sent
) -> Response:
    """Show what the changed indicators would do on the stored pages; nothing is saved."""
    view, note = await _open(parts, site, screen_id)
    try:
        edit = _make_edit(view.knowledge, screen_id, form)
    except (EditRefused, KnowledgeError) as exc:
        return _page(request, parts, view, screen_id, form, None, note, problem=_say(exc))
    after = await anyio.to_thread.run_sync(lambda: compile_view(edit.knowledge, view.generation))
    trial = await _try(parts, view, after, screen_id)
    return _page(request, parts, view, screen_id, form, trial, note, tried=True)


@router.post("/sites/{site}/screens/{screen_id}/signature", dependencies=[Depends(require_role("review"))])
async def save_signature(
    request: Request, site: str, screen_id: str, parts: ConsoleContextParam, form: Sent
) -> Response:
    """Save the changed indicators as the next generation of the knowledge."""
    view, note = await _open(parts, site, screen_id)
    try:
        _make_edit(view.knowledge, screen_id, form)
    except (EditRefused, KnowledgeError) as exc:
        return _page(request, parts, view, screen_id, form, None, note, problem=_say(exc))
    await edit_knowledge(parts, site, lambda knowledge: _make_edit(knowledge, screen_id, form))
    return RedirectResponse(f"{site_path(site, 'screens', screen_id)}#known", 303)


@router.get("/sites/{site}/stored-pages/{name:path}/picture")
async def stored_page_picture(site: str, name: str, parts: ConsoleContextParam) -> Response:
    """Return the screenshot of a stored page. Raises `UnknownName`, `SourceDown`."""
    await parts.knowledge_server.open_request(site)
    found = await anyio.to_thread.run_sync(parts.pictures.of_stored_page, site, name)
    if found is None:
        raise ApiProblem(404, "not_found", f"no screenshot of the stored page {name}")
    await record_async("artifact_opened", f"picture of stored page {name}", website=site)
    return FileResponse(
        found,
        media_type=PICTURE_KINDS[found.suffix],
        headers={"Cache-Control": "private, max-age=300", "Content-Security-Policy": "default-src 'none'"},
    )


async def _open(parts: ConsoleContext, site: str, screen_id: str) -> tuple[KnowledgeView, str | None]:
    """Return the authored view: what is edited and saved has no learned numbers."""
    current = await parts.knowledge_server.views.current(site)
    require_screen(current.view, screen_id)
    return current.view, current.note


async def _try(
    parts: ConsoleContext, before: KnowledgeView, after: KnowledgeView, screen_id: str
) -> SignatureTrial | None:
    """Return what the signature does on the stored pages; None if there are none."""

    def work() -> SignatureTrial | None:
        stored = parts.pictures.stored_pages(before.website_id)[:MOST_PAGES]
        if not stored:
            return None
        return try_signature(before, after, screen_id, ((each.name, each.read()) for each in stored))

    return await anyio.to_thread.run_sync(work)


def _make_edit(knowledge: KnowledgeBase, screen_id: str, form: SignatureForm) -> KnowledgeEdit:
    known = list_rows(knowledge, screen_id).rows
    rows = [_read_row(number, each, known) for number, each in enumerate(form.rows, start=1)]
    return edit_signature(knowledge, screen_id, SignatureRows(tuple(rows), form.threshold))


def _read_row(number: int, row: RowField, known: Sequence[SignatureRow]) -> SignatureRow:
    place = f"indicator {number}"
    kind = next((each for each in KINDS if each == row.kind), None)
    if kind is None:
        raise EditRefused(f"{place}: there is no kind {row.kind!r}", f"one of {', '.join(KINDS)}")
    condition = read_indicator(row.text, place, known)
    try:
        weight = float(row.weight) if row.weight.strip() else None
    except ValueError as exc:
        raise EditRefused(
            f"{place}: weight {row.weight!r} is no number", "write a number, such as 0.5"
        ) from exc
    if weight is not None and not 0 < weight <= 1_000:
        raise EditRefused(f"{place}: weight {row.weight!r} is out of range", "more than 0, at most 1000")
    return SignatureRow(kind, with_weight(condition, weight))


def _write_weight(weight: float | None) -> str:
    return "" if weight is None else f"{weight:g}"


def _say(error: EditRefused | KnowledgeError) -> str:
    return str(error) if isinstance(error, EditRefused) else str(error).splitlines()[-1].strip()


def _page(
    request: Request,
    parts: ConsoleContext,
    view: KnowledgeView,
    screen_id: str,
    form: SignatureForm,
    trial: SignatureTrial | None,
    note: str | None,
    *,
    problem: str | None = None,
    tried: bool = False,
) -> Response:
    site, screen = view.website_id, view.knowledge.screens[screen_id]
    empty = (RowField("required", ""),) * EMPTY_ROWS
    return render(
        request,
        "signature.html.j2",
        422 if problem else 200,
        site=site,
        note=note,
        screen=screen,
        rows=(*form.rows, *empty) if get_person(request).may("review") else form.rows,
        threshold=form.threshold,
        kinds=KINDS,
        leave_out=LEAVE_OUT,
        trial=trial,
        tried=tried,
        problem=problem,
        names={key: each.name or key for key, each in view.knowledge.screens.items()},
        most_pages=MOST_PAGES,
        may_edit=get_person(request).may("review"),
        pictured=parts.pictures.of(site, screen) is not None,
    )
