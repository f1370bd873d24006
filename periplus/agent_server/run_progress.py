"""The progress of runs, from the store and, for runs of this process, from memory."""

from __future__ import annotations

from collections.abc import Sequence

from agent.execution.effects.undo import UNDO
from kb_schema.run_records import RunStatus, StoredRun, StoredStep
from kb_store.runs.run_leases import find_live_holder
from periplus.agent_server.errors import RunRequestRejected, UnknownRun
from periplus.agent_server.run_answers import NeededInput, RunAnswer, RunAnswerState, RunStepLine
from periplus.agent_server.run_executor import CANCELLED, ENDED, ExecutingRun, RunExecutor
from periplus.errors import UserError
from periplus.runs.task_runs import TAKEN_OVER

FEW_STEPS = 12
"""Maximum number of steps in an answer."""
FEW_RUNS = 5
_CUT_OFF = ("interrupted", ENDED, TAKEN_OVER)
"""Errors in records of runs whose process ended before the run did."""


async def build_run_answer(
    executor: RunExecutor, run_id: str, *, needs: tuple[NeededInput, ...] | None = None
) -> RunAnswer:
    """Return a run's progress or result. `needs`: missing inputs, if more are known than the open question.

    Raises `UnknownRun`, `RunRequestRejected`.
    """
    runs, live = executor.runs, executor.live(run_id)
    run = await runs.run(run_id)
    if run is None and live is None:
        _explain_state(executor, run_id)
        latest = [each.run_id for each in await runs.runs(limit=FEW_RUNS)]
        raise UnknownRun(run_id, latest)
    if run is None:
        return _build_starting_answer(run_id, live)
    if live is None:
        return await _build_answer_from_store(executor, run)
    steps = await runs.steps(run_id)
    question = live.questions.open
    state: RunAnswerState = "running" if question is None else "input_required"
    return RunAnswer(
        run_id=run_id,
        website_id=run.website_id,
        subject=run.subject,
        workflow_version=run.workflow_version,
        state=state,
        doing=live.doing,
        steps_done=live.steps,
        steps=_build_step_lines(steps),
        needs=() if question is None else needs or (question,),
        next=_suggest_next_call_while_running(run_id, question),
    )


async def _build_answer_from_store(executor: RunExecutor, run: StoredRun) -> RunAnswer:
    runs = executor.runs
    held = await find_live_holder(runs.leases, run.run_id)
    state = "running" if held is not None else _state_of(run)
    steps = await runs.steps(run.run_id)
    next_call = f"run_status with run_id {run.run_id}" if held is not None else None
    if held is None and state != "success":
        next_call = await _suggest_next_call(executor, run)
    return RunAnswer(
        run_id=run.run_id,
        website_id=run.website_id,
        subject=run.subject,
        workflow_version=run.workflow_version,
        state=state,
        steps_done=len(steps),
        steps=_build_step_lines(steps),
        evidence=None if held is not None else run.evidence,
        outputs=run.outputs,
        error=None if held is not None else run.error,
        hint=None if held is not None else run.hint,
        by=None if held is None else str(held.owner),
        duration_ms=run.duration_ms,
        address=executor.address(run.run_id),
        next=next_call,
    )


def _state_of(run: StoredRun) -> RunAnswerState:
    if run.status is None or run.error in _CUT_OFF:
        return "interrupted"
    if run.error == CANCELLED:
        return "cancelled"
    return run.status.value


def _explain_state(executor: RunExecutor, run_id: str) -> None:
    """Raise the error that prevented a run from starting, if this process knows it."""
    error = executor.error(run_id)
    if isinstance(error, UserError):
        raise RunRequestRejected(error.message, hint=error.fix) from error
    if error is not None:
        raise RunRequestRejected(
            f"run {run_id} could not be started: {type(error).__name__}", hint="see the server's log"
        ) from error


async def _suggest_next_call(executor: RunExecutor, run: StoredRun) -> str | None:
    """Return the next call for a run that did not succeed."""
    if run.kind != "task" or await executor.runs.checkpoint(run.run_id) is None:
        return (
            None
            if run.status is not None and run.status.complete
            else "run_task without run_id: this run has no checkpoint and cannot be resumed"
        )
    again = f"run_task with run_id {run.run_id}"
    journal = await executor.runs.journal(run.run_id)
    if run.status is RunStatus.NEEDS_PERSON and any(e.outcome is None and e.action != UNDO for e in journal):
        return f"check on the site whether the step took effect, then {again} and it_happened true or false"
    return f"{again} resumes it; finished steps are not repeated"


def _suggest_next_call_while_running(run_id: str, question: NeededInput | None) -> str:
    if question is None:
        return f"run_status with run_id {run_id}; cancel_run stops it after its current step"
    if question.secret:
        return (
            f"set it in the server's environment (PERIPLUS_SECRET_{question.name.upper()}), or run_task "
            f'with run_id {run_id} and inputs {{"{question.name}": ...}}'
        )
    return f'run_task with run_id {run_id} and inputs {{"{question.name}": ...}}'


def _build_starting_answer(run_id: str, live: ExecutingRun | None) -> RunAnswer:
    run_request = live.run_request if live is not None else None
    return RunAnswer(
        run_id=run_id,
        website_id="" if run_request is None else run_request.website_id,
        subject="" if run_request is None else run_request.subject,
        state="running",
        next=_suggest_next_call_while_running(run_id, None),
    )


def _build_step_lines(steps: Sequence[StoredStep]) -> tuple[RunStepLine, ...]:
    return tuple(
        RunStepLine(task_id=s.task_id, step_id=s.step_id, status=s.status, error=s.error_message)
        for s in steps[-FEW_STEPS:]
    )
