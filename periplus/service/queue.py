"""Submissions in their order: kept before they are accepted, carried out by a few workers, none lost.

In memory are only ids; what is to be verified is in the store. A run whose server is gone is taken
up by whichever server of the same store notices first. What happens to one run is `carrying.py`.
"""

from __future__ import annotations

import asyncio
import heapq
import uuid
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import structlog

from kb_schema.runs import StoredRun
from kb_schema.verification import Requirement
from kb_store import StoreError
from kb_store.run_leases import holding_run, live_holder
from kb_store.runs import RunStore
from periplus.service.carrying import CANCELLED, LEFT, Carrier, Live, lease_of
from periplus.service.keeping import PREFIX, ending, new_run_id, submission_of, submitted
from periplus.service.patience import kept_within, patiently, pause
from periplus.service.ports import VerifierOpener
from periplus.service.problems import ApiProblem
from periplus.service.progress import Followers

Where = Literal["queued", "running", "cancelling"]
PAGE = 500
LOOK_S = 20.0
"""How often it is looked for runs whose server is gone."""
FULL_AGAIN_S, DRAINING_AGAIN_S = 10, 5
"""Retry-After."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """What one server bears."""

    workers: int = 2
    """Runs at a time, each in a browser context of its own, some 100 MB."""
    most_waiting: int = 1_000
    grace_s: float = 30.0
    """How long runs may take to come to their end once the service is told to stop."""
    stop_s: float = 5.0
    """How long they may take after that for the step they are at."""
    cancel_s: float = 10.0
    """How long a cancelled run may take for it."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A submission that is kept."""

    run_id: str
    before: int
    """How many wait before it; a run with none before it and a free worker begins at once."""
    begins: bool


class RunQueue:
    """Open as long as the service is."""

    def __init__(
        self, runs: RunStore, opener: VerifierOpener, folder: Path, limits: QueueLimits | None = None
    ) -> None:
        self.limits = limits or QueueLimits()
        self.followers = Followers()
        self._runs, self._server = runs, uuid.uuid4().hex[:12]
        self._carrier = Carrier(runs, opener, folder, self.followers)
        self._line: list[str] = []
        """A heap of run ids, which sort by their time; some may have been taken out of `_waiting`."""
        self._waiting: dict[str, str] = {}
        """run_id -> req_id."""
        self._keeping = 0
        """Submissions on their way into the store."""
        self._running: dict[str, Live] = {}
        self._requirements: dict[str, str] = {}
        """req_id -> run_id, of all that wait, run, or are on their way into the store."""
        self._more = asyncio.Event()
        self._stack = AsyncExitStack()
        self._workers: list[asyncio.Task[None]] = []
        self._aside: set[asyncio.Task[None]] = set()
        self._looked_until = ""
        self.draining = False

    # -- open and closed

    async def __aenter__(self) -> Self:
        leases = holding_run(self._runs.leases, _server_lease(self._server), on_lost=lambda: None)
        await self._stack.enter_async_context(leases)
        await self._take_up()
        self._workers = [
            asyncio.create_task(self._work(), name=f"verifying {number}")
            for number in range(self.limits.workers)
        ]
        self._do_aside(self._look_regularly(), "runs of servers that are gone")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.drain(grace_s=0)
        self.followers.close()
        for task in self._aside:
            task.cancel()
        if self._aside:
            await asyncio.wait(self._aside)
        await self._carrier.close()
        await self._stack.aclose()

    async def drain(self, *, grace_s: float | None = None) -> None:
        """Take nothing more; let what runs come to its end for so long, then stop it, to be gone on with."""
        self.draining = True
        self._more.set()
        if not self._workers:
            return
        grace = self.limits.grace_s if grace_s is None else grace_s
        _log.info("draining", running=len(self._running), waiting=len(self._waiting), grace_s=grace)
        if not await self._ended(grace):
            for live in self._running.values():
                live.stop.ask(LEFT)
            self._carrier.given_up.set()
            if not await self._ended(self.limits.stop_s if grace else 0):
                for live in self._running.values():
                    live.cut_off()
                await self._ended(self.limits.stop_s)
        for worker in self._workers:
            worker.cancel()
        if self._workers:
            await asyncio.wait(self._workers)
        self._workers = []

    # -- asked by the routes

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many are carried out now."""
        return len(self._running)

    def where(self, run_id: str) -> Where | None:
        """Where a run is here; None: it is not."""
        live = self._running.get(run_id)
        if live is not None:
            return "cancelling" if live.stop.reason == CANCELLED else "running"
        return "queued" if run_id in self._waiting else None

    async def where_at_all(self, run: StoredRun) -> Where | None:
        """Where a run without an end is, here or elsewhere; None: nobody is at it. Raises `StoreError`."""
        here = self.where(run.run_id)
        if here is not None:
            return here
        ours = run.run_id.startswith(PREFIX)
        held = await live_holder(self._runs.leases, lease_of(run.run_id) if ours else run.run_id)
        if held is not None:
            return "running"
        return "queued" if ours else None

    def before(self, run_id: str) -> int | None:
        """How many wait before it; None: it does not wait here."""
        return sum(other < run_id for other in self._waiting) if run_id in self._waiting else None

    async def submit(self, requirement: Requirement) -> Accepted:
        """Keep it, then put it into line. Raises `ApiProblem` and `StoreError`, and then nothing was accepted."""
        req_id = requirement.req_id
        if self.draining:
            raise ApiProblem(
                503, "draining", "the service is about to end and takes no more runs",
                fix=f"ask again in {DRAINING_AGAIN_S} s", headers={"Retry-After": str(DRAINING_AGAIN_S)},
            )  # fmt: skip
        if req_id in self._requirements:
            raise _already(req_id, self.where(self._requirements[req_id]) or "queued")
        if len(self._waiting) + self._keeping >= self.limits.most_waiting:
            raise ApiProblem(
                503, "queue_full", f"{self.limits.most_waiting} runs wait already",
                fix=f"ask again in {FULL_AGAIN_S} s, or raise PERIPLUS_SERVE_QUEUE or --workers",
                headers={"Retry-After": str(FULL_AGAIN_S)},
            )  # fmt: skip
        run_id = new_run_id()
        self._requirements[req_id] = run_id
        self._keeping += 1
        # In a task of its own: who hangs up meanwhile leaves it whole.
        return await asyncio.shield(
            asyncio.create_task(self._submitted(run_id, requirement), name=f"submission {req_id}")
        )

    async def cancel(self, run: StoredRun) -> Where | Literal["cancelled"]:
        """Stop it, or take it out of line. Raises `ApiProblem` and `StoreError`."""
        live = self._running.get(run.run_id)
        if live is not None:
            live.stop.ask(CANCELLED)
            self._do_aside(self._cut_off_later(live), f"cancelling {run.run_id}")
            return "cancelling"
        if run.run_id in self._waiting:
            req_id = self._waiting.pop(run.run_id)
            try:
                await self._runs.finish_run(run.run_id, ending("cancelled", run.started_at, error=CANCELLED))
            except StoreError:
                self._into_line(run.run_id, req_id)
                raise
            self._forget(run.run_id, req_id)
            _log.info("run_cancelled", run_id=run.run_id, req_id=req_id)
            return "cancelled"
        if run.finished_at is not None:
            raise ApiProblem(
                409, "already_over", f"{run.req_id!r} is over", fix="there is nothing left to cancel"
            )
        raise ApiProblem(
            409, "runs_elsewhere", f"another process carries {run.req_id!r} out",
            fix="cancel it there, or wait for its end",
        )  # fmt: skip

    # -- how

    async def _submitted(self, run_id: str, requirement: Requirement) -> Accepted:
        req_id = requirement.req_id
        try:
            async with kept_within(self._runs.address):
                await self._refuse_if_elsewhere(req_id)
                await self._runs.begin_run(submitted(run_id, self._server, requirement))
        except BaseException as exc:
            del self._requirements[req_id]
            if isinstance(exc, StoreError):  # it may have been written all the same, and nobody was told so
                self._do_aside(self._disowned(run_id), f"disowning {run_id}")
            raise
        finally:
            self._keeping -= 1
        begins = not self._waiting and len(self._running) < self.limits.workers
        before = sum(other < run_id for other in self._waiting)
        self._into_line(run_id, req_id)
        _log.info("run_submitted", run_id=run_id, req_id=req_id, before=before)
        return Accepted(run_id, before, begins)

    async def _refuse_if_elsewhere(self, req_id: str) -> None:
        """Another server of this store may be at the same requirement."""
        for run in await self._runs.runs(req_id=req_id, limit=1):
            held = submission_of(run)
            if held is None or held.server == self._server:
                continue
            if await live_holder(self._runs.leases, _server_lease(held.server)) is not None:
                raise _already(req_id, await self.where_at_all(run) or "queued")

    async def _disowned(self, run_id: str) -> None:
        """A submission whose client was told that it was not accepted is not carried out later on."""

        async def disown() -> None:
            run = await self._runs.run(run_id)
            if run is not None and run.finished_at is None:
                error = "it was not accepted: the store did not answer in time"
                await self._runs.finish_run(run_id, ending("cancelled", run.started_at, error=error))

        await patiently(disown, given_up=self._carrier.given_up)

    def _into_line(self, run_id: str, req_id: str) -> None:
        self._requirements[req_id] = run_id
        self._waiting[run_id] = req_id
        heapq.heappush(self._line, run_id)
        self._more.set()

    def _forget(self, run_id: str, req_id: str) -> None:
        if self._requirements.get(req_id) == run_id:
            del self._requirements[req_id]
        self.followers.wake(run_id)

    async def _work(self) -> None:
        while not self.draining:
            run_id = heapq.heappop(self._line) if self._line else None
            if run_id is None:
                self._more.clear()
                await self._more.wait()
            elif (req_id := self._waiting.pop(run_id, None)) is not None:
                live = self._running[run_id] = Live(run_id, req_id)
                try:
                    await self._carrier.carry_out(live)
                finally:
                    del self._running[run_id]
                    self._forget(run_id, req_id)

    async def _ended(self, seconds: float) -> bool:
        """Whether all workers came home, which is waited for so long."""
        if self._workers and self._running:
            await asyncio.wait(self._workers, timeout=seconds)
        return not self._running

    async def _cut_off_later(self, live: Live) -> None:
        await pause(self.limits.cancel_s, self._carrier.given_up)
        if self._running.get(live.run_id) is live:
            live.cut_off()

    async def _look_regularly(self) -> None:
        while not self.draining:
            await pause(LOOK_S, self._carrier.given_up)
            try:
                await self._take_up()
            except StoreError as exc:
                _log.warning("store_away", reason=str(exc))

    async def _take_up(self) -> None:
        """Put runs into line that have no end and whose server is gone. Raises `StoreError`."""
        after, first = self._looked_until, None
        while page := await self._runs.runs_by_id(after=after or PREFIX, limit=PAGE):
            for run in page:
                if not run.run_id.startswith(PREFIX):
                    return
                if run.finished_at is None:
                    first = first or run.run_id
                    await self._taken_up(run)
                elif first is None:
                    self._looked_until = run.run_id
            after = page[-1].run_id

    async def _taken_up(self, run: StoredRun) -> None:
        held, req_id = submission_of(run), run.req_id or ""
        if held is None or held.server == self._server or self.where(run.run_id) is not None:
            return
        if await live_holder(self._runs.leases, _server_lease(held.server)) is not None:
            return
        if not self.draining:
            self._into_line(run.run_id, req_id)
            _log.info("run_taken_up", run_id=run.run_id, req_id=req_id)

    def _do_aside(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


def _already(req_id: str, where: str) -> ApiProblem:
    what = "waits in line" if where == "queued" else "is being verified"
    return ApiProblem(
        409, "already_running", f"{req_id!r} {what} already",
        fix=f"wait until GET /api/runs/{req_id} says it is over, or POST /api/runs/{req_id}/cancel first",
    )  # fmt: skip


def _server_lease(server: str) -> str:
    return f"serve/server/{server}"
