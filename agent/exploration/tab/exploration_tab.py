"""Performs one attempt in the browser tab and returns its result: arrived, stayed, popup, download, dialog, ...

Actions go through the gate (`agent.page.page_actions`). `exploration_steps` chooses the attempts and records them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as DriverError

from agent.exploration.pages.page_layers import find_layer
from agent.exploration.pages.page_observation import (
    PageObservation,
    clean_text,
    leads_to_other_address,
    observe_page,
)
from agent.exploration.requests.page_idle import PageIdleWait
from agent.exploration.requests.request_guard import RequestGuard
from agent.page import in_page_library
from agent.page.actionability_gate import judge_element
from agent.page.errors import GateFailed, GatePoint, NavigationFailed, PageError, PageGone
from agent.page.page_actions import perform_action
from agent.page.page_changes import wait_for_change
from agent.page.page_side_effects import ExpectedSideEffects, PageSideEffects, watch_page
from agent.page.page_watchdog import end_page
from agent.page.snapshot_capture import read_page_revision
from kb_schema.explorations import ENTER, AttemptOutcome, Offer
from kb_schema.url_patterns import origin_of

EMPTYING_S = 3.0
"""Seconds to wait for a page to be emptied; a hanging page is closed as it is."""


async def empty_page(page: Page) -> None:
    """Empty a page before it is closed, since pending requests would bypass the guard when it closes. A page that cannot be
    emptied in time is ended.

    The empty page has loaded at the end: Chromium ignores some requests to close a page that has only been committed.
    """
    if page.is_closed():
        return
    try:
        async with asyncio.timeout(EMPTYING_S):
            await page.goto("about:blank", wait_until="load")
    except (DriverError, TimeoutError):
        await end_page(page, "the page could not be emptied before it was closed and was ended")


GATE_S = 2.0
"""Seconds until a control must be ready for a click."""
HELD_S = 0.5
"""Seconds until a page must be available after a blocked navigation."""
SEARCH_S = 0.6
"""Seconds until a field that searches must have begun: many wait until nothing more is typed."""
SPARE_S = 10.0
"""Additional seconds for observing a page."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of one attempt."""

    outcome: AttemptOutcome
    page: Page
    """The observed page: that of the tab, or of a new tab (`popup`)."""
    look: PageObservation | None = None
    """Observation of the page; None if there is no readable page."""
    duration_ms: float = 0.0
    status: int | None = None
    message: str = ""
    moved: bool = False
    """Whether a document was loaded."""
    held_back: tuple[str, ...] = ()
    """Requests of the page that were not sent: `POST /api/views`."""
    reads: tuple[str, ...] = ()
    """Requests by POST that were sent because they read."""
    put_away_by: str = ""
    """The gate's hint for dismissing the element that covers the control."""

    @property
    def came(self) -> bool:
        """Whether there is an observed page."""
        return self.outcome in ("arrived", "stayed", "popup", "dialog") and self.look is not None


RELOADED_WITHIN_MS = 30_000
PAGES = frozenset({"text/html", "application/xhtml+xml"})
"""Content types of pages; other documents are files that the browser displays."""


@cache
def _storage() -> str:
    return (Path(__file__).parent / "storage.js").read_text(encoding="utf-8")


async def _read_non_page_type(page: Page) -> str:
    """Return the content type of a document that is not a page; "" for pages."""
    try:
        kind = await page.evaluate("document.contentType")
    except DriverError:
        return ""
    return "" if kind in PAGES or not isinstance(kind, str) else clean_text(kind)


async def _reload(page: Page) -> None:
    """Reload the page. Raises `PageGone` and `NavigationFailed`.

    The action `refresh` is not used: it removes its own route after the load, and requests at that moment would
    bypass the guard.
    """
    try:
        await page.reload(wait_until="domcontentloaded", timeout=RELOADED_WITHIN_MS)
    except DriverError as error:
        known = in_page_library.translate_error(page, error)
        if isinstance(known, PageGone):
            raise known from error
        raise NavigationFailed(page.url, error.message.splitlines()[0]) from error


def _is_alike(look: PageObservation, before: PageObservation) -> bool:
    """Whether nothing of the structure has changed: a folded menu has other texts only."""
    return look.digests.like(before.digests) or look.construction == before.construction


class AttemptResultBuilder(Protocol):
    """Builds an attempt result from the known facts."""

    def __call__(
        self, outcome: AttemptOutcome, look: PageObservation | None = None, message: str = ""
    ) -> AttemptResult:
        """Return the result."""


class ExplorationTab:
    """The tab of an exploration; a new one replaces it if it hangs or is closed."""

    def __init__(self, context: BrowserContext, guard: RequestGuard, page_s: float) -> None:
        self._context, self._guard, self._page_s = context, guard, page_s
        self._page: Page | None = None
        self._ornaments: set[str] = set()
        """What looks like a sign of work and stays."""
        self._unclosed: set[Page] = set()
        """Other tabs that the browser did not close; they are not waited for again."""

    async def page(self) -> Page:
        """Return the page; opens one if necessary."""
        if self._page is None or self._page.is_closed():
            self._page = await self._context.new_page()
            await self._guard.stand_before(self._page)
            watch_page(self._page)
        return self._page

    async def open(self, url: str, before: PageObservation | None = None) -> AttemptResult:
        """Open an address and return the result. Its document is loaded even if only the fragment differs."""
        page = await self.page()
        same = "#" in url and page.url.partition("#")[0] == url.partition("#")[0]

        async def go() -> None:
            await perform_action(page, "navigate", url=url)
            if same:
                await _reload(page)

        return await self._attempt(before, lambda: self._gone(go()), vouched=url)

    async def back(self, before: PageObservation) -> AttemptResult:
        """Go back in history."""
        page = await self.page()
        return await self._attempt(before, lambda: self._gone(perform_action(page, "navigate_back")))

    async def reload(self, before: PageObservation) -> AttemptResult:
        """Reload the page; the guard blocks the resubmission of a form."""
        page = await self.page()
        return await self._attempt(before, lambda: self._gone(_reload(page)))

    async def escape(self, before: PageObservation) -> AttemptResult:
        """Press Escape."""
        page = await self.page()
        return await self._attempt(before, lambda: perform_action(page, "press", value="Escape"))

    async def use(self, offer: Offer, before: PageObservation) -> AttemptResult:
        """Click a control. Raises `ValueError` if it has no selector."""
        selector = offer.selector
        if selector is None:
            raise ValueError(f"control {offer.offer_id} has no selector")
        page = await self.page()
        return await self._attempt(
            before,
            lambda: perform_action(page, "click", selector=selector, timeout_s=GATE_S),
            allowing=bool(offer.allowed_by),
            vouched=offer.href,
            using=True,
            following=leads_to_other_address(offer, before.url),
        )

    async def search(self, offer: Offer, text: str, before: PageObservation) -> AttemptResult:
        """Type into a field that searches, and wait for what it finds; a line break at the end is the Enter key.

        Raises `ValueError` if it has no selector.
        """
        selector = offer.selector
        if selector is None:
            raise ValueError(f"field {offer.offer_id} has no selector")
        page = await self.page()

        async def fill() -> None:
            await perform_action(
                page,
                "fill",
                selector=selector,
                value=text.removesuffix(ENTER),
                timeout_s=GATE_S,
                allowed_origins=frozenset(self._guard.origins),
            )
            if text.endswith(ENTER):
                await perform_action(page, "press", selector=selector, value="Enter", timeout_s=GATE_S)
            await wait_for_change(page, SEARCH_S, since=await read_page_revision(page))

        return await self._attempt(before, fill, using=True)

    async def covered_by(self, offer: Offer) -> str:
        """Return the gate's hint for dismissing what covers a control; "" if nothing covers it."""
        if offer.selector is None:
            return ""
        try:
            await judge_element(await self.page(), offer.selector, timeout_s=GATE_S / 3)
        except GateFailed as refused:
            return clean_text(refused.cover.dismissible_by) if refused.cover else ""
        return ""

    async def put(self, offer: Offer, value: str, *, secret: bool = False) -> bool:
        """Fill in a field, select an option or check a box; return False if the page did not allow it.

        Nothing is put into a page outside of the explored origins. `secret`: the value is a password.
        """
        page = await self.page()
        if offer.selector is None:
            return False
        try:
            async with asyncio.timeout(self._page_s):
                given = None if offer.action_type == "check" else value
                await perform_action(
                    page,
                    offer.action_type,
                    selector=offer.selector,
                    value=given,
                    timeout_s=GATE_S,
                    allowed_origins=frozenset(self._guard.origins),
                    secret=secret and offer.action_type == "fill",
                )
        except PageGone:
            raise
        except (PageError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        """Leave the page; the next attempt opens a new one."""
        page, self._page = self._page, None
        if page is not None:
            await empty_page(page)
            with suppress(DriverError, TimeoutError):
                async with asyncio.timeout(SPARE_S):
                    await page.close()

    async def drop(self, page: Page) -> None:
        """Close another tab."""
        if page is self._page or page in self._unclosed:
            return
        await empty_page(page)
        try:
            async with asyncio.timeout(SPARE_S):
                await page.close()
        except DriverError:  # it has closed
            pass
        except TimeoutError:
            self._unclosed.add(page)

    async def _attempt(
        self,
        before: PageObservation | None,
        do: Callable[[], Awaitable[object]],
        *,
        allowing: bool = False,
        vouched: str | None = None,
        using: bool = False,
        following: bool = False,
    ) -> AttemptResult:
        """Perform the action, wait until the page has settled, and observe it. A hanging page is closed."""
        page = await self.page()
        # opened late, or by an earlier action
        await asyncio.gather(*(self.drop(other) for other in self._context.pages))
        happenings = watch_page(page)
        happenings.expect(ExpectedSideEffects(new_tab="follow"))
        await self._guard.begin(allowing=allowing, vouched=vouched, using=using, following=following)
        began = time.monotonic()
        try:
            with PageIdleWait(page, self._ornaments) as settling:
                async with asyncio.timeout(2 * self._page_s + SPARE_S):
                    failed = await self._done(do)
                    if failed is not None and not self._happened(happenings):
                        arrival = failed(page)
                        if arrival.outcome == "timeout":  # no operation in this tab may ever complete
                            await self.close()
                        return arrival
                    duration = await settling.done(self._page_s)
                    await happenings.settled()
                    download = next((each for each in happenings.refused if each.kind == "download"), None)
                    if download is not None:
                        arrival = AttemptResult(
                            "download", page, None, duration, message=clean_text(download.what)
                        )
                    elif happenings.tabs and (using or allowing):  # else nobody opened them
                        arrival = await self._popup(happenings.tabs[-1], duration)
                    elif failed is not None and not settling.arrived and before is None and self._held_back():
                        arrival = AttemptResult(
                            "refused", page, await observe_page(page), duration, message=self._held_back()
                        )
                    else:
                        arrival = await self._what_came(page, before, settling, happenings, duration)
        except TimeoutError:
            await self.close()
            waited = (time.monotonic() - began) * 1000
            return AttemptResult("timeout", page, duration_ms=waited, message="the page did not respond")
        except PageGone as gone:
            await self.close()
            return AttemptResult("error", page, message=clean_text(str(gone)))
        finally:
            self._guard.allowing = False
        return arrival

    async def _gone(self, going: Coroutine[object, object, object]) -> None:
        """Wait until the navigation ends; only briefly if the guard blocked it, since the browser then sends no event."""
        tasks = asyncio.ensure_future(going), asyncio.ensure_future(self._guard.held.wait())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(tasks[:1], timeout=HELD_S)
            if tasks[0].done():
                await tasks[0]
        finally:
            for task in tasks:
                task.cancel()

    async def _done(self, do: Callable[[], Awaitable[object]]) -> Callable[[Page], AttemptResult] | None:
        """Perform the action; return None on success, else a function that builds the failed result."""
        outcome: AttemptOutcome = "error"
        by = ""
        try:
            async with asyncio.timeout(self._page_s):
                await do()
        except TimeoutError:
            outcome, message = "timeout", f"no response within {self._page_s:.0f} s"
        except GateFailed as refused:
            outcome, message = (
                ("vanished" if refused.point is GatePoint.NOT_FOUND else "refused"),
                str(refused),
            )
            by = (refused.cover.dismissible_by or "") if refused.cover else ""
        except PageGone:
            raise
        except PageError as error:
            message = str(error)
        else:
            return None
        return lambda page: AttemptResult(
            outcome, page, message=clean_text(message), put_away_by=clean_text(by)
        )

    def _happened(self, happenings: PageSideEffects) -> bool:
        return bool(happenings.refused or happenings.tabs or self._guard.left or self._guard.stopped)

    def _written(self) -> str:
        """Return a text on a request by which the used control would have changed something; "" if there is none."""
        last = next(reversed(self._guard.list_writes()), None)
        return clean_text(f"{last.method} {last.url} was not sent: {last.why}") if last else ""

    async def read_storage(self) -> str:
        """Return what the page keeps in the browser, for `restore_storage`; "" if it keeps nothing."""
        try:
            kept: str = await (await self.page()).evaluate(_storage(), None)
        except DriverError:  # an empty page, or one whose storage is blocked
            return ""
        return kept

    async def restore_storage(self, kept: str) -> None:
        """Undo what a control has changed in the browser although its request was not sent."""
        if kept:
            with suppress(DriverError):
                await (await self.page()).evaluate(_storage(), kept)

    def _held_back(self) -> str:
        """Return a text on the last blocked request; "" if there is none."""
        last = self._guard.stopped[-1] if self._guard.stopped else None
        return clean_text(f"{last.method} {last.url} was not sent: {last.why}") if last else ""

    async def _what_came(
        self,
        page: Page,
        before: PageObservation | None,
        settling: PageIdleWait,
        happenings: PageSideEffects,
        duration: float,
    ) -> AttemptResult:
        status, moved = settling.status, settling.navigated

        def arrival(
            outcome: AttemptOutcome, look: PageObservation | None = None, message: str = "", of: Page = page
        ) -> AttemptResult:
            held, reads = self._guard.list_held_back(), tuple(dict.fromkeys(self._guard.reads.sent))
            return AttemptResult(outcome, of, look, duration, status, clean_text(message), moved, held, reads)

        if page.url.startswith("chrome-error:") or (status or 0) >= HTTPStatus.BAD_REQUEST:
            return arrival(
                "error", message=f"HTTP {status}" if status else "the browser could not load the page"
            )
        if origin_of(page.url) and origin_of(page.url) not in self._guard.origins:
            where = page.url
            await self.close()
            return arrival("external", message=where)
        if not origin_of(page.url):
            await self.close()
            return arrival("error", message="an empty page: the start of the browser history")
        if kind := await _read_non_page_type(page):
            where = page.url
            await self.close()
            return arrival("download", message=f"{kind}: {where}")
        return self._compared(await observe_page(page), before, happenings, arrival, moved=settling.arrived)

    def _compared(
        self,
        look: PageObservation,
        before: PageObservation | None,
        happenings: PageSideEffects,
        arrival: AttemptResultBuilder,
        *,
        moved: bool,
    ) -> AttemptResult:
        """Return the result of comparing the page with the one before."""
        changed = before is None or look.address != before.address or not _is_alike(look, before)
        said = "; ".join(dict.fromkeys(each.message for each in happenings.answered_dialogs))
        if changed:
            written = self._written() if before is not None else ""
            if (
                written
                and look.address == (before or look).address
                and find_layer(look, before).kind != "dialog"
            ):
                return arrival("refused", look, written)
            return arrival("arrived", look, said)
        if happenings.answered_dialogs:
            return arrival("dialog", look, said)
        if self._guard.left:
            return arrival("external", look, self._guard.left[-1])
        held = (
            self._held_back() if self._guard.using or not moved else ""
        )  # a newly loaded page showed the dialog on its own
        return arrival("refused" if held else "stayed", look, held)

    async def _popup(self, opened: Page, duration: float) -> AttemptResult:
        """Return the result for a new tab, observed there."""
        with PageIdleWait(opened, self._ornaments) as settling:
            duration += await settling.done(self._page_s)
            if self._guard.left and origin_of(opened.url) not in self._guard.origins:
                await self.drop(opened)
                return AttemptResult(
                    "external", opened, None, duration, None, clean_text(self._guard.left[-1])
                )
            if (
                origin_of(opened.url) not in self._guard.origins
                or (settling.status or 0) >= HTTPStatus.BAD_REQUEST
            ):
                await self.drop(opened)
                where = clean_text(f"new tab: {opened.url}")
                return AttemptResult("error", opened, None, duration, settling.status, where)
            if kind := await _read_non_page_type(opened):
                where = clean_text(f"{kind}: {opened.url}")
                await self.drop(opened)
                return AttemptResult("download", opened, None, duration, settling.status, where)
            look = await observe_page(opened)
        if self._held_back() and not look.title and not look.index.interactive:  # no page was loaded
            await self.drop(opened)
            return AttemptResult("refused", await self.page(), None, duration, message=self._held_back())
        return AttemptResult("popup", opened, look, duration, settling.status, moved=True)
