"""Presses a control that would delete, send or pay something, to see the dialog that asks before it does.

The page is opened again in a browser context of its own. From the press on, nothing is sent from there (`RequestGuard.isolated`),
and the context is closed afterwards, with what the page stored in it. Only a dialog at the same address is kept, and only
if the page tried to send nothing that changes data: else the control did its work at once, without asking. The controls of the
dialog are recorded and not used.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from playwright.async_api import Browser, BrowserContext
from playwright.async_api import Error as DriverError
from pydantic import ValidationError

from agent.browser.browser_life import is_alive
from agent.exploration.exploration_record import ExplorationRecord
from agent.exploration.exploration_state import PageNovelty
from agent.exploration.frontier import ExplorationStep
from agent.exploration.pages.page_layers import find_layer
from agent.exploration.pages.page_observation import PageObservation
from agent.exploration.requests.load_requests import LoadRequests
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.requests.request_rate import RequestRate
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.return_paths import LONGEST_PATH, find_return_paths, is_same_page
from agent.exploration.tab.exploration_context import open_session_copy
from agent.exploration.tab.exploration_tab import AttemptResult, ExplorationTab
from agent.page.errors import PageError
from agent.page.snapshot_capture import read_page_revision
from kb_schema.explorations import ExplorationPage

NO_DIALOG = "pressed where nothing can be sent: no dialog opened"
NOTHING = "pressed where nothing can be sent: nothing happened"
AT_ONCE = "pressed where nothing can be sent: it asks nothing before it acts"
NOT_READ = "pressed where nothing can be sent: what it opened was not read"
NOT_REACHED = "not pressed: its page was not reached where nothing can be sent"


class IsolatedPress:
    """Presses controls on isolated pages of one exploration."""

    def __init__(
        self,
        ledger: ExplorationRecord,
        permission: RobotsPermissions,
        pace: RequestRate,
        loads: LoadRequests,
    ) -> None:
        self._ledger, self._permission, self._pace, self._loads = ledger, permission, pace, loads

    async def take(self, step: ExplorationStep, browser: Browser, session: BrowserContext) -> None:
        """Press the control of a step in a copy of the session, and record the dialog that opened, if one did.

        Raises the driver's error if the browser has closed. `ValueError` if the step has no control.
        """
        if step.offer is None:
            raise ValueError("a step without a control cannot be pressed")
        failure = NOT_REACHED
        try:
            async with self._open(browser, session) as (tab, guard):
                look = await self._reach(tab, step.page)
                if look is None:
                    self._write(step, AttemptResult("refused", await tab.page()), None, NOT_REACHED)
                    return
                guard.isolated, failure = True, NOT_READ
                await self._pace.turn()
                revision = await read_page_revision(await tab.page())
                arrival = await tab.use(step.offer, look)
                idle = arrival.outcome == "stayed" and await read_page_revision(arrival.page) == revision
                await self._record(step, arrival, look, sends=bool(guard.list_writes()), idle=idle)
        except (PageError, DriverError, TimeoutError, ValidationError) as error:
            if not is_alive(browser):
                raise
            failed = AttemptResult("error", session.pages[0] if session.pages else await session.new_page())
            self._write(step, failed, None, f"{failure}: {error}")

    @asynccontextmanager
    async def _open(
        self, browser: Browser, session: BrowserContext
    ) -> AsyncIterator[tuple[ExplorationTab, RequestGuard]]:
        wanted = self._ledger.wanted
        copied = open_session_copy(browser, session, wanted, self._permission, self._loads)
        async with copied as (context, guard):
            try:
                yield ExplorationTab(context, guard, wanted.limits.page_s), guard
            finally:
                with suppress(DriverError):
                    await context.set_offline(True)

    async def _reach(self, tab: ExplorationTab, page: ExplorationPage) -> PageObservation | None:
        """Return what the tab shows of a page that it was brought to; None if the page was not reached."""
        book = self._ledger.book
        for way in find_return_paths(book, page):
            first = book.pages[way[0].from_page] if way else page
            await self._pace.turn()
            look = (await tab.open(first.url)).look
            if look is None or not is_same_page(look, first):
                continue
            for passage in way[:LONGEST_PATH]:
                offers = book.pages[passage.from_page].offers
                offer = next((each for each in offers if each.offer_id == passage.offer_id), None)
                if look is None or offer is None or offer.selector is None:
                    break
                await self._pace.turn()
                look = (await tab.use(offer, look)).look
            if look is not None and is_same_page(look, page) and not (await tab.page()).workers:
                return look  # what workers send is not all seen by the guard
        return None

    async def _record(
        self,
        step: ExplorationStep,
        arrival: AttemptResult,
        before: PageObservation,
        *,
        sends: bool,
        idle: bool,
    ) -> None:
        look = arrival.look
        layer = find_layer(look, before) if look is not None else None
        asks = (
            arrival.outcome == "arrived"
            and look is not None
            and layer is not None
            and layer.kind == "dialog"
            and look.address == before.address
        )
        if arrival.outcome == "dialog":  # the browser's own, which was dismissed
            self._write(step, arrival, step.page.page_id, arrival.message)
        elif idle:
            self._write(step, arrival, step.page.page_id, NOTHING)
        elif sends or not asks or look is None or layer is None:
            nothing = AttemptResult("refused", arrival.page, duration_ms=arrival.duration_ms)
            self._write(step, nothing, None, AT_ONCE if sends else NO_DIALOG)
        else:
            judged = self._ledger.judge(look, step.page.page_id)
            to = judged.page_id
            if judged.verdict is PageNovelty.KEEP and not self._ledger.full:
                added = await self._ledger.add(
                    arrival,
                    look,
                    depth=step.page.depth + 1,
                    start=False,
                    openable=False,
                    layer=layer,
                    behind=step.page.page_id,
                )
                to = added.page_id
            self._write(step, arrival, to, "pressed where nothing can be sent; nothing was confirmed")

    def _write(self, step: ExplorationStep, arrival: AttemptResult, to: str | None, message: str) -> None:
        self._ledger.write(step.page, step.offer, "offer", arrival, to=to, message=message)
