"""Performs a part of an exploration (`kb_schema.exploration_parts`) on a worker, without local storage."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import cast

from playwright.async_api import Browser, StorageState

from agent.exploration.exploration_record import ExplorationRecord
from agent.exploration.exploration_state import ExplorationState
from agent.exploration.exploration_steps import ExplorationRules, ExplorationStepRunner, SignInLost
from agent.exploration.frontier import ExplorationStep, explain_skip
from agent.exploration.requests.request_rate import RequestRate
from agent.exploration.requests.robots_permissions import RobotsPermissions
from kb_schema.exploration_parts import (
    DangerousOffer,
    ExplorationPart,
    ExplorationPartResult,
    FoundPage,
    PartStep,
)
from kb_schema.explorations import AttemptedTransition, ExplorationPage, Offer
from kb_schema.page_snapshots import PageSnapshot


async def explore_part(
    browser: Browser, part: ExplorationPart, permission: RobotsPermissions, stopped: Callable[[], bool]
) -> ExplorationPartResult:
    """Perform the steps until they are done, the part's time is over or it is stopped; return the findings.

    `permission` is reused between parts, so that robots.txt is fetched once. Raises the driver's error if the
    browser has closed.
    """
    wanted, began = part.exploration, time.monotonic()
    book = ExplorationState(wanted.limits, part.pages, part.passages)
    book.exits.tried.update(part.ways_out)
    gathered = _PartCollector(part.pages)
    ledger = ExplorationRecord(wanted, gathered, book, lambda _: None, signed_in=part.signed_in)

    def over() -> bool:
        return stopped() or ledger.full or time.monotonic() - began >= wanted.limits.seconds

    pace = RequestRate(wanted.limits.per_second / part.workers, asyncio.Event(), lambda _: None)
    hands = ExplorationStepRunner(
        ledger, ExplorationRules(permission, pace, over, workers=part.workers), part.usual
    )
    out: SignInLost | None = None
    async with hands.on(browser, cast("StorageState | None", part.session)):
        try:
            for step in _steps(part, book):
                if over():
                    break
                if step.page.page_id in ledger.lost:
                    continue
                if (
                    step.offer is None
                    or explain_skip(book, step.page, step.offer, permission.may_open) is None
                ):
                    await hands.take(step)
        except SignInLost as signed_out:
            out = signed_out
    return ExplorationPartResult(
        pages=tuple(gathered.found.values()),
        passages=tuple(gathered.passages),
        openable=gathered.openable,
        marked=tuple(gathered.marked),
        lost=ledger.lost,
        urgent=tuple(PartStep(page_id=page_id, offer_id=offer) for page_id, offer in sorted(ledger.urgent)),
        alike=tuple(ledger.alike),
        remembered=tuple(sorted(book.sticky)),
        signed_out=None if out is None else out.url,
        suspect=None if out is None or out.step is None else encode_step(out.step),
    )


def encode_step(step: ExplorationStep) -> PartStep:
    """Encode a step for transfer to a worker."""
    return PartStep(page_id=step.page.page_id, offer_id=step.offer.offer_id if step.offer else None)


def _steps(part: ExplorationPart, book: ExplorationState) -> Iterable[ExplorationStep]:
    for each in part.steps:
        page = book.pages[each.page_id]
        offer = next((offer for offer in page.offers if offer.offer_id == each.offer_id), None)
        if offer is None and each.offer_id is not None:
            continue
        if offer is None or not offer.allowed_by:  # parts never contain actions that may change data
            yield ExplorationStep(page, offer)


class _PartCollector:
    """Collects the findings of a part until they are sent (an `ExplorationWriter`)."""

    def __init__(self, known: Iterable[ExplorationPage]) -> None:
        self._known = {page.page_id: page for page in known}
        self.found: dict[str, FoundPage] = {}
        self.passages: list[AttemptedTransition] = []
        self.openable: dict[str, bool] = {}
        self.marked: list[DangerousOffer] = []

    def add_page(
        self, page: ExplorationPage, snapshot: PageSnapshot | None = None, picture: bytes | None = None
    ) -> None:
        """Add a new page or update a known one."""
        if snapshot is not None:
            self.found[page.page_id] = FoundPage.model_construct(
                page=page, snapshot=snapshot, picture=picture
            )
        elif page.page_id in self.found:
            self.found[page.page_id] = self.found[page.page_id].model_copy(update={"page": page})
        else:
            self._amend(self._known[page.page_id], page)
            self._known[page.page_id] = page

    def _amend(self, before: ExplorationPage, page: ExplorationPage) -> None:
        if page.openable is not None and page.openable is not before.openable:
            self.openable[page.page_id] = page.openable
        for was, offer in zip(before.offers, page.offers, strict=True):
            if offer.danger is not None and offer.danger != was.danger:
                self.marked.append(_mark_dangerous_offer(page, offer))

    def add_passage(self, passage: AttemptedTransition) -> None:
        """Add an attempted transition."""
        self.passages.append(passage)

    def add_begun(self, page_id: str, offer_id: str) -> None:
        """Raises `RuntimeError`: a part must not change data."""
        raise RuntimeError(
            f"control {offer_id} of page {page_id} may change data, which a part of an exploration must not"
        )


def _mark_dangerous_offer(page: ExplorationPage, offer: Offer) -> DangerousOffer:
    if offer.danger is None:
        raise ValueError(f"{offer.offer_id} is not dangerous")
    return DangerousOffer(
        step=PartStep(page_id=page.page_id, offer_id=offer.offer_id), danger=offer.danger, why=offer.why
    )
