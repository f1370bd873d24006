"""The run queue: submissions are stored before they are accepted, and executed in order by a few workers.

Only ids are in memory; the requirements are in the store. If a server disappears, another server of the same
store takes over its runs. `submission_execution` executes a run.
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

from kb_schema.run_records import StoredRun
from kb_schema.verification import Requirement
from kb_store import StoreError
from kb_store.audit.audit_recorder import record_async
from kb_store.runs.run_leases import find_live_holder, hold_run_lease
from kb_store.runs.run_store import RunStore
from periplus.service.problem_details import ApiProblem
from periplus.service.run_event_log import RunEventFollowers
from periplus.service.store_retries import limit_store_wait, retry_until_available, sleep_until_cancelled
from periplus.service.submission_execution import (
    CANCELLED,
    LEFT,
    ExecutingSubmission,
    SubmissionExecutor,
    submission_lease_name,
)
from periplus.service.submission_records import (
    PREFIX,
    build_run_ending,
    build_submission_row,
    new_run_id,
    read_submission,
)
from periplus.verifier_ports import GrantReader, VerifierOpener, grant_nothing

QueuePlace = Literal["queued", "running", "cancelling"]
PAGE = 500
LOOK_S = 20.0
"""Interval of the search for runs whose server has disappeared."""
FULL_AGAIN_S, DRAINING_AGAIN_S = 10, 5
"""Retry-After."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunQueueLimits:
    """The limits of one server."""

    workers: int = 2
    """Maximum number of parallel runs; each uses a browser context, about 100 MB."""
    most_waiting: int = 1_000
    grace_s: float = 30.0
    """Seconds that runs may take to finish when the service stops."""
    stop_s: float = 5.0
    """Seconds after that for their current step."""
    run_s: float = 1_800.0
    """Seconds that one run may take; then it is ended and has failed."""
    cancel_s: float = 10.0
    """Seconds that a cancelled run may take for its current step."""


@dataclass(frozen=True, slots=True)
class AcceptedSubmission:
    """A submission that is stored."""

    run_id: str
    before: int
    """The number of runs before it; without any, and with a free worker, the run starts at once."""
    begins: bool


class RunQueue:
    """The queue of one server; an async context manager."""

    def __init__(
        self,
        runs: RunStore,
        opener: VerifierOpener,
        folder: Path,
        limits: RunQueueLimits | None = None,
        grants: GrantReader = grant_nothing,
    ) -> None:
        self.limits = limits or RunQueueLimits()
        self.followers = RunEventFollowers()
        self._runs, self._server = runs, uuid.uuid4().hex[:12]
        self._carrier = SubmissionExecutor(
            runs, opener, folder, self.followers, grants, run_s=self.limits.run_s
        )
        self._line: list[str] = []
        """A heap of run ids, which sort by time; cancelled ones are no longer in `_waiting`."""
        self._waiting: dict[str, str] = {}
        """run_id -> req_id."""
        self._keeping = 0
        """Submissions that are being stored."""
        self._running: dict[str, ExecutingSubmission] = {}
        self._requirements: dict[str, str] = {}
        """req_id -> run_id of all runs that are queued, running or being stored."""
        self._more = asyncio.Event()
        self._stack = AsyncExitStack()
        self._workers: list[asyncio.Task[None]] = []
        self._aside: set[asyncio.Task[None]] = set()
        self._looked_until = ""
        self.draining = False

    # -- start and end

    async def __aenter__(self) -> Self:
        leases = hold_run_lease(self._runs.leases, _server_lease(self._server), on_lost=lambda: None)
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
        """Accept no more runs; wait `grace_s` for running ones, then stop them, to be resumed later."""
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

    # -- for the routes

    @property
    def waiting(self) -> int:
        """Return the number of queued runs."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Return the number of running runs."""
        return len(self._running)

    def where(self, run_id: str) -> QueuePlace | None:
        """Return a run's place in this server; None if it is not here."""
        live = self._running.get(run_id)
        if live is not None:
            return "cancelling" if live.stop.reason == CANCELLED else "running"
        return "queued" if run_id in self._waiting else None

    async def where_at_all(self, run: StoredRun) -> QueuePlace | None:
        """Return an unfinished run's place, here or in another process; None if none executes it. Raises `StoreError`."""
        here = self.where(run.run_id)
        if here is not None:
            return here
        ours = run.run_id.startswith(PREFIX)
        held = await find_live_holder(
            self._runs.leases, submission_lease_name(run.run_id) if ours else run.run_id
        )
        if held is not None:
            return "running"
        return "queued" if ours else None

    def before(self, run_id: str) -> int | None:
        """Return the number of runs queued before it; None if it is not queued here."""
        return sum(other < run_id for other in self._waiting) if run_id in self._waiting else None

    async def submit(self, requirement: Requirement) -> AcceptedSubmission:
        """Store a submission and queue it. Raises `ApiProblem` and `StoreError`; then nothing was accepted."""
        req_id = requirement.req_id
        if self.draining:
            raise ApiProblem(
                503,
                "draining",
                "the service is shutting down and accepts no more runs",
                fix=f"retry in {DRAINING_AGAIN_S} s",
                headers={"Retry-After": str(DRAINING_AGAIN_S)},
            )
        if req_id in self._requirements:
            raise _build_already_running_problem(req_id, self.where(self._requirements[req_id]) or "queued")
        if len(self._waiting) + self._keeping >= self.limits.most_waiting:
            raise ApiProblem(
                503,
                "queue_full",
                f"the queue is full: {self.limits.most_waiting} runs are waiting",
                fix=f"retry in {FULL_AGAIN_S} s, or raise PERIPLUS_SERVE_QUEUE or --workers",
                headers={"Retry-After": str(FULL_AGAIN_S)},
            )
        run_id = new_run_id()
        self._requirements[req_id] = run_id
        self._keeping += 1
        # In its own task, so that a client that disconnects does not cancel it.
        return await asyncio.shield(
            asyncio.create_task(self._submitted(run_id, requirement), name=f"submission {req_id}")
        )

    async def cancel(self, run: StoredRun) -> QueuePlace | Literal["cancelled"]:
        """Stop a run, or remove it from the queue. Raises `ApiProblem` and `StoreError`."""
        live = self._running.get(run.run_id)
        if live is not None:
            live.stop.ask(CANCELLED)
            await record_async("run_cancelled", run.run_id, website=run.website_id)
            self._do_aside(self._cut_off_later(live), f"cancelling {run.run_id}")
            return "cancelling"
        if run.run_id in self._waiting:
            req_id = self._waiting.pop(run.run_id)
            try:
                await self._runs.finish_run(
                    run.run_id, build_run_ending("cancelled", run.started_at, error=CANCELLED)
                )
            except StoreError:
                self._into_line(run.run_id, req_id)
                raise
            self._forget(run.run_id, req_id)
            await record_async("run_cancelled", run.run_id, website=run.website_id)
            _log.info("run_cancelled", run_id=run.run_id, req_id=req_id)
            return "cancelled"
        if run.finished_at is not None:
            raise ApiProblem(
                409,
                "already_over",
                f"{run.req_id!r} has already ended",
                fix="nothing to do: only queued and running runs can be cancelled",
            )
        raise ApiProblem(
            409,
            "runs_elsewhere",
            f"{run.req_id!r} is executed by another process",
            fix="cancel it there, or wait until it has ended",
        )

    # -- implementation

    async def _submitted(self, run_id: str, requirement: Requirement) -> AcceptedSubmission:
        req_id = requirement.req_id
        try:
            async with limit_store_wait(self._runs.address):
                await self._refuse_if_elsewhere(req_id)
                await self._runs.begin_run(build_submission_row(run_id, self._server, requirement))
        except BaseException as exc:
            del self._requirements[req_id]
            if isinstance(
                exc, StoreError
            ):  # the row may have been written although the store reported an error
                self._do_aside(self._disowned(run_id), f"disowning {run_id}")
            raise
        finally:
            self._keeping -= 1
        begins = not self._waiting and len(self._running) < self.limits.workers
        before = sum(other < run_id for other in self._waiting)
        self._into_line(run_id, req_id)
        _log.info("run_submitted", run_id=run_id, req_id=req_id, before=before)
        return AcceptedSubmission(run_id, before, begins)

    async def _refuse_if_elsewhere(self, req_id: str) -> None:
        """Raise `ApiProblem` if another server of this store executes the same requirement."""
        for run in await self._runs.runs(req_id=req_id, limit=1):
            held = read_submission(run)
            if held is None or held.server == self._server:
                continue
            if await find_live_holder(self._runs.leases, _server_lease(held.server)) is not None:
                raise _build_already_running_problem(req_id, await self.where_at_all(run) or "queued")

    async def _disowned(self, run_id: str) -> None:
        """Mark a submission as failed that was reported to its client as not accepted."""

        async def disown() -> None:
            run = await self._runs.run(run_id)
            if run is not None and run.finished_at is None:
                error = "it was not accepted: the store did not answer in time"
                await self._runs.finish_run(
                    run_id, build_run_ending("cancelled", run.started_at, error=error)
                )

        await retry_until_available(disown, given_up=self._carrier.given_up)

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
                live = self._running[run_id] = ExecutingSubmission(run_id, req_id)
                try:
                    await self._carrier.carry_out(live)
                finally:
                    del self._running[run_id]
                    self._forget(run_id, req_id)

    async def _ended(self, seconds: float) -> bool:
        """Wait at most `seconds` for the workers; return whether all have ended."""
        if self._workers and self._running:
            await asyncio.wait(self._workers, timeout=seconds)
        return not self._running

    async def _cut_off_later(self, live: ExecutingSubmission) -> None:
        await sleep_until_cancelled(self.limits.cancel_s, self._carrier.given_up)
        if self._running.get(live.run_id) is live:
            live.cut_off()

    async def _look_regularly(self) -> None:
        while not self.draining:
            await sleep_until_cancelled(LOOK_S, self._carrier.given_up)
            try:
                await self._take_up()
            except StoreError as exc:
                _log.warning("store_away", reason=str(exc))

    async def _take_up(self) -> None:
        """Queue unfinished runs whose server has disappeared. Raises `StoreError`."""
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
        held, req_id = read_submission(run), run.req_id or ""
        if held is None or held.server == self._server or self.where(run.run_id) is not None:
            return
        if await find_live_holder(self._runs.leases, _server_lease(held.server)) is not None:
            return
        if not self.draining:
            self._into_line(run.run_id, req_id)
            _log.info("run_taken_up", run_id=run.run_id, req_id=req_id)

    def _do_aside(self, work: Coroutine[None, None, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)


def _build_already_running_problem(req_id: str, where: str) -> ApiProblem:
    what = "queued" if where == "queued" else "running"
    return ApiProblem(
        409,
        "already_running",
        f"{req_id!r} is already {what}",
        fix=f"wait until it has ended (GET /api/runs/{req_id}), or cancel it (POST /api/runs/{req_id}/cancel)",
    )


def _server_lease(server: str) -> str:
    return f"serve/server/{server}"
