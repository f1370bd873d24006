"""What a run is at, from the store, and from the run itself where it is carried out here."""

from __future__ import annotations

from collections.abc import Sequence

from agent.engine.undoing import UNDO
from kb_schema.runs import RunStatus, StoredRun, StoredStep
from kb_store.run_leases import live_holder
from periplus.agent_server.answers import Need, RunAnswer, State, StepLine
from periplus.agent_server.errors import NoSuchRun, NotToBeDone
from periplus.agent_server.workshop import CANCELLED, ENDED, Live, Workshop
from periplus.errands import TAKEN_OVER
from periplus.errors import UserError

FEW_STEPS = 12
"""The last steps that an answer lists."""
FEW_RUNS = 5
_CUT_OFF = ("interrupted", ENDED, TAKEN_OVER)
"""Errors of records of runs whose process ended before they did."""


async def report(workshop: Workshop, run_id: str, *, needs: tuple[Need, ...] | None = None) -> RunAnswer:
    """How far the run is, or how it came out. `needs`: what it waits for, where more than the question
    that is open is known. Raises `NoSuchRun`, `NotToBeDone`.
    """
    runs, live = workshop.runs, workshop.live(run_id)
    run = await runs.run(run_id)
    if run is None and live is None:
        _tell_why(workshop, run_id)
        latest = [each.run_id for each in await runs.runs(limit=FEW_RUNS)]
        raise NoSuchRun(run_id, latest)
    if run is None:
        return _beginning(run_id, live)
    if live is None:
        return await _from_the_store(workshop, run)
    steps = await runs.steps(run_id)
    question = live.questions.open
    state: State = "running" if question is None else "input_required"
    return RunAnswer(
        run_id=run_id,
        website_id=run.website_id,
        subject=run.subject,
        state=state,
        doing=live.doing,
        steps_done=live.steps,
        steps=_lines(steps),
        needs=() if question is None else needs or (question,),
        next=_next_while_going_on(run_id, question),
    )


async def _from_the_store(workshop: Workshop, run: StoredRun) -> RunAnswer:
    runs = workshop.runs
    held = await live_holder(runs.leases, run.run_id)
    state = "running" if held is not None else _state_of(run)
    steps = await runs.steps(run.run_id)
    next_call = f"run_status with run_id {run.run_id}" if held is not None else None
    if held is None and state != "success":
        next_call = await _next_after(workshop, run)
    return RunAnswer(
        run_id=run.run_id,
        website_id=run.website_id,
        subject=run.subject,
        state=state,
        steps_done=len(steps),
        steps=_lines(steps),
        evidence=None if held is not None else run.evidence,
        outputs=run.outputs,
        error=None if held is not None else run.error,
        hint=None if held is not None else run.hint,
        by=None if held is None else str(held.owner),
        duration_ms=run.duration_ms,
        next=next_call,
    )


def _state_of(run: StoredRun) -> State:
    if run.status is None or run.error in _CUT_OFF:
        return "interrupted"
    if run.error == CANCELLED:
        return "cancelled"
    return run.status.value


def _tell_why(workshop: Workshop, run_id: str) -> None:
    """Raises what kept a run from being begun, where that is known here."""
    error = workshop.error(run_id)
    if isinstance(error, UserError):
        raise NotToBeDone(error.message, hint=error.fix) from error
    if error is not None:
        raise NotToBeDone(
            f"run {run_id} could not be begun: {type(error).__name__}", hint="the server's log says why"
        ) from error


async def _next_after(workshop: Workshop, run: StoredRun) -> str | None:
    """What to call for a run that did not come to a good end."""
    if run.kind != "task" or await workshop.runs.checkpoint(run.run_id) is None:
        return (
            None
            if run.status is RunStatus.SUCCESS
            else "run_task anew: nothing of it is kept to carry on from"
        )
    again = f"run_task with run_id {run.run_id}"
    journal = await workshop.runs.journal(run.run_id)
    if run.status is RunStatus.NEEDS_PERSON and any(e.outcome is None and e.action != UNDO for e in journal):
        return f"look on the site whether it happened, then {again} and it_happened true or false"
    return f"{again} carries it on: what was done is not done again"


def _next_while_going_on(run_id: str, question: Need | None) -> str:
    if question is None:
        return f"run_status with run_id {run_id}; cancel_run stops it after the step it is at"
    if question.secret:
        return (
            f"have it put into the server's environment (PERIPLUS_SECRET_{question.name.upper()}), or run_task "
            f'with run_id {run_id} and inputs {{"{question.name}": ...}}'
        )
    return f'run_task with run_id {run_id} and inputs {{"{question.name}": ...}}'


def _beginning(run_id: str, live: Live | None) -> RunAnswer:
    errand = live.errand if live is not None else None
    return RunAnswer(
        run_id=run_id,
        website_id="" if errand is None else errand.website_id,
        subject="" if errand is None else errand.subject,
        state="running",
        next=_next_while_going_on(run_id, None),
    )


def _lines(steps: Sequence[StoredStep]) -> tuple[StepLine, ...]:
    return tuple(
        StepLine(task_id=s.task_id, step_id=s.step_id, status=s.status, error=s.error_message)
        for s in steps[-FEW_STEPS:]
    )
