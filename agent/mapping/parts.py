"""Does a part of an exploration (`kb_schema.mapping_parts`), wherever there is a browser. Nothing is kept here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import cast

from playwright.async_api import Browser, StorageState

from agent.mapping.book import Book
from agent.mapping.frontier import Step, skipped
from agent.mapping.hands import Hands, Rules, SignedOut
from agent.mapping.ledger import Ledger
from agent.mapping.pacing import Pace
from agent.mapping.permitting import Permission
from kb_schema.mapping import Offer, Passage, SeenPage
from kb_schema.mapping_parts import Findings, FoundPage, Marked, Part, PartStep
from kb_schema.snapshots import PageSnapshot


async def do_part(
    browser: Browser, part: Part, permission: Permission, stopped: Callable[[], bool]
) -> Findings:
    """Do the steps, until they are done, the part's time is over or it is stopped; what was found.

    `permission` is kept between parts: robots.txt is fetched once. Raises what the driver raises where the
    browser itself is gone.
    """
    wanted, began = part.exploration, time.monotonic()
    book = Book(wanted.limits, part.pages, part.passages)
    book.ways.update(part.ways_out)
    gathered = _Gathered(part.pages)
    ledger = Ledger(wanted, gathered, book, lambda _: None, signed_in=part.signed_in)

    def over() -> bool:
        return stopped() or ledger.full or time.monotonic() - began >= wanted.limits.seconds

    pace = Pace(wanted.limits.per_second / part.workers, asyncio.Event(), lambda _: None)
    hands = Hands(ledger, Rules(permission, pace, over, workers=part.workers))
    out: SignedOut | None = None
    async with hands.on(browser, cast("StorageState | None", part.session)):
        try:
            for step in _steps(part, book):
                if over():
                    break
                if step.page.page_id in ledger.lost:
                    continue
                if step.offer is None or skipped(book, step.page, step.offer, permission.may_open) is None:
                    await hands.take(step)
        except SignedOut as signed_out:
            out = signed_out
    return Findings(
        pages=tuple(gathered.found.values()),
        passages=tuple(gathered.passages),
        openable=gathered.openable,
        marked=tuple(gathered.marked),
        lost=ledger.lost,
        urgent=tuple(PartStep(page_id=page_id, offer_id=offer) for page_id, offer in sorted(ledger.urgent)),
        alike=tuple(ledger.alike),
        remembered=tuple(sorted(book.sticky)),
        signed_out=None if out is None else out.url,
        suspect=None if out is None or out.step is None else told(out.step),
    )


def told(step: Step) -> PartStep:
    """A step as it travels."""
    return PartStep(page_id=step.page.page_id, offer_id=step.offer.offer_id if step.offer else None)


def _steps(part: Part, book: Book) -> Iterable[Step]:
    for each in part.steps:
        page = book.pages[each.page_id]
        offer = next((offer for offer in page.offers if offer.offer_id == each.offer_id), None)
        if offer is None and each.offer_id is not None:
            continue
        if offer is None or not offer.allowed_by:  # what may change something is not done in parts
            yield Step(page, offer)


class _Gathered:
    """Keeps what is written down until it is sent (`agent.mapping.ledger.Writer`)."""

    def __init__(self, known: Iterable[SeenPage]) -> None:
        self._known = {page.page_id: page for page in known}
        self.found: dict[str, FoundPage] = {}
        self.passages: list[Passage] = []
        self.openable: dict[str, bool] = {}
        self.marked: list[Marked] = []

    def add_page(
        self, page: SeenPage, snapshot: PageSnapshot | None = None, picture: bytes | None = None
    ) -> None:
        """A page that is new, or what is newly known of one."""
        if snapshot is not None:
            self.found[page.page_id] = FoundPage.model_construct(
                page=page, snapshot=snapshot, picture=picture
            )
        elif page.page_id in self.found:
            self.found[page.page_id] = self.found[page.page_id].model_copy(update={"page": page})
        else:
            self._amend(self._known[page.page_id], page)
            self._known[page.page_id] = page

    def _amend(self, before: SeenPage, page: SeenPage) -> None:
        if page.openable is not None and page.openable is not before.openable:
            self.openable[page.page_id] = page.openable
        for was, offer in zip(before.offers, page.offers, strict=True):
            if offer.danger is not None and offer.danger != was.danger:
                self.marked.append(_marked(page, offer))

    def add_passage(self, passage: Passage) -> None:
        """Something that was tried."""
        self.passages.append(passage)

    def add_begun(self, page_id: str, offer_id: str) -> None:
        """Raises `RuntimeError`: nothing is changed in a part."""
        raise RuntimeError(f"{page_id} {offer_id} may change something: not in a part of an exploration")


def _marked(page: SeenPage, offer: Offer) -> Marked:
    if offer.danger is None:
        raise ValueError(f"{offer.offer_id} is not dangerous")
    return Marked(
        step=PartStep(page_id=page.page_id, offer_id=offer.offer_id), danger=offer.danger, why=offer.why
    )
