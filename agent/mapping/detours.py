"""What requests are sent on to: each hop of a redirect is seen before it is asked for.

Playwright's routes see a request once, at its beginning. Here every page has a session of the DevTools protocol of its
own, in which the browser pauses each hop as well (Fetch domain). A session sees what begins after it stands: a
window that a page opens has to ask for its document again. Not here: what may be asked for (`guarding`).
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
class Asked:
    """A request that the browser is about to send."""

    method: str
    url: str
    kind: str
    """`document`, `image`, `fetch`, ... as Playwright calls them."""
    document: bool
    """Of a page, not of a frame in one."""
    body: str = ""
    sent_on: bool = False
    """A hop of a redirect: the site named it, not the page."""


class _Request(BaseModel):
    url: str
    method: str
    body: str = Field(default="", alias="postData")


class _Paused(BaseModel):
    """`Fetch.requestPaused`, as far as it is of use here."""

    which: str = Field(alias="requestId")
    request: _Request
    kind: str = Field(alias="resourceType")
    frame: str = Field(alias="frameId")
    sent_on: str | None = Field(default=None, alias="redirectedRequestId")
    """The request that was sent on; None for one that begins."""


class Detours:
    """Watches the pages of one context."""

    def __init__(self, refuses: Callable[[Asked], bool]) -> None:
        self._refuses = refuses
        self._sessions: dict[Page, asyncio.Task[None]] = {}
        self._trusted: set[Page] = set()

    def trusts(self, page: Page) -> bool:
        """Whether all that a page asks for has begun after its session stood, so that each hop of it is seen."""
        return page in self._trusted

    async def watch(self, page: Page, *, trust: bool) -> None:
        """Return when its session stands: what a page begins to ask for from then on is followed.

        `trust`: nothing that it asked for before is let through any more. Raises the driver's error where the page
        has gone.
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
            await self._judge(session, of_page, _Paused.model_validate(event))

        session.on("Fetch.requestPaused", paused)
        await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})

    async def _judge(self, session: CDPSession, of_page: str, paused: _Paused) -> None:
        begun, kind = paused.request, paused.kind.lower()
        asked = Asked(
            begun.method,
            begun.url,
            kind,
            document=kind == "document" and paused.frame == of_page,
            body=begun.body,
            sent_on=True,
        )
        which: dict[str, str | int] = {"requestId": paused.which}
        with suppress(DriverError):  # its page has gone
            if paused.sent_on is None or not self._refuses(asked):
                await session.send("Fetch.continueRequest", which)
            elif asked.document:  # the page stays where it is
                await session.send(
                    "Fetch.fulfillRequest", which | {"responseCode": int(HTTPStatus.NO_CONTENT)}
                )
            else:
                await session.send("Fetch.failRequest", which | {"errorReason": "BlockedByClient"})
