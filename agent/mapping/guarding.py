"""Stands between the browser and the site while it is only to be looked at: the second line of defence.

Whatever a control does in the end, a request that might change something is not sent, unless a control that was
allowed by name is being used; no document is fetched from an origin that was not named, nor one that robots.txt
asks to leave alone. The same is asked of what a request is sent on to (`detours`), and nothing is said over
WebSockets (`sockets`). The first line is `dangers.danger_of`, which looks before anything is touched.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from playwright.async_api import BrowserContext, Page, Request, Route
from playwright.async_api import Error as DriverError

from agent.mapping.dangers import danger_of_request
from agent.mapping.detours import Asked, Detours
from agent.mapping.settling import is_document
from agent.mapping.sockets import ANY, Sockets
from kb_schema.urls import origin_of

_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
_PARTS = frozenset({"image", "stylesheet", "script", "font", "media", "manifest", "texttrack"})
_FILE = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|avif|ico|css|m?js|map|woff2?|ttf|otf|eot|mp[34]|webm|ogg|vtt|webmanifest)$",
    re.IGNORECASE,
)
"""Parts of a page that are files may be called as they like: `delete.png`."""
_UNASKED = frozenset({"ping", "cspviolationreport", "eventsource"})
"""What pages send by themselves, whoever is there: stopped, and not worth a word."""
_AHEAD = frozenset({"other", "prefetch"})
"""What is loaded before anybody wants it, and rules for that: what those say is loaded where no route sees it."""
_CHANGES = re.compile(r"\b(?:mutation|subscription)\b")
_LONGEST_QUERY = 200_000
_MOST_STOPPED = 1_000
SOCKETS = "WebSocket"
"""The name under which it is allowed that pages send over WebSockets, whatever is done."""
_ONCE_MORE = '<!doctype html><body onload="location.reload()">'
"""The answer to a window that asks for its document before it is watched."""


@cache
def _unseen() -> str:
    """What keeps a page from sending what no route sees."""
    return (Path(__file__).parent / "unseen.js").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Stopped:
    """A request that was not sent."""

    method: str
    url: str
    why: str


@dataclass
class Guard:
    """What one browser context may ask for."""

    origins: Collection[str]
    may_open: Callable[[str], bool] = field(default=lambda _: True)
    """robots.txt."""
    vouched: set[str] = field(default_factory=set)
    """Addresses of links that were judged before they were followed, and of pages that were seen: a site's own
    convention may make one of them safe whose words say otherwise."""
    allowed: Collection[str] = ()
    """Names of what may be used although it may change something."""
    allowing: bool = False
    """A control that was allowed by name is being used."""
    stopped: list[Stopped] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Addresses of other origins that a page wanted to go to."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """A page was not let go where it wanted to."""
    using: bool = False
    """A control is being used, rather than an address opened."""
    _detours: Detours | None = None

    def begin(self, *, allowing: bool, vouched: str | None = None, using: bool = False) -> None:
        """Of what comes next; what was stopped before is forgotten.

        `vouched`: an address that was judged safe. `using`: a control is used, rather than an address opened.
        """
        if vouched:
            self.vouched.add(vouched)
        self.allowing, self.using = allowing, using
        self.stopped.clear()
        self.left.clear()
        self.held.clear()

    async def install(self, context: BrowserContext) -> None:
        """Stand before everything that the context asks for, and in every page before its own scripts run."""
        await context.add_init_script(_unseen())
        sockets = Sockets(self._may_connect, self._may_say, lambda: self.using, self._said)
        await context.route_web_socket(ANY, sockets.connect)
        self._detours = Detours(self._refused)
        context.on("page", self._opened)
        await context.route("**/*", self._judge)

    async def stand_before(self, page: Page) -> None:
        """Before a page that is empty asks for anything; nothing, where the guard is not installed."""
        if self._detours is not None:
            await self._detours.watch(page, trust=True)

    async def _opened(self, page: Page) -> None:
        if self._detours is not None:
            with suppress(DriverError):  # it has gone
                await self._detours.watch(page, trust=False)

    async def _judge(self, route: Route, request: Request) -> None:
        asked = Asked(
            request.method, request.url, request.resource_type, is_document(request), _body_of(request)
        )
        refused = self._refused(asked)
        with suppress(DriverError):  # its page has gone
            if not refused and (self.allowing or await self._is_followed(request, asked)):
                await route.continue_()
            elif asked.document:
                answer = {"status": 204} if refused else {"content_type": "text/html", "body": _ONCE_MORE}
                await route.fulfill(**answer)  # 204: the page stays where it is
            else:
                await route.abort("blockedbyclient")

    async def _is_followed(self, request: Request, asked: Asked) -> bool:
        """Whether what it is sent on to will be seen; what is not is asked for once more, where it is a document."""
        try:
            page = request.frame.page
        except DriverError:  # a page that is only being opened
            return False
        if self._detours is None or self._detours.trusts(page):
            return True
        await self._detours.watch(page, trust=asked.document)
        return False

    def _refused(self, asked: Asked) -> bool:
        refused = self._is_refused(asked)
        if refused and asked.document:
            self.held.set()
        return refused

    def _is_refused(self, asked: Asked) -> bool:
        elsewhere = asked.url.startswith(("http:", "https:")) and origin_of(asked.url) not in self.origins
        if asked.document and elsewhere and not asked.sent_on:
            self.left.append(asked.url)
            return True
        if asked.kind in _AHEAD and not asked.document:
            return True
        why = self._why_not(asked)
        if why and asked.kind not in _UNASKED:
            self._stop(asked.method, asked.url, why)
        return bool(why)

    def _why_not(self, asked: Asked) -> str:
        """What speaks against a request; empty where nothing does."""
        if asked.method in _LOOKING and asked.kind in _PARTS and _is_file(asked.url):
            return ""
        verdict = danger_of_request(asked.method, asked.url, allowed=self.allowing)
        if verdict.danger is None:
            return "robots.txt asks not to" if asked.document and not self.may_open(asked.url) else ""
        asks = asked.method == "POST" and only_asks(asked.body)
        vouched = asked.document and asked.method == "GET" and asked.url in self.vouched
        return "" if asks or vouched else verdict.why

    def _stop(self, method: str, url: str, why: str) -> None:
        if len(self.stopped) < _MOST_STOPPED:
            self.stopped.append(Stopped(method, url, why))

    def _may_connect(self, url: str) -> bool:
        return danger_of_request("GET", url, allowed=self.allowing).may

    def _may_say(self) -> bool:
        return self.allowing or any(each.casefold() == SOCKETS.casefold() for each in self.allowed)

    def _said(self, url: str) -> None:
        self._stop("a message to", url, f"what it says is not known; --allow {SOCKETS} lets pages say it")


def _body_of(request: Request) -> str:
    try:
        return (request.post_data or "") if request.method == "POST" else ""
    except ValueError:  # no text
        return ""


def _is_file(url: str) -> bool:
    return _FILE.search(url.partition("#")[0].partition("?")[0]) is not None


def only_asks(body: str) -> bool:
    """Whether it is a GraphQL query: sent by POST, and read-only by that language's own rules."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return False
    asked = said if isinstance(said, list) else [said]
    return bool(asked) and all(isinstance(each, dict) and _is_query(each.get("query")) for each in asked)


def _is_query(text: object) -> bool:
    if not isinstance(text, str) or len(text) > _LONGEST_QUERY:
        return False
    return text.lstrip().startswith(("query", "{", "fragment", "#")) and _CHANGES.search(text) is None
