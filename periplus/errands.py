"""One piece of work from the asking to its record: what `periplus run` and the agent's MCP server share.

A lease on the run, a browser, a session, the engine, a trace, the record in the store, `result.json`.
What asked for it, and how it is told, is theirs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError
from pydantic import JsonValue

from agent.context import Asker
from agent.engine.engine import Engine
from agent.engine.goals import reach, then
from agent.engine.keeping import LATEST
from agent.engine.state import RunState
from agent.engine.stopping import Stop, Stopped
from agent.engine.workflows import find_workflow, run_workflow
from agent.errors import AgentError
from agent.events import Event
from agent.page.errors import PageError
from agent.resilience.metrics import metrics_of
from agent.run_log import RunLog, ending_of
from agent.session import Session
from agent.trace import SessionTrace
from kb_schema.documents import did_you_mean
from kb_schema.read_backs import Happened
from kb_schema.runs import RunKind, RunResult, RunStatus, StoredRun
from kb_schema.values import IoSpec
from kb_store import StoreError, Stores
from kb_store.run_leases import holding_run
from kb_store.runs import RunStore
from periplus.errors import UserError
from periplus.failures import for_a_person
from periplus.logbook import Kept, end_record, recorded
from periplus.logs import asked_for, of_run
from periplus.outputs import SESSION
from periplus.voyage import open_session

if TYPE_CHECKING:
    from playwright.async_api import StorageState

TAKEN_OVER = "another process took the run over"
RESULT = "result.json"
DOWNLOADS = "downloads"

_INSTEAD = {
    "goal": "go there again: `periplus run --goal SCREEN`",
    "undo": "undo again what it undoes: `periplus run --undo RUN`",
}
"""What to do about a run that is not carried on, by its kind."""

Browsers = Callable[["StorageState | None"], AbstractAsyncContextManager[BrowserContext]]
"""Opens a browser context, with what another one knew."""


def new_run_id() -> str:
    """An id that no run has."""
    return uuid.uuid4().hex[:12]


@dataclass(frozen=True, slots=True)
class Errand:
    """What is to be done."""

    website_id: str
    task_id: str | None
    """None: only to get to `goal`."""
    goal: str | None = None
    """The screen to end on."""
    base_url: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    """Inputs of the task; the others are there for the tasks it calls."""
    run_id: str = field(default_factory=new_run_id)
    carries_on: bool = False
    """The run was cut off; what was kept of it is gone on with."""
    decided: Happened | None = None
    """What a person says of the step in doubt."""
    undoes: bool = False
    """It undoes what another run did."""
    storage: JsonValue = None
    """What the browser knows at the start, where that is not in what is carried on."""

    @property
    def kind(self) -> RunKind:
        """What kind of run that is."""
        if self.undoes:
            return "undo"
        return "goal" if self.task_id is None else "task"

    @property
    def subject(self) -> str:
        """What is run: a task's id, or a screen's."""
        return self.task_id or self.goal or ""


@dataclass(frozen=True, slots=True)
class Gear:
    """What it is done with."""

    stores: Stores
    runs: RunStore
    browsers: Browsers
    folder: Path
    """Where result and trace go; it is there."""
    stop: Stop = field(default_factory=Stop)
    asker: Asker | None = None
    listeners: Sequence[Callable[[Event], None]] = ()
    uploads: Path | None = None
    """The only folder from which files are given to pages; None: any."""
    note: Callable[[str], None] = lambda _: None
    """Hears what is wrong beside the work itself."""


def to_carry_on(run: StoredRun, *, base_url: str | None = None, **more: object) -> Errand:
    """What is left of a run. Raises `UserError` where there is nothing to carry on."""
    if run.kind != "task":
        raise UserError(
            f"run {run.run_id} is a {run.kind}", fix=_INSTEAD.get(run.kind, "only tasks are carried on")
        )
    if run.status is RunStatus.SUCCESS:
        raise UserError(
            f"run {run.run_id} came to its end: {run.status}", fix=f"`periplus runs show {run.run_id}`"
        )
    return Errand(
        run.website_id, run.subject, base_url=base_url or run.url, run_id=run.run_id, carries_on=True, **more  # type: ignore[arg-type]
    )  # fmt: skip


async def carry_out(errand: Errand, gear: Gear) -> RunResult:
    """Do it, keep what was done, and say how it came out.

    Raises `RunHeld` where another process is at it, `Stopped` where it was asked to stop, and
    `UserError` for what no result can be made of.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(of_run(errand.run_id, website_id=errand.website_id))
        lease = holding_run(gear.runs.leases, errand.run_id, on_lost=lambda: gear.stop.ask(TAKEN_OVER))
        await stack.enter_async_context(lease)
        state = await _kept(errand, gear.runs) if errand.carries_on else None
        storage = errand.storage if state is None else state.storage
        browser = await stack.enter_async_context(gear.browsers(cast("StorageState | None", storage)))
        session = await stack.enter_async_context(
            open_session(
                gear.stores, browser, errand.website_id, base_url=errand.base_url, values=errand.values,
                asker=gear.asker, runs=gear.runs, run_id=errand.run_id,
            )
        )  # fmt: skip
        session.download_folder, session.upload_folder = gear.folder / DOWNLOADS, gear.uploads
        trace = SessionTrace(gear.folder / SESSION, website_id=errand.website_id, context=session.context)
        session.bus.listen(trace, pages=True)
        for listener in (*gear.listeners, *asked_for()):
            session.bus.listen(listener)
        ended = False
        try:
            await _known(errand, session, gear.note)
            record = recorded(nullcontext(gear.runs), session, kind=errand.kind, subject=errand.subject)
            log = await stack.enter_async_context(record)
            result = await _worked(errand, gear, session, state, log)
            ended = True
        except (AgentError, PageError, PlaywrightError) as exc:
            raise for_a_person(exc, session.context) from exc
        finally:
            html = None
            with suppress(PageError, PlaywrightError):
                html = (await session.snapshot()).html
            trace.close(html, complete=ended)
        await _told(result, gear, log)
        return result


async def _kept(errand: Errand, runs: RunStore) -> RunState:
    kept = await runs.checkpoint(errand.run_id)
    if kept is None:
        entries = await runs.journal(errand.run_id)
        if any(entry.outcome != "did_not_happen" for entry in entries):
            raise UserError(
                f"run {errand.run_id} did something, and nothing is kept to carry on from",
                fix=f"checkpoints are kept for a day; `periplus runs show {errand.run_id}` tells what it did:"
                " look on the site before it is done again",
            )
        raise UserError(
            f"of run {errand.run_id} nothing is kept to carry on from",
            fix=f"checkpoints are kept for a day; begin anew: `periplus run {errand.subject}`",
        )
    return RunState.model_validate(kept.state)


async def _known(errand: Errand, session: Session, note: Callable[[str], None]) -> None:
    """Raises `NotInKnowledge` before anything is recorded or done; notes values that no task asks for."""
    if errand.goal is not None:
        await session.knowledge.screen(errand.goal)
    if errand.task_id is None:
        return
    work = await find_workflow(session.knowledge, errand.task_id) or await session.knowledge.task(
        errand.task_id
    )
    own = {spec.name for spec in work.io_spec.inputs}
    others = errand.values.keys() - own - session.website.global_context.keys()
    if others:
        summaries = await session.knowledge.tasks()
        known = {name for each in summaries for name in (*each.required_inputs, *each.optional_inputs)}
        for name in sorted(others - known):
            note(
                f"no task has an input {name!r}; {did_you_mean(name, sorted(own | known)) or 'is it misspelt?'}"
            )


def _own(io_spec: IoSpec, values: Mapping[str, object]) -> dict[str, object]:
    names = {spec.name for spec in io_spec.inputs}
    return {name: value for name, value in values.items() if name in names}


async def _worked(
    errand: Errand, gear: Gear, session: Session, state: RunState | None, log: RunLog
) -> RunResult:
    engine = Engine(session, keeping=Kept(gear.runs), resume=state, decided=errand.decided, stop=gear.stop)
    try:
        if errand.task_id is None:
            return await reach(engine, errand.goal or "")
        workflow = await find_workflow(session.knowledge, errand.task_id)
        if workflow is not None:
            result = await run_workflow(engine, workflow, _own(workflow.io_spec, errand.values))
        else:
            task = await session.knowledge.task(errand.task_id)
            result = await engine.run_task(errand.task_id, _own(task.io_spec, errand.values))
        if errand.goal is None or not result.succeeded:
            return result
        return then(result, await reach(engine, errand.goal))
    except Stopped as stopped:
        if stopped.reason == TAKEN_OVER:
            log.leave()
        raise


async def _told(result: RunResult, gear: Gear, log: RunLog) -> None:
    path = gear.folder / RESULT
    path.write_text(result.model_dump_json(indent=2), encoding="utf-8")
    files = {RESULT: ("result", path), f"{SESSION}/": ("trace", gear.folder / SESSION)}
    note = await end_record(log, ending_of(result), files, metrics=metrics_of(result))
    if note:
        gear.note(note)
    elif result.status is RunStatus.SUCCESS:  # its end is noted: there is nothing to carry on any more
        with suppress(StoreError):
            await gear.runs.drop_checkpoint(result.run_id, LATEST)
