"""One pair of hands on the site: a browser context with one tab that goes to pages and tries what they offer.

What to try is chosen by whoever has the hands (`exploring`, `parts`); what is seen goes into the `Ledger`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from playwright.async_api import Browser, BrowserContext, Page, StorageState
from playwright.async_api import Error as DriverError
from pydantic import ValidationError

from agent.mapping import events
from agent.mapping.book import SHARED, Verdict
from agent.mapping.filling import fill_form
from agent.mapping.frontier import Step, not_permitted
from agent.mapping.guarding import Guard
from agent.mapping.ledger import Ledger, PassageWay
from agent.mapping.looking import Look, clean, is_anchor, leads_elsewhere
from agent.mapping.pacing import Pace
from agent.mapping.parting import leave
from agent.mapping.permitting import Permission
from agent.mapping.places import address_of, path_of_place
from agent.mapping.returning import LONGEST_WAY, same_page, way_to
from agent.mapping.trying import SPARE_S, Arrival, Tab
from agent.page import library
from agent.page.errors import PageError
from kb_schema.mapping import Offer, Passage, SeenPage

VIEWPORT_WIDTH, VIEWPORT_HEIGHT = 1280, 720
MOST_PROBED = 15
"""Controls of a start page that are asked whether something lies over them."""

SignedInCheck = Callable[[Page], Awaitable[bool | None]]
"""What a page says of whether one is signed in; None: it does not say."""
WayOut = Literal["back", "reload", "escape"]


class SignedOut(Exception):
    """The site no longer knows us: whatever was seen last is not written down."""

    def __init__(self, url: str, step: Step | None = None) -> None:
        self.url, self.step = url, step
        """`step`: what was done just before, if anything was; it is written down."""
        super().__init__(url)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the hands keep to."""

    permission: Permission
    pace: Pace
    over: Callable[[], bool]
    """Whether nothing more is to be begun."""
    signed_in: SignedInCheck | None = None
    """Without it a page that asks for a password speaks against it."""
    workers: int = 1
    """How many are on the site at the same time: what it asks for is asked of all of them together."""


class Hands:
    """Goes to pages and tries what they offer, one thing at a time."""

    def __init__(self, ledger: Ledger, rules: Rules) -> None:
        self.ledger, self.rules = ledger, rules
        self.book, self.limits = ledger.book, ledger.wanted.limits
        wanted = ledger.wanted
        self.guard = Guard(wanted.origins, rules.permission.may_open, allowed=wanted.allowed)
        self.tab: Tab
        self.at: str | None = None
        """The page the tab is on."""
        self.look: Look | None = None
        """As the tab was seen last."""
        self._browser: Browser
        self._instead = ""
        """Where one came when a page was not reached."""

    @asynccontextmanager
    async def on(self, browser: Browser, storage: StorageState | None) -> AsyncIterator[BrowserContext]:
        """With a context of their own: the session, the in-page library and the guard."""
        context = await browser.new_context(
            viewport={"width": VIEWPORT_WIDTH, "height": VIEWPORT_HEIGHT},
            storage_state=storage,
            service_workers="block",  # what they fetch, the guard would not see
        )
        try:
            await library.install(context)
            await self.guard.install(context)
            self._browser, self.tab = browser, Tab(context, self.guard, self.limits.page_s)
            self.at, self.look = None, None
            delay = await self.rules.permission.learn(context)
            if delay:
                self.rules.pace.slower(delay * self.rules.workers)
            yield context
        finally:
            if browser.is_connected():
                for page in context.pages:
                    await leave(page)
                with suppress(DriverError):
                    await context.close()

    async def take(self, step: Step) -> None:
        """Go to a step's page and do it. A page that goes away, or hangs, is what came of it.

        Raises `SignedOut`, and what the driver raises where the browser itself is gone.
        """
        try:
            if await self._reach(step.page):
                await self._do(step)
            elif not self.rules.over():
                self.ledger.lose(step.page, self._instead)
        except (PageError, DriverError, TimeoutError, ValidationError) as error:
            if not self._browser.is_connected():
                raise
            await self._give_up(step, error)

    async def _give_up(self, step: Step, error: Exception) -> None:
        page = await self.tab.page()
        await self.tab.close()
        self.at, self.look = None, None
        known = (step.page.page_id, step.offer.offer_id) in self.book.tried if step.offer else False
        if not known:
            gone = Arrival("timeout" if isinstance(error, TimeoutError) else "error", page)
            why = str(error) or "it did not answer while it was looked at"
            self.ledger.write(
                step.page, step.offer, "offer" if step.offer else "address", gone, to=None, message=why
            )

    # -- sessions

    async def _check_signed_in(self, arrival: Arrival) -> None:
        """Raises `SignedOut` where the page speaks for it."""
        look = arrival.look
        if not self.ledger.signed_in or look is None:
            return
        if self.rules.signed_in is not None:
            async with asyncio.timeout(self.limits.page_s + SPARE_S):
                said: bool | None = await self.rules.signed_in(arrival.page)
        else:
            said = False if look.asks_to_sign_in else None
        if said is False:
            raise SignedOut(look.url)

    # -- going to pages

    async def open_starts(self, starts: Sequence[str]) -> None:
        """Open the start pages that are not known yet. Raises `SignedOut`."""
        for start in starts:
            known = any(
                page.start and address_of(page.url) == address_of(start) for page in self.book.pages.values()
            )
            if not known and not self.rules.over():
                await self._begin_at(start, start=True)

    async def open_hints(self, hints: Sequence[str]) -> bool:
        """Open addresses that somebody named, where no page of their place is known; whether one was new."""
        before = len(self.book.pages)
        for hint in hints:
            if self.rules.over():
                break
            if not self.book.seen_place(hint) and self.rules.permission.may_open(hint):
                await self._begin_at(hint, start=False)
        return len(self.book.pages) > before

    async def _begin_at(self, address: str, *, start: bool) -> None:
        await self.rules.pace.turn()
        arrival = await self.tab.open(address)
        if arrival.look is None or not arrival.came:
            self.ledger.tell(events.Skipped("", address, arrival.message or arrival.outcome))
            return
        await self._check_signed_in(arrival)
        try:
            page_id, new = await self._note(arrival, depth=0, start=start, by_address=True)
            if new and page_id is not None and start:
                await self._look_for_covers(self.book.pages[page_id])
        except (PageError, DriverError, TimeoutError, ValidationError) as error:
            self.ledger.tell(events.Skipped("", address, clean(str(error)) or "it did not answer"))
            await self.tab.close()
            self.at, self.look = None, None

    async def _look_for_covers(self, page: SeenPage) -> None:
        """A notice that lies over a start page is put away first: else every page would be seen with and without."""
        inner = [each for each in page.offers if each.region.partition(":")[0] not in SHARED]
        for offer in [each for each in inner if not is_anchor(each, page.url)][:MOST_PROBED]:
            self.ledger.put_away(page, await self.tab.covered_by(offer))
            if self.ledger.urgent:
                return

    async def _reach(self, page: SeenPage) -> bool:
        """Have the tab on a page: it may be there, be opened by its address, or be led to as it was found."""
        if self.at == page.page_id:
            return True
        for way in way_to(self.book, page):
            if self.rules.over():
                return False
            if await self._go(page, way):
                self.at = page.page_id
                return True
        return False

    async def _go(self, page: SeenPage, way: list[Passage]) -> bool:
        """Open the page a way begins at and follow it; nothing of it is written down a second time."""
        first = self.book.pages[way[0].from_page] if way else page
        await self.rules.pace.turn()
        arrival = await self.tab.open(first.url)
        if arrival.outcome == "timeout":  # the page before may have held it up; now it is a new tab
            arrival = await self.tab.open(first.url)
        await self._stand(arrival)
        if self.at is None and arrival.outcome == "arrived":  # what stood over it was put away, say
            await self._note(arrival, depth=first.depth, by_address=True)
        self._note_openable()
        if not way:
            reached = self._is_at(page)
            if page.openable is not reached and arrival.outcome != "timeout":
                self.ledger.amend(page.page_id, openable=reached)
            if not reached:
                self._note_instead(arrival)
            return reached
        if not self._is_at(first):
            return False
        for passage in way[:LONGEST_WAY]:
            offer = self._offer(passage)
            if offer is None or offer.selector is None or self.look is None:
                return False
            await self.rules.pace.turn()
            await self._stand(await self.tab.use(offer, self.look))
        return self._is_at(page)

    def _note_openable(self) -> None:
        """The tab was just led somewhere by an address alone: the page that is there can be opened."""
        page = self.book.pages.get(self.at or "")
        if page is not None and not page.openable and self._is_at(page):
            self.ledger.amend(page.page_id, openable=True)

    def _note_instead(self, arrival: Arrival) -> None:
        look, at = self.look, self.at or "another state of it"
        self._instead = f"{look.url} came, {at}" if look else arrival.message or arrival.outcome

    def _stands_at(self, url: str) -> bool:
        return self.look is not None and self.look.address == address_of(url)

    def _is_at(self, page: SeenPage) -> bool:
        return self.look is not None and same_page(self.look, page)

    async def _stand(self, arrival: Arrival) -> None:
        """The tab is where something led."""
        self.at = None
        if arrival.outcome == "popup":
            await self.tab.drop(arrival.page)
            self.look = None
            return
        await self._check_signed_in(arrival)
        self.look = arrival.look
        if arrival.look is not None:
            judged = self.book.judge(arrival.look.url, arrival.look.state)
            self.at = judged.page_id if judged.verdict is Verdict.KNOWN else None
            self.ledger.lost.pop(self.at or "", None)

    def _offer(self, passage: Passage) -> Offer | None:
        page = self.book.pages[passage.from_page]
        return next((each for each in page.offers if each.offer_id == passage.offer_id), None)

    # -- doing things

    async def _do(self, step: Step) -> None:
        """One step from its page, on which the tab is."""
        before = self.look
        if before is None:
            self.ledger.lose(step.page, "nothing was seen there")
            return
        await self.rules.pace.turn()
        if step.offer is None:
            arrival = await self.tab.open(self.ledger.wanted.starts[0], before)
            await self._passed(step.page, None, "address", arrival)
            return
        filled: dict[str, str] = {}
        offer = step.offer
        if offer.allowed_by:
            if offer.form is not None:
                filled = await fill_form(self.tab, step.page, offer, self.ledger.wanted.seed)
            self.ledger.begin(step.page, offer)
        if offer.selector is None:
            arrival = Arrival("refused", await self.tab.page(), before, message=offer.why)
        else:
            arrival = await self.tab.use(offer, before)
        try:
            await self._passed(step.page, offer, "offer", arrival, filled)
        except SignedOut as out:
            self.ledger.write(
                step.page, offer, "offer", arrival, to=None, message="it signed out", filled=filled
            )
            raise SignedOut(out.url, step) from out
        if arrival.outcome == "refused" and self.guard.stopped and not offer.allowed_by:
            self.ledger.mark(step.page.page_id, offer.offer_id, "unknown_method", arrival.message)
        self.ledger.put_away(step.page, arrival.put_away_by)
        held_back = bool(self.guard.stopped)  # what was asked for is not asked for once more
        if (
            arrival.outcome in ("refused", "vanished")
            and not held_back
            and leads_elsewhere(offer, before.url)
        ):
            await self._open_link(step.page, offer)

    async def _open_link(self, page: SeenPage, offer: Offer) -> None:
        """A link that cannot be clicked (in a menu that is shut) is opened, where its place is new."""
        if offer.href is None or self.book.seen_place(offer.href):
            return
        if not_permitted(offer, self.rules.permission.may_open) is not None:
            return
        await self.rules.pace.turn()
        arrival = await self.tab.open(offer.href, self.look)
        await self._passed(page, None, "address", arrival)

    async def _passed(
        self,
        page: SeenPage,
        offer: Offer | None,
        way: PassageWay,
        arrival: Arrival,
        filled: dict[str, str] | None = None,
    ) -> None:
        """Judge where it led, write both down, and try the ways out of a page that is new."""
        if arrival.outcome in ("arrived", "popup"):
            await self._check_signed_in(arrival)
        to: str | None = page.page_id if arrival.outcome in ("stayed", "dialog") else None
        new, message = False, arrival.message
        if arrival.outcome in ("arrived", "popup") and arrival.look is not None:
            cleared = offer is not None and (page.page_id, offer.offer_id) in self.ledger.urgent
            depth = page.depth if cleared else page.depth + 1  # without what lay over it, it is the same page
            to, new = await self._note(arrival, depth=depth, by_address=way == "address", after=page)
            if cleared and to is not None and to != page.page_id:
                self.book.covered.add(page.page_id)
            if not new and to is not None and arrival.look.address != address_of(self.book.pages[to].url):
                message = message or f"another like {to}: {arrival.look.url}"
        if arrival.outcome == "popup":
            await self.tab.drop(arrival.page)
            self.at = page.page_id
        elif arrival.outcome == "arrived":
            self.at, self.look = to, arrival.look
        elif arrival.look is not None:
            self.at, self.look = page.page_id, arrival.look
        elif arrival.outcome in ("refused", "vanished", "download") and not arrival.moved:
            self.at = page.page_id
        else:
            self.at, self.look = None, None
        self.ledger.write(page, offer, way, arrival, to=to, message=message, filled=filled)
        in_place = not arrival.moved and self._stands_at(page.url)
        if offer is not None and arrival.outcome == "arrived" and in_place and not offer.allowed_by:
            await self._take_back(page, offer)
        elif new and to is not None and arrival.outcome == "arrived":
            await self._ways_out(self.book.pages[to], arrival)

    async def _ways_out(self, page: SeenPage, arrival: Arrival) -> None:
        """What reload, Escape and back lead to, once for each place."""
        place = path_of_place(page.url)
        if arrival.look is not None and arrival.look.dialog and self._untried(place, "escape"):
            await self._way(page, "escape")
        if self.at == page.page_id and arrival.moved and self._untried(place, "reload"):
            await self._way(page, "reload")
            if self.at == page.page_id and self._untried(place, "back"):
                await self._way(page, "back")

    async def _take_back(self, page: SeenPage, offer: Offer) -> None:
        """A control changed the page in its place. Where the site remembers that (a menu that is folded on all pages),
        it is used once more, and nowhere else.
        """
        if self.look is None or self.rules.over():
            return
        await self.rules.pace.turn()
        await self._stand(await self.tab.reload(self.look))
        if self._is_at(page):
            self.at = page.page_id
            return
        self._note_openable()
        self.book.note_sticky(offer)
        look: Look | None = self.look  # `_stand` changed it
        if look is not None and self._stands_at(page.url):
            await self._stand(await self.tab.use(offer, look))

    def _untried(self, place: str, way: WayOut) -> bool:
        return (place, way) not in self.book.ways and not self.rules.over()

    async def _way(self, page: SeenPage, way: WayOut) -> None:
        before = self.look
        if before is None:
            return
        await self.rules.pace.turn()
        do = {"escape": self.tab.escape, "reload": self.tab.reload, "back": self.tab.back}[way]
        arrival = await do(before)
        if way == "reload" and arrival.look is not None and same_page(arrival.look, page):
            self.ledger.write(page, None, way, arrival, to=page.page_id, message=arrival.message)
            self.at, self.look = page.page_id, arrival.look
            self._note_openable()
            return
        await self._passed(page, None, way, arrival)

    async def _note(
        self,
        arrival: Arrival,
        *,
        depth: int,
        start: bool = False,
        by_address: bool = False,
        after: SeenPage | None = None,
    ) -> tuple[str | None, bool]:
        """The page one arrived at, and whether it is new; None where no more of its kind are kept."""
        look = arrival.look
        if look is None:
            return None, False
        judged = self.ledger.judge(look)
        if judged.verdict is not Verdict.KEEP or self.ledger.full:
            if start and judged.page_id is not None:
                self.ledger.amend(judged.page_id, start=True)
            self.at, self.look = judged.page_id, look
            return judged.page_id, False
        in_place = after is not None and not arrival.moved and address_of(after.url) == look.address
        openable = True if start or by_address else False if in_place else None
        page = await self.ledger.add(arrival, look, depth=depth, start=start, openable=openable)
        self.at, self.look = page.page_id, look
        return page.page_id, True
