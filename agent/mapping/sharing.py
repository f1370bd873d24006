"""An exploration that several work on: cuts parts off what is to be done, and takes what is found into the ledger.

There is one book and one folder, here. What changes something is never shared, so that a worker that dies and
whose part is done again has changed nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable
from typing import Protocol, cast

from playwright.async_api import StorageState
from pydantic import JsonValue

from agent.mapping import events
from agent.mapping.book import Book, Verdict
from agent.mapping.frontier import URGENT, WAY_OUT, Step, steps
from agent.mapping.hands import SignedOut
from agent.mapping.ledger import Ledger
from agent.mapping.parts import told
from agent.mapping.places import path_of_place, place_of
from agent.mapping.returning import way_to
from kb_schema.mapping import Passage, SeenPage
from kb_schema.mapping_parts import Findings, Part

MOST_STEPS = 10
"""Of one part."""
PART_S = 40.0
"""How long a part takes; what is not done by then is done in another one."""
MOST_FAILED = 4
"""Parts in a row of which nothing comes: then it is not the pages, and the rest is done without workers."""

Mark = tuple[str, ...]
_Key = tuple[str, str | None]


class PartLost(Exception):
    """Workers died while they were at a part."""


class Workers(Protocol):
    """Who does parts. `periplus.fleet` has them."""

    @property
    def width(self) -> int:
        """How many parts are done at the same time."""

    async def do(self, part: Part) -> Findings:
        """What came of a part; nothing where it was stopped before it began. Raises `PartLost`."""

    async def stop(self) -> None:
        """Parts end after what they are at. Safe to repeat."""


class Sharing:
    """What several do of one exploration."""

    def __init__(
        self, ledger: Ledger, workers: Workers, may_open: Callable[[str], bool], stop: asyncio.Event
    ) -> None:
        self._ledger, self._workers, self._may_open, self._stop = ledger, workers, may_open, stop
        self.alone: set[_Key] = set()
        """Steps that may have signed us out, or that workers died of: to be done here, when nobody else is at it."""
        self._singly: set[_Key] = set()
        """Steps of a part whose workers died: one at a time, so that the one that does it is found."""
        self._failed_in_a_row = 0

    def shares(self, step: Step) -> bool:
        """Whether a step is for others. What puts away something that is in the way is done once, here: the session
        that others are given remembers it.
        """
        if self._failed_in_a_row >= MOST_FAILED or step.rank[0] == URGENT:
            return False
        return not (step.offer and step.offer.allowed_by) and _key(step) not in self.alone

    async def run(self, session: StorageState | None, until: float, progress: Callable[[int], None]) -> None:
        """Until nothing is left that is for others, or it is over: at `until` (monotonic), when it is stopped, or
        there are pages enough. `progress` hears how much is left.

        `session` is what the explorer's own browser knows. Raises `SignedOut` when all have ended.
        """
        flying: dict[asyncio.Task[Findings], list[Step]] = {}
        stopping = asyncio.create_task(self._stop.wait())
        out: SignedOut | None = None
        try:
            while True:
                while out is None and len(flying) < self._workers.width and not self._over(until):
                    free, left = self._free([step for taken in flying.values() for step in taken])
                    progress(left)
                    if not free:
                        break
                    taken = self._chosen(free)
                    part = self._cut(taken, session, until - time.monotonic())
                    flying[asyncio.create_task(self._workers.do(part))] = taken
                if not flying:
                    break
                waited = {*flying} if stopping.done() else {*flying, stopping}
                done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                if stopping in done:
                    await self._workers.stop()
                alone = len(flying) == 1
                for task in [each for each in flying if each in done]:
                    out = self._ended(task, flying.pop(task), alone=alone and out is None) or out
        finally:
            stopping.cancel()
            for task in flying:
                task.cancel()
            await asyncio.gather(*flying, stopping, return_exceptions=True)
        if out is not None:
            raise out

    def _ended(self, task: asyncio.Task[Findings], taken: list[Step], *, alone: bool) -> SignedOut | None:
        try:
            findings = task.result()
        except PartLost as lost:
            self._failed(str(lost))
            one_by_one = self._singly if len(taken) > 1 else self.alone
            one_by_one.update(_key(step) for step in taken)
            return None
        if findings.passages or findings.lost:
            self._failed_in_a_row = 0
        elif findings.signed_out is not None:  # a site may take the session from nowhere else than here
            self._failed("it is not signed in there")
        else:
            self.alone.update(_key(step) for step in taken)  # nobody else does it, for whatever reason
        out = self._signed_out(findings, taken, alone=alone)
        take_in(self._ledger, findings, again=self.alone)
        return out

    def _failed(self, why: str) -> None:
        self._failed_in_a_row += 1
        if self._failed_in_a_row == MOST_FAILED:
            self._ledger.tell(events.Waiting(0.0, f"it goes on without workers: {why}"))

    def _signed_out(self, findings: Findings, taken: list[Step], *, alone: bool) -> SignedOut | None:
        """Where others were at it, anyone may have signed out: what they did last is done again, alone."""
        if findings.signed_out is None:
            return None
        suspect = next((step for step in taken if told(step) == findings.suspect), None)
        if suspect is not None and not alone:
            self.alone.add(_key(suspect))
            suspect = None
        return SignedOut(findings.signed_out, suspect)

    # -- what is next

    def _over(self, until: float) -> bool:
        return self._stop.is_set() or self._ledger.full or time.monotonic() >= until

    def _free(self, taken: list[Step]) -> tuple[list[Step], int]:
        """Steps for others that nobody is at, the best first; how many there are. What comes after the kind of a step
        that is not for others waits for that.
        """
        ledger, book = self._ledger, self._ledger.book
        all_ = list(steps(book, None, ledger.lost, self._may_open, ledger.urgent))
        before = min((step.rank[0] for step in all_ if not self.shares(step)), default=WAY_OUT + 1)
        found = [step for step in all_ if self.shares(step) and step.rank[0] <= before]
        busy = {mark for step in taken for mark in _marks(book, step)}
        free = [step for step in found if not busy & _marks(book, step)]
        return sorted(free, key=lambda step: step.rank), len(found)

    def _chosen(self, free: list[Step]) -> list[Step]:
        """The steps of the next part: those of the best one's page first, and some for the other workers."""
        if _key(free[0]) in self._singly:
            return free[:1]
        most = min(MOST_STEPS, -(-len(free) // self._workers.width))
        first = free[0].page.page_id
        chosen: list[Step] = []
        keys: set[Mark] = set()
        for step in sorted(free, key=lambda step: step.page.page_id != first):
            key = _control(self._ledger.book, step)
            if len(chosen) < most and key not in keys and _key(step) not in self._singly:
                keys.add(key)
                chosen.append(step)
        return chosen

    def _cut(self, part: list[Step], session: StorageState | None, seconds_left: float) -> Part:
        """A part with what must be known to do it."""
        book, wanted = self._ledger.book, self._ledger.wanted
        pages = {step.page.page_id for step in part}
        ways = [passage for page_id in pages for way in way_to(book, book.pages[page_id]) for passage in way]
        limits = wanted.limits.model_copy(update={"seconds": min(PART_S, max(1.0, seconds_left))})
        return Part(
            exploration=wanted.model_copy(update={"limits": limits, "unexplored": ()}),
            workers=self._workers.width,
            pages=tuple(_told(page, pages, ways) for page in book.pages.values()),
            passages=tuple({(each.from_page, each.offer_id, each.to_page): each for each in ways}.values()),
            ways_out=tuple(sorted(book.ways)),
            steps=tuple(told(step) for step in part),
            signed_in=self._ledger.signed_in,
            session=cast("JsonValue", session),
        )


def take_in(ledger: Ledger, findings: Findings, *, again: Collection[_Key]) -> None:
    """Write what came of a part, as if it had been found here: who found the same page before was first.

    `again` is what will be done once more, and is not told now.
    """
    book, ids = ledger.book, dict[str, str | None]()
    for found in findings.pages:
        page = found.page
        judged = book.judge(page.url, page.state)
        if judged.verdict is not Verdict.KEEP or ledger.full:
            ids[page.page_id] = judged.page_id
            continue
        ids[page.page_id] = own = book.new_id()
        ledger.take(page.model_copy(update={"page_id": own}), found.snapshot, found.picture)
    for page_id, openable in findings.openable.items():
        ledger.amend(page_id, openable=openable)
    for passage in findings.passages:
        if (passage.from_page, passage.offer_id) not in again:
            _pass_on(ledger, passage, ids)
    for marked in findings.marked:
        if marked.step.offer_id is not None:
            ledger.mark(marked.step.page_id, marked.step.offer_id, marked.danger, marked.why)
    for page_id, instead in findings.lost.items():
        if page_id in book.pages and page_id not in ids:
            ledger.lose(book.pages[page_id], instead)
    ledger.urgent.update(
        (each.page_id, each.offer_id) for each in findings.urgent if each.offer_id is not None
    )
    for url in findings.alike:
        ledger.note_alike(url)
    book.sticky.update(findings.remembered)


def _pass_on(ledger: Ledger, passage: Passage, ids: dict[str, str | None]) -> None:
    """A passage with the ids that are known here. What somebody else found out before is not written twice."""
    start = ids.get(passage.from_page, passage.from_page)
    end = ids.get(passage.to_page, passage.to_page) if passage.to_page is not None else None
    if start is None:
        return
    book = ledger.book
    if passage.offer_id is None and (path_of_place(book.pages[start].url), passage.way) in book.ways:
        return
    ledger.pass_on(passage.model_copy(update={"from_page": start, "to_page": end}))


def _told(page: SeenPage, wanted: Iterable[str], ways: Iterable[Passage]) -> SeenPage:
    """A page as it travels: with what it offers only as far as a part needs that."""
    if page.page_id in wanted:
        return page
    led = {passage.offer_id for passage in ways if passage.from_page == page.page_id}
    return page.model_copy(update={"offers": tuple(each for each in page.offers if each.offer_id in led)})


def _key(step: Step) -> _Key:
    return step.page.page_id, step.offer.offer_id if step.offer else None


def _control(book: Book, step: Step) -> Mark:
    """Steps with the same are the same control, or the same way out of a place."""
    if step.offer is None:
        return ("address", path_of_place(step.page.url))
    return book.key_of(step.page, step.offer)


def _marks(book: Book, step: Step) -> set[Mark]:
    """By what steps are told to be the same, or to lead to the same place, for who does them at the same time."""
    found = {_control(book, step)}
    if step.offer is not None and step.offer.href:
        found.add(("place", place_of(step.offer.href)))
    return found
