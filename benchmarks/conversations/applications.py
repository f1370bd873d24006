"""The applications of the benchmark, each with the knowledge that its users would make of it.

The sample site comes with its knowledge base. The others are mapped, and each job is recorded three times with other
values and made into a workflow, as `periplus map`, `record` and `synthesize --publish` do.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser

from agent.synthesis.synthesis_pipeline import add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from kb_store import Stores, load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.session_setup import start_browser
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    induce_workflow,
    publish_workflow,
    read_traces,
)
from tests.support.foreign_sites import spadeworks_site
from tests.support.live_spadeworks import SEED, Controls
from tests.support.mapping_rates import map_site
from tests.zoo.applications import APPLICATIONS
from tests.zoo.map_measurement import MapTruth, read_map_truths
from tests.zoo.registry.serving import PASSWORD
from tests.zoo.zoo_jobs import Application, Job, RunningApplication
from tests.zoo.zoo_measurement import record_demonstration

SAMPLE = "spadeworks"
MAPPED = "site"
"""The website id that `tests.support.mapping_rates` gives."""
EXPLORED_S = 60.0
"""How long an application is explored for its map."""


def website_of(application: str) -> str:
    """Return the id of an application's website."""
    return SAMPLE if application == SAMPLE else MAPPED


def workflow_of(job: str) -> str:
    """Return the id of the workflow that is recorded for a job; a map may have a task of the job's name."""
    return f"do_{job}"


@dataclass(frozen=True, slots=True)
class Served:
    """A fresh copy of an application."""

    base_url: str
    state: Callable[[], Awaitable[Any]]


@asynccontextmanager
async def serve(application: str) -> AsyncIterator[Served]:
    """Start an application with its seed. Skips where it is not installed."""
    if application == SAMPLE:
        with spadeworks_site() as url:

            async def state() -> Any:
                return Controls(url).state()

            yield Served(url, state)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with APPLICATIONS[application].start(Path(folder)) as running:
            yield Served(running.base_url, running.state)


@asynccontextmanager
async def copy_of_knowledge(application: str, kept: Path) -> AsyncIterator[Path]:
    """Yield a data directory with what `make_knowledge` kept; it may be changed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(shutil.copytree(kept / application / "stores", Path(folder) / "data"))


async def make_knowledge(application: str, jobs: Collection[str], kept: Path) -> None:
    """Make the knowledge of an application unless it is there. Raises `RuntimeError` if a workflow has gaps."""
    folder = kept / application
    if (folder / "made").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if application == SAMPLE:
        knowledge, _ = read_knowledge_folder(SEED / "kb")
        async with open_stores(folder / "stores") as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge)
    else:
        await _learn(APPLICATIONS[application], jobs, folder)
    (folder / "made").touch()


async def _learn(application: Application, jobs: Collection[str], folder: Path) -> None:
    truth = read_map_truths()[application.name]
    async with (
        start_browser(headed=False) as browser,
        application.start(folder) as running,
        open_stores(folder / "stores") as stores,
    ):
        await _map(browser, running, truth, stores, folder)
        for job in application.jobs:
            if job.name in jobs:
                await _teach(browser, running, job, stores, folder)


async def _map(
    browser: Browser, running: RunningApplication, truth: MapTruth, stores: Stores, folder: Path
) -> None:
    account = {name: value.format(password=PASSWORD) for name, value in truth.account.items()}
    url = f"{running.base_url}{truth.start}"
    made = await map_site(browser, url, folder / "map", account, EXPLORED_S, robots=False)
    await load_knowledge(stores.documents, stores.graph, made.knowledge)


async def _teach(
    browser: Browser, running: RunningApplication, job: Job, stores: Stores, folder: Path
) -> None:
    dice = random.Random(job.name)  # noqa: S311 - the noise of a scripted person
    sessions = []
    for number, instance in enumerate(job.demonstrations):
        await running.reset()
        sessions.append(folder / "sessions" / job.name / str(number))
        await record_demonstration(browser, running, job, instance, sessions[-1], dice)
    traces = [each.model_copy(update={"task_description": ""}) for each in read_traces(sessions)]
    result = await induce_workflow(traces, workflow_of(job.name), "")
    found = await find_screens(stores, MAPPED, running.base_url, result)
    result = add_workflow_documents(result, found.by_step)
    gap = find_gap(result)
    if gap is not None or result.lowered is None:
        raise RuntimeError(f"{job.name}: the workflow has a gap: {gap}")
    site = SynthesisSite(stores, MAPPED, running.base_url, allow_unverified=True)
    await publish_workflow(site, result.lowered, found.new, replace=False)
