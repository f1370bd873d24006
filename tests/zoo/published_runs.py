"""Runs a published workflow or task in a running application, as a task run does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.events import Event
from kb_store import Stores
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context

IDLE_LIMIT_S = 180.0
"""A run that tells nothing for so long is ended and counts as `hung`. On a busy machine runs are slow, and still do something."""
RUN_LIMIT_S = 900.0
"""The same for a run that takes longer in all: it may do one thing again and again."""


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """How a run ended, by its own result."""

    claim: str
    """status/evidence; `hung` or `error` where it has no result."""
    said: str
    """The error and the hint."""
    success: bool = False
    calls: int = 0
    """Of a model."""


@dataclass(frozen=True, slots=True)
class IdleLimit:
    """Ends the block of `end_when_idle`. A listener of a run: each event of it gives the run more time."""

    timeout: asyncio.Timeout
    idle_s: float
    last: float
    """When the block is ended whatever happens, by the clock of the event loop."""

    def __call__(self, _event: Event) -> None:
        """Note that something happened."""
        if not self.timeout.expired():
            self.timeout.reschedule(min(asyncio.get_running_loop().time() + self.idle_s, self.last))


@asynccontextmanager
async def end_when_idle(idle_s: float, most_s: float) -> AsyncIterator[IdleLimit]:
    """Raise `TimeoutError` out of the block when nothing happened for `idle_s`, or after `most_s`."""
    last = asyncio.get_running_loop().time() + most_s
    async with asyncio.timeout(min(idle_s, most_s)) as timeout:
        yield IdleLimit(timeout, idle_s, last)


async def run_published(
    browser: Browser, base_url: str, website_id: str, task_id: str, values: Mapping[str, Any], stores: Stores,
    runs: RunStore, folder: Path, *, step_timeout_s: float | None = None,
) -> PublishedRun:  # fmt: skip
    """Run a workflow or task of a store in a fresh browser context. `folder`: for its result and trace."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = TaskRunRequest(
        website_id, task_id, base_url=base_url, values=values, step_timeout_s=step_timeout_s
    )
    try:
        async with end_when_idle(IDLE_LIMIT_S, RUN_LIMIT_S) as limit:
            resources = TaskRunResources(
                stores, runs, lambda storage: open_fresh_context(browser, storage), folder, listeners=(limit,)
            )
            done = await execute_task_run(asked, resources)
    except TimeoutError:
        return PublishedRun(
            "hung", f"nothing done for {IDLE_LIMIT_S:g} s, or not ended after {RUN_LIMIT_S:g} s"
        )
    except (UserError, PlaywrightError) as exc:
        return PublishedRun("error", str(exc))
    said = " | ".join(each for each in (done.error, done.hint) if each)
    return PublishedRun(f"{done.status}/{done.evidence}", said, done.succeeded, done.model_use.calls)
