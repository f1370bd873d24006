"""Does one thing in the browser and says what came of it: arrived, stayed, a tab, a download, a dialog, ...

Acts through the gate (`agent.page.acting`). Who decides what to do, and writes it down, is `exploring`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as DriverError

from agent.mapping.guarding import Guard
from agent.mapping.looking import Look, clean, look_at
from agent.mapping.parting import leave
from agent.mapping.settling import Settling
from agent.page import library
from agent.page.acting import perform
from agent.page.errors import GateFailed, NavigationFailed, PageError, PageGone, Point
from agent.page.gate import judge
from agent.page.happenings import Expected, Happenings, watch
from kb_schema.mapping import Offer, Outcome
from kb_schema.urls import origin_of

GATE_S = 2.0
"""How long a control may take to be ready to be clicked."""
HELD_S = 0.5
"""How long a page may take to be there once it wanted to go elsewhere."""
SPARE_S = 10.0
"""What looking at a page may take beside waiting for it."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What came of one thing that was done."""

    outcome: Outcome
    page: Page
    """Where the look was taken: the tab itself, or a new one (`popup`)."""
    look: Look | None = None
    """Where one is now; None where there is nothing to look at."""
    duration_ms: float = 0.0
    status: int | None = None
    message: str = ""
    moved: bool = False
    """A document was loaded."""
    put_away_by: str = ""
    """What puts away what covers the control, in the gate's words."""

    @property
    def came(self) -> bool:
        """Whether there is a page to tell of."""
        return self.outcome in ("arrived", "stayed", "popup", "dialog") and self.look is not None


RELOADED_WITHIN_MS = 30_000
PAGES = frozenset({"text/html", "application/xhtml+xml"})
"""Kinds of documents that are pages; others are files that the browser happens to show."""


async def _no_page(page: Page) -> str:
    """What kind of document is shown that is no page; empty where it is one, or does not say."""
    try:
        kind = await page.evaluate("document.contentType")
    except DriverError:
        return ""
    return "" if kind in PAGES or not isinstance(kind, str) else clean(kind)


async def _reload(page: Page) -> None:
    """Not by the action `refresh`: it takes a route of its own away again when the document is there, and what is
    asked for just then goes past the guard. Raises `PageGone`, `NavigationFailed`.
    """
    try:
        await page.reload(wait_until="domcontentloaded", timeout=RELOADED_WITHIN_MS)
    except DriverError as error:
        known = library.mapped(page, error)
        if isinstance(known, PageGone):
            raise known from error
        raise NavigationFailed(page.url, error.message.splitlines()[0]) from error


class Arrived(Protocol):
    """Makes an arrival of what is known of it already."""

    def __call__(self, outcome: Outcome, look: Look | None = None, message: str = "") -> Arrival:
        """The arrival."""


class Tab:
    """The tab an exploration works in; a new one takes its place where it hangs or is closed."""

    def __init__(self, context: BrowserContext, guard: Guard, page_s: float) -> None:
        self._context, self._guard, self._page_s = context, guard, page_s
        self._page: Page | None = None

    async def page(self) -> Page:
        """The page, opened where there is none."""
        if self._page is None or self._page.is_closed():
            self._page = await self._context.new_page()
            await self._guard.stand_before(self._page)
            watch(self._page)
        return self._page

    async def open(self, url: str, before: Look | None = None) -> Arrival:
        """Open an address."""
        page = await self.page()
        return await self._attempt(
            before, lambda: self._gone(perform(page, "navigate", url=url)), vouched=url
        )

    async def back(self, before: Look) -> Arrival:
        """Go back in history."""
        page = await self.page()
        return await self._attempt(before, lambda: self._gone(perform(page, "navigate_back")))

    async def reload(self, before: Look) -> Arrival:
        """Load the page again; the guard does not let a form be sent again."""
        page = await self.page()
        return await self._attempt(before, lambda: self._gone(_reload(page)))

    async def escape(self, before: Look) -> Arrival:
        """Press Escape."""
        page = await self.page()
        return await self._attempt(before, lambda: perform(page, "press", value="Escape"))

    async def use(self, offer: Offer, before: Look) -> Arrival:
        """Click a control. Raises `ValueError` for one without a selector."""
        selector = offer.selector
        if selector is None:
            raise ValueError(f"{offer.offer_id} has no selector")
        page = await self.page()
        return await self._attempt(
            before,
            lambda: perform(page, "click", selector=selector, timeout_s=GATE_S),
            allowing=bool(offer.allowed_by),
            vouched=offer.href,
            using=True,
        )

    async def covered_by(self, offer: Offer) -> str:
        """What puts away what covers a control, in the gate's words; empty where nothing covers it."""
        if offer.selector is None:
            return ""
        try:
            await judge(await self.page(), offer.selector, timeout_s=GATE_S / 3)
        except GateFailed as refused:
            return clean(refused.cover.dismissible_by) if refused.cover else ""
        return ""

    async def put(self, offer: Offer, value: str) -> bool:
        """Fill a field, choose or tick; False where the page did not let it be done."""
        page = await self.page()
        if offer.selector is None:
            return False
        try:
            async with asyncio.timeout(self._page_s):
                given = None if offer.action_type == "check" else value
                await perform(page, offer.action_type, selector=offer.selector, value=given, timeout_s=GATE_S)
        except PageGone:
            raise
        except (PageError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        """Leave the page; the next thing is done in a new one."""
        page, self._page = self._page, None
        if page is not None:
            await leave(page)
            with suppress(DriverError, TimeoutError):
                async with asyncio.timeout(SPARE_S):
                    await page.close()

    async def drop(self, page: Page) -> None:
        """Close another tab than its own."""
        if page is not self._page:
            await leave(page)
            with suppress(DriverError, TimeoutError):
                async with asyncio.timeout(SPARE_S):
                    await page.close()

    async def _attempt(
        self,
        before: Look | None,
        do: Callable[[], Awaitable[object]],
        *,
        allowing: bool = False,
        vouched: str | None = None,
        using: bool = False,
    ) -> Arrival:
        """Do it, wait until the page has settled, look. A page that hangs is closed."""
        page = await self.page()
        # opened late, or by something else than what was done last
        await asyncio.gather(*(self.drop(other) for other in self._context.pages))
        happenings = watch(page)
        happenings.expect(Expected(new_tab="follow"))
        self._guard.begin(allowing=allowing, vouched=vouched, using=using)
        began = time.monotonic()
        try:
            with Settling(page) as settling:
                async with asyncio.timeout(2 * self._page_s + SPARE_S):
                    failed = await self._done(do)
                    if failed is not None and not self._happened(happenings):
                        arrival = failed(page)
                        if (
                            arrival.outcome == "timeout"
                        ):  # nothing that is done in this tab may come to an end
                            await self.close()
                        return arrival
                    duration = await settling.done(self._page_s)
                    await happenings.settled()
                    download = next((each for each in happenings.refused if each.kind == "download"), None)
                    if download is not None:
                        arrival = Arrival("download", page, None, duration, message=clean(download.what))
                    elif happenings.tabs:
                        arrival = await self._popup(happenings.tabs[-1], duration)
                    elif failed is not None and not settling.arrived and before is None and self._held_back():
                        arrival = Arrival(
                            "refused", page, await look_at(page), duration, message=self._held_back()
                        )
                    else:
                        arrival = await self._what_came(page, before, settling, happenings, duration)
        except TimeoutError:
            await self.close()
            waited = (time.monotonic() - began) * 1000
            return Arrival("timeout", page, duration_ms=waited, message="the page did not answer")
        except PageGone as gone:
            await self.close()
            return Arrival("error", page, message=clean(str(gone)))
        finally:
            self._guard.allowing = False
        return arrival

    async def _gone(self, going: Coroutine[object, object, object]) -> None:
        """Wait until the page is there; not for long where the guard did not let it go on to another, of which the
        browser tells no end.
        """
        tasks = asyncio.ensure_future(going), asyncio.ensure_future(self._guard.held.wait())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(tasks[:1], timeout=HELD_S)
            if tasks[0].done():
                await tasks[0]
        finally:
            for task in tasks:
                task.cancel()

    async def _done(self, do: Callable[[], Awaitable[object]]) -> Callable[[Page], Arrival] | None:
        """None where it was done; else what is to be told where nothing happened besides."""
        outcome: Outcome = "error"
        by = ""
        try:
            async with asyncio.timeout(self._page_s):
                await do()
        except TimeoutError:
            outcome, message = "timeout", f"nothing came within {self._page_s:.0f} s"
        except GateFailed as refused:
            outcome, message = ("vanished" if refused.point is Point.NOT_FOUND else "refused"), str(refused)
            by = (refused.cover.dismissible_by or "") if refused.cover else ""
        except PageGone:
            raise
        except PageError as error:
            message = str(error)
        else:
            return None
        return lambda page: Arrival(outcome, page, message=clean(message), put_away_by=clean(by))

    def _happened(self, happenings: Happenings) -> bool:
        return bool(happenings.refused or happenings.tabs or self._guard.left or self._guard.stopped)

    def _held_back(self) -> str:
        """What the guard did not let be sent last; empty where there is nothing of the kind."""
        last = self._guard.stopped[-1] if self._guard.stopped else None
        return clean(f"{last.method} {last.url} was not sent: {last.why}") if last else ""

    async def _what_came(
        self, page: Page, before: Look | None, settling: Settling, happenings: Happenings, duration: float
    ) -> Arrival:
        status, moved = settling.status, settling.navigated

        def arrival(
            outcome: Outcome, look: Look | None = None, message: str = "", of: Page = page
        ) -> Arrival:
            return Arrival(outcome, of, look, duration, status, clean(message), moved)

        if page.url.startswith("chrome-error:") or (status or 0) >= HTTPStatus.BAD_REQUEST:
            return arrival("error", message=f"HTTP {status}" if status else "the browser could not load it")
        if origin_of(page.url) and origin_of(page.url) not in self._guard.origins:
            where = page.url
            await self.close()
            return arrival("external", message=where)
        if not origin_of(page.url):
            await self.close()
            return arrival("error", message="an empty page came: where the browser was before the first one")
        if kind := await _no_page(page):
            where = page.url
            await self.close()
            return arrival("download", message=f"{kind}: {where}")
        return self._compared(await look_at(page), before, happenings, arrival, moved=settling.arrived)

    def _compared(
        self, look: Look, before: Look | None, happenings: Happenings, arrival: Arrived, *, moved: bool
    ) -> Arrival:
        """What came of it, by what the page is now."""
        changed = before is None or look.address != before.address or not look.digests.like(before.digests)
        said = "; ".join(dict.fromkeys(each.message for each in happenings.said))
        if changed:
            return arrival("arrived", look, said)
        if happenings.said:
            return arrival("dialog", look, said)
        if self._guard.left:
            return arrival("external", look, self._guard.left[-1])
        held = (
            self._held_back() if self._guard.using or not moved else ""
        )  # a page that came said it by itself
        return arrival("refused" if held else "stayed", look, held)

    async def _popup(self, opened: Page, duration: float) -> Arrival:
        """Another tab: where it leads, looked at there."""
        with Settling(opened) as settling:
            duration += await settling.done(self._page_s)
            if self._guard.left and origin_of(opened.url) not in self._guard.origins:
                await self.drop(opened)
                return Arrival("external", opened, None, duration, None, clean(self._guard.left[-1]))
            if (
                origin_of(opened.url) not in self._guard.origins
                or (settling.status or 0) >= HTTPStatus.BAD_REQUEST
            ):
                await self.drop(opened)
                where = clean(f"another tab: {opened.url}")
                return Arrival("error", opened, None, duration, settling.status, where)
            if kind := await _no_page(opened):
                where = clean(f"{kind}: {opened.url}")
                await self.drop(opened)
                return Arrival("download", opened, None, duration, settling.status, where)
            look = await look_at(opened)
        if self._held_back() and not look.title and not look.index.interactive:  # nothing came
            await self.drop(opened)
            return Arrival("refused", await self.page(), None, duration, message=self._held_back())
        return Arrival("popup", opened, look, duration, settling.status, moved=True)
