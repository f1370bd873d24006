"""Executes runs in the agent's MCP server, several in parallel, each in its own browser context."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from playwright.async_api import Browser, BrowserContext

from agent.browser.browser_life import wait_until_usable
from agent.events import ActionDone, Event, StepEnded, StepStarted
from agent.execution.stop_request import RunStopped, StopRequest
from agent.inferencer import ModelInferencer
from kb_schema.owner_folders import make_owner_folder
from kb_schema.run_records import RunResult
from kb_store import StoreError, Stores
from kb_store.runs.run_store import RunStore
from periplus.agent_server.errors import TooManyRuns
from periplus.agent_server.run_questions import PATIENCE_S, RunQuestions
from periplus.errors import UserError
from periplus.language_model import load_inferencer
from periplus.output_folder import SESSION
from periplus.runs.task_runs import Browsers, TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context, start_browser

if TYPE_CHECKING:
    from playwright.async_api import StorageState

CANCELLED = "cancelled"
"""The stop reason of `cancel_run`; it becomes the `error` of the run's record."""
ENDED = "the server ended"
GRACE_S = 5.0
"""Seconds that runs may take for their current step when the server ends; then they are cancelled and can be
resumed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunExecutorLimits:
    """The limits of one server."""

    runs_at_once: int = 4
    """Maximum number of parallel runs; each uses a browser context, about 100 MB."""
    input_seconds: float = PATIENCE_S
    """Seconds that a run waits for an input from a person."""


class ExecutingRun:
    """A run that this process executes or has executed."""

    def __init__(
        self, run_request: TaskRunRequest, patience_s: float, model: ModelInferencer | None = None
    ) -> None:
        self.run_request, self.model = run_request, model
        self.stop = StopRequest()
        self.questions = RunQuestions(self.stop, self._changed, patience_s=patience_s)
        self.steps = 0
        """The number of finished steps, including those of called tasks."""
        self.doing: str | None = None
        self.address: str | None = None
        """Where the page was after the last action, without secrets."""
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[RunResult] | None = None

    def begin(self, work: asyncio.Task[RunResult]) -> None:
        """Set the asyncio task that executes the run."""
        self._task = work
        work.add_done_callback(self._over)

    @property
    def over(self) -> bool:
        """Return whether the run has ended."""
        return self._task is not None and self._task.done()

    @property
    def error(self) -> BaseException | None:
        """Return the error if there is no result; None if there is one, or the run was stopped or cancelled."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        error = self._task.exception()
        return None if isinstance(error, RunStopped) else error

    def cancel(self, reason: str) -> None:
        """Stop after the current step."""
        self.stop.ask(reason)
        self.questions.give_up()

    def cut_off(self) -> None:
        """Cancel at once."""
        if self._task is not None:
            self._task.cancel()

    @staticmethod
    def now() -> float:
        """Return monotonic seconds."""
        return asyncio.get_running_loop().time()

    async def change(self, seconds: float) -> None:
        """Wait at most `seconds` for a change."""
        await asyncio.wait({self._next}, timeout=max(0.0, seconds))

    async def ended(self, seconds: float) -> bool:
        """Wait at most `seconds` for the end; return whether the run has ended."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=max(0.0, seconds))
        return self.over

    def __call__(self, event: Event) -> None:
        """Handle an event of the run."""
        match event:
            case StepStarted(task_id=task, step_id=step, number=number, total=total):
                self.doing = f"{task}: {step} ({number}/{total})"
            case StepEnded():
                self.steps += 1
            case ActionDone(url_after=address, beside=False):
                self.address = address
            case _:
                return
        self._changed()

    def _over(self, work: asyncio.Task[RunResult]) -> None:
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, RunStopped | UserError | StoreError):
            _log.error("run %s", self.run_request.run_id, exc_info=error)
        self._changed()

    def _changed(self) -> None:
        before, self._next = self._next, asyncio.get_running_loop().create_future()
        if not before.done():
            before.set_result(None)


class RunExecutor:
    """Executes runs; an async context manager that stops them at its end."""

    def __init__(
        self,
        stores: Stores,
        runs: RunStore,
        folder: Path,
        *,
        uploads: Path | None = None,
        limits: RunExecutorLimits | None = None,
        browser: Callable[[], AbstractAsyncContextManager[Browser]] = start_browser,
        contexts: Browsers | None = None,
        for_clients: bool = False,
    ) -> None:
        """`folder`: for results and traces. `uploads`: the only folder with files for uploads. `browser`: opens a
        browser; an async context manager. `contexts`: lends the browser context of a run; None: a new one each.
        `for_clients`: others than the operator ask for runs, over a network: see `open_session`.
        """
        self.stores, self.runs, self._folder, self._uploads = stores, runs, folder, uploads
        self.for_clients = for_clients
        self.limits = limits or RunExecutorLimits()
        self._started, self._stack = browser, AsyncExitStack()
        self._contexts = contexts
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._lives: dict[str, ExecutingRun] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        going_on = [live for live in self._lives.values() if not live.over]
        for live in going_on:
            live.cancel(ENDED)
        if going_on:
            await asyncio.wait([asyncio.ensure_future(live.ended(GRACE_S)) for live in going_on])
        for live in going_on:
            live.cut_off()
            await live.ended(GRACE_S)
        await self._stack.aclose()

    def live(self, run_id: str) -> ExecutingRun | None:
        """Return the run if this server started it and it has not ended."""
        found = self._lives.get(run_id)
        return None if found is None or found.over else found

    def address(self, run_id: str) -> str | None:
        """Return where the page of a run that this server started was last."""
        found = self._lives.get(run_id)
        return None if found is None else found.address

    def error(self, run_id: str) -> BaseException | None:
        """Return why a run that this server started has no result."""
        found = self._lives.get(run_id)
        return None if found is None else found.error

    def begin(self, run_request: TaskRunRequest, model: ModelInferencer | None = None) -> ExecutingRun:
        """Start a run in the background. Raises `TooManyRuns`. `model`: with its budget; None: the configured one."""
        self._lives = {run_id: live for run_id, live in self._lives.items() if not live.over}
        if len(self._lives) >= self.limits.runs_at_once:
            raise TooManyRuns(sorted(self._lives))
        live = ExecutingRun(run_request, self.limits.input_seconds, model)
        self._lives[run_request.run_id] = live
        live.begin(asyncio.create_task(self._carried_out(live), name=f"run {run_request.run_id}"))
        return live

    async def _carried_out(self, live: ExecutingRun) -> RunResult:
        resources = TaskRunResources(
            self.stores,
            self.runs,
            self._contexts or self._context,
            self._free_folder(live.run_request.run_id),
            stop=live.stop,
            asker=live.questions,
            uploads=self._uploads,
            for_client=self.for_clients,
            listeners=[live],
            note=lambda text: _log.warning("run %s: %s", live.run_request.run_id, text),
            model=live.model or load_inferencer("plan"),
        )
        return await execute_task_run(live.run_request, resources)

    def _free_folder(self, run_id: str) -> Path:
        """Return a new folder; a resumed run gets one for each attempt."""
        folder, number = self._folder / run_id, 1
        while (folder / SESSION).exists():
            number += 1
            folder = self._folder / f"{run_id}-{number}"
        make_owner_folder(folder)
        return folder

    @asynccontextmanager
    async def _context(self, storage: StorageState | None) -> AsyncIterator[BrowserContext]:
        async with open_fresh_context(await self._any_browser(), storage) as context:
            yield context

    async def _any_browser(self) -> Browser:
        """Return the shared browser; it is started on first use, and again if it has crashed."""
        async with self._starting:
            browser = self._browser
            if browser is None or not await wait_until_usable(browser):
                with suppress(Exception):  # the browser has crashed; there is nothing left to close
                    await self._stack.aclose()
                self._stack = AsyncExitStack()
                browser = self._browser = await self._stack.enter_async_context(self._started())
            return browser
