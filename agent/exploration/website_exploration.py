"""Explores a website: the browser part of `periplus map`.

It repeats: choose the next step (`frontier`), perform it in one tab (`exploration_steps`), compare the page with the
known pages (`exploration_state`) and record it (`exploration_record`). Workers can perform parts of it
(`shared_exploration`). The state is derived from the folder, so that a killed exploration can be resumed.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, BrowserContext, StorageState
from playwright.async_api import Error as DriverError

from agent.browser.browser_life import is_alive
from agent.browser.storage_state import save_session
from agent.exploration import exploration_events
from agent.exploration.exploration_events import MapEvent, redact_events
from agent.exploration.exploration_record import ExplorationRecord
from agent.exploration.exploration_state import ExplorationState
from agent.exploration.exploration_steps import (
    ExplorationRules,
    ExplorationStepRunner,
    SignedInCheck,
    SignInLost,
)
from agent.exploration.frontier import choose_next_step, explain_prohibition, list_unexplored_items
from agent.exploration.page_revisits import revisit_page
from agent.exploration.pages.page_observation import leads_to_other_address
from agent.exploration.requests.request_rate import RequestRate
from agent.exploration.requests.robots_permissions import RobotsPermissions
from agent.exploration.shared_exploration import ExplorationWorkers, SharedExploration
from agent.page.errors import PageError
from agent.redaction import redact_known
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import AttemptedTransition, Exploration, PageRevisit, UnexploredItem
from kb_schema.url_patterns import path_of

MOST_SIGN_INS = 5
"""Maximum number of times that the exploration signs in again."""

EndedBy = Literal["done", "states", "depth", "time", "stopped", "signed_out"]


@dataclass(frozen=True, slots=True)
class SignInRenewal:
    """Detects whether the exploration is signed in, and signs in again."""

    signed_in: SignedInCheck | None = None
    """Without it, a page that asks for a password means signed out. Not available to workers."""
    sign_in_again: Callable[[], Awaitable[StorageState | None]] | None = None
    """Returns a new storage state; None if signing in failed."""


class ExplorationMismatch(ValueError):
    """The folder contains an exploration of another website or with other rules."""

    def __init__(self, folder: Path, what: str, there: str, wanted: str) -> None:
        self.folder, self.what = folder, what
        super().__init__(
            f"{folder} contains an exploration with another {what}: expected {wanted}, found {there}"
        )


class ExplorationNotSignedIn(RuntimeError):
    """The session is not signed in, although a storage state was given, and it cannot sign in again."""

    def __init__(self, url: str) -> None:
        self.url = url
        super().__init__(
            f"{url} requires a sign-in: the given session has expired or belongs to another website"
        )


class StartNotOpened(RuntimeError):
    """No start page could be opened, so nothing was explored."""

    def __init__(self, url: str, reason: str) -> None:
        self.url, self.reason = url, reason
        super().__init__(f"{url} cannot be opened: {reason}")


class BrowserEnded(RuntimeError):
    """The browser, or the driver that controls it, ended during the exploration. What was found until then is stored."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        super().__init__("the browser or its driver ended during the exploration")


async def explore(
    browser: Browser,
    wanted: Exploration,
    folder: Path,
    *,
    tell: Callable[[MapEvent], None] = lambda _: None,
    storage_state: StorageState | None = None,
    keep_signed_in: SignInRenewal | None = None,
    stop: asyncio.Event | None = None,
    workers: ExplorationWorkers | None = None,
    revisit: Sequence[str] | None = None,
    hints_first: bool = False,
) -> Exploration:
    """Explore until nothing is left or a limit is reached; resumes an exploration that the folder contains.

    `revisit`: update that exploration. Its pages with these ids are opened again, once each, and compared
    (`page_revisits`); then only what is new on them is explored. None: explore what is left.

    `hints_first`: open the hints before any control is tried, and try no links to what is known then; else they are
    opened at the end, if nothing led to them.

    `tell` receives the events. `storage_state` is a signed-in session. Setting `stop` ends the exploration cleanly.
    `workers` perform steps that change nothing, and `browser` the rest. Raises `ExplorationMismatch`,
    `ExplorationNotSignedIn` if the first start page asks for a password, `StartNotOpened` if no page could be
    opened (a new folder is removed again by both), `BrowserEnded`, and `KnowledgeError` for an unreadable folder.
    """
    book_folder = ExplorationFolder(folder, redact=redact_known)
    tell = redact_events(tell)
    is_new = _is_new(folder)
    earlier = book_folder.exploration.unexplored if revisit is not None else ()
    begun = _resume_exploration(book_folder, wanted)
    book_folder.begin(begun)
    _close_what_was_cut_off(book_folder)
    explorer = _Explorer(
        begun, book_folder, tell, stop or asyncio.Event(), keep_signed_in or SignInRenewal(), workers
    )
    explorer.storage, explorer.hints_first = storage_state, hints_first
    explorer.book.repeats = not hints_first
    if revisit is not None:
        explorer.update(revisit, earlier)
    explorer.ledger.signed_in = storage_state is not None or keep_signed_in is not None
    try:
        return await explorer.run(browser)
    except (StartNotOpened, ExplorationNotSignedIn):
        if is_new:
            shutil.rmtree(folder)
        raise
    except BrowserEnded as ended:
        if is_new and not ended.pages:
            shutil.rmtree(folder)
        raise


def _is_new(folder: Path) -> bool:
    return not folder.exists()


def _close_what_was_cut_off(folder: ExplorationFolder) -> None:
    """Close interrupted actions that may have changed data: they are not repeated."""
    tried = {(each.from_page, each.offer_id) for each in folder.passages()}
    for page_id, offer_id in folder.begun():
        if (page_id, offer_id) not in tried:
            message = (
                "the exploration was interrupted during this action; it is unknown whether it took effect"
            )
            cut_off = AttemptedTransition(
                from_page=page_id, offer_id=offer_id, outcome="error", message=message, at=datetime.now(UTC)
            )
            folder.add_passage(cut_off)


def _resume_exploration(folder: ExplorationFolder, wanted: Exploration) -> Exploration:
    """Return the wanted exploration with the start time of the folder; its limits may differ."""
    if not folder.exists:
        return wanted
    there = folder.exploration
    for what in ("website_id", "base_url"):
        if getattr(there, what) != getattr(wanted, what):
            raise ExplorationMismatch(folder.path, what, getattr(there, what), getattr(wanted, what))
    return wanted.model_copy(
        update={"started_at": there.started_at, "ended_at": None, "ended_by": None, "unexplored": ()}
    )


class _Explorer:
    """A running exploration."""

    def __init__(
        self,
        wanted: Exploration,
        folder: ExplorationFolder,
        tell: Callable[[MapEvent], None],
        stop: asyncio.Event,
        keep: SignInRenewal,
        workers: ExplorationWorkers | None,
    ) -> None:
        self.wanted, self.folder, self.tell, self.stop, self.keep = wanted, folder, tell, stop, keep
        self.limits = wanted.limits
        self.storage: StorageState | None = None
        gone = {each.page_id for each in folder.revisits() if each.outcome == "gone"}
        pages = (page for page in folder.pages() if page.page_id not in gone)
        self.book = ExplorationState(wanted.limits, pages, folder.passages())
        self.book.confirmations = wanted.confirmations
        self.ledger = ExplorationRecord(wanted, folder, self.book, tell, signed_in=False)
        self.permission = RobotsPermissions(wanted.origins, respected=wanted.robots)
        pace = RequestRate(
            wanted.limits.per_second,
            stop,
            lambda s: tell(exploration_events.ExplorationWaiting(s, "rate limit")),
        )
        rules = ExplorationRules(self.permission, pace, lambda: self._over() is not None, keep.signed_in)
        self.hands = ExplorationStepRunner(self.ledger, rules)
        self.sharing = None
        if workers is not None:
            usual = self.hands.guard.loads.known
            self.sharing = SharedExploration(self.ledger, workers, self.permission.may_open, stop, usual)
        self.began = time.monotonic()
        self.sign_ins = 0
        self.hints, self.hints_first = wanted.hints, False
        self.earlier: tuple[UnexploredItem, ...] | None = None
        """What an earlier exploration left, if this one updates it."""
        self.settled: set[tuple[str, str]] = set()
        """Controls of the earlier exploration, by page."""
        self.revisit: list[str] = []
        self.unanswered: list[PageRevisit | None] = []
        """Of each page that was opened again: its record if the site did not answer."""

    def update(self, revisit: Sequence[str], earlier: Sequence[UnexploredItem]) -> None:
        """Explore only what is new: open these pages again, and settle everything else.

        `earlier`: what the earlier exploration left.
        """
        self.book.settle()
        self.revisit, self.settled = list(revisit), set(self.book.closed)
        self.earlier = tuple(earlier)

    async def run(self, browser: Browser) -> Exploration:
        """Run the exploration and return its final record. Raises `BrowserEnded`: the record says nothing of an end then."""
        try:
            ended = await self._run(browser)
        except (PageError, DriverError, TimeoutError, StartNotOpened, ExplorationNotSignedIn) as error:
            if is_alive(browser):
                raise
            raise BrowserEnded(len(self.book.pages)) from error
        if (
            not is_alive(browser) and ended != "stopped"
        ):  # each step that failed for that was taken for the site's
            raise BrowserEnded(len(self.book.pages))
        return self._end(ended)

    async def _run(self, browser: Browser) -> EndedBy:
        ended: EndedBy = "stopped"
        while True:
            try:
                async with self.hands.on(browser, self.storage) as context:
                    ended = await self._explore(context)
                break
            except SignInLost as out:
                self._blame(out)
                if not await self._sign_in_again(out.url):
                    if not self.book.pages:
                        raise ExplorationNotSignedIn(out.url) from out
                    ended = "signed_out"
                    break
        return ended

    def _blame(self, out: SignInLost) -> None:
        """Mark the control that signed out, so that no equal control is tried."""
        offer = out.step.offer if out.step is not None else None
        if out.step is None or offer is None or leads_to_other_address(offer, out.step.page.url):
            return
        if explain_prohibition(offer, self.permission.may_open) is None:
            self.ledger.mark(out.step.page.page_id, offer.offer_id, "signs_out", f"led to {out.url}")

    async def _explore(self, context: BrowserContext) -> EndedBy:
        if self.book.pages:  # it goes on
            await self.hands.learn_usual_requests(self.wanted.starts[0])
        await self.hands.open_starts(self.wanted.starts)
        if self.hands.unopened and not self.book.pages:
            raise StartNotOpened(*next(iter(self.hands.unopened.items())))
        await self._revisit()
        if self.hints_first:
            hints, self.hints = self.hints, ()
            await self.hands.open_hints(hints)
        while True:
            over = self._over()
            if over is not None:
                return over
            step, left = choose_next_step(
                self.book, self.hands.at, self.ledger.lost, self.permission.may_open, self.ledger.urgent
            )
            self._progress(left)
            if step is None:
                hints, self.hints = self.hints, ()
                if not await self.hands.open_hints(hints):
                    return self._over() or "done"
            elif self.sharing is not None and self.sharing.shares(step):
                await self.sharing.run(await save_session(context), self._over_at(), self._progress)
            else:
                await self.hands.take(step)

    async def _revisit(self) -> None:
        """Open the known pages again. Raises `SignInLost`, and `StartNotOpened` if the site answered none of them."""
        while self.revisit and self._over() is None:
            page = self.book.pages[self.revisit[0]]
            self._progress(len(self.revisit))
            made = await revisit_page(self.hands, page)
            self.folder.add_revisit(made)
            self.revisit.pop(0)
            self.unanswered.append(made if made.status is None and made.outcome != "found" else None)
        if self.unanswered and None not in self.unanswered:
            first = next(each for each in self.unanswered if each is not None)
            raise StartNotOpened(self.book.pages[first.page_id].url, first.message)

    def _progress(self, left: int) -> None:
        seconds = time.monotonic() - self.began
        self.tell(
            exploration_events.ExplorationProgress(len(self.book.pages), self.book.passages, left, seconds)
        )

    def _over(self) -> EndedBy | None:
        if self.stop.is_set():
            return "stopped"
        if time.monotonic() >= self._over_at():
            return "time"
        return "states" if self.ledger.full else None

    def _over_at(self) -> float:
        return self.began + self.limits.seconds

    def _end(self, ended: EndedBy) -> Exploration:
        left = list_unexplored_items(
            self.book, self.ledger.lost, self.permission.may_open, signed_out=ended == "signed_out"
        )
        if self.earlier is not None:
            new = (each for each in left if (each.page_id, each.offer_id or "") not in self.settled)
            left = (*self.earlier, *new)
        if ended == "done" and any(each.reason.endswith("from a start page") for each in left):
            ended = "depth"
        done = self.wanted.model_copy(
            update={
                "ended_at": datetime.now(UTC),
                "ended_by": ended,
                "usual": tuple(
                    dict.fromkeys(
                        f"{each.method} {path_of(each.url)}"[:500] for each in self.hands.guard.loads.known
                    )
                ),
                "pages": len(self.book.pages),
                "passages": self.book.passages,
                "unexplored": left,
            }
        )
        self.folder.end(done)
        self.tell(exploration_events.ExplorationEnded(ended, done.pages, done.passages))
        return done

    async def _sign_in_again(self, url: str) -> bool:
        self.sign_ins += 1
        # A control may have signed out in the browser alone: then the session that was given is still good.
        given = self.storage is not None and bool(self.book.pages)
        if (self.keep.sign_in_again is None and not given) or self.sign_ins > MOST_SIGN_INS:
            self.tell(exploration_events.ExplorationSignedOut(url, "failed"))
            return False
        self.tell(exploration_events.ExplorationSignedOut(url, "trying"))
        if self.keep.sign_in_again is not None:
            self.storage = await self.keep.sign_in_again()
        self.tell(exploration_events.ExplorationSignedOut(url, "signed_in" if self.storage else "failed"))
        return self.storage is not None
