"""HTTP routes of the forms that visitors send: the link's page sends one, and a key with write access reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StringConstraints

from kb_schema.lead_forms import MOST_FIELDS
from kb_schema.service_records import VisitorLead
from kb_store.audit.audit_recorder import record_async
from periplus.demos.visitor_leads import (
    LeadInvalid,
    LeadOrigin,
    LeadRefused,
    VisitorLeads,
    format_csv,
)
from periplus.service.access_control import require_operator
from periplus.service.audit_routes import refuse_repeated_parameters
from periplus.service.problem_details import (
    ApiProblem,
    FieldProblem,
    build_invalid_problem,
    document_problems,
)
from periplus.service.visits.visit import VisitorVisit
from periplus.service.visits.visit_models import Name
from periplus.settings import load_settings

CSV = "text/csv; charset=utf-8"
_ATTACHMENT = {"Content-Disposition": 'attachment; filename="leads.csv"', "Cache-Control": "no-store"}
_EXAMPLE: dict[str, JsonValue] = {
    "lead_id": "5f0c2a91d3b64e77-0123456789abcdef0123456789abcdef",
    "visit_id": "5f0c2a91d3b64e77",
    "link": "Acme, second call",
    "website": "spadeworks",
    "flow": "spadeworks_tour",
    "language": "en",
    "entries": [{"name": "email", "label": "E-mail", "value": "ann@example.com"}],
    "consent": "I agree that Acme stores what I enter here to answer me.",
    "given_at": "2026-11-25T19:30:00Z",
    "expires_at": "2026-12-25T19:30:00Z",
}


class LeadRequest(BaseModel):
    """A form as a visitor's page sends it."""

    model_config = ConfigDict(extra="forbid")

    key: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    """Made by the page for each form: a repeated request stores it once."""
    agreed: StrictBool
    values: dict[
        Annotated[str, StringConstraints(max_length=200)],
        Annotated[str, StringConstraints(max_length=20_000)],
    ] = Field(max_length=4 * MOST_FIELDS, repr=False)


class LeadEntryView(BaseModel):
    """What was entered in one field."""

    name: str
    label: str
    value: str


class LeadView(BaseModel):
    """A form that a visitor sent."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    lead_id: str
    visit_id: str = Field(description="The link; it may be gone.")
    link: str = Field(description="The link's label.")
    website: str
    flow: str
    language: str
    entries: list[LeadEntryView]
    consent: str = Field(description="The sentence that the visitor agreed to.")
    given_at: datetime
    expires_at: datetime = Field(description="When it is deleted.")


class LeadList(BaseModel):
    """Forms that visitors sent, newest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"leads": [_EXAMPLE]}]})

    leads: list[LeadView]


def get_leads(request: Request) -> VisitorLeads:
    """Return the forms of this service."""
    leads: VisitorLeads = request.app.state.leads
    return leads


LeadsParam = Annotated[VisitorLeads, Depends(get_leads)]
WebsiteQuery = Annotated[Name | None, Query(description="Only those of this website.")]
VisitQuery = Annotated[str | None, Query(pattern=r"^[0-9a-f]{16}$", description="Only those of this link.")]
api = APIRouter(
    dependencies=[Depends(require_operator("visitors' forms need")), Depends(refuse_repeated_parameters)]
)


@api.get(
    "/leads",
    response_model=LeadList,
    summary="List what visitors left in forms",
    tags=["visits"],
    responses=document_problems(401, 403, 422, 429, 503),
)
async def list_leads(
    leads: LeadsParam, website: WebsiteQuery = None, visit_id: VisitQuery = None
) -> LeadList:
    """Newest first. Expired ones are not listed. Reading them is an entry of the audit log."""
    found = await leads.list(website=website, visit_id=visit_id)
    await record_async("leads_read", "REST", website=website or "")
    return LeadList(leads=[_view(each) for each in found])


@api.get(
    "/leads/export",
    summary="Export what visitors left in forms",
    tags=["visits"],
    response_class=Response,
    responses={
        200: {
            "description": "CSV, a row for each form; a cell that would be a formula begins with an apostrophe.",
            "content": {"text/csv": {"schema": {"type": "string"}}},
        },
        **document_problems(401, 403, 422, 429, 503),
    },
)
async def export_leads(
    leads: LeadsParam, website: WebsiteQuery = None, visit_id: VisitQuery = None
) -> Response:
    """The same forms as `GET /api/leads`."""
    found = await leads.list(website=website, visit_id=visit_id)
    await record_async("leads_read", "REST, as CSV", website=website or "")
    return build_csv_response(found)


def build_csv_response(found: list[VisitorLead]) -> Response:
    """Return the forms as a download."""
    return Response(format_csv(found), media_type=CSV, headers=_ATTACHMENT)


async def take_lead(body: LeadRequest, visit: VisitorVisit, leads: VisitorLeads) -> datetime:
    """Store a form of a link's page and return when it is deleted. Raises `ApiProblem`."""
    form = visit.flow.lead_form
    if form is None:
        raise ApiProblem(404, "not_found", "this demo has no form")
    if not body.agreed:
        raise build_invalid_problem(
            [
                FieldProblem(
                    location="body.agreed", message="the form's sentence was not agreed to", fix="send true"
                )
            ]
        )
    origin = LeadOrigin(visit.visit_id, visit.label, visit.wish.website, visit.wish.flow, visit.flow.language)
    try:
        lead = await leads.store(form, body.values, origin, body.key, load_settings().visitor_retention_days)
    except LeadInvalid as exc:
        raise build_invalid_problem(
            [
                FieldProblem(location=f"body.values.{name}", message=text)
                for name, text in exc.problems.items()
            ]
        ) from exc
    except LeadRefused as exc:
        raise ApiProblem(409, exc.code, str(exc), fix=exc.fix) from exc
    return lead.expires_at


def _view(lead: VisitorLead) -> LeadView:
    return LeadView(
        lead_id=lead.lead_id,
        visit_id=lead.visit_id,
        link=lead.link,
        website=lead.website_id,
        flow=lead.flow_id,
        language=lead.language,
        entries=[LeadEntryView(name=e.name, label=e.label, value=e.value) for e in lead.entries],
        consent=lead.consent,
        given_at=lead.given_at,
        expires_at=lead.expires_at,
    )
