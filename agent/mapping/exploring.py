"""Explores a website: what `periplus map` does in the browser.

One tab, one thing at a time: choose the next step (`frontier`), have it done (`hands`), which judges what was seen
(`book`) and writes it down (`ledger`, `kb_schema.mapping_folder`). Where others help, they do parts of it (`sharing`).
What is known is derived from the folder, so that an exploration that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from playwright.async_api import Browser, BrowserContext, StorageState

from agent.mapping import events
from agent.mapping.book import Book
from agent.mapping.events import MapEvent
from agent.mapping.frontier import next_step, not_permitted, unexplored
from agent.mapping.hands import Hands, Rules, SignedInCheck, SignedOut
from agent.mapping.ledger import Ledger
from agent.mapping.looking import leads_elsewhere
from agent.mapping.pacing import Pace
from agent.mapping.permitting import Permission
from agent.mapping.sharing import Sharing, Workers
from kb_schema.mapping import Exploration, Passage
from kb_schema.mapping_folder import ExplorationFolder

MOST_SIGN_INS = 5
"""How often it signs in again before it gives up."""

EndedBy = Literal["done", "states", "depth", "time", "stopped"]


@dataclass(frozen=True, slots=True)
class KeepSignedIn:
    """How the exploration knows that it is signed in, and how it comes to be so again."""

    signed_in: SignedInCheck | None = None
    """Without it a page that asks for a password speaks against it. Workers know nothing of it."""
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
    workers: Workers | None = None,
) -> Exploration:
    """Explore until nothing is left or a bound is reached; goes on where the folder holds a part of it already.

    `tell` hears what happens. `storage_state` is a session; `stop` ends it in good order. `workers` do what changes
    nothing; `browser` then does the rest. Raises `OtherExploration`, `NotSignedIn` where the first start page asks
    for a password, and `KnowledgeError` for a folder that cannot be read.
    """
    book_folder = ExplorationFolder(folder)
    begun = _resumed(book_folder, wanted)
    book_folder.begin(begun)
    _close_what_was_cut_off(book_folder)
    explorer = _Explorer(
        begun, book_folder, tell, stop or asyncio.Event(), keep_signed_in or KeepSignedIn(), workers
    )
    explorer.storage = storage_state
    explorer.ledger.signed_in = storage_state is not None or keep_signed_in is not None
    return await explorer.run(browser)


def _close_what_was_cut_off(folder: ExplorationFolder) -> None:
    """What might change something and was begun is not done again: nobody knows whether it was done."""
    tried = {(each.from_page, each.offer_id) for each in folder.passages()}
    for page_id, offer_id in folder.begun():
        if (page_id, offer_id) not in tried:
            message = "it was cut off while this was done: whether it was done is not known"
            cut_off = Passage(
                from_page=page_id, offer_id=offer_id, outcome="error", message=message, at=datetime.now(UTC)
            )
            folder.add_passage(cut_off)


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


class _Explorer:
    """One exploration while it goes on."""

    def __init__(
        self,
        wanted: Exploration,
        folder: ExplorationFolder,
        tell: Callable[[MapEvent], None],
        stop: asyncio.Event,
        keep: KeepSignedIn,
        workers: Workers | None,
    ) -> None:
        self.wanted, self.folder, self.tell, self.stop, self.keep = wanted, folder, tell, stop, keep
        self.limits = wanted.limits
        self.storage: StorageState | None = None
        self.book = Book(wanted.limits, folder.pages(), folder.passages())
        self.ledger = Ledger(wanted, folder, self.book, tell, signed_in=False)
        self.permission = Permission(wanted.origins, respected=wanted.robots)
        pace = Pace(wanted.limits.per_second, stop, lambda s: tell(events.Waiting(s, "to be polite")))
        rules = Rules(self.permission, pace, lambda: self._over() is not None, keep.signed_in)
        self.hands = Hands(self.ledger, rules)
        self.sharing = None
        if workers is not None:
            self.sharing = Sharing(self.ledger, workers, self.permission.may_open, stop)
        self.began = time.monotonic()
        self.sign_ins = 0
        self.hints = wanted.hints

    async def run(self, browser: Browser) -> Exploration:
        """Until it ends."""
        ended: EndedBy = "stopped"
        while True:
            try:
                async with self.hands.on(browser, self.storage) as context:
                    ended = await self._explore(context)
                break
            except SignedOut as out:
                self._blame(out)
                if not await self._sign_in_again(out.url):
                    if not self.book.pages:
                        raise NotSignedIn(out.url) from out
                    break
        return self._end(ended)

    def _blame(self, out: SignedOut) -> None:
        """A control signed out: no other like it is tried. Of a link, its address says enough."""
        offer = out.step.offer if out.step is not None else None
        if out.step is None or offer is None or leads_elsewhere(offer, out.step.page.url):
            return
        if not_permitted(offer, self.permission.may_open) is None:
            self.ledger.mark(out.step.page.page_id, offer.offer_id, "signs_out", f"led to {out.url}")

    async def _explore(self, context: BrowserContext) -> EndedBy:
        await self.hands.open_starts(self.wanted.starts)
        while True:
            over = self._over()
            if over is not None:
                return over
            step, left = next_step(
                self.book, self.hands.at, self.ledger.lost, self.permission.may_open, self.ledger.urgent
            )
            self._progress(left)
            if step is None:
                hints, self.hints = self.hints, ()
                if not await self.hands.open_hints(hints):
                    return self._over() or "done"
            elif self.sharing is not None and self.sharing.shares(step):
                await self.sharing.run(await context.storage_state(), self._over_at(), self._progress)
            else:
                await self.hands.take(step)

    def _progress(self, left: int) -> None:
        seconds = time.monotonic() - self.began
        self.tell(events.Progress(len(self.book.pages), self.book.passages, left, seconds))

    def _over(self) -> EndedBy | None:
        if self.stop.is_set():
            return "stopped"
        if time.monotonic() >= self._over_at():
            return "time"
        return "states" if self.ledger.full else None

    def _over_at(self) -> float:
        return self.began + self.limits.seconds

    def _end(self, ended: EndedBy) -> Exploration:
        left = unexplored(self.book, self.ledger.lost, self.permission.may_open)
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

    async def _sign_in_again(self, url: str) -> bool:
        self.sign_ins += 1
        if self.keep.sign_in_again is None or self.sign_ins > MOST_SIGN_INS:
            self.tell(events.SignedOut(url, "failed"))
            return False
        self.tell(events.SignedOut(url, "trying"))
        self.storage = await self.keep.sign_in_again()
        self.tell(events.SignedOut(url, "signed_in" if self.storage else "failed"))
        return self.storage is not None
