"""`/demos/leads`: what visitors of demos left in forms; for the role `operate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from kb_schema.service_records import LeadEntry, VisitorLead
from kb_store.audit.audit_recorder import record_async
from periplus.console.console_framework import ConsoleContext, ConsoleContextParam, render, require_role
from periplus.console.run_labels import format_when
from periplus.demos.visitor_leads import VisitorLeads
from periplus.service.visits.lead_routes import build_csv_response
from periplus.settings import load_settings

router = APIRouter(dependencies=[Depends(require_role("operate"))])


@dataclass(frozen=True, slots=True)
class LeadRow:
    """A form in the list."""

    given: str
    site: str
    flow_id: str
    link: str
    entries: tuple[LeadEntry, ...]
    consent: str
    kept_until: str


@router.get("/demos/leads")
async def leads(request: Request, parts: ConsoleContextParam) -> Response:
    """List the forms of all links, also of those that are gone."""
    return render(
        request,
        "leads.html.j2",
        leads=await read_leads(parts),
        stored=load_settings().visitor_retention_days > 0,
    )


@router.get("/demos/leads/export")
async def export(parts: ConsoleContextParam) -> Response:
    """Return the forms as CSV."""
    found = await VisitorLeads(parts.runs.service_records).list()
    await record_async("leads_read", "console, as CSV")
    return build_csv_response(found)


async def read_leads(parts: ConsoleContext, visit_id: str | None = None) -> list[LeadRow]:
    """Return the forms of a link, or all, newest first; reading some is an entry of the audit log."""
    found = await VisitorLeads(parts.runs.service_records).list(visit_id=visit_id)
    if found:
        await record_async("leads_read", "console" if visit_id is None else f"console, visit {visit_id}")
    return _build_rows(found)


def _build_rows(found: Sequence[VisitorLead]) -> list[LeadRow]:
    today = datetime.now(UTC).date()
    return [
        LeadRow(
            format_when(each.given_at, today).text,
            each.website_id,
            each.flow_id,
            each.link,
            each.entries,
            each.consent,
            f"{each.expires_at:%Y-%m-%d}",
        )
        for each in found
    ]
