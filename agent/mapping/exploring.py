"""Explores a website: what `periplus map` does in the browser.

One tab, one thing at a time: choose the next step (`frontier`), get to its page, do it (`trying`), judge what was
seen (`book`), write it down (`kb_schema.mapping_folder`). What is known is derived from the folder, so that an
exploration that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, BrowserContext, Page, StorageState
from playwright.async_api import Error as DriverError
from pydantic import ValidationError

from agent.mapping import events
from agent.mapping.book import SHARED, Book, Verdict
from agent.mapping.events import MapEvent
from agent.mapping.filling import fill_form
from agent.mapping.frontier import Step, next_step, not_permitted, unexplored
from agent.mapping.guarding import Guard
from agent.mapping.looking import Look, clean, is_anchor, leads_elsewhere, offers_of
from agent.mapping.pacing import Pace
from agent.mapping.parting import leave
from agent.mapping.permitting import Permission
from agent.mapping.places import address_of, path_of_place
from agent.mapping.returning import LONGEST_WAY, same_page, way_to
from agent.mapping.trying import SPARE_S, Arrival, Tab
from agent.page import library
from agent.page.errors import PageError
from agent.page.snapshot import take_snapshot
from kb_schema.mapping import Exploration, Offer, Passage, SeenPage
from kb_schema.mapping_folder import ExplorationFolder

VIEWPORT_WIDTH, VIEWPORT_HEIGHT = 1280, 720
PICTURE_QUALITY = 60
PICTURE_MS = 5_000
MOST_PROBED = 15
"""Controls of a start page that are asked whether something lies over them."""
MOST_SIGN_INS = 5
"""How often it signs in again before it gives up."""

EndedBy = Literal["done", "states", "depth", "time", "stopped"]
Way = Literal["address", "back", "reload", "escape"]


@dataclass(frozen=True, slots=True)
class KeepSignedIn:
    """How the exploration knows that it is signed in, and how it comes to be so again."""

    signed_in: Callable[[Page], Awaitable[bool | None]] | None = None
    """What a page says of it; None: it does not say. Without it a page that asks for a password speaks against it."""
    sign_in_again: Callable[[], Awaitable[StorageState | None]] | None = None
    """A new storage state; None where it could not be had."""


class OtherExploration(ValueError):
    """The folder holds an exploration of another website, or under other rules."""

    def __init__(self, folder: Path, what: str, there: str, wanted: str) -> None:
        self.folder, self.what = folder, what
        super().__init__(f"{folder} holds an exploration with another {what}: {there}, not {wanted}")


class NotSignedIn(RuntimeError):
    """The site does not know us although a storage state was handed in, and nothing signs in again."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(f"{url} asks to sign in: the session handed in is over, or is not of this site")


async def explore(
    browser: Browser,
    wanted: Exploration,
    folder: Path,
    *,
    tell: Callable[[MapEvent], None] = lambda _: None,
    storage_state: StorageState | None = None,
    keep_signed_in: KeepSignedIn | None = None,
    stop: asyncio.Event | None = None,
) -> Exploration:
    """Explore until nothing is left or a bound is reached; goes on where the folder holds a part of it already.

    `tell` hears what happens. `storage_state` is a session; `stop` ends it in good order. Raises
    `OtherExploration`, `NotSignedIn` where the first start page asks for a password, and `KnowledgeError` for a
    folder that cannot be read.
    """
    book_folder = ExplorationFolder(folder)
    begun = _resumed(book_folder, wanted)
    book_folder.begin(begun)
    explorer = _Explorer(
        browser, begun, book_folder, tell, storage_state, keep_signed_in, stop or asyncio.Event()
    )
    return await explorer.run()


def _resumed(folder: ExplorationFolder, wanted: Exploration) -> Exploration:
    """What is asked, begun when the folder was; bounds may be others than the last time."""
    if not folder.exists:
        return wanted
    there = folder.exploration
    for what in ("website_id", "base_url"):
        if getattr(there, what) != getattr(wanted, what):
            raise OtherExploration(folder.path, what, getattr(there, what), getattr(wanted, what))
    return wanted.model_copy(
        update={"started_at": there.started_at, "ended_at": None, "ended_by": None, "unexplored": ()}
    )


class _SignedOut(Exception):
    """The site no longer knows us: whatever was seen last is not written down."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(url)


class _Explorer:
    """One exploration while it goes on."""

    def __init__(
        self,
        browser: Browser,
        wanted: Exploration,
        folder: ExplorationFolder,
        tell: Callable[[MapEvent], None],
        storage_state: StorageState | None,
        keep: KeepSignedIn | None,
        stop: asyncio.Event,
    ) -> None:
        self.browser, self.wanted, self.folder, self.tell = browser, wanted, folder, tell
        self.limits = wanted.limits
        self.storage, self.keep, self.stop = storage_state, keep or KeepSignedIn(), stop
        self.signed_in = storage_state is not None or keep is not None
        self.book = Book(wanted.limits, folder.pages(), folder.passages())
        self.lost: set[str] = set()
        self.urgent: set[tuple[str, str]] = set()
        """Offers that put away what is in the way of others."""
        self.permission = Permission(wanted.origins, respected=wanted.robots)
        self.guard = Guard(wanted.origins, self.permission.may_open)
        self.pace = Pace(wanted.limits.per_second, stop, lambda s: tell(events.Waiting(s, "to be polite")))
        self.began = time.monotonic()
        self.sign_ins = 0
        self.tab: Tab
        self.at: str | None = None
        """The page the tab is on."""
        self.instead = ""
        """Where one came when a page was not reached."""
        self.look: Look | None = None
        """As the tab was seen last."""

    # -- the whole

    async def run(self) -> Exploration:
        """Until it ends."""
        ended: EndedBy = "stopped"
        while True:
            try:
                async with self._context() as context:
                    self.tab = Tab(context, self.guard, self.limits.page_s)
                    self.at, self.look = None, None
                    await self._learn_robots(context)
                    ended = await self._explore()
                break
            except _SignedOut as out:
                if not await self._sign_in_again(out.url):
                    if not self.book.pages:
                        raise NotSignedIn(out.url) from out
                    break
        return self._end(ended)

    async def _explore(self) -> EndedBy:
        await self._open_starts()
        while True:
            over = self._over()
            if over is not None:
                return over
            step, left = next_step(self.book, self.at, self.lost, self.permission.may_open, self.urgent)
            self.tell(
                events.Progress(len(self.book.pages), self.book.passages, left, time.monotonic() - self.began)
            )
            if step is None:
                return "done"
            try:
                await self._take(step)
            except (PageError, DriverError, TimeoutError, ValidationError) as error:
                await self._give_up(step, error)

    async def _take(self, step: Step) -> None:
        """Go there and do it."""
        if await self._reach(step.page):
            await self._do(step)
        elif not self.stop.is_set():
            self.lost.add(step.page.page_id)
            reason = f"nothing leads back to it: {self.instead}"
            self.tell(events.Skipped(step.page.page_id, step.page.title, reason))

    async def _give_up(self, step: Step, error: Exception) -> None:
        """The page went away, or hung, while it was looked at: that is what came of the step. Raises where the
        browser itself is gone.
        """
        if not self.browser.is_connected():
            raise error
        page = await self.tab.page()
        await self.tab.close()
        self.at, self.look = None, None
        known = (step.page.page_id, step.offer.offer_id) in self.book.tried if step.offer else False
        if not known:
            gone = Arrival("timeout" if isinstance(error, TimeoutError) else "error", page)
            why = str(error) or "it did not answer while it was looked at"
            self._write(
                step.page, step.offer, "offer" if step.offer else "address", gone, {}, None, clean(why)
            )

    def _over(self) -> EndedBy | None:
        if self.stop.is_set():
            return "stopped"
        if time.monotonic() - self.began >= self.limits.seconds:
            return "time"
        return "states" if len(self.book.pages) >= self.limits.states else None

    def _end(self, ended: EndedBy) -> Exploration:
        left = unexplored(self.book, self.lost, self.permission.may_open)
        if ended == "done" and any("passages from a start page" in each.reason for each in left):
            ended = "depth"
        done = self.wanted.model_copy(
            update={
                "ended_at": datetime.now(UTC),
                "ended_by": ended,
                "pages": len(self.book.pages),
                "passages": self.book.passages,
                "unexplored": left,
            }
        )
        self.folder.end(done)
        self.tell(events.Ended(ended, done.pages, done.passages))
        return done

    @asynccontextmanager
    async def _context(self) -> AsyncIterator[BrowserContext]:
        """A context with the session, the in-page library and the guard."""
        context = await self.browser.new_context(
            viewport={"width": VIEWPORT_WIDTH, "height": VIEWPORT_HEIGHT},
            storage_state=self.storage,
            service_workers="block",  # what they fetch, the guard would not see
        )
        try:
            await library.install(context)
            await self.guard.install(context)
            yield context
        finally:
            if self.browser.is_connected():
                for page in context.pages:
                    await leave(page)
                with suppress(DriverError):
                    await context.close()

    async def _learn_robots(self, context: BrowserContext) -> None:
        delay = await self.permission.learn(context)
        if delay:
            self.pace.slower(delay)

    # -- sessions

    async def _check_signed_in(self, arrival: Arrival) -> None:
        """Raises `_SignedOut` where the page speaks for it."""
        look = arrival.look
        if not self.signed_in or look is None:
            return
        if self.keep.signed_in is not None:
            async with asyncio.timeout(self.limits.page_s + SPARE_S):
                said: bool | None = await self.keep.signed_in(arrival.page)
        else:
            said = False if look.asks_to_sign_in else None
        if said is False:
            raise _SignedOut(look.url)

    async def _sign_in_again(self, url: str) -> bool:
        self.sign_ins += 1
        if self.keep.sign_in_again is None or self.sign_ins > MOST_SIGN_INS:
            self.tell(events.SignedOut(url, "failed"))
            return False
        self.tell(events.SignedOut(url, "trying"))
        self.storage = await self.keep.sign_in_again()
        self.tell(events.SignedOut(url, "signed_in" if self.storage else "failed"))
        return self.storage is not None

    # -- going to pages

    async def _open_starts(self) -> None:
        """Open the start pages that are not known yet."""
        for start in self.wanted.starts:
            known = any(
                page.start and address_of(page.url) == address_of(start) for page in self.book.pages.values()
            )
            if known or self._over() is not None:
                continue
            await self.pace.turn()
            arrival = await self.tab.open(start)
            if arrival.look is None or not arrival.came:
                reason = arrival.message or arrival.outcome
                self.tell(events.Skipped("", start, reason))
                continue
            await self._check_signed_in(arrival)
            try:
                page_id, new = await self._note(arrival, depth=0, start=True)
                if new and page_id is not None:
                    await self._look_for_covers(self.book.pages[page_id])
            except (PageError, DriverError, TimeoutError, ValidationError) as error:
                self.tell(events.Skipped("", start, clean(str(error)) or "it did not answer"))
                await self.tab.close()
                self.at, self.look = None, None

    async def _look_for_covers(self, page: SeenPage) -> None:
        """A notice that lies over a start page is put away first: else every page would be seen with and without."""
        inner = [each for each in page.offers if each.region.partition(":")[0] not in SHARED]
        for offer in [each for each in inner if not is_anchor(each, page.url)][:MOST_PROBED]:
            self._put_away(page, await self.tab.covered_by(offer))
            if self.urgent:
                return

    def _put_away(self, page: SeenPage, by: str) -> None:
        """What the gate says puts a cover away is done next, where the page offers it."""
        for offer in page.offers:
            if by and by in (offer.name, f'{offer.role} "{offer.name}"') and offer.action_type == "click":
                self.urgent.add((page.page_id, offer.offer_id))

    async def _reach(self, page: SeenPage) -> bool:
        """Have the tab on a page: it may be there, be opened by its address, or be led to as it was found."""
        if self.at == page.page_id:
            return True
        for way in way_to(self.book, page):
            if self.stop.is_set():
                return False
            if await self._go(page, way):
                return True
        return False

    async def _go(self, page: SeenPage, way: list[Passage]) -> bool:
        """Open the page a way begins at and follow it; nothing of it is written down a second time."""
        first = self.book.pages[way[0].from_page] if way else page
        await self.pace.turn()
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
                self._amend(page, openable=reached)
            if reached:
                self.at = page.page_id
            else:
                self._note_instead(arrival)
            return reached
        if not self._is_at(first):
            return False
        for passage in way[:LONGEST_WAY]:
            offer = self._offer(passage)
            if offer is None or offer.selector is None or self.look is None:
                return False
            await self.pace.turn()
            await self._stand(await self.tab.use(offer, self.look))
        if not self._is_at(page):
            return False
        self.at = page.page_id
        return True

    def _note_openable(self) -> None:
        """The tab was just led somewhere by an address alone: the page that is there can be opened."""
        page = self.book.pages.get(self.at or "")
        if page is not None and not page.openable and self._is_at(page):
            self._amend(page, openable=True)

    def _note_instead(self, arrival: Arrival) -> None:
        look, at = self.look, self.at
        where = (
            f"{look.url} came, {at or 'another state of it'}" if look else arrival.message or arrival.outcome
        )
        self.instead = where

    def _seen_last(self) -> Look | None:
        return self.look

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
            self.lost.discard(self.at or "")

    def _offer(self, passage: Passage) -> Offer | None:
        page = self.book.pages[passage.from_page]
        return next((each for each in page.offers if each.offer_id == passage.offer_id), None)

    # -- doing things

    async def _do(self, step: Step) -> None:
        """One step from its page, on which the tab is."""
        before = self.look
        if before is None:
            self.lost.add(step.page.page_id)
            return
        await self.pace.turn()
        if step.offer is None:
            arrival = await self.tab.open(self.wanted.starts[0], before)
            await self._passed(step.page, None, "address", arrival)
            return
        filled: dict[str, str] = {}
        offer = step.offer
        if offer.form is not None and offer.allowed_by:
            filled = await fill_form(self.tab, step.page, offer, self.wanted.seed)
        if offer.selector is None:
            arrival = Arrival("refused", await self.tab.page(), before, message=offer.why)
        else:
            arrival = await self.tab.use(offer, before)
        try:
            await self._passed(step.page, offer, "offer", arrival, filled)
        except _SignedOut as out:
            self._write(step.page, offer, "offer", arrival, filled, None, "it signed out")
            if not_permitted(offer, self.permission.may_open) is None and not leads_elsewhere(
                offer, before.url
            ):
                self._mark(step.page, offer, "signs_out", f"led to {out.url}")
            raise
        if arrival.outcome == "refused" and self.guard.stopped and not offer.allowed_by:
            self._mark(step.page, offer, "unknown_method", arrival.message)
        self._put_away(step.page, arrival.put_away_by)
        if arrival.outcome in ("refused", "vanished") and leads_elsewhere(offer, before.url):
            await self._open_link(step.page, offer)

    async def _open_link(self, page: SeenPage, offer: Offer) -> None:
        """A link that cannot be clicked (in a menu that is shut) is opened, where its place is new."""
        if offer.href is None or self.book.seen_place(offer.href):
            return
        if not_permitted(offer, self.permission.may_open) is not None:
            return
        await self.pace.turn()
        arrival = await self.tab.open(offer.href, self.look)
        await self._passed(page, None, "address", arrival)

    async def _passed(
        self,
        page: SeenPage,
        offer: Offer | None,
        way: Literal["offer", "address", "back", "reload", "escape"],
        arrival: Arrival,
        filled: dict[str, str] | None = None,
    ) -> None:
        """Judge where it led, write both down, and try the ways out of a page that is new."""
        if arrival.outcome in ("arrived", "popup"):
            await self._check_signed_in(arrival)
        to: str | None = page.page_id if arrival.outcome in ("stayed", "dialog") else None
        new, message = False, arrival.message
        if arrival.outcome in ("arrived", "popup") and arrival.look is not None:
            to, new = await self._note(arrival, depth=page.depth + 1, by_address=way == "address", after=page)
            if not new and to is not None and arrival.look.address != address_of(self.book.pages[to].url):
                message = message or f"another like {to}: {arrival.look.url}"
        if arrival.outcome == "popup":
            await self.tab.drop(arrival.page)
            self.at = page.page_id
        elif arrival.outcome == "arrived":
            self.at, self.look = to, arrival.look
        elif arrival.look is not None:
            self.at, self.look = page.page_id, arrival.look
        elif arrival.outcome in ("refused", "vanished", "download"):
            self.at = page.page_id
        else:
            self.at, self.look = None, None
        self._write(page, offer, way, arrival, filled or {}, to, clean(message))
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
        if self.look is None or self._over() is not None:
            return
        await self.pace.turn()
        await self._stand(await self.tab.reload(self.look))
        if self._is_at(page):
            self.at = page.page_id
            return
        self._note_openable()
        self.book.note_sticky(offer)
        look = self._seen_last()
        if look is not None and self._stands_at(page.url):
            await self._stand(await self.tab.use(offer, look))

    def _untried(self, place: str, way: Way) -> bool:
        return (place, way) not in self.book.ways and self._over() is None

    async def _way(self, page: SeenPage, way: Way) -> None:
        before = self.look
        if before is None:
            return
        await self.pace.turn()
        do = {"escape": self.tab.escape, "reload": self.tab.reload, "back": self.tab.back}[way]
        arrival = await do(before)
        if way == "reload" and arrival.look is not None and same_page(arrival.look, page):
            self._write(page, None, way, arrival, {}, page.page_id, clean(arrival.message))
            self.at, self.look = page.page_id, arrival.look
            self._note_openable()
            return
        await self._passed(page, None, way, arrival)

    # -- writing

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
        judged = self.book.judge(look.url, look.state)
        if judged.verdict is Verdict.LIKE:
            self.book.note_more(look.url)
        if judged.verdict is not Verdict.KEEP or len(self.book.pages) >= self.limits.states:
            if start and judged.page_id is not None:
                self._amend(self.book.pages[judged.page_id], start=True)
            self.at, self.look = judged.page_id, look
            return judged.page_id, False
        opened = start or by_address
        in_place = after is not None and not arrival.moved and address_of(after.url) == look.address
        page = await self._seen(arrival, look, depth, start, True if opened else False if in_place else None)
        self.at, self.look = page.page_id, look
        return page.page_id, True

    async def _seen(
        self, arrival: Arrival, look: Look, depth: int, start: bool, openable: bool | None
    ) -> SeenPage:
        """Write a page that is new, with everything it offers."""
        limits = self.limits
        async with asyncio.timeout(2 * limits.page_s + 3 * SPARE_S):  # thousands of links take long
            offers = await offers_of(
                arrival.page,
                look,
                most=limits.offers_per_page,
                origins=self.wanted.origins,
                allowed=self.wanted.allowed,
            )
            snapshot = await take_snapshot(arrival.page)
            picture = await _picture(arrival.page)
        page = SeenPage(
            page_id=self.book.new_id(),
            url=look.url,
            title=look.title,
            state=look.state,
            depth=depth,
            seen_at=datetime.now(UTC),
            status=arrival.status,
            signed_in=self.signed_in,
            start=start,
            openable=openable,
            picture=picture is not None,
            offers=offers,
        )
        told = snapshot.model_copy(
            update={
                "html": clean(snapshot.html, len(snapshot.html)),
                "title": clean(snapshot.title),
                "url": look.url,
            }
        )
        self.folder.add_page(page, told, picture)
        self.book.note_page(page)
        self.tell(events.PageFound(page.page_id, page.title, page.url, len(offers), depth))
        return page

    def _write(
        self,
        page: SeenPage,
        offer: Offer | None,
        way: Literal["offer", "address", "back", "reload", "escape"],
        arrival: Arrival,
        filled: dict[str, str],
        to: str | None,
        message: str,
    ) -> None:
        passage = Passage(
            from_page=page.page_id,
            offer_id=offer.offer_id if offer else None,
            way=way,
            filled=filled,
            to_page=to,
            outcome=arrival.outcome,
            duration_ms=min(max(0.0, arrival.duration_ms), 86_400_000.0),
            status=arrival.status,
            message=message,
            at=datetime.now(UTC),
        )
        self.folder.add_passage(passage)
        self.book.note_passage(passage)
        what = offer.name if offer else way
        self.tell(events.PassageTried(page.page_id, what, passage.outcome, to, passage.duration_ms, message))

    def _amend(self, page: SeenPage, **told: object) -> None:
        changed = self.book.pages[page.page_id].model_copy(update=told)
        self.folder.add_page(changed)
        self.book.note_page(changed)

    def _mark(self, page: SeenPage, offer: Offer, danger: str, why: str) -> None:
        """What came of trying it says that it is dangerous: no other is to try it."""
        known = self.book.pages[page.page_id]
        marked = offer.model_copy(update={"danger": danger, "why": clean(why)})
        offers = tuple(marked if each.offer_id == offer.offer_id else each for each in known.offers)
        self._amend(page, offers=offers)


async def _picture(page: Page) -> bytes | None:
    try:
        return await page.screenshot(
            type="jpeg", quality=PICTURE_QUALITY, scale="css", animations="disabled", timeout=PICTURE_MS
        )
    except DriverError:
        return None
