"""`/sites/SITE/texts/KIND/ID`: the texts of a screen, task, workflow or flow, to be changed, with their history."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Form, Path, Request
from fastapi.responses import RedirectResponse, Response

from kb_schema import KnowledgeBase
from kb_schema.service_records import TextEdit
from kb_store import StoreError
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit
from loaders.edits.text_edit import find_document, list_texts, set_text
from periplus.console.console_framework import (
    ConsoleContext,
    ConsoleContextParam,
    get_person,
    render,
    require_role,
    site_path,
)
from periplus.console.edit_requests import edit_knowledge
from periplus.console.run_labels import format_when
from periplus.console.run_pages import today_utc
from periplus.service.problem_details import ApiProblem

LONGEST, MOST_EDITS = 10_000, 50
Kind = Literal["screen", "task", "workflow", "flow"]

router = APIRouter()


@router.get("/sites/{site}/texts/{kind}/{document_id}")
async def texts(
    request: Request, site: str, kind: Kind, document_id: str, parts: ConsoleContextParam
) -> Response:
    """Show the texts of a document and what was changed. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    try:
        document = find_document(visit.view.knowledge, kind, document_id)
    except EditRefused as exc:
        raise ApiProblem(404, "not_found", exc.message, fix=exc.fix) from exc
    found = list_texts(document)
    labels = {each.field: each.label for each in found}
    edits, missing = await _list_edits(parts, site, kind, document_id)
    pages = {"screen": "screens", "task": "tasks", "workflow": "tasks"}
    return render(
        request,
        "texts.html.j2",
        site=site,
        note=note or missing,
        kind=kind,
        document_id=document_id,
        name=found[0].text or document_id,
        back=site_path(site, pages[kind], document_id) if kind in pages else "/demos",
        texts=found,
        edits=[
            (labels.get(each.field, each.field), each, format_when(each.changed_at, today_utc()))
            for each in edits
        ],
        present={each.field: each.text for each in found},
        may_edit=get_person(request).may("review"),
        longest=LONGEST,
    )


@router.post("/sites/{site}/texts/{kind}/{document_id}", dependencies=[Depends(require_role("review"))])
async def change_text(
    request: Request,
    site: str,
    kind: Kind,
    document_id: Annotated[str, Path(max_length=200)],
    parts: ConsoleContextParam,
    field: Annotated[str, Form(min_length=1, max_length=300)],
    text: Annotated[str, Form(max_length=LONGEST)] = "",
) -> Response:
    """Give a text, and note who changed it and what it was."""
    before: list[str] = []
    after = text.replace("\r\n", "\n").strip()

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        held = {each.field: each.text for each in list_texts(find_document(knowledge, kind, document_id))}
        before.append(held.get(field, ""))
        return set_text(knowledge, kind, document_id, field, after)

    await edit_knowledge(parts, site, make)
    if before[-1] != after:
        await parts.runs.service_records.add(
            TextEdit(
                edit_id=f"edit-{uuid.uuid4().hex}",
                website_id=site,
                kind=kind,
                document_id=document_id,
                field=field,
                before=before[-1][:LONGEST],
                after=after,
                changed_at=datetime.now(UTC),
                changed_by=get_person(request).name[:200],
            )
        )
    return RedirectResponse(f"{site_path(site, 'texts', kind, document_id)}#history", 303)


async def _list_edits(
    parts: ConsoleContext, site: str, kind: str, document_id: str
) -> tuple[list[TextEdit], str | None]:
    """Return the newest edits of a document, and a note if the store does not answer."""
    group = f"{site}/{kind}/{document_id}"
    try:
        found = await parts.runs.service_records.select(TextEdit, group=group, limit=MOST_EDITS)
    except StoreError:
        return [], "the store does not answer; the history is not shown"
    return list(found), None
