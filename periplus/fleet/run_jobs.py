"""The job kind `run`: one task run, started or resumed.

After taking the run's lease, the worker reads its record: the run may have ended, or be half done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from playwright.async_api import Browser, BrowserContext
from pydantic import Field, JsonValue

from agent.browser.browser_life import is_alive
from agent.events import Event, StepEnded
from agent.execution.stop_request import StopRequest
from kb_schema.base import Model
from kb_schema.model_use import ModelUse
from kb_schema.run_records import EvidenceLevel, RunEnding, RunResult, RunStatus, StoredRun
from kb_schema.service_records import SentenceOrder
from kb_store import Stores
from kb_store.runs.run_leases import RUN_LEASE_SECONDS
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.fleet.fenced_runs import RunLeaseLost, RunNotHeld, run_with_lease
from periplus.fleet.fleet_setup import check_folder_mark
from periplus.fleet.jobs import Job, Tell
from periplus.fleet.worker_resources import StoreAddresses, WorkerResources
from periplus.language_model import load_inferencer
from periplus.output_folder import prepare_output_folder
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context

if TYPE_CHECKING:
    from playwright.async_api import StorageState

    from periplus.runs.sentence_jobs import SentenceJob

DIED = "the browser died"
INTERRUPTED = "interrupted"
"""The error in the record of a run that was interrupted in a controlled way (`agent.run_records.run_log`)."""


class RunJobBody(Model):
    """The body of the job."""

    store_addresses: StoreAddresses
    website_id: str
    task_id: str | None
    """None: `sentence` says what is done."""
    run_id: str
    values: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    base_url: str | None = None
    folder: str
    """The folder for results and traces; each start of the run gets a subfolder."""
    mark: str
    """The file that shows that the worker sees the same folder."""
    lease_s: float = Field(default=RUN_LEASE_SECONDS, gt=0)
    uploads: str | None = None
    """The only folder with files for uploads; None: any."""
    pictures: bool = False
    """Whether to take a picture after each step."""
    playwright_trace: bool = False
    """Whether to record a trace for Playwright's trace viewer."""
    sentence: SentenceOrder | None = None
    """A job in words with its plan."""
    with_model: bool = False
    """Whether the configured language model may be asked, as `periplus run` does."""


class RunJobResult(Model):
    """The result of a run."""

    run_id: str
    status: RunStatus
    evidence: EvidenceLevel
    workflow_version: str | None = None
    """For a workflow: the version that ran."""
    how: Literal["begun", "carried_on", "found"]
    """Whether this worker started the run, resumed it, or found it ended."""
    duration_ms: float
    outputs: dict[str, JsonValue] = Field(default_factory=dict)
    error: str | None = None
    hint: str | None = None
    model_use: ModelUse | None = None
    """None: the run was found ended."""
    folder: str | None = None
    """The folder with result and trace; None if another worker has it."""


async def do_job(home: WorkerResources, job: Job, stop: StopRequest, tell: Tell) -> JsonValue:
    """Start or resume the run."""
    body = RunJobBody.model_validate(job.body)
    check_folder_mark(body.mark)
    stores, runs = await home.open_stores(body.store_addresses)

    async def life(own: RunStore) -> RunJobResult:
        return await _run_one_life(home, body, stores, own, stop, tell)

    ran = await run_with_lease(runs, body.run_id, stop, life, ttl=body.lease_s)
    return ran.model_dump(mode="json")


async def _run_one_life(
    home: WorkerResources, body: RunJobBody, stores: Stores, runs: RunStore, stop: StopRequest, tell: Tell
) -> RunJobResult:
    known = await runs.run(body.run_id)
    over = None if known is None else _find_final_result(known)
    if over is not None:
        return over
    begun = known is not None and (
        await runs.checkpoint(body.run_id) is not None or bool(await runs.journal(body.run_id))
    )
    if body.sentence is not None and known is not None:
        raise UserError(
            "the browser or the server ended while the job in words was done",
            fix="look on the website what is done, then order it again",
        )
    model = load_inferencer("plan") if body.with_model or body.sentence is not None else None
    job = None if body.sentence is None else _restore_job(body.sentence, has_model=model is not None)
    folder = _make_life_folder(Path(body.folder))
    run_request = TaskRunRequest(
        body.website_id,
        body.task_id,
        base_url=body.base_url,
        values=body.values,
        run_id=body.run_id,
        carries_on=begun,
        job=job,
    )

    browser = _RunBrowser(home)

    def heard(event: Event) -> None:
        if isinstance(event, StepEnded):
            tell({"step": f"{event.task_id}.{event.step_id}", "status": str(event.status)})

    kept = cast("RunStore", _DyingBrowserRunStore(runs, browser))
    resources = TaskRunResources(
        stores,
        kept,
        browser.context,
        prepare_output_folder(folder),
        stop=stop,
        asker=home.asker,
        listeners=[heard],
        uploads=None if body.uploads is None else Path(body.uploads),
        for_client=body.uploads is not None,
        pictures=body.pictures,
        playwright_trace=body.playwright_trace,
        model=model,
    )
    try:
        result = await execute_task_run(run_request, resources)
    except UserError as exc:
        if browser.died:
            raise RunLeaseLost(body.run_id, DIED) from exc
        raise
    if browser.died and not result.complete:
        raise RunLeaseLost(body.run_id, DIED)
    return _build_result(result, "carried_on" if begun else "begun", folder)


class _RunBrowser:
    """The browser of one start of a run; runs share it."""

    def __init__(self, home: WorkerResources) -> None:
        self._home = home
        self._browser: Browser | None = None

    @property
    def died(self) -> bool:
        """Return whether it crashed; then the run has not failed."""
        return self._browser is not None and not is_alive(self._browser)

    @asynccontextmanager
    async def context(self, storage: StorageState | None) -> AsyncIterator[BrowserContext]:
        """Open a browser context."""
        self._browser = await self._home.browser()
        async with open_fresh_context(self._browser, storage) as opened:
            yield opened


class _DyingBrowserRunStore:
    """A run store that does not mark a run as failed if its browser crashed, so that it is resumed."""

    def __init__(self, runs: RunStore, browser: _RunBrowser) -> None:
        self._runs, self._browser = runs, browser

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def finish_run(self, run_id: str, ending: RunEnding) -> bool:
        """Store the end of the run. Raises `RunNotHeld` if the browser crashed."""
        if self._browser.died and not ending.status.complete:
            raise RunNotHeld(run_id)
        return await self._runs.finish_run(run_id, ending)


def _find_final_result(run: StoredRun) -> RunJobResult | None:
    """Return the result of a run that has ended; None if it is to be resumed."""
    if run.finished_at is None or run.status is None or run.error == INTERRUPTED:
        return None
    return RunJobResult(
        run_id=run.run_id,
        status=run.status,
        evidence=run.evidence or EvidenceLevel.UNVERIFIED,
        workflow_version=run.workflow_version,
        how="found",
        duration_ms=run.duration_ms or 0.0,
        outputs=run.outputs,
        error=run.error,
        hint=run.hint,
    )


def _build_result(result: RunResult, how: Literal["begun", "carried_on"], folder: Path) -> RunJobResult:
    return RunJobResult(
        run_id=result.run_id,
        status=result.status,
        evidence=result.evidence,
        workflow_version=result.workflow_version,
        how=how,
        duration_ms=result.duration_ms,
        outputs=result.outputs,
        error=result.error,
        hint=result.hint,
        model_use=result.model_use,
        folder=str(folder),
    )


def _restore_job(order: SentenceOrder, *, has_model: bool) -> SentenceJob:
    """Return the job of an order. Raises `UserError` without a model."""
    from periplus.runs.sentence_jobs import restore_job  # noqa: PLC0415 - decision 0140

    if not has_model:
        raise UserError("no language model is configured", fix="set PERIPLUS_MODEL (docs/models.md)")
    return restore_job(order)


def _make_life_folder(folder: Path) -> Path:
    """Create a folder for this start of the run."""
    number, found = 1, folder
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}.{number}")
    return found
