"""REST routes of the audit log: list, check and export it. They need a key with the scope `write`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from kb_store.audit.audit_entry import AuditAction
from kb_store.audit.audit_log import AuditFilter, AuditLog
from kb_store.audit.audit_recorder import current_audit_log, record_async
from periplus.service.access_control import require_operator
from periplus.service.problem_details import ApiProblem, document_problems

T = TypeVar("T")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT")


def _check_date_time(value: object) -> object:
    """Refuse numbers, which would be taken as seconds."""
    if isinstance(value, str) and _DATE_TIME.match(value) is None:
        raise ValueError("expected a time such as 2026-11-22T15:50:00Z")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_check_date_time)]


class AuditEntryView(BaseModel):
    """One entry of the audit log. A text is null if it was erased."""

    number: int
    time: datetime
    actor: str | None = Field(
        description="`key NAME`, `console NAME`, `local:USER`, `address IP`, `service`."
    )
    action: str
    about: str | None = Field(description="What was done something with.")
    outcome: str
    website: str | None
    request_id: str | None
    hash: str = Field(description="Covers the entry and the hash of the entry before.")


class AuditList(BaseModel):
    """Entries of the audit log, newest first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "entries": [
                        {
                            "number": 12,
                            "time": "2026-11-22T12:00:05.400Z",
                            "actor": "key ci",
                            "action": "run_submitted",
                            "about": "serve-20261122T120000123-000007-5f3a1c (verification REQ-LOGIN-001)",
                            "outcome": "done",
                            "website": "shop.example.com",
                            "request_id": "5f3a1c9be2d04c77",
                            "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                        }
                    ]
                }
            ]
        }
    )

    entries: list[AuditEntryView]


class AuditCheckView(BaseModel):
    """The result of a check of the audit log."""

    entries: int
    erased: int = Field(description="Entries with erased texts.")
    head: str = Field(
        description="The hash of the last entry. Keep it elsewhere, and give it to the next check."
    )
    problems: list[str] = Field(description="Changed and removed entries; empty if there are none.")


def refuse_repeated_parameters(request: Request) -> None:
    """Refuse a parameter that is given twice: only one of its values would count."""
    names = [name for name, _ in request.query_params.multi_items()]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ApiProblem(
            422, "invalid_request", f"query.{repeated} is given more than once", fix="give it once"
        )


def get_audit_log() -> AuditLog:
    """Return the log of this process. Raises `ApiProblem`."""
    log = current_audit_log()
    if log is None:
        raise ApiProblem(404, "not_found", "this service keeps no audit log")
    return log


async def read_audit_log(read: Callable[[], T]) -> T:
    """Return what `read` returns, read in a thread. Raises `ApiProblem` if the file cannot be read."""
    try:
        return await asyncio.to_thread(read)
    except OSError as exc:
        raise ApiProblem(
            503,
            "store_unavailable",
            "the audit log cannot be read",
            fix="ask the operator to check the file's owner and mode",
        ) from exc


router = APIRouter(
    dependencies=[Depends(require_operator("the audit log needs")), Depends(refuse_repeated_parameters)]
)
AuditLogParam = Annotated[AuditLog, Depends(get_audit_log)]


@router.get(
    "/audit",
    response_model=AuditList,
    summary="List the audit log",
    tags=["audit"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def list_audit_entries(
    log: AuditLogParam,
    since: Annotated[Moment | None, Query(description="Only entries from then on.")] = None,
    actor: Annotated[str | None, Query(max_length=200, description="A part of the actor.")] = None,
    action: Annotated[AuditAction | None, Query(description="Only entries of this action.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000, description="Maximum number of entries.")] = 100,
) -> AuditList:
    """Newest first. Reading the log is an entry of its own."""
    wanted = AuditFilter(since, actor, action)
    found = await read_audit_log(lambda: log.newest(limit, wanted))
    await record_async("audit_opened", "list")
    return AuditList(entries=[AuditEntryView.model_validate(each.to_view()) for each in found])


@router.get(
    "/audit/check",
    response_model=AuditCheckView,
    summary="Check the audit log",
    tags=["audit"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def check_audit_log(
    log: AuditLogParam,
    head: Annotated[
        str | None,
        Query(
            pattern=r"^[0-9a-f]{64}$",
            description="`head` of an earlier check, which the log must still have.",
        ),
    ] = None,
) -> AuditCheckView:
    """Whether an entry was changed or removed."""
    check = await read_audit_log(lambda: log.verify(head))
    more = [f"and {check.more} more"] if check.more else []
    return AuditCheckView(
        entries=check.entries, erased=check.erased, head=check.head, problems=[*check.problems, *more]
    )


@router.get(
    "/audit/export",
    summary="Export the audit log",
    tags=["audit"],
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "All entries with hashes and salts, oldest first, one JSON object a line.",
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        },
        **document_problems(401, 403, 404, 422, 429, 503),
    },
)
async def export_audit_log(log: AuditLogParam) -> StreamingResponse:
    """The lines of the log, as `periplus audit export` writes them."""
    await record_async("audit_exported", "REST")
    return stream_export(log)


def stream_export(log: AuditLog) -> StreamingResponse:
    """Return the whole log as a download."""

    def lines() -> Iterator[bytes]:
        for entry in log.entries():
            yield f"{entry.to_line()}\n".encode()

    headers = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=headers)
