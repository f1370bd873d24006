"""Checks the requests of pages, with each hop of a redirect, before they are sent.

Playwright's routes see a request only once, and without the browser's cache. So every page has its own DevTools
session, in which the browser pauses each request and each hop (Fetch domain). A session sees only requests that begin
after it is connected, so a new window must request its document again, or requests none (`window_documents`); and it does not see those of frames with a
process of their own, which are paused until they are seen otherwise. Who watches decides which requests are allowed.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Page, Request
from playwright.async_api import Error as DriverError
from pydantic import BaseModel, Field

from agent.page.window_documents import WindowDocuments

ONCE_MORE = '<!doctype html><body onload="location.reload()">'
"""Response to a new window that requests its document before its session is connected."""

_FRAMES: dict[str, Any] = {
    "autoAttach": True,
    "waitForDebuggerOnStart": True,
    "flatten": False,
    "filter": [{"type": "iframe"}, {"exclude": True}],
}
"""Frames with a process of their own wait until they are told to go on."""
AHEAD_HEADER = "speculation-rules"
_KINDS = {"Other": "script"}
"""The resource type that Playwright calls otherwise: scripts of workers are `Other`."""
_GO_ON = {"id": 1, "method": "Runtime.runIfWaitingForDebugger"}


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request that the browser is about to send."""

    method: str
    url: str
    kind: str
    """Playwright's resource type: `document`, `image`, `fetch`, ..."""
    document: bool
    """Whether it is the document of a page, not of a frame."""
    content: bytes = b""
    """The bytes of its body, as far as they are known."""
    sent_on: bool = False
    """Whether it is a hop of a redirect."""
    headers: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    """Whether all bytes of its body are known: of a file of the disk none are."""

    @property
    def body(self) -> str:
        """Return the text that it sends; what is not text in it is replaced, so that different bodies may read alike."""
        return self.content.decode("utf-8", "replace")


class _BodyPart(BaseModel):
    """A part of a request's body; a file of the disk has no bytes."""

    encoded: str | None = Field(default=None, alias="bytes")


class _PausedRequestData(BaseModel):
    url: str
    fragment: str = Field(default="", alias="urlFragment")
    method: str
    headers: dict[str, str]
    parts: Sequence[_BodyPart] = Field(default=(), alias="postDataEntries")
    has_body: bool = Field(default=False, alias="hasPostData")

    @property
    def is_ahead(self) -> bool:
        """Whether it is a prefetch."""
        return any(name.lower() == "sec-purpose" for name in self.headers)

    @property
    def content(self) -> bytes:
        """Return the bytes that it sends, as far as they are known."""
        return b"".join(base64.b64decode(each.encoded or "") for each in self.parts)

    @property
    def is_whole(self) -> bool:
        """Whether all bytes that it sends are known."""
        return all(each.encoded is not None for each in self.parts) and bool(self.parts or not self.has_body)


class _PausedRequest(BaseModel):
    """The used fields of `Fetch.requestPaused`."""

    which: str = Field(alias="requestId")
    request: _PausedRequestData
    kind: str = Field(alias="resourceType")
    frame: str = Field(alias="frameId")
    sent_on: str | None = Field(default=None, alias="redirectedRequestId")
    """Id of the redirected request; None for a new request."""


@dataclass(frozen=True, slots=True)
class NewWindows:
    """Whether new windows may request documents, and what is told of those that are not requested."""

    may_open: Callable[[], bool]
    tell: Callable[[OutgoingRequest], None]


class RedirectGuard:
    """Watches the pages of one context."""

    def __init__(
        self,
        refuses: Callable[[OutgoingRequest], bool],
        kinds: Sequence[str] = (),
        *,
        see_frames: Callable[[], Awaitable[None]] | None = None,
        windows: NewWindows | None = None,
    ) -> None:
        """`refuses`: whether a hop is not requested. `kinds`: resource types whose requests are followed; none: all.

        `see_frames`: new requests are judged, too, and this is called before a frame with a process of its own sends anything: only
        a route sees its requests. `windows`: whether new windows may request documents; None: they may.
        """
        self._refuses, self._kinds, self._see_frames, self._new_windows = refuses, kinds, see_frames, windows
        self._documents: asyncio.Task[None] | None = None
        self._targets: dict[Page, str] = {}
        self._sessions: dict[Page, asyncio.Task[CDPSession]] = {}
        self._trusted: set[Page] = set()
        self._frames: dict[Page, set[str]] = {}

    def trusts(self, page: Page) -> bool:
        """Whether the session of a page sees all its requests, since it was connected before them."""
        return page in self._trusted

    def has_frames(self) -> bool:
        """Whether a page has a frame with a process of its own."""
        return any(self._frames.values())

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

    async def follows(self, request: Request, *, document: bool) -> bool:
        """Whether the redirects of a request will be seen. If not, its page is watched from now on: a document must be requested again."""
        try:
            page = request.frame.page
        except DriverError:  # the page is still being opened
            return False
        if self.trusts(page):
            return True
        await self.watch(page, trust=document)
        return False

    async def close(self) -> None:
        """Watch nothing any more."""
        for page, begun in list(self._sessions.items()):
            self._forget(page)
            with suppress(DriverError):  # it has closed
                await (await begun).detach()

    def _forget(self, page: Page) -> None:
        self._sessions.pop(page, None)
        self._frames.pop(page, None)
        self._targets.pop(page, None)
        self._trusted.discard(page)

    async def _begin(self, page: Page) -> CDPSession:
        session = await page.context.new_cdp_session(page)
        info = (await session.send("Target.getTargetInfo"))["targetInfo"]
        of_page = info["targetId"]
        frames: set[str] = set()
        self._frames[page] = frames

        async def paused(event: dict[str, Any]) -> None:
            if "responseStatusCode" in event or "responseErrorReason" in event:
                await _pass_on(session, event)
            else:
                await self._judge(session, of_page, _PausedRequest.model_validate(event))

        async def attached(event: dict[str, Any]) -> None:
            which: str = event["sessionId"]
            frames.add(which)
            with suppress(DriverError):  # its page has closed
                if self._see_frames is not None:
                    await self._see_frames()
                await session.send(
                    "Target.sendMessageToTarget", {"sessionId": which, "message": json.dumps(_GO_ON)}
                )

        session.on("Fetch.requestPaused", paused)
        session.on("Target.attachedToTarget", attached)
        session.on("Target.detachedFromTarget", lambda event: frames.discard(event["sessionId"]))
        every = {"urlPattern": "*", "requestStage": "Request"}
        patterns = [every | {"resourceType": kind} for kind in self._kinds] or [every]
        if self._see_frames is not None:
            patterns.append({"urlPattern": "*", "requestStage": "Response", "resourceType": "Document"})
        await session.send("Fetch.enable", {"patterns": patterns})
        self._targets[page] = of_page
        if self._documents is None:
            self._documents = asyncio.create_task(self._watch_windows(page.context, info["browserContextId"]))
        await asyncio.shield(self._documents)
        if self._see_frames is not None:
            await session.send("Target.setAutoAttach", _FRAMES)
        return session

    async def _watch_windows(self, context: BrowserContext, context_id: str) -> None:
        new = self._new_windows
        if new is None or context.browser is None:
            return

        def tell(event: Mapping[str, Any]) -> None:
            asked = _PausedRequest.model_validate(event).request
            new.tell(
                OutgoingRequest(asked.method, asked.url, "document", document=True, content=asked.content)
            )

        documents = WindowDocuments(
            context_id,
            has_session=lambda frame: frame in self._targets.values(),
            may_open=new.may_open,
            tell=tell,
        )
        await documents.watch(context.browser)
        context.on("close", lambda _: documents.end())

    async def _judge(self, session: CDPSession, of_page: str, paused: _PausedRequest) -> None:
        begun = paused.request
        kind = "prefetch" if begun.is_ahead else _KINDS.get(paused.kind, paused.kind.lower())
        asked = OutgoingRequest(
            begun.method,
            begun.url + begun.fragment,
            kind,
            document=kind == "document" and paused.frame == of_page,
            content=begun.content,
            sent_on=paused.sent_on is not None,
            headers=begun.headers,
            whole=begun.is_whole,
        )
        which: dict[str, str | int] = {"requestId": paused.which}
        with suppress(DriverError):  # its page has closed
            judged_elsewhere = self._see_frames is None and not asked.sent_on
            if judged_elsewhere or not self._refuses(asked):
                await session.send("Fetch.continueRequest", which)
            elif asked.document:  # the page does not navigate
                await session.send(
                    "Fetch.fulfillRequest", which | {"responseCode": int(HTTPStatus.NO_CONTENT)}
                )
            else:
                await session.send("Fetch.failRequest", which | {"errorReason": "BlockedByClient"})


async def _pass_on(session: CDPSession, event: dict[str, Any]) -> None:
    """Pass on the answer to a document without the rules by which the browser loads addresses ahead: no session sees such requests."""
    answer: dict[str, Any] = {"requestId": event["requestId"]}
    headers = event.get("responseHeaders", [])
    kept = [each for each in headers if each["name"].lower() != AHEAD_HEADER]
    if len(kept) < len(headers):
        answer |= {"responseCode": event["responseStatusCode"], "responseHeaders": kept}
    with suppress(DriverError):  # its page has closed
        await session.send("Fetch.continueResponse", answer)


def read_body(request: Request) -> str:
    """Return the text that a request sends; what is not text in it is replaced."""
    return read_content(request).decode("utf-8", "replace")


def read_content(request: Request) -> bytes:
    """Return the bytes that a request sends."""
    return request.post_data_buffer or b""
