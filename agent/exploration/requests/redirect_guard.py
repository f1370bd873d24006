"""Checks each hop of a redirect before it is requested.

Playwright's routes see a request only once. So every page has its own DevTools session, in which the browser
pauses each hop (Fetch domain). A session sees only requests that begin after it is connected, so a new window must
request its document again. `request_guard` decides which requests are allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as DriverError
from pydantic import BaseModel, Field


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request that the browser is about to send."""

    method: str
    url: str
    kind: str
    """Playwright's resource type: `document`, `image`, `fetch`, ..."""
    document: bool
    """Whether it is the document of a page, not of a frame."""
    body: str = ""
    sent_on: bool = False
    """Whether it is a hop of a redirect."""


class _PausedRequestData(BaseModel):
    url: str
    method: str
    body: str = Field(default="", alias="postData")


class _PausedRequest(BaseModel):
    """The used fields of `Fetch.requestPaused`."""

    which: str = Field(alias="requestId")
    request: _PausedRequestData
    kind: str = Field(alias="resourceType")
    frame: str = Field(alias="frameId")
    sent_on: str | None = Field(default=None, alias="redirectedRequestId")
    """Id of the redirected request; None for a new request."""


class RedirectGuard:
    """Watches the pages of one context."""

    def __init__(self, refuses: Callable[[OutgoingRequest], bool]) -> None:
        self._refuses = refuses
        self._sessions: dict[Page, asyncio.Task[None]] = {}
        self._trusted: set[Page] = set()

    def trusts(self, page: Page) -> bool:
        """Whether the session of a page sees all its requests, since it was connected before them."""
        return page in self._trusted

    async def watch(self, page: Page, *, trust: bool) -> None:
        """Connect the session of a page; later requests are followed.

        `trust` means that no earlier request can pass any more. Raises the driver's error if the page has closed.
        """
        if page not in self._sessions:
            self._sessions[page] = asyncio.create_task(self._begin(page))
            page.on("close", self._forget)
        await asyncio.shield(self._sessions[page])
        if trust:
            self._trusted.add(page)

    def _forget(self, page: Page) -> None:
        self._sessions.pop(page, None)
        self._trusted.discard(page)

    async def _begin(self, page: Page) -> None:
        session = await page.context.new_cdp_session(page)
        of_page = (await session.send("Target.getTargetInfo"))["targetInfo"]["targetId"]

        async def paused(event: dict[str, Any]) -> None:
            await self._judge(session, of_page, _PausedRequest.model_validate(event))

        session.on("Fetch.requestPaused", paused)
        await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})

    async def _judge(self, session: CDPSession, of_page: str, paused: _PausedRequest) -> None:
        begun, kind = paused.request, paused.kind.lower()
        asked = OutgoingRequest(
            begun.method,
            begun.url,
            kind,
            document=kind == "document" and paused.frame == of_page,
            body=begun.body,
            sent_on=True,
        )
        which: dict[str, str | int] = {"requestId": paused.which}
        with suppress(DriverError):  # its page has closed
            if paused.sent_on is None or not self._refuses(asked):
                await session.send("Fetch.continueRequest", which)
            elif asked.document:  # the page does not navigate
                await session.send(
                    "Fetch.fulfillRequest", which | {"responseCode": int(HTTPStatus.NO_CONTENT)}
                )
            else:
                await session.send("Fetch.failRequest", which | {"errorReason": "BlockedByClient"})
