"""Webhooks: what is told, how it is signed, and when a failed message is sent again.

Messages follow the Standard Webhooks specification: `webhook-id`, `webhook-timestamp`, and `webhook-signature`, an HMAC-SHA256
of the three parts `id.timestamp.body`. They wait in the store, so that a restart loses none; a receiver may get one twice and
knows it by its id. Only origins that the operator lists are told anything, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import Any

import structlog

from kb_schema.service_records import (
    OVER_STATES,
    JobOrder,
    SentenceOrder,
    StoredJob,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
    describe_order,
)
from kb_schema.url_patterns import is_web_address, origin_of
from kb_store.errors import StoreError
from kb_store.runs.run_store import RunStore
from mcp_server.security.http_openers import build_opener
from periplus import __version__
from periplus.errors import UserError
from periplus.runs.task_runs import new_run_id

RETRIES_S = (5, 60, 300, 1_800, 7_200, 21_600)
"""Seconds before each further attempt."""
ANSWER_S = 15.0
"""Seconds that a receiver may take."""
GONE = 410
"""The answer of a receiver that wants nothing more: its webhook is switched off."""
SECRET_PREFIX = "whsec_"  # noqa: S105 - the specification's prefix, not a secret
LOOK_S = 10.0
MOST_WEBHOOKS = 50
ALLOW = "PERIPLUS_SERVE_WEBHOOKS"
UNTOLD = tuple(f"{state}.untold" for state in OVER_STATES)

_ODD = frozenset("\\@ ")
"""Characters that parsers of addresses take for different things."""

Poster = Callable[[str, bytes, Mapping[str, str]], int]
"""Sends a body to an address and returns the status. Raises `OSError`."""

_log = structlog.get_logger(__name__)


class WebhookSender:
    """Tells the webhooks of a store. `key`: the server's key, of which each webhook's secret is derived."""

    def __init__(
        self,
        runs: RunStore,
        key: bytes,
        allowed: Collection[str],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        post: Poster | None = None,
    ) -> None:
        self._records, self._key, self._now = runs.service_records, key, now
        self.allowed = frozenset(allowed)
        self._post = post or post_without_redirects
        self._more = asyncio.Event()

    def secret_of(self, webhook_id: str) -> str:
        """Return the secret of a webhook, which its receiver checks signatures with."""
        return SECRET_PREFIX + base64.b64encode(self._secret(webhook_id)).decode()

    def check_address(self, url: str) -> None:
        """Raise `UserError` for an address that may not be told anything."""
        odd = set(url) & _ODD or not url.isascii() or not url.isprintable()
        if odd or not is_web_address(url) or origin_of(url) not in self.allowed:
            raise UserError(
                f"the origin of {url} is not among those that webhooks may have",
                fix=f"set {ALLOW} to it, then restart the service"
                + (f"; allowed: {', '.join(sorted(self.allowed))}" if self.allowed else ""),
            )

    async def tell(self, job: StoredJob) -> None:
        """Put a message about a job that is over into the store, once for each webhook. Raises `StoreError`."""
        event: WebhookEvent = "job.missed" if job.state == "missed" else "job.ended"
        hooks = await self._records.select(Webhook, states=["active"], limit=MOST_WEBHOOKS)
        for hook in hooks:
            if event in hook.events:
                await self._records.add(
                    self._build(hook, event, f"{hook.webhook_id}-{job.job_id}", _job_data(job))
                )
        await self._records.replace(job.model_copy(update={"announced": True}))
        if hooks:
            self._more.set()

    async def ping(self, hook: Webhook) -> WebhookDelivery:
        """Send a message that says nothing, now, and return how it went. Raises `StoreError`."""
        delivery = self._build(hook, "ping", f"ping-{new_run_id()}", {"webhook_id": hook.webhook_id})
        await self._records.add(delivery)
        return await self._attempt(delivery, hook) or delivery

    async def send_due(self) -> None:
        """Tell what was not told yet, and send what is due. Raises `StoreError`."""
        for job in await self._records.select(StoredJob, states=UNTOLD, oldest_first=True):
            await self.tell(job)
        for each in await self._records.select(WebhookDelivery, states=["waiting"], oldest_first=True):
            if each.next_at > self._now():
                return
            hook = await self._records.find(Webhook, each.webhook_id)
            if hook is None or not hook.active:
                update = {"state": "given_up", "error": "the webhook was deleted or is off"}
                await self._records.replace(each.model_copy(update=update))
            else:
                await self._attempt(each, hook)

    async def keep_sending(self) -> None:
        """Send until cancelled."""
        while True:
            self._more.clear()
            try:
                await self.send_due()
            except StoreError as exc:
                _log.warning("store_away", reason=str(exc))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._more.wait(), LOOK_S)

    # -- implementation

    def _secret(self, webhook_id: str) -> bytes:
        return hmac.digest(self._key, f"webhook {webhook_id}".encode(), hashlib.sha256)

    def _build(
        self, hook: Webhook, event: WebhookEvent, delivery_id: str, data: Mapping[str, Any]
    ) -> WebhookDelivery:
        now = self._now()
        payload = json.dumps({"type": event, "timestamp": now.isoformat(), "data": data}, ensure_ascii=False)
        return WebhookDelivery(
            delivery_id=delivery_id,
            webhook_id=hook.webhook_id,
            event=event,
            payload=payload,
            next_at=now,
        )

    async def _attempt(self, delivery: WebhookDelivery, hook: Webhook) -> WebhookDelivery | None:
        """Send a message once, and store how it went; None if another server sends it."""
        now = self._now()
        wait = RETRIES_S[delivery.attempts] if delivery.attempts < len(RETRIES_S) else None
        later = now + timedelta(seconds=wait or 0)
        # First, so that no other server sends it at the same time, and a kill in between delays it only.
        claimed = await self._records.replace(
            delivery.model_copy(update={"attempts": delivery.attempts + 1, "next_at": later})
        )
        if claimed is None:
            return None
        status, error = await self._send(claimed, hook, now)
        if status is not None and 200 <= status < 300:
            update: dict[str, Any] = {"state": "delivered", "status": status, "error": None}
        else:
            over = wait is None or status == GONE or delivery.event == "ping"
            update = {"state": "given_up" if over else "waiting", "status": status, "error": error}
        after = await self._records.replace(claimed.model_copy(update=update))
        if status == GONE:
            off = {"active": False, "error": "the receiver answered 410 Gone"}
            await self._records.replace(hook.model_copy(update=off))
        _log.info(
            "webhook_sent", webhook=hook.webhook_id, event_type=delivery.event, status=status, error=error
        )
        return after

    async def _send(
        self, delivery: WebhookDelivery, hook: Webhook, now: datetime
    ) -> tuple[int | None, str | None]:
        try:
            self.check_address(hook.url)  # the setting may have changed
        except UserError as exc:
            return None, exc.message
        body = delivery.payload.encode()
        headers = sign(self._secret(hook.webhook_id), delivery.delivery_id, now, body)
        try:
            status = await asyncio.to_thread(self._post, hook.url, body, headers)
        except (OSError, HTTPException, ValueError) as exc:
            return None, f"no answer: {exc}"[:300]
        return status, None if 200 <= status < 300 else f"the receiver answered {status}"


def sign(secret: bytes, message_id: str, now: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of a message, as Standard Webhooks says."""
    moment = str(int(now.timestamp()))
    signed = hmac.digest(secret, f"{message_id}.{moment}.".encode() + body, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        "User-Agent": f"periplus/{__version__}",
        "webhook-id": message_id,
        "webhook-timestamp": moment,
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


_OPENER = build_opener(proxies=True)


def post_without_redirects(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Send a body and return the status; what the receiver says is not read. Raises `OSError`."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")  # noqa: S310 - checked: http(s)
    try:
        with _OPENER.open(request, timeout=ANSWER_S) as response:
            return int(response.status)
    except urllib.error.HTTPError as exc:
        exc.close()
        return exc.code


def _describe(order: JobOrder) -> str:
    """Return an order in words; a sentence has values in it, and is not repeated."""
    if isinstance(order, SentenceOrder):
        return f"do a job in words on {order.website_id}"
    return describe_order(order)


def _job_data(job: StoredJob) -> dict[str, Any]:
    """Return what a message says of a job: no inputs and no results, which may be personal."""
    return {
        "job_id": job.job_id,
        "kind": job.order.kind,
        "description": _describe(job.order),
        "state": job.state,
        "outcome": job.outcome,
        "error": job.error,
        "run_id": job.run_id,
        "schedule_id": job.schedule_id,
        "due_at": None if job.due_at is None else job.due_at.isoformat(),
        "missed": job.missed,
        "started_at": None if job.started_at is None else job.started_at.isoformat(),
        "finished_at": None if job.finished_at is None else job.finished_at.isoformat(),
    }
