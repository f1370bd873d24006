"""Campaigns: the list, the three steps that create one, and its own page."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from seeds.spadeworks.site import sample
from seeds.spadeworks.site.bugs import Bug
from seeds.spadeworks.site.forms import read_campaign_audience, read_campaign_details
from seeds.spadeworks.site.site import visitor_of
from seeds.spadeworks.site.state import CampaignDraft, Visitor, WorkspaceFullError
from seeds.spadeworks.site.web import Errors, has_bug, read_form, render, see_other, signed_in

DETAILS = "/campaign/create/details"
AUDIENCE = "/campaign/create/audience"
REVIEW = "/campaign/create/review"


def _draft(visitor: Visitor) -> CampaignDraft:
    return visitor.campaign_draft or CampaignDraft()


def _audience_size(draft: CampaignDraft) -> int:
    """Return how many contacts are left; every filter keeps about a half."""
    return max(1, sample.CONTACT_LISTS[draft.contact_list] >> len(draft.filters))


def _agent_name(visitor: Visitor, agent_id: str) -> str:
    agent = visitor.agent(agent_id)
    return agent.name if agent else "No agent"


@signed_in
async def _list(request: Request) -> Response:
    visitor = visitor_of(request)
    rows = [(c, _agent_name(visitor, c.agent_id)) for c in visitor.campaigns]
    return render(request, "campaigns.html", rows=rows)


@signed_in
async def _create(request: Request) -> Response:
    visitor_of(request).campaign_draft = None
    return see_other(DETAILS)


@signed_in
async def _details_page(request: Request) -> Response:
    return _show_details(request, _draft(visitor_of(request)), Errors())


def _show_details(request: Request, draft: CampaignDraft, errors: Errors) -> Response:
    return render(
        request,
        "campaign_details.html",
        status=422 if errors else 200,
        draft=draft,
        errors=errors,
        agents=visitor_of(request).agents,
    )


@signed_in
async def _details(request: Request) -> Response:
    visitor = visitor_of(request)
    form = await read_form(request)
    draft = visitor.campaign_draft = _draft(visitor)
    errors = read_campaign_details(form, visitor, draft)
    return _show_details(request, draft, errors) if errors else see_other(AUDIENCE)


@signed_in
async def _audience_page(request: Request) -> Response:
    draft = _draft(visitor_of(request))
    return _show_audience(request, draft, Errors()) if draft.name else see_other(DETAILS)


def _show_audience(request: Request, draft: CampaignDraft, errors: Errors) -> Response:
    return render(
        request,
        "campaign_audience.html",
        status=422 if errors else 200,
        draft=draft,
        errors=errors,
        lists=sample.CONTACT_LISTS,
        filter_fields=sample.FILTER_FIELDS,
    )


@signed_in
async def _audience(request: Request) -> Response:
    form = await read_form(request)
    draft = _draft(visitor_of(request))
    if not draft.name:
        return see_other(DETAILS)
    errors = read_campaign_audience(form, draft)
    return _show_audience(request, draft, errors) if errors else see_other(REVIEW)


@signed_in
async def _review_page(request: Request) -> Response:
    return _show_review(request, _draft(visitor_of(request)), "")


def _show_review(request: Request, draft: CampaignDraft, error: str) -> Response:
    if not (draft.name and draft.contact_list and draft.daily_limit):
        return see_other(AUDIENCE if draft.name else DETAILS)
    return render(
        request,
        "campaign_review.html",
        status=422 if error else 200,
        draft=draft,
        error=error,
        agent_name=_agent_name(visitor_of(request), draft.agent_id),
        audience=_audience_size(draft) + has_bug(request, Bug.WRONG_TOTAL),
    )


@signed_in
async def _launch(request: Request) -> Response:
    visitor = visitor_of(request)
    await read_form(request)
    draft = _draft(visitor)
    if not (draft.name and draft.contact_list and draft.daily_limit):
        return see_other(DETAILS)
    try:
        campaign = visitor.launch_campaign(draft, _audience_size(draft))
    except WorkspaceFullError as exc:
        return _show_review(request, draft, str(exc))
    visitor.toast("Campaign launched", f"“{campaign.name}” starts on {campaign.start_date}.")
    return see_other(f"/campaign/{campaign.id}")


@signed_in
async def _detail(request: Request) -> Response:
    visitor, wanted = visitor_of(request), request.path_params["campaign_id"]
    campaign = next((c for c in visitor.campaigns if c.id == wanted), None)
    if campaign is None:
        raise HTTPException(404)
    agent_name = _agent_name(visitor, campaign.agent_id)
    return render(request, "campaign_detail.html", campaign=campaign, agent_name=agent_name)


routes = [
    Route("/campaign", _list),
    Route("/campaign/create", _create),
    Route(DETAILS, _details_page, methods=["GET"]),
    Route(DETAILS, _details, methods=["POST"]),
    Route(AUDIENCE, _audience_page, methods=["GET"]),
    Route(AUDIENCE, _audience, methods=["POST"]),
    Route(REVIEW, _review_page, methods=["GET"]),
    Route(REVIEW, _launch, methods=["POST"]),
    Route("/campaign/{campaign_id}", _detail),
]
