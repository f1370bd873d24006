"""Where runs are carried out: so many at once, a browser context each, until the server ends."""

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

from agent.engine.stopping import Stop, Stopped
from agent.events import Event, StepEnded, StepStarted
from kb_schema.runs import RunResult
from kb_store import StoreError, Stores
from kb_store.runs import RunStore
from periplus.agent_server.errors import TooManyRuns
from periplus.agent_server.questions import PATIENCE_S, Questions
from periplus.errands import Errand, Gear, carry_out
from periplus.errors import UserError
from periplus.outputs import SESSION
from periplus.voyage import fresh_context, started_browser

if TYPE_CHECKING:
    from playwright.async_api import StorageState

CANCELLED = "cancelled"
"""The reason of a run that was stopped by `cancel_run`: its record's `error`."""
ENDED = "the server ended"
GRACE_S = 5.0
"""How long runs may take for the step they are at once the server ends; then they are cut off, as by a
crash, and can be carried on."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkshopLimits:
    """What one server carries out."""

    runs_at_once: int = 4
    """Each has a browser context, some 100 MB."""
    input_seconds: float = PATIENCE_S
    """How long a run waits for a value somebody must give."""


class Live:
    """One run that is being carried out here, or was."""

    def __init__(self, errand: Errand, patience_s: float) -> None:
        self.errand = errand
        self.stop = Stop()
        self.questions = Questions(self.stop, self._changed, patience_s=patience_s)
        self.steps = 0
        """How many are over, those of tasks within it included."""
        self.doing: str | None = None
        self._next: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[RunResult] | None = None

    def begin(self, work: asyncio.Task[RunResult]) -> None:
        """It is under way."""
        self._task = work
        work.add_done_callback(self._over)

    @property
    def over(self) -> bool:
        """Whether it came to any end."""
        return self._task is not None and self._task.done()

    @property
    def error(self) -> BaseException | None:
        """Why there is no result; None where there is one, or it was stopped or cut off."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return None
        error = self._task.exception()
        return None if isinstance(error, Stopped) else error

    def cancel(self, reason: str) -> None:
        """Stop after the step it is at."""
        self.stop.ask(reason)
        self.questions.give_up()

    def cut_off(self) -> None:
        """Stop now, as a crash would."""
        if self._task is not None:
            self._task.cancel()

    @staticmethod
    def now() -> float:
        """Seconds, monotonic."""
        return asyncio.get_running_loop().time()

    async def change(self, seconds: float) -> None:
        """Until something new is to be told, or the time is over."""
        await asyncio.wait({self._next}, timeout=max(0.0, seconds))

    async def ended(self, seconds: float) -> bool:
        """Whether it is over, which is waited for so long."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=max(0.0, seconds))
        return self.over

    def __call__(self, event: Event) -> None:
        """The bus's listener."""
        match event:
            case StepStarted(task_id=task, step_id=step, number=number, total=total):
                self.doing = f"{task}: {step} ({number}/{total})"
            case StepEnded():
                self.steps += 1
            case _:
                return
        self._changed()

    def _over(self, work: asyncio.Task[RunResult]) -> None:
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, Stopped | UserError | StoreError):
            _log.error("run %s", self.errand.run_id, exc_info=error)
        self._changed()

    def _changed(self) -> None:
        before, self._next = self._next, asyncio.get_running_loop().create_future()
        if not before.done():
            before.set_result(None)


class Workshop:
    """Carries runs out for as long as one is inside of it."""

    def __init__(
        self,
        stores: Stores,
        runs: RunStore,
        folder: Path,
        *,
        uploads: Path | None = None,
        limits: WorkshopLimits | None = None,
        browser: Callable[[], AbstractAsyncContextManager[Browser]] = started_browser,
    ) -> None:
        """`folder`: where results and traces go. `uploads`: the only folder files are given to pages
        from. `browser` opens one: an async context manager.
        """
        self.stores, self.runs, self._folder, self._uploads = stores, runs, folder, uploads
        self.limits = limits or WorkshopLimits()
        self._started, self._stack = browser, AsyncExitStack()
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._lives: dict[str, Live] = {}

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

    def live(self, run_id: str) -> Live | None:
        """The run, if it was begun here since the server started and is not over."""
        found = self._lives.get(run_id)
        return None if found is None or found.over else found

    def error(self, run_id: str) -> BaseException | None:
        """Why a run that was begun here has no result."""
        found = self._lives.get(run_id)
        return None if found is None else found.error

    def begin(self, errand: Errand) -> Live:
        """Carry it out, beside others. Raises `TooManyRuns`."""
        self._lives = {run_id: live for run_id, live in self._lives.items() if not live.over}
        if len(self._lives) >= self.limits.runs_at_once:
            raise TooManyRuns(sorted(self._lives))
        live = Live(errand, self.limits.input_seconds)
        self._lives[errand.run_id] = live
        live.begin(asyncio.create_task(self._carried_out(live), name=f"run {errand.run_id}"))
        return live

    async def _carried_out(self, live: Live) -> RunResult:
        gear = Gear(
            self.stores, self.runs, self._context, self._free_folder(live.errand.run_id),
            stop=live.stop, asker=live.questions, uploads=self._uploads, listeners=[live],
            note=lambda text: _log.warning("run %s: %s", live.errand.run_id, text),
        )  # fmt: skip
        return await carry_out(live.errand, gear)

    def _free_folder(self, run_id: str) -> Path:
        """A run that is carried on leaves a folder for each of its lives."""
        folder, number = self._folder / run_id, 1
        while (folder / SESSION).exists():
            number += 1
            folder = self._folder / f"{run_id}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @asynccontextmanager
    async def _context(self, storage: StorageState | None) -> AsyncIterator[BrowserContext]:
        async with fresh_context(await self._any_browser(), storage) as context:
            yield context

    async def _any_browser(self) -> Browser:
        """The one browser, started when it is first needed, and again where it went away."""
        async with self._starting:
            browser = self._browser
            if browser is None or not browser.is_connected():
                with suppress(Exception):  # of a browser that is gone: there is nothing left to close
                    await self._stack.aclose()
                self._stack = AsyncExitStack()
                browser = self._browser = await self._stack.enter_async_context(self._started())
            return browser
