"""Records the pages and attempted transitions of an exploration, in memory and in its folder.

`exploration_state` decides whether a page is new, and `frontier` what to do next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, Protocol

from playwright.async_api import Error as DriverError
from playwright.async_api import Page

from agent.exploration import exploration_events
from agent.exploration.exploration_events import MapEvent
from agent.exploration.exploration_state import ExplorationState, PageNovelty, PageNoveltyResult
from agent.exploration.pages.offered_tools import list_offered_tools
from agent.exploration.pages.page_layers import NO_LAYER, PageLayer
from agent.exploration.pages.page_observation import (
    PageObservation,
    clean_text,
    count_left_out,
    list_offers,
)
from agent.exploration.pages.search_hits import mark_hits
from agent.exploration.tab.exploration_tab import SPARE_S, AttemptResult
from agent.page.snapshot_capture import take_snapshot
from kb_schema.explorations import (
    AttemptedTransition,
    Danger,
    Exploration,
    ExplorationPage,
    Offer,
    OfferedTool,
)
from kb_schema.page_snapshots import PageSnapshot

PICTURE_QUALITY = 60
PICTURE_MS = 5_000

AttemptKind = Literal["offer", "address", "back", "reload", "escape"]


class ExplorationWriter(Protocol):
    """Destination of the record: the exploration's folder, or a part that is sent to the owner of the folder."""

    def add_page(
        self, page: ExplorationPage, snapshot: PageSnapshot | None = None, picture: bytes | None = None
    ) -> None:
        """Add a new page; without a snapshot, update a known page."""

    def add_passage(self, passage: AttemptedTransition) -> None:
        """Add an attempted transition."""

    def add_begun(self, page_id: str, offer_id: str) -> None:
        """Record that an action that may change data is about to be performed."""


@dataclass(frozen=True, slots=True)
class PageContent:
    """What a page has: its controls, its snapshot and its picture (JPEG)."""

    offers: tuple[Offer, ...]
    left_out: int
    """How many controls it has besides."""
    snapshot: PageSnapshot
    picture: bytes | None
    tools: tuple[OfferedTool, ...] = ()


class ExplorationRecord:
    """The pages and attempted transitions of a running exploration."""

    def __init__(
        self,
        wanted: Exploration,
        writer: ExplorationWriter,
        book: ExplorationState,
        tell: Callable[[MapEvent], None],
        *,
        signed_in: bool,
    ) -> None:
        self.wanted, self.writer, self.book, self.tell = wanted, writer, book, tell
        self.signed_in = signed_in
        self.lost: dict[str, str] = {}
        """Pages that cannot be reached again, with what was found instead."""
        self.urgent: set[tuple[str, str]] = set()
        """Controls that dismiss an overlay, by page."""
        self.alike: list[str] = []
        """Addresses of pages that resemble kept pages."""

    @property
    def full(self) -> bool:
        """Whether the page limit is reached."""
        return len(self.book.pages) >= self.wanted.limits.states

    def judge(self, look: PageObservation, behind: str | None = None) -> PageNoveltyResult:
        """Return whether a page is known; counts pages that resemble kept pages. `behind`: the page on which it lies."""
        judged = self.book.judge(look.url, look.state, behind)
        if judged.verdict is PageNovelty.LIKE:
            self.note_alike(look.url)
        return judged

    def note_alike(self, url: str) -> None:
        """Count a page that resembles kept pages."""
        self.alike.append(url)
        self.book.note_more(url)

    async def add(
        self,
        arrival: AttemptResult,
        look: PageObservation,
        *,
        depth: int,
        start: bool,
        openable: bool | None,
        layer: PageLayer = NO_LAYER,
        behind: str | None = None,
        found: bool = False,
    ) -> ExplorationPage:
        """Record a new page with its controls; with a `layer` on it, with those of the layer. `found`: it shows what a search found."""
        content = await self.read(arrival, look, layer)
        page = ExplorationPage(
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
            picture=content.picture is not None,
            layer=layer.kind,
            behind=behind if layer.kind else None,
            held_back=arrival.held_back,
            reads=arrival.reads,
            left_out=content.left_out,
            offers=mark_hits(content.offers) if found else content.offers,
            tools=content.tools,
        )
        self.take(page, content.snapshot, content.picture)
        if start and layer.kind:  # a notice, which nobody opened: it is put away once for all
            self.urgent.update(
                (page.page_id, each.offer_id) for each in page.offers if each.action_type == "click"
            )
        return page

    async def read(self, arrival: AttemptResult, look: PageObservation, layer: PageLayer) -> PageContent:
        """Return the controls of the page in the tab, or of the `layer` on it, with its snapshot and picture."""
        limits = self.wanted.limits
        async with asyncio.timeout(
            2 * limits.page_s + 3 * SPARE_S
        ):  # pages with thousands of links take long
            offers = await list_offers(
                arrival.page,
                look,
                most=limits.offers_per_page,
                origins=self.wanted.origins,
                allowed=self.wanted.allowed,
                on_top=layer.on_top,
            )
            snapshot = await take_snapshot(arrival.page)
            picture = await _picture(arrival.page)
            tools = () if layer.kind else await list_offered_tools(arrival.page)
        told = snapshot.model_copy(
            update={
                "html": clean_text(snapshot.html, len(snapshot.html)),
                "title": clean_text(snapshot.title),
                "url": look.url,
            }
        )
        left_out = 0 if layer.kind else count_left_out(look, limits.offers_per_page)
        return PageContent(offers, left_out, told, picture, tools)

    def renew(
        self,
        page: ExplorationPage,
        arrival: AttemptResult,
        look: PageObservation,
        content: PageContent,
    ) -> None:
        """Replace the record of a page that was opened again and may have changed."""
        told = {
            "title": look.title,
            "state": look.state,
            "seen_at": datetime.now(UTC),
            "status": arrival.status or page.status,
            "picture": content.picture is not None or page.picture,
            "held_back": arrival.held_back,
            "reads": arrival.reads,
            "left_out": content.left_out,
            "offers": content.offers,
            "tools": content.tools,
        }
        changed = page.model_copy(update=told)
        self.writer.add_page(changed, content.snapshot, content.picture)
        self.book.note_page(changed)

    def take(self, page: ExplorationPage, snapshot: PageSnapshot, picture: bytes | None) -> None:
        """Record a new page that this process or a worker observed."""
        self.writer.add_page(page, snapshot, picture)
        self.book.note_page(page)
        self.tell(
            exploration_events.PageFound(page.page_id, page.title, page.url, len(page.offers), page.depth)
        )

    def write(
        self,
        page: ExplorationPage,
        offer: Offer | None,
        way: AttemptKind,
        arrival: AttemptResult,
        *,
        to: str | None,
        message: str,
        filled: dict[str, str] | None = None,
        typed: str = "",
    ) -> None:
        """Record the result of an attempted transition. `typed`: what was typed into a field that searches."""
        self.pass_on(
            AttemptedTransition(
                from_page=page.page_id,
                offer_id=offer.offer_id if offer else None,
                way=way,
                filled=filled or {},
                typed=typed,
                to_page=to,
                outcome=arrival.outcome,
                duration_ms=min(max(0.0, arrival.duration_ms), 86_400_000.0),
                status=arrival.status,
                message=clean_text(message),
                at=datetime.now(UTC),
            )
        )

    def pass_on(self, passage: AttemptedTransition) -> None:
        """Record a transition that this process or a worker attempted."""
        self.writer.add_passage(passage)
        self.book.note_passage(passage)
        page = self.book.pages[passage.from_page]
        offer = next((each for each in page.offers if each.offer_id == passage.offer_id), None)
        what = offer.name if offer else passage.way
        self.tell(
            exploration_events.TransitionAttempted(
                page.page_id, what, passage.outcome, passage.to_page, passage.duration_ms, passage.message
            )
        )

    def begin(self, page: ExplorationPage, offer: Offer) -> None:
        """Record the start of an allowed change, so that it is never repeated, even after a crash."""
        self.writer.add_begun(page.page_id, offer.offer_id)

    def amend(self, page_id: str, **told: object) -> None:
        """Update a page with new facts."""
        changed = self.book.pages[page_id].model_copy(update=told)
        self.writer.add_page(changed)
        self.book.note_page(changed)

    def mark(self, page_id: str, offer_id: str, danger: Danger, why: str) -> None:
        """Mark a control as dangerous because of the result of an attempt, so that it is not tried again."""
        known = self.book.pages[page_id]
        offers = tuple(
            each.model_copy(update={"danger": danger, "why": clean_text(why)})
            if each.offer_id == offer_id
            else each
            for each in known.offers
        )
        self.amend(page_id, offers=offers)

    def lose(self, page: ExplorationPage, instead: str) -> None:
        """Record that a page cannot be reached again."""
        self.lost[page.page_id] = instead
        self.tell(
            exploration_events.OfferSkipped(
                page.page_id, page.title, f"it cannot be reached again: {instead}"
            )
        )

    def put_away(self, page: ExplorationPage, by: str) -> None:
        """Try the control that dismisses an overlay next, if the page has it."""
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
