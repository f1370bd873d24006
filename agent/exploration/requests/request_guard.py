"""Blocks requests of the browser that may change data on a website that is only explored.

A request that may change data is not sent, unless the user allowed the control by name. No document is loaded from
an origin that was not named, or that robots.txt disallows. Redirects are checked as well (`redirect_guard`), and
nothing is sent over WebSockets (`websocket_guard`). Where a window may open, as while a control is used, a route judges new
requests, too: the browser then has no cache. Otherwise new windows request no document (`window_documents`). This is the second check: `danger_rules.judge_offer` judges
controls before they are used.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field

from playwright.async_api import BrowserContext, Page, Request, Route
from playwright.async_api import Error as DriverError

from agent.dangers.danger_rules import judge_request
from agent.exploration.requests.load_requests import LoadRequests, digest_request
from agent.exploration.requests.read_requests import ReadRequests
from agent.exploration.requests.robots_permissions import DISALLOWED
from agent.exploration.requests.unseen_requests import prevent_unseen
from agent.exploration.requests.websocket_guard import WebSocketGuard
from agent.page.page_requests import is_page_document
from agent.page.redirect_guard import ONCE_MORE, NewWindows, OutgoingRequest, RedirectGuard, read_content
from kb_schema.url_patterns import origin_of, path_of

_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_PARTS = frozenset({"image", "stylesheet", "script", "font", "media", "manifest", "texttrack"})
_FILE = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|avif|ico|css|m?js|map|woff2?|ttf|otf|eot|mp[34]|webm|ogg|vtt|webmanifest)$",
    re.IGNORECASE,
)
"""Resource types whose file names are not judged: `delete.png` is harmless."""
_UNASKED = frozenset({"ping", "cspviolationreport", "eventsource"})
"""Requests that pages send on their own, such as analytics: blocked without a report."""
_AHEAD = frozenset({"other", "prefetch"})
"""Prefetching and speculation rules: routes do not see such requests, so these are removed."""
_MOST_STOPPED = 1_000
_MOST_TOLD = 5
"""Number of requests that are told of for one page."""
SOCKETS = "WebSocket"
"""The `--allow` name that permits pages to send over WebSockets."""
ISOLATED = "nothing is sent from a page on which a control is pressed to see what it asks"
_EVERYTHING = "**/*"


@dataclass(frozen=True, slots=True)
class BlockedRequest:
    """A request that was not sent."""

    method: str
    url: str
    why: str
    digest: str = ""
    """Of what it would have sent; "" if it has no body."""


@dataclass
class RequestGuard:
    """Decides which requests of one browser context are sent."""

    origins: Collection[str]
    may_open: Callable[[str], bool] = field(default=lambda _: True)
    """Whether robots.txt allows an address."""
    vouched: set[str] = field(default_factory=set)
    """Addresses of judged links and recorded pages; a framework convention may make a dangerous-looking one safe."""
    allowed: Collection[str] = ()
    """Names of controls that the user allowed although they may change data."""
    allowing: bool = False
    """Whether a control that the user allowed is being used."""
    stopped: list[BlockedRequest] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Addresses of other origins to which a page tried to navigate."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """Whether a navigation was blocked."""
    isolated: bool = False
    """Whether nothing is sent but requests for files of the page: a control is pressed to see what it asks."""
    using: bool = False
    """Whether a control is being used, rather than an address opened."""
    following: bool = False
    """Whether the control is a link to another address: what it sends, opening that address would send."""
    reads: ReadRequests = field(default_factory=ReadRequests)
    """Requests by POST that are sent because they read."""
    loads: LoadRequests = field(default_factory=LoadRequests)
    """Requests that are sent because every visit sends them."""
    _detours: RedirectGuard | None = None
    _context: BrowserContext | None = None
    documents: set[str] = field(default_factory=set)
    """Addresses from which documents were requested."""
    _routed: bool = False
    """Whether a route judges new requests, beside the sessions of pages."""
    _routing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _sent_on_load: dict[tuple[str, str], str] = field(default_factory=dict)
    """What pages would have sent last while they were opened, by method and address."""

    async def begin(
        self, *, allowing: bool, vouched: str | None = None, using: bool = False, following: bool = False
    ) -> None:
        """Prepare for the next step and forget earlier blocked requests.

        `vouched` is an address that was judged safe. `using` means that a control is used, not an address opened; `following` that the
        control is a link to another address.
        """
        if vouched:
            self.vouched.add(vouched)
        if not self.using:
            self._sent_on_load |= {(each.method, each.url): each.digest for each in self.list_writes()}
        self.allowing, self.using, self.following = allowing, using, following
        self.stopped.clear()
        self.reads.sent.clear()
        self.left.clear()
        self.held.clear()
        await self._choose_route(windows=using or allowing)

    async def _choose_route(self, *, windows: bool) -> None:
        """Judge new requests by a route, too, if windows may open, or if a page has frames that its session does not see."""
        if self._context is None or self._detours is None:
            return
        async with self._routing:
            wanted = windows or self._detours.has_frames()
            if wanted and not self._routed:
                await self._context.route(_EVERYTHING, self._judge)
                self._routed = True
            elif self._routed and not wanted:
                self._routed = False
                await self._context.unroute(_EVERYTHING, self._judge)

    async def _see_frames(self) -> None:
        await self._choose_route(windows=True)

    def list_writes(self) -> list[BlockedRequest]:
        """Return the requests that would have changed something: not those that send what opening a page sends, too."""
        return [
            each
            for each in self.stopped
            if each.method.isupper()
            and each.method not in _LOOKING
            and (not each.digest or self._sent_on_load.get((each.method, each.url)) != each.digest)
        ]

    def list_held_back(self) -> tuple[str, ...]:
        """Return the requests of this step that were not sent, without addresses' origins and queries."""
        held = (f"{each.method} {path_of(each.url)}"[:500] for each in self.stopped if each.method.isupper())
        return tuple(dict.fromkeys(held))[:_MOST_TOLD]

    async def install(self, context: BrowserContext) -> None:
        """Intercept all requests of the context, and add the script to every page before its own scripts."""
        self._context = context
        await prevent_unseen(context)
        sockets = WebSocketGuard(self._may_connect, self._may_say, lambda: self.using, self._said)
        await sockets.install(context)
        self._detours = RedirectGuard(
            self._refused,
            see_frames=self._see_frames,
            windows=NewWindows(lambda: self._routed, self._window_refused),
        )
        context.on("page", self._opened)
        await self._choose_route(windows=True)

    async def stand_before(self, page: Page) -> None:
        """Guard an empty page before its first request; does nothing if the guard is not installed."""
        if self._detours is not None:
            await self._detours.watch(page, trust=True)

    async def _opened(self, page: Page) -> None:
        if self._detours is not None:
            with suppress(DriverError):  # it has closed
                await self._detours.watch(page, trust=False)

    async def _judge(self, route: Route, request: Request) -> None:
        asked = OutgoingRequest(
            request.method,
            request.url,
            request.resource_type,
            is_page_document(request),
            read_content(request),
            headers=request.headers,
        )
        refused = self._refused(asked)
        with suppress(DriverError):  # its page has closed
            if not refused and (
                self.allowing
                or self._detours is None
                or await self._detours.follows(request, document=asked.document)
            ):
                await route.continue_()
            elif asked.document:
                answer = {"status": 204} if refused else {"content_type": "text/html", "body": ONCE_MORE}
                await route.fulfill(**answer)  # 204: the page does not navigate
            else:
                await route.abort("blockedbyclient")

    def _window_refused(self, asked: OutgoingRequest) -> None:
        why = self._why_not(asked)
        if why:
            self._stop(asked.method, asked.url, why, digest_request(asked))

    def is_made_up(self, url: str) -> bool:
        """Whether the address of a page names a deed, and no link had it and no document was requested from it: its script wrote it."""
        bare = url.partition("#")[0]
        return (
            not {url, bare} & (self.vouched | self.documents) and judge_request("GET", url).danger is not None
        )

    def _refused(self, asked: OutgoingRequest) -> bool:
        refused = self._is_refused(asked)
        if asked.document and not refused:
            self.documents.add(asked.url.partition("#")[0])
        if refused and asked.document:
            self.held.set()
        return refused

    def _is_refused(self, asked: OutgoingRequest) -> bool:
        elsewhere = asked.url.startswith(("http:", "https:")) and origin_of(asked.url) not in self.origins
        if asked.document and elsewhere and not asked.sent_on:
            self.left.append(asked.url)
            return True
        if asked.kind in _AHEAD and not asked.document:
            return True
        why = self._why_not(asked)
        if why and asked.kind not in _UNASKED:
            self._stop(asked.method, asked.url, why, digest_request(asked))
        return bool(why)

    def _why_not(self, asked: OutgoingRequest) -> str:
        """Return why a request is refused; "" if it is allowed."""
        if asked.method in _LOOKING and asked.kind in _PARTS and _is_file(asked.url):
            return ""
        if self.isolated:
            return ISOLATED
        verdict = judge_request(asked.method, asked.url, allowed=self.allowing)
        if verdict.danger is None:
            return DISALLOWED if asked.document and not self.may_open(asked.url) else ""
        on_load = not self.using or self.following
        asks = not asked.document and (
            self.reads.are_read(asked.method, asked.url, asked.body, on_load=on_load, headers=asked.headers)
            or (origin_of(asked.url) in self.origins and self.loads.are_usual(asked, on_load=on_load))
        )
        vouched = asked.document and asked.method == "GET" and asked.url in self.vouched
        return "" if asks or vouched else verdict.why

    def _stop(self, method: str, url: str, why: str, digest: str = "") -> None:
        if len(self.stopped) < _MOST_STOPPED:
            self.stopped.append(BlockedRequest(method, url, why, digest))

    def _may_connect(self, url: str) -> bool:
        return not self.isolated and judge_request("GET", url, allowed=self.allowing).may

    def _may_say(self) -> bool:
        return not self.isolated and (
            self.allowing or any(each.casefold() == SOCKETS.casefold() for each in self.allowed)
        )

    def _said(self, url: str) -> None:
        self._stop("a message to", url, f"its effect is unknown; --allow {SOCKETS} permits such messages")


def _is_file(url: str) -> bool:
    return _FILE.search(url.partition("#")[0].partition("?")[0]) is not None
