"""Stands between the browser and the site while it is only to be looked at: the second line of defence.

Whatever a control does in the end, a request that might change something is not sent, unless a control that was
allowed by name is being used; no document is fetched from an origin that was not named, nor one that robots.txt
asks to leave alone. The first line is `dangers.danger_of`, which looks before anything is touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from playwright.async_api import BrowserContext, Request, Route
from playwright.async_api import Error as DriverError

from agent.mapping.dangers import danger_of_request
from agent.mapping.settling import is_document
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
_CHANGES = re.compile(r"\b(?:mutation|subscription)\b")
_LONGEST_QUERY = 200_000


@cache
def _parting() -> str:
    """What keeps a page from sending anything while it is being left, where no route sees it."""
    return (Path(__file__).parent / "parting.js").read_text(encoding="utf-8")


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
    allowing: bool = False
    """A control that was allowed by name is being used."""
    stopped: list[Stopped] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Addresses of other origins that a page wanted to go to."""

    def begin(self, *, allowing: bool, vouched: str | None = None) -> None:
        """Of what comes next; what was stopped before is forgotten. `vouched`: an address that was judged safe."""
        if vouched:
            self.vouched.add(vouched)
        self.allowing = allowing
        self.stopped.clear()
        self.left.clear()

    async def install(self, context: BrowserContext) -> None:
        """Stand before everything that the context asks for, and in every page before its own scripts run."""
        await context.add_init_script(_parting())
        await context.route("**/*", self._judge)

    async def _judge(self, route: Route, request: Request) -> None:
        document = is_document(request)
        refused = self._refused(request, document=document)
        with suppress(DriverError):  # its page has gone
            if not refused:
                await route.continue_()
            elif document:
                await route.fulfill(status=204)  # the page stays where it is
            else:
                await route.abort("blockedbyclient")

    def _refused(self, request: Request, *, document: bool) -> bool:
        if (
            document
            and request.url.startswith(("http:", "https:"))
            and origin_of(request.url) not in self.origins
        ):
            self.left.append(request.url)
            return True
        if request.method in _LOOKING and request.resource_type in _PARTS and _is_file(request.url):
            return False
        verdict = danger_of_request(request.method, request.url, allowed=self.allowing)
        if verdict.danger is None and document and not self.may_open(request.url):
            self.stopped.append(Stopped(request.method, request.url, "robots.txt asks not to"))
            return True
        if verdict.danger is None or (request.method == "POST" and only_asks(request)):
            return False
        if document and request.method == "GET" and request.url in self.vouched:
            return False
        if request.resource_type not in _UNASKED:
            self.stopped.append(Stopped(request.method, request.url, verdict.why))
        return True


def _is_file(url: str) -> bool:
    return _FILE.search(url.partition("#")[0].partition("?")[0]) is not None


def only_asks(request: Request) -> bool:
    """Whether it is a GraphQL query: sent by POST, and read-only by that language's own rules."""
    try:
        said = json.loads(request.post_data or "")
    except (ValueError, DriverError, RecursionError):
        return False
    asked = said if isinstance(said, list) else [said]
    return bool(asked) and all(isinstance(each, dict) and _is_query(each.get("query")) for each in asked)


def _is_query(text: object) -> bool:
    if not isinstance(text, str) or len(text) > _LONGEST_QUERY:
        return False
    return text.lstrip().startswith(("query", "{", "fragment", "#")) and _CHANGES.search(text) is None
