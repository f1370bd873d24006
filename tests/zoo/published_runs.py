"""Runs a published workflow or task in a running application, as a task run does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from kb_store import Stores
from kb_store.runs.run_store import RunStore
from periplus.errors import UserError
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context

RUN_LIMIT_S = 180.0
"""A run that takes longer is ended and counts as `hung`."""


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


async def run_published(
    browser: Browser, base_url: str, website_id: str, task_id: str, values: Mapping[str, Any], stores: Stores,
    runs: RunStore, folder: Path, *, step_timeout_s: float | None = None,
) -> PublishedRun:  # fmt: skip
    """Run a workflow or task of a store in a fresh browser context. `folder`: for its result and trace."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = TaskRunRequest(
        website_id, task_id, base_url=base_url, values=values, step_timeout_s=step_timeout_s
    )
    resources = TaskRunResources(stores, runs, lambda storage: open_fresh_context(browser, storage), folder)
    try:
        async with asyncio.timeout(RUN_LIMIT_S):
            done = await execute_task_run(asked, resources)
    except TimeoutError:
        return PublishedRun("hung", f"not ended after {RUN_LIMIT_S:g} s")
    except (UserError, PlaywrightError) as exc:
        return PublishedRun("error", str(exc))
    said = " | ".join(each for each in (done.error, done.hint) if each)
    return PublishedRun(f"{done.status}/{done.evidence}", said, done.succeeded, done.model_use.calls)
