"""Executes one queued run: verifies it and stores the result, or leaves it to be resumed.

`run_queue` selects the next run. The end of a run is written last: a run without one is resumed by the next
server.
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

from agent.execution.stop_request import RunStopped, StopRequest
from agent.telemetry import span
from kb_schema.run_records import RunEnding, StoredRun
from kb_schema.verification import Requirement, VerdictReport
from kb_store import StoreError
from kb_store.runs.run_leases import RunLeaseConflict, hold_run_lease
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError, write_traceback
from periplus.runs.task_runs import TAKEN_OVER
from periplus.service.run_event_log import FINISHED, RunEventFollowers, RunEventWriter, progress_stream_name
from periplus.service.store_retries import retry_until_available
from periplus.service.submission_records import build_run_ending, read_submission, store_report
from periplus.verifier_ports import (
    STOPPED,
    GrantReader,
    SubmissionVerifierPort,
    VerifierOpener,
    grant_nothing,
)

CANCELLED = "cancelled"
"""The stop reason of a run that a client cancelled."""
LEFT = TAKEN_OVER
"""The stop reason when the service stops. The verifier then leaves the run to be resumed."""
LIVES = 3
"""Maximum number of starts of a run during which the server died."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)


@dataclass
class ExecutingSubmission:
    """A run that this process executes."""

    run_id: str
    req_id: str
    stop: StopRequest = field(default_factory=StopRequest)
    work: asyncio.Task[VerdictReport] | None = None

    def cut_off(self) -> None:
        """Cancel it at once."""
        if self.work is not None:
            self.work.cancel()


class SubmissionExecutor:
    """Executes runs, several in parallel; `close` closes the verifier."""

    def __init__(
        self,
        runs: RunStore,
        opener: VerifierOpener,
        folder: Path,
        followers: RunEventFollowers,
        grants: GrantReader = grant_nothing,
        *,
        run_s: float = 1_800.0,
    ) -> None:
        self._grants, self._run_s = grants, run_s
        self._runs, self._opener, self._folder, self._followers = runs, opener, folder, followers
        self._verifier: SubmissionVerifierPort | None = None
        self._opening, self._stack = asyncio.Lock(), AsyncExitStack()
        self.given_up = asyncio.Event()
        """Set when the service stops: from then on, store calls are not retried."""

    async def close(self) -> None:
        """Close the verifier."""
        await self._stack.aclose()

    async def carry_out(self, live: ExecutingSubmission) -> None:
        """Execute a run unless another process does. Raises nothing: errors are stored in the run or logged."""
        with structlog.contextvars.bound_contextvars(run_id=live.run_id, req_id=live.req_id):
            try:
                await self._held(live)
            except RunLeaseConflict as exc:
                _log.info("run_elsewhere", reason=str(exc))
            except StoreError as exc:
                _log.warning("run_left", reason=str(exc))  # its row has no end: the next server resumes it
            except Exception as exc:  # noqa: BLE001 - the outermost boundary of a run: the worker continues
                _log.error("run_left", error=type(exc).__name__, traceback=str(write_traceback(exc)))

    async def _held(self, live: ExecutingSubmission) -> None:
        """Execute the run while holding its lease, so that no other server of the store executes it."""
        async with AsyncExitStack() as stack:

            async def lease() -> None:
                held = hold_run_lease(
                    self._runs.leases, submission_lease_name(live.run_id), on_lost=live.cut_off
                )
                await stack.enter_async_context(held)

            await self._patiently(lease)
            run = await self._patiently(lambda: self._runs.run(live.run_id))
            if run is None or run.finished_at is not None:
                return
            progress = RunEventWriter(self._runs, self._followers, live.run_id)
            stack.push_async_callback(progress.close)
            with span("service.run", run_id=live.run_id, req_id=live.req_id):
                await self._lived(live, run, progress)

    async def _lived(self, live: ExecutingSubmission, run: StoredRun, progress: RunEventWriter) -> None:
        submission = read_submission(run)
        if submission is None:
            await self._finished(
                live,
                build_run_ending("failed", run.started_at, error="the stored submission cannot be read"),
                progress,
            )
            return
        if await self._patiently(lambda: self._lives(live.run_id)) >= LIVES:
            error = f"given up: the server died {LIVES} times during this run"
            await self._finished(live, build_run_ending("failed", run.started_at, error=error), progress)
            return
        progress.say("started")
        await self._patiently(progress.flush)  # first, so that an attempt that kills the server is counted
        _log.info("run_started")
        outcome = await self._verified(live, submission.requirement, progress)
        if outcome is None:
            progress.say("interrupted", {"reason": "the service stops; it resumes the run at its next start"})
            await self._patiently(progress.flush)
            _log.info("run_interrupted")
        elif isinstance(outcome, VerdictReport):
            await self._patiently(lambda: store_report(self._runs, live.run_id, outcome, self._folder))
            await self._finished(
                live, build_run_ending("completed", run.started_at, report=outcome), progress
            )
        else:
            await self._finished(live, outcome, progress)

    async def _verified(
        self, live: ExecutingSubmission, requirement: Requirement, progress: RunEventWriter
    ) -> VerdictReport | RunEnding | None:
        """Return the report, or the end of a run without one; None if the run is to be resumed."""
        began = datetime.now(UTC)
        for attempt in range(1, LIVES + 1):
            live.work = asyncio.create_task(self._work(live, requirement, progress))
            await asyncio.wait([live.work])
            error: BaseException | None = (
                asyncio.CancelledError() if live.work.cancelled() else live.work.exception()
            )
            report = None if error else live.work.result()
            if report is not None and not _was_stopped(report):
                return report
            if live.stop.reason == CANCELLED:
                return build_run_ending("cancelled", began, error=CANCELLED)
            if error is None or isinstance(error, RunStopped | asyncio.CancelledError | RunLeaseConflict):
                return None
            if attempt < LIVES and not (await self._runs.health()).ok:
                # The store failed during the run: not a failure of the requirement.
                _log.warning("run_again", reason=str(error), attempt=attempt)
                progress.say("again", {"reason": "the store did not answer"})
                await self._patiently(self._answers)
                continue
            return self._failed(error, began)
        raise AssertionError("unreachable")  # pragma: no cover

    async def _work(
        self, live: ExecutingSubmission, requirement: Requirement, progress: RunEventWriter
    ) -> VerdictReport:
        verifier = await self._open_verifier()
        live.stop.check()
        site = await self._grants(requirement)
        deadline = asyncio.timeout(self._run_s)
        try:
            async with deadline:
                return await verifier.verify(
                    requirement, run_id=live.run_id, tell=progress, stop=live.stop, site=site
                )
        except TimeoutError as exc:
            if not deadline.expired():
                raise
            raise UserError(
                f"the run took more than {self._run_s:g} s and was ended",
                fix="split the requirement, or look at which of its steps waits",
            ) from exc

    async def _open_verifier(self) -> SubmissionVerifierPort:
        async with self._opening:
            if self._verifier is None:
                self._verifier = await self._stack.enter_async_context(self._opener())
            return self._verifier

    def _failed(self, error: BaseException, began: datetime) -> RunEnding:
        if isinstance(error, UserError | StoreError):
            _log.warning("run_failed", reason=str(error))
            return build_run_ending("failed", began, error=error.message, hint=error.fix)
        path = write_traceback(error)
        _log.error("run_failed", error=type(error).__name__, traceback=str(path))
        return build_run_ending(
            "failed",
            began,
            error=f"internal error: {type(error).__name__}",
            hint="please report it; the service's log names the file with the details",
        )

    async def _finished(self, live: ExecutingSubmission, how: RunEnding, progress: RunEventWriter) -> None:
        told = {"status": how.outputs["state"], "verdict": how.verdict if "rca" in how.outputs else None}
        # First, so that the stored run has ended before any follower is notified.
        await self._patiently(lambda: self._runs.finish_run(live.run_id, how))
        progress.say(FINISHED, {**told, "error": how.error})
        await self._patiently(progress.flush)
        _log.info("run_finished", **told)

    async def _lives(self, run_id: str) -> int:
        """Return how often the run was started and ended without a final event."""
        lives, after = 0, -1
        while events := await self._runs.events(progress_stream_name(run_id), after=after):
            after = events[-1].seq
            lives += sum({"started": 1, "interrupted": -1}.get(event.type, 0) for event in events)
        return lives

    async def _answers(self) -> None:
        """Raise `StoreError` if the store does not answer."""
        await self._runs.runs(limit=1)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await retry_until_available(ask, given_up=self.given_up)


def _was_stopped(report: VerdictReport) -> bool:
    return any(note.startswith(STOPPED) for note in report.notes)


def submission_lease_name(run_id: str) -> str:
    """Return the name of this service's lease on a run; the run's own name may be used by the verifier."""
    return f"serve/{run_id}"
