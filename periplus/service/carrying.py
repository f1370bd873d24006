"""One run, from its row to its end: verified, kept, or left to be gone on with.

Which run is next is `queue.py`; here is what happens to it then. An ending is written once everything
else is: a run without one is taken up again by the next server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import structlog

from agent.engine.stopping import Stop, Stopped
from agent.telemetry import span
from kb_schema.runs import RunEnding, StoredRun
from kb_schema.verification import Requirement, VerdictReport
from kb_store import StoreError
from kb_store.run_leases import RunHeld, holding_run
from kb_store.runs import RunStore
from periplus.errands import TAKEN_OVER
from periplus.errors import UserError, write_traceback
from periplus.service.keeping import ending, keep_report, submission_of
from periplus.service.patience import patiently
from periplus.service.ports import STOPPED, Verifier, VerifierOpener
from periplus.service.progress import FINISHED, Followers, Progress, stream_of

CANCELLED = "cancelled"
"""Why a run stops that a client cancelled."""
LEFT = TAKEN_OVER
"""Why it stops where the service does. A verifier that hears this leaves the run to whoever goes on with it."""
LIVES = 3
"""How often a run is begun that takes the server with it, before it is given up."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


@dataclass
class Live:
    """A run that is being carried out here."""

    run_id: str
    req_id: str
    stop: Stop = field(default_factory=Stop)
    work: asyncio.Task[VerdictReport] | None = None

    def cut_off(self) -> None:
        """Stop it now, whatever it is at."""
        if self.work is not None:
            self.work.cancel()


class Carrier:
    """Carries runs out, several at once. Closed, it lets go of the verifier."""

    def __init__(self, runs: RunStore, opener: VerifierOpener, folder: Path, followers: Followers) -> None:
        self._runs, self._opener, self._folder, self._followers = runs, opener, folder, followers
        self._verifier: Verifier | None = None
        self._opening, self._stack = asyncio.Lock(), AsyncExitStack()
        self.given_up = asyncio.Event()
        """Set when the service ends: a store that does not answer is not waited for any more."""

    async def close(self) -> None:
        """Let go of the verifier and what it holds."""
        await self._stack.aclose()

    async def carry_out(self, live: Live) -> None:
        """To its end, if nobody else is at it. Raises nothing: what goes wrong is the run's, or the log's."""
        with structlog.contextvars.bound_contextvars(run_id=live.run_id, req_id=live.req_id):
            try:
                await self._held(live)
            except RunHeld as exc:
                _log.info("run_elsewhere", reason=str(exc))
            except StoreError as exc:
                _log.warning("run_left", reason=str(exc))  # its row has no end: the next server takes it up
            except Exception as exc:  # noqa: BLE001 - the outermost boundary of a run: the worker goes on
                _log.error("run_left", error=type(exc).__name__, traceback=str(write_traceback(exc)))

    async def _held(self, live: Live) -> None:
        """Under the run's lease, so that no other server of the same store is at it."""
        async with AsyncExitStack() as stack:

            async def lease() -> None:
                held = holding_run(self._runs.leases, lease_of(live.run_id), on_lost=live.cut_off)
                await stack.enter_async_context(held)

            await self._patiently(lease)
            run = await self._patiently(lambda: self._runs.run(live.run_id))
            if run is None or run.finished_at is not None:
                return
            progress = Progress(self._runs, self._followers, live.run_id)
            stack.push_async_callback(progress.close)
            with span("service.run", run_id=live.run_id, req_id=live.req_id):
                await self._lived(live, run, progress)

    async def _lived(self, live: Live, run: StoredRun, progress: Progress) -> None:
        submission = submission_of(run)
        if submission is None:
            await self._finished(
                live, ending("failed", run.started_at, error="its submission cannot be read"), progress
            )
            return
        if await self._patiently(lambda: self._lives(live.run_id)) >= LIVES:
            error = f"given up: the server died {LIVES} times while it was carried out"
            await self._finished(live, ending("failed", run.started_at, error=error), progress)
            return
        progress.say("started")
        await self._patiently(progress.flush)  # first: a life that ends badly is to be counted
        _log.info("run_started")
        outcome = await self._verified(live, submission.requirement, progress)
        if outcome is None:
            progress.say("interrupted", {"reason": "the service ends, and goes on with it when it is back"})
            await self._patiently(progress.flush)
            _log.info("run_interrupted")
        elif isinstance(outcome, VerdictReport):
            await self._patiently(lambda: keep_report(self._runs, live.run_id, outcome, self._folder))
            await self._finished(live, ending("completed", run.started_at, report=outcome), progress)
        else:
            await self._finished(live, outcome, progress)

    async def _verified(
        self, live: Live, requirement: Requirement, progress: Progress
    ) -> VerdictReport | RunEnding | None:
        """The report; or the ending of a run that has none; None where it is to be gone on with."""
        began = datetime.now(UTC)
        for attempt in range(1, LIVES + 1):
            live.work = asyncio.create_task(self._work(live, requirement, progress))
            await asyncio.wait([live.work])
            error: BaseException | None = (
                asyncio.CancelledError() if live.work.cancelled() else live.work.exception()
            )
            report = None if error else live.work.result()
            if report is not None and not _stopped(report):
                return report
            if live.stop.reason == CANCELLED:
                return ending("cancelled", began, error=CANCELLED)
            if error is None or isinstance(error, Stopped | asyncio.CancelledError | RunHeld):
                return None
            if attempt < LIVES and not (await self._runs.health()).ok:
                # The store went away under it: that is none of the requirement's fault.
                _log.warning("run_again", reason=str(error), attempt=attempt)
                progress.say("again", {"reason": "the store went away meanwhile"})
                await self._patiently(self._answers)
                continue
            return self._failed(error, began)
        raise AssertionError("unreachable")  # pragma: no cover

    async def _work(self, live: Live, requirement: Requirement, progress: Progress) -> VerdictReport:
        verifier = await self._open_verifier()
        live.stop.check()
        return await verifier.verify(requirement, run_id=live.run_id, tell=progress, stop=live.stop)

    async def _open_verifier(self) -> Verifier:
        async with self._opening:
            if self._verifier is None:
                self._verifier = await self._stack.enter_async_context(self._opener())
            return self._verifier

    def _failed(self, error: BaseException, began: datetime) -> RunEnding:
        if isinstance(error, UserError | StoreError):
            _log.warning("run_failed", reason=str(error))
            return ending("failed", began, error=error.message, hint=error.fix)
        path = write_traceback(error)
        _log.error("run_failed", error=type(error).__name__, traceback=str(path))
        return ending(
            "failed", began,
            error=f"this should not have happened: {type(error).__name__}",
            hint="the service's log names the file with the details; please report it",
        )  # fmt: skip

    async def _finished(self, live: Live, how: RunEnding, progress: Progress) -> None:
        told = {"status": how.outputs["state"], "verdict": how.verdict if "rca" in how.outputs else None}
        # First: whoever was told that it is over finds it so, and nobody begins it again.
        await self._patiently(lambda: self._runs.finish_run(live.run_id, how))
        progress.say(FINISHED, {**told, "error": how.error})
        await self._patiently(progress.flush)
        _log.info("run_finished", **told)

    async def _lives(self, run_id: str) -> int:
        """Lives of the run that ended without a word."""
        lives, after = 0, -1
        while events := await self._runs.events(stream_of(run_id), after=after):
            after = events[-1].seq
            lives += sum({"started": 1, "interrupted": -1}.get(event.type, 0) for event in events)
        return lives

    async def _answers(self) -> None:
        """Raises `StoreError` where the store does not answer."""
        await self._runs.runs(limit=1)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await patiently(ask, given_up=self.given_up)


def _stopped(report: VerdictReport) -> bool:
    return any(note.startswith(STOPPED) for note in report.notes)


def lease_of(run_id: str) -> str:
    """The name of the lease under which this service carries a run out: the verifier may hold the run's own."""
    return f"serve/{run_id}"
