"""Performs exploration steps in one browser context: goes to pages and tries their controls.

`website_exploration` and `part_exploration` choose the steps; observations go into the `ExplorationRecord`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

from playwright.async_api import Browser, BrowserContext, Page, Response, StorageState
from playwright.async_api import Error as DriverError
from pydantic import ValidationError

from agent.browser.browser_life import is_alive
from agent.exploration import exploration_events
from agent.exploration.exploration_record import AttemptKind, ExplorationRecord
from agent.exploration.exploration_state import PageNovelty
from agent.exploration.frontier import ExplorationStep, explain_prohibition, is_asking, is_search
from agent.exploration.isolated_press import IsolatedPress
from agent.exploration.pages.page_addresses import build_place_path, goes_back, normalize_address
from agent.exploration.pages.page_layers import find_layer
from agent.exploration.pages.page_observation import (
    PageObservation,
    clean_text,
    is_anchor,
    leads_to_other_address,
)
from agent.exploration.requests.load_requests import LoadRequests
from agent.exploration.requests.read_requests import ReadRequests
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.requests.request_rate import RequestRate
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.return_paths import LONGEST_PATH, find_return_paths, is_same_page
from agent.exploration.session_check import SessionCheck
from agent.exploration.tab.exploration_context import open_context
from agent.exploration.tab.exploration_tab import SPARE_S, AttemptResult, ExplorationTab
from agent.exploration.tab.form_filler import fill_form
from agent.page.errors import PageError
from kb_schema.exploration_parts import UsualRequest
from kb_schema.explorations import (
    ENTER,
    SHARED,
    WENT_BACK,
    AttemptedTransition,
    ExplorationPage,
    Offer,
)
from kb_schema.url_patterns import origin_of

MOST_PROBED = 15
"""Number of controls of a start page that are checked for overlays."""

ABORTED = "ERR_ABORTED"
"""What the browser says if the previous page went elsewhere while an address was opened."""

SignedInCheck = Callable[[Page], Awaitable[bool | None]]
"""Returns whether a page shows that the user is signed in; None if it does not show it."""
ExitAction = Literal["back", "reload", "escape"]


class SignInLost(Exception):
    """The session is no longer signed in. The last page is not recorded."""

    def __init__(self, url: str, step: ExplorationStep | None = None) -> None:
        self.url, self.step = url, step
        """`step` is the step that preceded it, if any; it is recorded."""
        super().__init__(url)


@dataclass(frozen=True, slots=True)
class ExplorationRules:
    """Rules and limits for performing steps."""

    permission: RobotsPermissions
    pace: RequestRate
    over: Callable[[], bool]
    """Returns whether no further step may begin."""
    signed_in: SignedInCheck | None = None
    """Without it, a page that asks for a password means that the session is signed out."""
    workers: int = 1
    """Number of parallel browsers on the website; they share the rate limit."""


class ExplorationStepRunner:
    """Goes to pages and tries their controls, one at a time."""

    def __init__(
        self, ledger: ExplorationRecord, rules: ExplorationRules, usual: Sequence[UsualRequest] = ()
    ) -> None:
        self.ledger, self.rules = ledger, rules
        self.book, self.limits = ledger.book, ledger.wanted.limits
        wanted = ledger.wanted
        self.guard = RequestGuard(
            wanted.origins,
            rules.permission.may_open,
            allowed=wanted.allowed,
            reads=ReadRequests(wanted.reads, wanted.origins),
            loads=LoadRequests(list(usual)),
        )
        self._asking = IsolatedPress(ledger, rules.permission, rules.pace, self.guard.loads)
        self._session = SessionCheck(ledger, rules.permission, rules.pace, self.guard.loads)
        self.tab: ExplorationTab
        self.at: str | None = None
        """Id of the page that the tab shows."""
        self.look: PageObservation | None = None
        """Last observation of the tab."""
        self._browser: Browser
        self.unopened: dict[str, str] = {}
        """Address -> why it could not be opened."""
        self._touched = False
        """Whether controls were used on the tab's page."""
        self._instead = ""
        """What was found when a page was not reached."""
        self._stays: set[tuple[str, str]] = set()
        """What lies on pages and is not closed by Escape: the place's path and the kind of layer."""

    @asynccontextmanager
    async def on(self, browser: Browser, storage: StorageState | None) -> AsyncIterator[BrowserContext]:
        """Open a browser context with the session, the in-page library and the request guard."""
        async with open_context(browser, storage, self.guard) as context:
            self._browser, self.tab = browser, ExplorationTab(context, self.guard, self.limits.page_s)
            self.at, self.look = None, None
            context.on("response", self._heed_limit)
            delay = await self.rules.permission.learn(context)
            if delay:
                self.rules.pace.slower(delay * self.rules.workers)
            yield context

    def _heed_limit(self, answer: Response) -> None:
        """Keep the limit that the website tells with a response."""
        if origin_of(answer.url) in self.ledger.wanted.origins:
            self.rules.pace.heed(answer.status, answer.headers)

    async def take(self, step: ExplorationStep) -> None:
        """Go to the page of a step and perform it. A page that disappears or hangs is recorded as the result.

        Raises `SignInLost`, and the driver's error if the browser has closed.
        """
        try:
            if step.offer is not None and is_asking(step.page, step.offer):
                await self._asking.take(step, self._browser, (await self.tab.page()).context)
            elif step.offer is not None and self._is_opened(step.page, step.offer):
                await self._open_link(step, step.offer)
            elif await self._reach(step.page):
                await self._do(step)
            elif not self.rules.over():
                self.ledger.lose(step.page, self._instead)
        except (PageError, DriverError, TimeoutError, ValidationError) as error:
            if not is_alive(self._browser):
                raise
            await self._give_up(step, error)

    async def _give_up(self, step: ExplorationStep, error: Exception) -> None:
        page = await self.tab.page()
        await self.tab.close()
        self.at, self.look = None, None
        known = (step.page.page_id, step.offer.offer_id) in self.book.tried if step.offer else False
        if not known:
            gone = AttemptResult("timeout" if isinstance(error, TimeoutError) else "error", page)
            why = str(error) or "the page did not respond while it was read"
            self.ledger.write(
                step.page, step.offer, "offer" if step.offer else "address", gone, to=None, message=why
            )

    # -- sessions

    async def check_signed_in(self, arrival: AttemptResult) -> None:
        """Raises `SignInLost` if the page shows that the session is signed out."""
        look = arrival.look
        if not self.ledger.signed_in or look is None:
            return
        if self.rules.signed_in is not None:
            async with asyncio.timeout(self.limits.page_s + SPARE_S):
                lost = await self.rules.signed_in(arrival.page) is False
        else:
            lost = look.asks_to_sign_in and not await self._session.is_signed_in(
                self._browser, arrival.page.context, look.state
            )
        if lost:
            raise SignInLost(look.url)

    # -- going to pages

    async def learn_usual_requests(self, start: str) -> None:
        """Open a start page that is recorded already as any visit opens it, to learn what every visit sends."""
        if not self.guard.loads.learned and self.rules.permission.may_open(start):
            await self.rules.pace.turn()
            with self.guard.loads.learn():
                await self.tab.open(start)

    async def open_starts(self, starts: Sequence[str]) -> None:
        """Open the start pages that are not recorded yet. Raises `SignInLost`."""
        for start in starts:
            known = any(
                page.start and normalize_address(page.url) == normalize_address(start)
                for page in self.book.pages.values()
            )
            if not known and not self.rules.over():
                with self.guard.loads.learn():
                    await self._begin_at(start, start=True)

    async def open_hints(self, hints: Sequence[str]) -> bool:
        """Open the given addresses of unknown places; return whether one of them was new."""
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
            reason = self.rules.permission.explain_refusal(address) or arrival.message or arrival.outcome
            self.unopened[address] = reason
            self.ledger.tell(exploration_events.OfferSkipped("", address, reason))
            return
        await self.check_signed_in(arrival)
        try:
            page_id, new = await self._note(arrival, depth=0, start=start, by_address=True)
            if new and page_id is not None and start:
                await self._look_for_covers(self.book.pages[page_id])
        except (PageError, DriverError, TimeoutError, ValidationError) as error:
            self.ledger.tell(
                exploration_events.OfferSkipped(
                    "", address, clean_text(str(error)) or "the page did not respond"
                )
            )
            await self.tab.close()
            self.at, self.look = None, None

    async def _look_for_covers(self, page: ExplorationPage) -> None:
        """Dismiss an overlay on a start page first; otherwise every page would be recorded with and without it."""
        inner = [each for each in page.offers if each.region.partition(":")[0] not in SHARED]
        for offer in [each for each in inner if not is_anchor(each, page.url)][:MOST_PROBED]:
            self.ledger.put_away(page, await self.tab.covered_by(offer))
            if self.ledger.urgent:
                return

    async def _reach(self, page: ExplorationPage) -> bool:
        """Bring the tab to a page: from where it is, by its address, or by the transitions with which it was found."""
        if self.at == page.page_id or await self._step_to(page):
            return True
        for way in find_return_paths(self.book, page):
            if self.rules.over():
                return False
            if await self._go(page, way):
                self.at = page.page_id
                return True
        return False

    async def _step_to(self, page: ExplorationPage) -> bool:
        """Go to a page by Escape, if what the tab shows lies on it, or by a control that led there; return whether it is there.

        A document is not loaded again for that.
        """
        shown, look = self.book.pages.get(self.at or ""), self.look
        if shown is None or look is None or self.rules.over():
            return False
        layer = (build_place_path(shown.url), shown.layer)
        known = next(
            (each for each in self.book.from_[page.page_id] if each.from_page == shown.page_id), None
        )
        offer = None if known is None or known.filled else self.find_offer(known)
        if shown.layer and shown.behind == page.page_id and layer not in self._stays:
            await self.rules.pace.turn()
            await self._stand(await self.tab.escape(look))
            if not self._is_at(page):
                self._stays.add(layer)
        elif known is not None and offer is not None and offer.selector is not None:
            await self.rules.pace.turn()
            await self._stand(await self._repeat(known, offer, look))
        else:
            return False
        self._touched = True
        if self._is_at(page):
            self.at = page.page_id
        return self.at == page.page_id

    async def _go(self, page: ExplorationPage, way: list[AttemptedTransition]) -> bool:
        """Open the first page of a path and follow it, without recording it again."""
        first = self.book.pages[way[0].from_page] if way else page
        await self.rules.pace.turn()
        arrival = await self._open(first.url)
        self._touched = bool(way)
        await self._stand(arrival)
        if self.at is None and arrival.outcome == "arrived":  # for example, an overlay was dismissed
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
        for passage in way[:LONGEST_PATH]:
            offer = self.find_offer(passage)
            if offer is None or offer.selector is None or self.look is None:
                return False
            await self.rules.pace.turn()
            await self._stand(await self._repeat(passage, offer, self.look))
        return self._is_at(page)

    async def _open(self, url: str) -> AttemptResult:
        """Open an address, in a new tab if the previous page may have blocked it."""
        arrival = await self.tab.open(url)
        if arrival.outcome == "timeout" or ABORTED in arrival.message:
            await self.tab.close()
            arrival = await self.tab.open(url)
        return arrival

    async def _repeat(
        self, passage: AttemptedTransition, offer: Offer, before: PageObservation
    ) -> AttemptResult:
        """Do again what led to a page."""
        if passage.typed:
            return await self.tab.search(offer, passage.typed, before)
        return await self.tab.use(offer, before)

    def _note_openable(self) -> None:
        """Record that the current page can be opened by its address."""
        page = self.book.pages.get(self.at or "")
        if (
            page is not None
            and not page.openable
            and self._is_at(page)
            and not self.guard.is_made_up(page.url)
        ):
            self.ledger.amend(page.page_id, openable=True)

    def _note_instead(self, arrival: AttemptResult) -> None:
        look, at = self.look, self.at or "another state of the page"
        self._instead = f"found {look.url}, {at}" if look else arrival.message or arrival.outcome

    def _stands_at(self, url: str) -> bool:
        return self.look is not None and self.look.address == normalize_address(url)

    def _is_at(self, page: ExplorationPage) -> bool:
        return self.look is not None and is_same_page(self.look, page)

    async def _stand(self, arrival: AttemptResult) -> None:
        """Update the state after the tab has arrived at a page."""
        self.at = None
        if arrival.outcome == "popup":
            await self.tab.drop(arrival.page)
            self.look = None
            return
        await self.check_signed_in(arrival)
        self.look = arrival.look
        if arrival.look is not None:
            judged = self.book.judge(arrival.look.url, arrival.look.state)
            self.at = judged.page_id if judged.verdict is PageNovelty.KNOWN else None
            self.ledger.lost.pop(self.at or "", None)

    def find_offer(self, passage: AttemptedTransition) -> Offer | None:
        """Return the control of a transition; None if its page has none any more."""
        page = self.book.pages[passage.from_page]
        return next((each for each in page.offers if each.offer_id == passage.offer_id), None)

    # -- performing steps

    async def _do(self, step: ExplorationStep) -> None:
        """Perform a step; the tab is on its page."""
        before = self.look
        if before is None:
            self.ledger.lose(step.page, "the page could not be read")
            return
        await self.rules.pace.turn()
        if step.offer is None:
            arrival = await self.tab.open(self.ledger.wanted.starts[0], before)
            await self._passed(step.page, None, "address", arrival)
            return
        filled: dict[str, str] = {}
        offer, kept, typed = step.offer, "", ""
        if offer.allowed_by:
            if offer.form is not None:
                filled = await fill_form(self.tab, step.page, offer, self.ledger.wanted.seed)
            self.ledger.begin(step.page, offer)
        if offer.selector is None:
            arrival = AttemptResult("refused", await self.tab.page(), before, message=offer.why)
        else:
            kept = "" if offer.allowed_by else await self.tab.read_storage()
            arrival, typed = await self._use(step.page, offer, before)
        changed = not offer.allowed_by and bool(self.guard.list_writes())
        await self._passed_by(step, offer, "offer", arrival, filled, typed)
        if arrival.outcome == "refused" and self.guard.stopped and not offer.allowed_by:
            self.ledger.mark(step.page.page_id, offer.offer_id, "unknown_method", arrival.message)
        if changed:
            await self.tab.restore_storage(kept)
        if (changed or is_search(offer)) and arrival.outcome in ("refused", "stayed"):
            self.at, self.look = None, None  # the page shows what was not saved, or what was typed
        self.ledger.put_away(step.page, arrival.put_away_by)
        held_back = bool(self.guard.stopped)  # blocked requests are not repeated
        if (
            arrival.outcome in ("refused", "vanished")
            and not held_back
            and leads_to_other_address(offer, before.url)
        ):
            await self._open_unseen(step.page, offer)

    def _is_opened(self, page: ExplorationPage, offer: Offer) -> bool:
        """Whether the address of a link on another page is opened, instead of going back there to click it: one of its kind was
        clicked, and that loaded its address.
        """
        return (
            self.at != page.page_id
            and not offer.allowed_by
            and (page.page_id, offer.offer_id) not in self.ledger.urgent
            and leads_to_other_address(offer, page.url)
            and self.book.followed.loads(page, offer)
        )

    async def _passed_by(
        self,
        step: ExplorationStep,
        offer: Offer,
        way: AttemptKind,
        arrival: AttemptResult,
        filled: dict[str, str] | None = None,
        typed: str = "",
    ) -> None:
        """Record the result of a step with a control. Raises `SignInLost` with the step, which is recorded too."""
        try:
            await self._passed(step.page, offer, way, arrival, filled, typed)
        except SignInLost as out:
            self.ledger.write(
                step.page,
                offer,
                way,
                arrival,
                to=None,
                message="the control signed out",
                filled=filled,
                typed=typed,
            )
            raise SignInLost(out.url, step) from out

    async def _search(
        self, page: ExplorationPage, offer: Offer, before: PageObservation
    ) -> tuple[AttemptResult, str]:
        """Type into a field that searches until something is found that can be chosen, else press Enter where no form would be
        sent; return the result, and what was typed if something was found.

        A list that only becomes shorter is the page as it was.
        """
        texts = self.book.list_search_texts(page)
        if offer.form is None and offer.role != "combobox" and not before.covering:
            texts.append(texts[-1] + ENTER)
        arrival = AttemptResult("stayed", await self.tab.page(), before)
        for text in texts:
            await self.rules.pace.turn()
            arrival = await self.tab.search(offer, text, before)
            entered = text.endswith(ENTER)
            if arrival.outcome == "arrived" and self._has_found(arrival, before, entered=entered):
                return arrival, text
            if arrival.outcome not in ("arrived", "stayed"):
                break
        return replace(arrival, outcome="stayed") if arrival.outcome == "arrived" else arrival, ""

    @staticmethod
    def _has_found(arrival: AttemptResult, before: PageObservation, *, entered: bool) -> bool:
        """Whether a search shows more controls than before, in a layer of their own; with Enter, whether it led to another address."""
        look = arrival.look
        if look is None or arrival.moved:
            return arrival.moved
        if entered:
            return look.address != before.address
        known = "dialog" if before.covering else ""
        return len(look.said) > len(before.said) and find_layer(look, before).kind not in ("", known)

    async def _use(
        self, page: ExplorationPage, offer: Offer, before: PageObservation
    ) -> tuple[AttemptResult, str]:
        """Use a control, and return the result with what was typed, if it searches. If what an earlier control left there hinders
        it, come to the page anew first.
        """
        touched, self._touched = self._touched, True
        if is_search(offer):
            return await self._search(page, offer, before)
        arrival = await self.tab.use(offer, before)
        hindered = arrival.outcome in ("refused", "vanished") and not self.guard.stopped
        if touched and hindered and not arrival.put_away_by and not offer.allowed_by:
            self.at = None
            if await self._reach(page) and self.look is not None:
                arrival = await self.tab.use(offer, self.look)
        return arrival, ""

    async def _open_unseen(self, page: ExplorationPage, offer: Offer) -> None:
        """Open the address of a link that cannot be clicked (such as in a closed menu), if its place is new."""
        if offer.href is None or self.book.seen_place(offer.href):
            return
        if explain_prohibition(offer, self.rules.permission.may_open) is not None:
            return
        await self.rules.pace.turn()
        arrival = await self.tab.open(offer.href, self.look)
        await self._passed(page, None, "address", arrival)

    async def _open_link(self, step: ExplorationStep, offer: Offer) -> None:
        """Open the address of a link that may be tried, from wherever the tab is. Raises `ValueError` if it has none."""
        if offer.href is None:
            raise ValueError(f"control {offer.offer_id} has no address")
        await self.rules.pace.turn()
        await self._passed_by(step, offer, "address", await self._open(offer.href))

    async def _passed(
        self,
        page: ExplorationPage,
        offer: Offer | None,
        way: AttemptKind,
        arrival: AttemptResult,
        filled: dict[str, str] | None = None,
        typed: str = "",
    ) -> None:
        """Record the result and its page, and try the exit actions of a new page."""
        if arrival.outcome in ("arrived", "popup"):
            await self.check_signed_in(arrival)
        to: str | None = page.page_id if arrival.outcome in ("stayed", "dialog") else None
        new, message = False, arrival.message
        if arrival.outcome in ("arrived", "popup") and arrival.look is not None:
            cleared = offer is not None and (page.page_id, offer.offer_id) in self.ledger.urgent
            to, new = await self._note(
                arrival,
                depth=page.depth
                if cleared  # without its overlay, it is the same page
                else self.book.followed.find_depth(arrival.look.url, page.depth + 1, offer),
                by_address=way == "address" or _has_opened_its_address(offer, arrival),
                after=page,
                found=bool(typed),
            )
            if cleared and to is not None and to != page.page_id:
                self.book.covered.add(page.page_id)
            if (
                not new
                and to is not None
                and arrival.look.address != normalize_address(self.book.pages[to].url)
            ):
                message = message or f"another page like {to}: {arrival.look.url}"
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
        self.ledger.write(page, offer, way, arrival, to=to, message=message, filled=filled, typed=typed)
        if offer is not None and not offer.allowed_by and _has_gone_back(page, offer, arrival):
            self.ledger.mark(page.page_id, offer.offer_id, "unknown_method", WENT_BACK)
        in_place = not arrival.moved and self._stands_at(page.url)
        layered = to is not None and bool(self.book.pages[to].layer)
        if (
            offer is not None
            and arrival.outcome == "arrived"
            and in_place
            and not offer.allowed_by
            and not layered
        ):
            await self._take_back(page, offer)
        elif new and to is not None and arrival.outcome == "arrived":
            await self._ways_out(self.book.pages[to], arrival)

    async def _ways_out(self, page: ExplorationPage, arrival: AttemptResult) -> None:
        """Try reload, Escape and back, once for each place."""
        if (page.layer or (arrival.look is not None and arrival.look.dialog)) and self._untried(
            page, "escape"
        ):
            await self._way(page, "escape")
        if self.at == page.page_id and arrival.moved and self._untried(page, "reload"):
            await self._way(page, "reload")
        if self.at == page.page_id and arrival.moved and self._untried(page, "back"):
            await self._way(page, "back")

    async def _take_back(self, page: ExplorationPage, offer: Offer) -> None:
        """Undo a control that changed the page without navigation, if the website keeps the change on all pages.

        An example is a menu that stays folded. Such a control is not used on other pages.
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
        look: PageObservation | None = self.look  # `_stand` changed it
        if look is not None and self._stands_at(page.url):
            await self._stand(await self.tab.use(offer, look))

    def _untried(self, page: ExplorationPage, way: ExitAction) -> bool:
        return self.book.exits.wants(page, way) and not self.rules.over()

    async def _way(self, page: ExplorationPage, way: ExitAction) -> None:
        before = self.look
        if before is None:
            return
        await self.rules.pace.turn()
        do = {"escape": self.tab.escape, "reload": self.tab.reload, "back": self.tab.back}[way]
        arrival = await do(before)
        if way == "reload" and arrival.look is not None and is_same_page(arrival.look, page):
            self.ledger.write(page, None, way, arrival, to=page.page_id, message=arrival.message)
            self.at, self.look = page.page_id, arrival.look
            self._note_openable()
            return
        await self._passed(page, None, way, arrival)

    async def _note(
        self,
        arrival: AttemptResult,
        *,
        depth: int,
        start: bool = False,
        by_address: bool = False,
        after: ExplorationPage | None = None,
        found: bool = False,
    ) -> tuple[str | None, bool]:
        """Return the current page and whether it is new; None if enough pages of its kind are kept."""
        look = arrival.look
        if look is None:
            return None, False
        in_place = after is not None and not arrival.moved and normalize_address(after.url) == look.address
        layer = find_layer(look, self.look if in_place else None)
        behind = after.page_id if after is not None and in_place else None
        judged = self.ledger.judge(look, behind if layer.kind else None)
        if judged.verdict is not PageNovelty.KEEP or self.ledger.full:
            if start and judged.page_id is not None:
                self.ledger.amend(judged.page_id, start=True)
            self.at, self.look = judged.page_id, look
            return judged.page_id, False
        openable = True if start or by_address else False if in_place else None
        if self.guard.is_made_up(look.url):
            openable = False
        page = await self.ledger.add(
            arrival,
            look,
            depth=depth,
            start=start,
            openable=openable,
            layer=layer,
            behind=behind,
            found=found,
        )
        self.at, self.look = page.page_id, look
        return page.page_id, True


def _has_gone_back(page: ExplorationPage, offer: Offer, arrival: AttemptResult) -> bool:
    """Whether a link loaded a document at an address to which an application goes back when it has done something."""
    look = arrival.look
    return (
        look is not None
        and offer.href is not None
        and arrival.moved
        and leads_to_other_address(offer, page.url)
        and goes_back(offer.href, look.url, page.url)
    )


def _has_opened_its_address(offer: Offer | None, arrival: AttemptResult) -> bool:
    """Whether a link loaded the document at its address, as opening the address would."""
    look = arrival.look
    return (
        offer is not None
        and offer.href is not None
        and look is not None
        and arrival.moved
        and normalize_address(offer.href) == look.address
    )
