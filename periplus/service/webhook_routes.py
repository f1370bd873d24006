"""REST routes of webhooks: addresses that are told when a job is over or was missed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Request
from fastapi import Path as InPath
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from kb_schema.service_records import WEBHOOK_EVENTS, Webhook, WebhookDelivery, WebhookEvent
from kb_store.audit.audit_recorder import record_async
from periplus.jobs.service_jobs import ServiceJobs
from periplus.jobs.webhook_delivery import MOST_WEBHOOKS
from periplus.runs.task_runs import new_run_id
from periplus.service.job_routes import RECORD_ID, Jobs, name_asker, refuse_secret_names
from periplus.service.operation_links import document_links
from periplus.service.problem_details import ApiProblem, document_problems
from periplus.service.refusals import translate_refusals

MOST_DELIVERIES = 20

router = APIRouter()


class WebhookRequest(BaseModel):
    """An address to tell."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"url": "https://ci.example.com/periplus", "events": ["job.ended"]}]},
    )

    url: str = Field(
        min_length=1, max_length=2_000, description="Its origin must be in PERIPLUS_SERVE_WEBHOOKS."
    )
    events: list[WebhookEvent] = Field(
        default_factory=lambda: list(WEBHOOK_EVENTS), min_length=1, max_length=10
    )


class WebhookView(BaseModel):
    """A webhook."""

    webhook_id: str
    url: str
    events: list[WebhookEvent]
    active: bool
    error: str | None = Field(description="Why it was switched off.")
    created_at: AwareDatetime
    created_by: str


class NewWebhook(WebhookView):
    """A new webhook with its secret, which is returned only here."""

    secret: str = Field(description="For checking `webhook-signature`, as Standard Webhooks says.")


class DeliveryView(BaseModel):
    """A message."""

    delivery_id: str = Field(description="Sent as `webhook-id`.")
    event: WebhookEvent
    state: str
    attempts: int
    status: int | None = Field(description="The last answer of the receiver.")
    error: str | None
    next_at: AwareDatetime = Field(description="When it is sent, if it waits.")


class WebhookList(BaseModel):
    """Webhooks."""

    webhooks: list[WebhookView]


class DeliveryList(BaseModel):
    """The latest messages to a webhook."""

    deliveries: list[DeliveryView]


WebhookId = Annotated[str, InPath(pattern=RECORD_ID, description="As `POST /api/webhooks` returned it.")]


@router.post(
    "/webhooks",
    status_code=201,
    response_model=NewWebhook,
    summary="Make a webhook",
    tags=["webhooks"],
    responses={
        201: document_links("webhook_id", "list_deliveries", "ping_webhook", "delete_webhook"),
        **document_problems(401, 403, 404, 413, 422, 429, 503),
    },
)
async def make_webhook(request: Request, body: WebhookRequest, jobs: Jobs) -> NewWebhook:
    """Messages are signed with the secret in the answer, and sent again for nine hours if they fail."""
    refuse_secret_names(body)
    with translate_refusals():
        jobs.webhooks.check_address(body.url)
    hook = Webhook(
        webhook_id=f"webhook-{new_run_id()}",
        url=body.url,
        events=tuple(body.events),
        created_at=datetime.now(UTC),
        created_by=name_asker(request)[:200],
    )
    async with jobs.adding:
        if len(await jobs.records.select(Webhook, limit=MOST_WEBHOOKS)) >= MOST_WEBHOOKS:
            many = f"there are {MOST_WEBHOOKS} webhooks already"
            raise ApiProblem(429, "rate_limited", many, fix="delete one")
        await jobs.records.add(hook)
    await record_async("webhook_changed", f"{hook.webhook_id} made for {hook.url}")
    return NewWebhook(**_view(hook).model_dump(), secret=jobs.webhooks.secret_of(hook.webhook_id))


@router.get(
    "/webhooks",
    response_model=WebhookList,
    summary="List webhooks",
    tags=["webhooks"],
    responses=document_problems(401, 404, 429, 503),
)
async def list_webhooks(jobs: Jobs) -> WebhookList:
    """Without their secrets."""
    found = await jobs.records.select(Webhook, limit=MOST_WEBHOOKS)
    return WebhookList(webhooks=[_view(each) for each in found])


@router.get(
    "/webhooks/{webhook_id}/deliveries",
    response_model=DeliveryList,
    summary="List the latest messages to a webhook",
    tags=["webhooks"],
    responses=document_problems(401, 404, 422, 429, 503),
)
async def list_deliveries(webhook_id: WebhookId, jobs: Jobs) -> DeliveryList:
    """With the answer of the receiver, and when a failed one is sent again."""
    hook = await _find(jobs, webhook_id)
    found = await jobs.records.select(WebhookDelivery, group=hook.webhook_id, limit=MOST_DELIVERIES)
    return DeliveryList(deliveries=[_delivery_view(each) for each in found])


@router.post(
    "/webhooks/{webhook_id}/ping",
    response_model=DeliveryView,
    summary="Send a message that says nothing",
    tags=["webhooks"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def ping_webhook(webhook_id: WebhookId, jobs: Jobs) -> DeliveryView:
    """The answer says whether the receiver accepted it; it is not sent again."""
    return _delivery_view(await jobs.webhooks.ping(await _find(jobs, webhook_id)))


@router.delete(
    "/webhooks/{webhook_id}",
    status_code=204,
    summary="Delete a webhook",
    tags=["webhooks"],
    responses=document_problems(401, 403, 404, 422, 429, 503),
)
async def delete_webhook(webhook_id: WebhookId, jobs: Jobs) -> None:
    """Messages that wait are not sent."""
    hook = await _find(jobs, webhook_id)
    await jobs.records.delete(Webhook, hook.webhook_id)
    await record_async("webhook_changed", f"{webhook_id} deleted")


async def _find(jobs: ServiceJobs, webhook_id: str) -> Webhook:
    hook = await jobs.records.find(Webhook, webhook_id)
    if hook is None:
        fix = "GET /api/webhooks lists all webhooks"
        raise ApiProblem(404, "not_found", f"no webhook {webhook_id!r}", fix=fix)
    return hook


def _view(hook: Webhook) -> WebhookView:
    return WebhookView(**{name: getattr(hook, name) for name in WebhookView.model_fields})


def _delivery_view(delivery: WebhookDelivery) -> DeliveryView:
    return DeliveryView(**{name: getattr(delivery, name) for name in DeliveryView.model_fields})
