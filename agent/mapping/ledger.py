"""What an exploration knows together with where it is written down: pages, passages, what came of both.

Whether a page is new is `book`'s judgement; what to do next is not decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, Protocol

from playwright.async_api import Error as DriverError
from playwright.async_api import Page

from agent.mapping import events
from agent.mapping.book import Book, Judgement, Verdict
from agent.mapping.events import MapEvent
from agent.mapping.looking import Look, clean, offers_of
from agent.mapping.trying import SPARE_S, Arrival
from agent.page.snapshot import take_snapshot
from kb_schema.mapping import Danger, Exploration, Offer, Passage, SeenPage
from kb_schema.snapshots import PageSnapshot

PICTURE_QUALITY = 60
PICTURE_MS = 5_000

PassageWay = Literal["offer", "address", "back", "reload", "escape"]


class Writer(Protocol):
    """Where it is written: the exploration's folder (`kb_schema.mapping_folder`), or a part that is sent to whoever
    has the folder (`parts`).
    """

    def add_page(
        self, page: SeenPage, snapshot: PageSnapshot | None = None, picture: bytes | None = None
    ) -> None:
        """A page that is new; without a snapshot, what is newly known of one."""

    def add_passage(self, passage: Passage) -> None:
        """Something that was tried."""

    def add_begun(self, page_id: str, offer_id: str) -> None:
        """What may change something is done now."""


class Ledger:
    """Pages and passages of an exploration while it goes on."""

    def __init__(
        self,
        wanted: Exploration,
        writer: Writer,
        book: Book,
        tell: Callable[[MapEvent], None],
        *,
        signed_in: bool,
    ) -> None:
        self.wanted, self.writer, self.book, self.tell = wanted, writer, book, tell
        self.signed_in = signed_in
        self.lost: dict[str, str] = {}
        """Pages nothing leads back to, with what came instead."""
        self.urgent: set[tuple[str, str]] = set()
        """Offers that put away what is in the way of others."""
        self.alike: list[str] = []
        """Where pages were seen that are like those that are kept."""

    @property
    def full(self) -> bool:
        """Whether there are as many pages as are wanted."""
        return len(self.book.pages) >= self.wanted.limits.states

    def judge(self, look: Look) -> Judgement:
        """Whether a page is known; what is like those that are kept is counted."""
        judged = self.book.judge(look.url, look.state)
        if judged.verdict is Verdict.LIKE:
            self.note_alike(look.url)
        return judged

    def note_alike(self, url: str) -> None:
        """A page was seen, here or elsewhere, that is like those that are kept."""
        self.alike.append(url)
        self.book.note_more(url)

    async def add(
        self, arrival: Arrival, look: Look, *, depth: int, start: bool, openable: bool | None
    ) -> SeenPage:
        """Write a page that is new, with everything it offers."""
        limits = self.wanted.limits
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
        self.take(page, told, picture)
        return page

    def take(self, page: SeenPage, snapshot: PageSnapshot, picture: bytes | None) -> None:
        """Write a page that is new, as it was seen here or elsewhere."""
        self.writer.add_page(page, snapshot, picture)
        self.book.note_page(page)
        self.tell(events.PageFound(page.page_id, page.title, page.url, len(page.offers), page.depth))

    def write(
        self,
        page: SeenPage,
        offer: Offer | None,
        way: PassageWay,
        arrival: Arrival,
        *,
        to: str | None,
        message: str,
        filled: dict[str, str] | None = None,
    ) -> None:
        """Write what came of something that was tried."""
        self.pass_on(
            Passage(
                from_page=page.page_id,
                offer_id=offer.offer_id if offer else None,
                way=way,
                filled=filled or {},
                to_page=to,
                outcome=arrival.outcome,
                duration_ms=min(max(0.0, arrival.duration_ms), 86_400_000.0),
                status=arrival.status,
                message=clean(message),
                at=datetime.now(UTC),
            )
        )

    def pass_on(self, passage: Passage) -> None:
        """Write a passage, as it was tried here or elsewhere."""
        self.writer.add_passage(passage)
        self.book.note_passage(passage)
        page = self.book.pages[passage.from_page]
        offer = next((each for each in page.offers if each.offer_id == passage.offer_id), None)
        what = offer.name if offer else passage.way
        self.tell(
            events.PassageTried(
                page.page_id, what, passage.outcome, passage.to_page, passage.duration_ms, passage.message
            )
        )

    def begin(self, page: SeenPage, offer: Offer) -> None:
        """What was allowed to change something is done now: whatever becomes of us, it is not done again."""
        self.writer.add_begun(page.page_id, offer.offer_id)

    def amend(self, page_id: str, **told: object) -> None:
        """What is newly known of a page."""
        changed = self.book.pages[page_id].model_copy(update=told)
        self.writer.add_page(changed)
        self.book.note_page(changed)

    def mark(self, page_id: str, offer_id: str, danger: Danger, why: str) -> None:
        """What came of trying an offer says that it is dangerous: no other is to try it."""
        known = self.book.pages[page_id]
        offers = tuple(
            each.model_copy(update={"danger": danger, "why": clean(why)})
            if each.offer_id == offer_id
            else each
            for each in known.offers
        )
        self.amend(page_id, offers=offers)

    def lose(self, page: SeenPage, instead: str) -> None:
        """Nothing leads back to a page."""
        self.lost[page.page_id] = instead
        self.tell(events.Skipped(page.page_id, page.title, f"nothing leads back to it: {instead}"))

    def put_away(self, page: SeenPage, by: str) -> None:
        """What the gate says puts a cover away is done next, where the page offers it."""
        for offer in page.offers:
            if by and by in (offer.name, f'{offer.role} "{offer.name}"') and offer.action_type == "click":
                self.urgent.add((page.page_id, offer.offer_id))


async def _picture(page: Page) -> bytes | None:
    try:
        return await page.screenshot(
            type="jpeg", quality=PICTURE_QUALITY, scale="css", animations="disabled", timeout=PICTURE_MS
        )
    except DriverError:
        return None
