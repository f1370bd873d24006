"""Shares an exploration between workers: splits off parts and merges their findings into the record.

Only this process has the state and the folder. Actions that may change data are never shared, so that the part
of a failed worker can be repeated safely.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol, cast

from playwright.async_api import StorageState
from pydantic import JsonValue

from agent.exploration import exploration_events
from agent.exploration.exploration_record import ExplorationRecord
from agent.exploration.exploration_state import ExplorationState, PageNovelty
from agent.exploration.exploration_steps import SignInLost
from agent.exploration.frontier import URGENT, WAY_OUT, ExplorationStep, is_asking, list_steps
from agent.exploration.pages.page_addresses import build_place, build_place_path
from agent.exploration.part_exploration import encode_step
from agent.exploration.return_paths import find_return_paths
from kb_schema.exploration_parts import ExplorationPart, ExplorationPartResult, UsualRequest
from kb_schema.explorations import AttemptedTransition, ExplorationPage

MOST_STEPS = 10
"""Maximum number of steps of one part."""
PART_S = 40.0
"""Time limit of a part in seconds; its remaining steps go into another part."""
MOST_FAILED = 4
"""Number of consecutive parts without result after which the exploration continues without workers."""

StepMark = tuple[str, ...]
_StepKey = tuple[str, str | None]


class PartWorkersLost(Exception):
    """Workers failed during a part."""


class ExplorationWorkers(Protocol):
    """Performs parts on workers; `periplus.fleet` implements it."""

    @property
    def width(self) -> int:
        """Number of parts that run in parallel."""

    async def do(self, part: ExplorationPart) -> ExplorationPartResult:
        """Return the findings of a part; empty if it was stopped before it began. Raises `PartWorkersLost`."""

    async def stop(self) -> None:
        """End parts after their current step. May be called repeatedly."""


class SharedExploration:
    """The shared part of an exploration."""

    def __init__(
        self,
        ledger: ExplorationRecord,
        workers: ExplorationWorkers,
        may_open: Callable[[str], bool],
        stop: asyncio.Event,
        usual: Sequence[UsualRequest],
    ) -> None:
        """`usual`: requests that every visit sends, as they are known when a part begins."""
        self._ledger, self._workers, self._may_open, self._stop = ledger, workers, may_open, stop
        self._usual = usual
        self.alone: set[_StepKey] = set()
        """Steps that may have signed out or crashed workers: they run in this process, after all parts have ended."""
        self._singly: set[_StepKey] = set()
        """Steps of a part whose workers failed: they run one at a time, to find the step that causes it."""
        self._failed_in_a_row = 0

    def shares(self, step: ExplorationStep) -> bool:
        """Whether a step may run on a worker. Overlays are dismissed once, in this process: the shared session
        keeps the effect.
        """
        if self._failed_in_a_row >= MOST_FAILED or step.rank[0] == URGENT:
            return False
        if step.offer is not None and is_asking(step.page, step.offer):
            return False
        return not (step.offer and step.offer.allowed_by) and _build_step_key(step) not in self.alone

    async def run(self, session: StorageState | None, until: float, progress: Callable[[int], None]) -> None:
        """Run parts until no step for workers is left, or until the time limit, a stop or the page limit.

        `until` is in monotonic seconds. `progress` receives the number of remaining steps. `session` is the
        storage state of the explorer's browser. Raises `SignInLost` when all parts have ended.
        """
        flying: dict[asyncio.Task[ExplorationPartResult], list[ExplorationStep]] = {}
        stopping = asyncio.create_task(self._stop.wait())
        out: SignInLost | None = None
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

    def _ended(
        self, task: asyncio.Task[ExplorationPartResult], taken: list[ExplorationStep], *, alone: bool
    ) -> SignInLost | None:
        try:
            findings = task.result()
        except PartWorkersLost as lost:
            self._failed(str(lost))
            one_by_one = self._singly if len(taken) > 1 else self.alone
            one_by_one.update(_build_step_key(step) for step in taken)
            return None
        if findings.passages or findings.lost:
            self._failed_in_a_row = 0
        elif findings.signed_out is not None:  # a website may bind a session to this host
            self._failed("the session is not signed in on the workers")
        else:
            self.alone.update(
                _build_step_key(step) for step in taken
            )  # no worker performs it, for whatever reason
        out = self._signed_out(findings, taken, alone=alone)
        merge_part_result(self._ledger, findings, again=self.alone)
        return out

    def _failed(self, why: str) -> None:
        self._failed_in_a_row += 1
        if self._failed_in_a_row == MOST_FAILED:
            self._ledger.tell(
                exploration_events.ExplorationWaiting(0.0, f"continuing without workers: {why}")
            )

    def _signed_out(
        self, findings: ExplorationPartResult, taken: list[ExplorationStep], *, alone: bool
    ) -> SignInLost | None:
        """Handle a lost sign-in: any worker may have caused it, so the last steps are repeated one at a time."""
        if findings.signed_out is None:
            return None
        suspect = next((step for step in taken if encode_step(step) == findings.suspect), None)
        if suspect is not None and not alone:
            self.alone.add(_build_step_key(suspect))
            suspect = None
        return SignInLost(findings.signed_out, suspect)

    # -- next steps

    def _over(self, until: float) -> bool:
        return self._stop.is_set() or self._ledger.full or time.monotonic() >= until

    def _free(self, taken: list[ExplorationStep]) -> tuple[list[ExplorationStep], int]:
        """Return the free steps for workers, best first, and their number.

        Steps of a later class than the next local step wait for it.
        """
        ledger, book = self._ledger, self._ledger.book
        all_ = list(list_steps(book, None, ledger.lost, self._may_open, ledger.urgent))
        before = min((step.rank[0] for step in all_ if not self.shares(step)), default=WAY_OUT + 1)
        found = [step for step in all_ if self.shares(step) and step.rank[0] <= before]
        busy = {mark for step in taken for mark in _list_step_marks(book, step)}
        free = [step for step in found if not busy & _list_step_marks(book, step)]
        return sorted(free, key=lambda step: step.rank), len(found)

    def _chosen(self, free: list[ExplorationStep]) -> list[ExplorationStep]:
        """Return the steps of the next part: those of the best step's page first; leaves some for other workers."""
        if _build_step_key(free[0]) in self._singly:
            return free[:1]
        most = min(MOST_STEPS, -(-len(free) // self._workers.width))
        first = free[0].page.page_id
        chosen: list[ExplorationStep] = []
        keys: set[StepMark] = set()
        for step in sorted(free, key=lambda step: step.page.page_id != first):
            key = _build_control_mark(self._ledger.book, step)
            if len(chosen) < most and key not in keys and _build_step_key(step) not in self._singly:
                keys.add(key)
                chosen.append(step)
        return chosen

    def _cut(
        self, part: list[ExplorationStep], session: StorageState | None, seconds_left: float
    ) -> ExplorationPart:
        """Return a part with the state that is needed to perform it."""
        book, wanted = self._ledger.book, self._ledger.wanted
        pages = {step.page.page_id for step in part}
        ways = [
            passage
            for page_id in pages
            for way in find_return_paths(book, book.pages[page_id])
            for passage in way
        ]
        limits = wanted.limits.model_copy(update={"seconds": min(PART_S, max(1.0, seconds_left))})
        return ExplorationPart(
            exploration=wanted.model_copy(update={"limits": limits, "unexplored": ()}),
            workers=self._workers.width,
            pages=tuple(_encode_page(page, pages, ways) for page in book.pages.values()),
            passages=tuple({(each.from_page, each.offer_id, each.to_page): each for each in ways}.values()),
            ways_out=tuple(sorted(book.exits.tried)),
            steps=tuple(encode_step(step) for step in part),
            signed_in=self._ledger.signed_in,
            session=cast("JsonValue", session),
            usual=tuple(self._usual),
        )


def merge_part_result(
    ledger: ExplorationRecord, findings: ExplorationPartResult, *, again: Collection[_StepKey]
) -> None:
    """Merge the findings of a part into the record; a page that is recorded already keeps its id.

    `again` are the steps that will be repeated; their results are ignored.
    """
    book, ids = ledger.book, dict[str, str | None]()
    for found in findings.pages:
        page = found.page
        behind = ids.get(page.behind or "", page.behind)
        judged = book.judge(page.url, page.state, behind if page.layer else None)
        if judged.verdict is not PageNovelty.KEEP or ledger.full:
            ids[page.page_id] = judged.page_id
            continue
        ids[page.page_id] = own = book.new_id()
        ledger.take(page.model_copy(update={"page_id": own, "behind": behind}), found.snapshot, found.picture)
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


def _pass_on(ledger: ExplorationRecord, passage: AttemptedTransition, ids: dict[str, str | None]) -> None:
    """Record a transition with local page ids, unless it is recorded already."""
    start = ids.get(passage.from_page, passage.from_page)
    end = ids.get(passage.to_page, passage.to_page) if passage.to_page is not None else None
    if start is None:
        return
    book = ledger.book
    if (
        passage.offer_id is None
        and (build_place_path(book.pages[start].url), passage.way) in book.exits.tried
    ):
        return
    ledger.pass_on(passage.model_copy(update={"from_page": start, "to_page": end}))


def _encode_page(
    page: ExplorationPage, wanted: Iterable[str], ways: Iterable[AttemptedTransition]
) -> ExplorationPage:
    """Encode a page for transfer, only with the controls that a part needs."""
    if page.page_id in wanted:
        return page
    led = {passage.offer_id for passage in ways if passage.from_page == page.page_id}
    return page.model_copy(update={"offers": tuple(each for each in page.offers if each.offer_id in led)})


def _build_step_key(step: ExplorationStep) -> _StepKey:
    return step.page.page_id, step.offer.offer_id if step.offer else None


def _build_control_mark(book: ExplorationState, step: ExplorationStep) -> StepMark:
    """Return a mark that is equal for the same control or the same exit action of a place."""
    if step.offer is None:
        return ("address", build_place_path(step.page.url))
    return book.key_of(step.page, step.offer)


def _list_step_marks(book: ExplorationState, step: ExplorationStep) -> set[StepMark]:
    """Return marks by which parallel steps are recognised as equal or as leading to the same place."""
    found = {_build_control_mark(book, step)}
    if step.offer is not None and step.offer.href:
        found.add(("place", build_place(step.offer.href)))
    return found
