"""Holds back what a press would send that deletes, pays or sends by its method, address or body, whatever the control is called.

The words of a control, and what is around it, are judged before it is pressed (`act_permissions`). A script can send anything then,
at once or seconds later. So requests are looked at, too, before they leave, from the first act of a run until its end; one that needs
a yes is not sent. `sent_deeds` judges them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field

from playwright.async_api import Error as DriverError
from playwright.async_api import Page, Request, Route

from agent.dangers.named_operations import Harm
from agent.dangers.sent_deeds import SentRequest, find_harm_in_sent
from agent.page.page_requests import is_page_document
from agent.page.page_writes import watch_writes
from agent.page.redirect_guard import ONCE_MORE, OutgoingRequest, RedirectGuard, read_body
from agent.page.unrouted_requests import remove_unrouted
from agent.sentence_runs.act_permissions import MAY, ActJudgement, ActPermissions

LATE_S = 15.0
"""Seconds after an act in which a request may be its own: pages save a while after the last key, and offer to undo before they send."""
_EVERYTHING = "**/*"
_CHANGING_KINDS = ("Document", "XHR", "Fetch", "Ping", "Other")
"""Resource types of requests that may change something; images and scripts are asked for by GET."""


@dataclass(slots=True)
class _Act:
    name: str
    """The control."""
    at: float
    served: bool = False
    """What it was allowed to send was sent."""


@dataclass(slots=True)
class RequestHold:
    """What the acts of one run would have sent."""

    permissions: ActPermissions
    _judged: ActJudgement = MAY
    _acts: deque[_Act] = field(default_factory=lambda: deque(maxlen=10))
    _own: set[tuple[str, str, Harm]] = field(default_factory=set)
    """What the page sends on its own, without an act: method, address without its query, harm."""
    _led: bool = False

    @property
    def looks_at_documents(self) -> bool:
        """Whether documents that are opened are looked at: an act may have led there, and knowledge does not."""
        return bool(self._acts) and not self._led

    @contextmanager
    def led_by_knowledge(self) -> Iterator[None]:
        """While the block runs, pages are opened by what is known of the website: a page may be called like a deed."""
        self._led = True
        try:
            yield
        finally:
            self._led = False

    def begin(self, name: str) -> None:
        """Note that an act on a control begins: what is sent from now on may be its doing."""
        self._acts.append(_Act(name, time.monotonic()))

    def take(self) -> ActJudgement:
        """Return the judgement of the first request that was held back since the last call; `MAY` if none was."""
        judged, self._judged = self._judged, MAY
        return judged

    def holds(self, sent: SentRequest, *, document: bool) -> bool:
        """Return whether a request is held back, and note it. `document`: of a page, which is looked at for GET, too."""
        looked_at = sent.changes or (document and self.looks_at_documents) or "mutation" in sent.url
        harm = find_harm_in_sent(sent) if looked_at else None
        if harm is None:
            return False
        key = (sent.method, sent.url.partition("?")[0], harm)
        if not self._acts:
            self._own.add(key)
        if key in self._own:
            return False
        judged = self._judge(harm)
        self._judged = judged if self._judged.may else self._judged
        return not judged.may

    def _judge(self, harm: Harm) -> ActJudgement:
        """Return whether one of the acts that may have sent it was allowed to. An act that was is not taken for another one's twice."""
        last, now = self._acts[-1], time.monotonic()
        acts = [each for each in reversed(self._acts) if each is last or now - each.at < LATE_S]
        for each in acts:
            if (each is last or not each.served) and self.permissions.judge_request(harm, (each.name,)).may:
                each.served = True
                return MAY
        return self.permissions.judge_request(harm, tuple(dict.fromkeys(each.name for each in acts)))


@asynccontextmanager
async def hold_requests(
    page: Page, permissions: ActPermissions, *, lent: bool = False
) -> AsyncIterator[RequestHold]:
    """While the block runs, hold back each request that needs a yes, of all pages of a page's context. `lent`: other pages are a
    person's: only that page and what it opens are looked at.
    """
    hold, context = RequestHold(permissions), page.context
    ours = _OurPages({page}, set(context.pages) - {page}) if lent else None
    redirects = RedirectGuard(
        lambda asked: hold.holds(_read_hop(asked), document=asked.document), _CHANGING_KINDS
    )

    async def look(route: Route, request: Request) -> None:
        with suppress(DriverError):  # its page has closed
            if ours is not None and not await ours.sent(request):
                await route.fallback()
                return
            document = is_page_document(request)
            if hold.holds(_read(request), document=document):
                with suppress(DriverError):  # a worker's has no page
                    # What the page is answered in its place is no answer of the application.
                    watch_writes(request.frame.page).on_end(request)
                if document:
                    await route.fulfill(status=204)  # the page does not navigate
                else:
                    await route.abort("blockedbyclient")
            elif (
                document
                and hold.looks_at_documents
                and request.method == "GET"
                and not await redirects.follows(request, document=True)
            ):
                await route.fulfill(content_type="text/html", body=ONCE_MORE)
            else:
                await route.fallback()

    await redirects.watch(page, trust=True)
    await remove_unrouted(page if lent else context)
    await context.route(_EVERYTHING, look)
    try:
        yield hold
    finally:
        with suppress(DriverError):
            await context.unroute(_EVERYTHING, look)
            await redirects.close()


@dataclass(frozen=True, slots=True)
class _OurPages:
    """Tells the pages of a lent context that are ours: the first one, and what ours opened."""

    ours: set[Page]
    others: set[Page]

    async def sent(self, request: Request) -> bool:
        """Whether one of ours sends it. What a worker sends, which all share, is taken for ours."""
        try:
            page = request.frame.page
        except DriverError:  # a worker, or a page that is still being opened
            return True
        if page not in self.ours and page not in self.others:
            (self.ours if await page.opener() in self.ours else self.others).add(page)
        return page in self.ours


def _read(request: Request) -> SentRequest:
    return SentRequest(request.method, request.url, read_body(request), request.headers)


def _read_hop(asked: OutgoingRequest) -> SentRequest:
    named = {name.lower(): value for name, value in asked.headers.items()}
    return SentRequest(asked.method, asked.url, asked.body, named)
