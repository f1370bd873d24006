"""Executes one task run, for `periplus run` and the agent's MCP server.

A run holds a lease, a browser context, a session and a trace; it stores its record and writes `result.json`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError
from pydantic import JsonValue

from agent.errors import AgentError
from agent.events import Event
from agent.execution.navigation_tasks import combine_results, reach_screen
from agent.execution.persistence.checkpoint_state import CheckpointState
from agent.execution.persistence.checkpoints import LATEST
from agent.execution.results.run_metrics import compute_run_metrics
from agent.execution.stop_request import RunStopped, StopRequest
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import find_workflow, run_workflow
from agent.media.secret_mask import SecretMask
from agent.page.errors import PageError
from agent.run_context import InputProvider
from agent.run_records.playwright_trace import TRACE_ZIP, PlaywrightTraceRecorder
from agent.run_records.run_log import RunLog, build_task_ending
from agent.run_records.session_trace import SessionTrace
from agent.run_records.step_picture_recorder import StepPictureRecorder
from agent.session import Session
from kb_schema.explorations import Danger
from kb_schema.io_specs import IoSpec
from kb_schema.objectives import Objective
from kb_schema.read_backs import ReadBackStatus
from kb_schema.run_records import RunKind, RunResult, StoredRun
from kb_schema.step_pictures import STEPS_FILE
from kb_store import StoreError, Stores
from kb_store.runs.run_leases import hold_run_lease
from kb_store.runs.run_store import RunStore
from periplus.agent_failures import to_user_error
from periplus.errors import UserError
from periplus.language_model import use_model, write_model_calls
from periplus.log_setup import bind_run_id, requested_log_listeners
from periplus.output_folder import SESSION
from periplus.run_store_adapters import RunStoreKeeping, end_run_record, record_run
from periplus.session_setup import open_session
from periplus.settings import load_settings

if TYPE_CHECKING:
    from playwright.async_api import StorageState

    from agent.inferencer import ModelInferencer
    from periplus.runs.sentence_jobs import SentenceJob

TAKEN_OVER = "another process took over the run"
RESULT = "result.json"
DOWNLOADS = "downloads"
PICTURES = "pictures"
"""The subfolder with the pictures of the steps."""
STEP_PICTURES = "step_pictures"
"""The type of the artifact that lists them."""

_INSTEAD = {
    "goal": "navigate again: `periplus run --goal SCREEN`",
    "sentence": "look on the website what is done, then run the sentence again",
    "undo": "undo the original run again: `periplus run --undo RUN`",
}
"""Kind of a run that cannot be resumed -> what to do instead."""

_RESUME = "the browser is gone; start it again, then: `periplus run --resume {run}`"
"""What to do after a run that ended with its browser."""

Browsers = Callable[["StorageState | None"], AbstractAsyncContextManager[BrowserContext]]
"""Opens a browser context with an optional storage state."""


def new_run_id() -> str:
    """Return a new run id."""
    return uuid.uuid4().hex[:12]


@dataclass(frozen=True, slots=True)
class TaskRunRequest:
    """What to run."""

    website_id: str
    task_id: str | None
    """None: only navigate to `goal`."""
    goal: str | None = None
    """The screen to end on."""
    base_url: str | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    """Inputs of the task and of the tasks it calls."""
    run_id: str = field(default_factory=new_run_id)
    carries_on: bool = False
    """Whether to resume an interrupted run from its checkpoint."""
    decided: ReadBackStatus | None = None
    """Whether the uncertain step took effect, according to a person."""
    undoes: bool = False
    """Whether it undoes another run."""
    step_timeout_s: float | None = None
    """How long each step may wait for its element; None: as the knowledge and the settings say."""
    objective: Objective | None = None
    """By what paths are chosen; None: as the tasks and the settings say."""
    allowed: frozenset[Danger] = frozenset()
    """Deeds whose question by the browser is agreed to, after the press of a control that does them."""
    storage: JsonValue = None
    """The initial storage state, unless the checkpoint has one."""
    job: SentenceJob | None = None
    """A job in words that no task does; `task_id` and `goal` are None then."""

    @property
    def kind(self) -> RunKind:
        """Return the kind of the run."""
        if self.undoes:
            return "undo"
        if self.job is not None:
            return "sentence"
        return "goal" if self.task_id is None else "task"

    @property
    def subject(self) -> str:
        """Return the task's id, or the screen's."""
        return self.job.sentence if self.job is not None else self.task_id or self.goal or ""


@dataclass(frozen=True, slots=True)
class TaskRunResources:
    """The stores, browser and listeners of a run."""

    stores: Stores
    runs: RunStore
    browsers: Browsers
    folder: Path
    """The existing folder for result and trace."""
    stop: StopRequest = field(default_factory=StopRequest)
    asker: InputProvider | None = None
    listeners: Sequence[Callable[[Event], None]] = ()
    page: Page | None = None
    """The page to run on, in the context that `browsers` opens; None: a new one."""
    uploads: Path | None = None
    """The only folder with files for uploads; None: any."""
    for_client: bool = False
    """Whether a client of a server asked for it: see `open_session`."""
    note: Callable[[str], None] = lambda _: None
    """Receives warnings."""
    pictures: bool = False
    """Whether to take a picture after each step."""
    playwright_trace: bool = False
    """Whether to record a trace for Playwright's trace viewer, in a context that `browsers` makes."""
    model: ModelInferencer | None = None
    """The language model that is asked for other approaches to a failed step; None: none."""
    page_text: bool | None = None
    """Whether the model gets the page's texts; None: as the settings say."""


def build_resume_request(run: StoredRun, *, base_url: str | None = None, **more: object) -> TaskRunRequest:
    """Return the request that resumes a run. Raises `UserError` if it cannot be resumed."""
    if run.kind != "task":
        raise UserError(
            f"run {run.run_id} of kind {run.kind} cannot be resumed",
            fix=_INSTEAD.get(run.kind, "only task runs can be resumed"),
        )
    if run.status is not None and run.status.complete:
        raise UserError(
            f"run {run.run_id} has already ended: {run.status}", fix=f"`periplus runs show {run.run_id}`"
        )
    return TaskRunRequest(
        run.website_id,
        run.subject,
        base_url=base_url or run.url,
        run_id=run.run_id,
        carries_on=True,
        **more,  # type: ignore[arg-type]
    )


async def execute_task_run(run_request: TaskRunRequest, resources: TaskRunResources) -> RunResult:
    """Execute a run, store its record and return its result.

    Raises `RunHeld` if another process executes it, `RunStopped` if it was stopped, and `UserError` for requests
    that cannot be run.
    """
    async with AsyncExitStack() as stack:
        stack.enter_context(bind_run_id(run_request.run_id, website_id=run_request.website_id))
        lease = hold_run_lease(
            resources.runs.leases, run_request.run_id, on_lost=lambda: resources.stop.ask(TAKEN_OVER)
        )
        await stack.enter_async_context(lease)
        state = await _load_checkpoint(run_request, resources.runs) if run_request.carries_on else None
        storage = run_request.storage if state is None else state.storage
        browser = await stack.enter_async_context(resources.browsers(cast("StorageState | None", storage)))
        session = await stack.enter_async_context(
            open_session(
                resources.stores,
                browser,
                run_request.website_id,
                base_url=run_request.base_url,
                values=run_request.values,
                asker=resources.asker,
                runs=resources.runs,
                run_id=run_request.run_id,
                step_timeout_s=run_request.step_timeout_s,
                objective=run_request.objective,
                page=resources.page,
                for_client=resources.for_client,
            )
        )
        if resources.model is not None:
            if run_request.job is None:
                use_model(session, resources.model, resources.page_text)
            else:
                resources.model.redact = session.context.redact
        session.download_folder, session.upload_folder = resources.folder / DOWNLOADS, resources.uploads
        session.context.allowed, session.most_download_mb = run_request.allowed, load_settings().max_download
        trace = SessionTrace(
            resources.folder / SESSION,
            website_id=run_request.website_id,
            context=session.context,
            inputs=run_request.values,
        )
        session.bus.listen(trace if run_request.job is None else _open_sentence_trace(trace), pages=True)
        for listener in (*resources.listeners, *requested_log_listeners()):
            session.bus.listen(listener)
        pictures = _open_pictures(run_request, resources, session)
        playwright_trace = await _start_playwright_trace(resources, browser, session)
        ended, error = False, None
        try:
            await _check_known(run_request, session)
            record = record_run(
                nullcontext(resources.runs), session, kind=run_request.kind, subject=run_request.subject
            )
            log = await stack.enter_async_context(record)
            result = await _run_with_agent(run_request, resources, session, state, log)
            if resources.model is not None:
                result = result.model_copy(update={"model_use": resources.model.meter.use})
                if failed := resources.model.meter.describe_failures():
                    resources.note(failed)
            if result.hint is None and not result.complete and session.page.is_closed():
                result = result.model_copy(update={"hint": _RESUME.format(run=result.run_id)})
            ended, error = True, _describe_failure(result)
        except (AgentError, PageError, PlaywrightError) as exc:
            raise to_user_error(exc, session.context) from exc
        finally:
            if pictures is not None:
                await pictures.finish()
            if playwright_trace is not None and not await playwright_trace.stop():
                resources.note("there is no Playwright trace: the browser is gone")
            last = session.end
            with suppress(PageError, PlaywrightError):
                last = last or await session.snapshot()
            html, url = (None, None) if last is None else (last.html, last.url)
            trace.close(html, complete=ended, url_after=url, error=error)
            if resources.model is not None:
                write_model_calls(resources.model, resources.folder)
        await _write_result(result, resources, log)
        return result


def _describe_failure(result: RunResult) -> str | None:
    """Return why a run did not do everything, for its trace; None if it did."""
    return (
        None
        if result.complete
        else f"the run ended with {result.status}: {result.error or result.hint or ''}"
    )


def _open_sentence_trace(trace: SessionTrace) -> Callable[[Event], None]:
    from periplus.runs.sentence_jobs import SentenceTrace  # noqa: PLC0415 - decision 0140

    return SentenceTrace(trace)


def _open_pictures(
    run_request: TaskRunRequest, resources: TaskRunResources, session: Session
) -> StepPictureRecorder | None:
    """Return what takes the pictures of the run; None if it takes none."""
    if not resources.pictures or run_request.job is not None:
        return None
    made = StepPictureRecorder(resources.folder / PICTURES, lambda: session.page, session.context)
    session.bus.listen(made)
    session.pictures = made
    return made


async def _start_playwright_trace(
    resources: TaskRunResources, browser: BrowserContext, session: Session
) -> PlaywrightTraceRecorder | None:
    """Begin the trace, with secrets covered in its pictures; None if none is wanted."""
    if not resources.playwright_trace:
        return None
    session.veil = session.veil or SecretMask(session.page, session.context.secrets)
    recorder = PlaywrightTraceRecorder(browser, resources.folder, session.context)
    await recorder.start()
    return recorder


async def _load_checkpoint(run_request: TaskRunRequest, runs: RunStore) -> CheckpointState:
    kept = await runs.checkpoint(run_request.run_id)
    if kept is None:
        entries = await runs.journal(run_request.run_id)
        if any(entry.outcome != "did_not_happen" for entry in entries):
            raise UserError(
                f"run {run_request.run_id} cannot be resumed: it changed the site and has no checkpoint",
                fix=f"checkpoints are stored for a day; `periplus runs show {run_request.run_id}` lists its steps:"
                " check the site before you start a new run",
            )
        raise UserError(
            f"run {run_request.run_id} cannot be resumed: it has no checkpoint",
            fix=f"checkpoints are stored for a day; start a new run: `periplus run {run_request.subject}`",
        )
    return CheckpointState.model_validate(kept.state)


async def _check_known(run_request: TaskRunRequest, session: Session) -> None:
    """Raise `UnknownToKnowledge` before anything is recorded or done."""
    if run_request.goal is not None:
        await session.knowledge.screen(run_request.goal)
    if run_request.task_id is not None and not await find_workflow(session.knowledge, run_request.task_id):
        await session.knowledge.task(run_request.task_id)


def _select_task_inputs(io_spec: IoSpec, values: Mapping[str, object]) -> dict[str, object]:
    names = {spec.name for spec in io_spec.inputs}
    return {name: value for name, value in values.items() if name in names}


async def _run_with_agent(
    run_request: TaskRunRequest,
    resources: TaskRunResources,
    session: Session,
    state: CheckpointState | None,
    log: RunLog,
) -> RunResult:
    engine = TaskRunner(
        session,
        keeping=RunStoreKeeping(resources.runs),
        resume=state,
        decided=run_request.decided,
        stop=resources.stop,
    )
    try:
        if run_request.job is not None and resources.model is not None:
            from periplus.runs.sentence_jobs import run_job  # noqa: PLC0415 - decision 0140

            return await run_job(engine, run_request.job, resources.model, load_settings())
        if run_request.task_id is None:
            return await reach_screen(engine, run_request.goal or "")
        workflow = await find_workflow(session.knowledge, run_request.task_id)
        if workflow is not None:
            result = await run_workflow(
                engine, workflow, _select_task_inputs(workflow.io_spec, run_request.values)
            )
        else:
            task = await session.knowledge.task(run_request.task_id)
            result = await engine.run_task(
                run_request.task_id, _select_task_inputs(task.io_spec, run_request.values)
            )
        if run_request.goal is None or not result.complete:
            return result
        return combine_results(result, await reach_screen(engine, run_request.goal))
    except RunStopped as stopped:
        if stopped.reason == TAKEN_OVER:
            log.leave()
        raise


async def _write_result(result: RunResult, resources: TaskRunResources, log: RunLog) -> None:
    path = resources.folder / RESULT
    path.write_text(result.model_dump_json(indent=2), encoding="utf-8")
    files = {
        RESULT: ("result", path),
        f"{SESSION}/": ("trace", resources.folder / SESSION),
        TRACE_ZIP: ("playwright_trace", resources.folder / TRACE_ZIP),
        STEPS_FILE: (STEP_PICTURES, resources.folder / PICTURES / STEPS_FILE),
    }
    note = await end_run_record(log, build_task_ending(result), files, metrics=compute_run_metrics(result))
    if note:
        resources.note(note)
    elif result.complete:  # its end is stored, so the checkpoint is no longer needed
        with suppress(StoreError):
            await resources.runs.drop_checkpoint(result.run_id, LATEST)
