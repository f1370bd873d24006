"""`/audit`: who did, approved, changed and opened what; for the role `operate`."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from kb_store.audit.audit_entry import ACTIONS
from kb_store.audit.audit_log import AuditFilter
from kb_store.audit.audit_recorder import record_async
from periplus.console.console_framework import render, require_role
from periplus.service.audit_routes import get_audit_log, read_audit_log, stream_export

MOST = 200
"""Entries that are shown."""

router = APIRouter(dependencies=[Depends(require_role("operate"))])


@router.get("/audit")
async def audit(
    request: Request,
    actor: Annotated[str, Query(max_length=200)] = "",
    action: Annotated[str, Query(max_length=40)] = "",
    day: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """List the newest entries, and say whether the log is unchanged. Unknown filter values are ignored."""
    log = get_audit_log()
    since = _parse_day(day)
    wanted = AuditFilter(since, actor or None, action if action in ACTIONS else None)
    found, check = await read_audit_log(lambda: (log.newest(MOST, wanted), log.verify()))
    await record_async("audit_opened", "console")
    return render(
        request,
        "audit.html.j2",
        rows=[{**each.to_view(), "time": each.time} for each in found],
        most=MOST,
        check=check,
        actions=ACTIONS,
        actor=actor,
        action=wanted.action or "",
        day=day if since is not None else "",
    )


@router.get("/audit/export")
async def export() -> Response:
    """Return all entries as a download."""
    log = get_audit_log()
    await record_async("audit_exported", "console")
    return stream_export(log)


def _parse_day(text: str) -> datetime | None:
    try:
        return datetime.combine(datetime.fromisoformat(text).date(), time(), UTC)
    except ValueError:
        return None
