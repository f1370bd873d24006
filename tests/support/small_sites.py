"""Sites of a few pages with a state of their own, on which people are recorded and workflows run."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from kb_schema import SourcedDocument, assemble
from kb_schema.documents import Document
from kb_schema.run_records import RunResult
from kb_schema.websites import Website
from kb_store import Stores, load_knowledge, open_stores
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.workflow_synthesis import induce_workflow, mark_unverified, read_traces
from tests.support.people import Person, recorded
from tests.support.rotation import SEED
from tests.support.site_server import Answered, Asked, RunningSite, running_site

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from agent.session import Session

WEBSITE = "small"

__all__ = [
    "WEBSITE", "Answered", "Asked", "RunningSite", "induced", "opened_stores", "ran", "ran_published", "running_site",
    "visiting",
]  # fmt: skip


async def induced(
    browser: Browser, site: RunningSite, folder: Path, person: Person, given: Sequence[Mapping[str, str]], *,
    start: str = "/", sentences: Sequence[str] = (), prepare: Callable[[int], None] = lambda _: None,
) -> PipelineResult:  # fmt: skip
    """What synthesis makes of one recording for each of `given`; `sentences` describe them."""
    dice = random.Random(SEED)
    for number, each in enumerate(given):
        prepare(number)
        await recorded(
            browser, site.base, folder / f"{number:02}", person, each, dice, asked=True, start=start
        )
    traces = read_traces([folder])
    if sentences:
        traces = [
            trace.model_copy(update={"task_description": said})
            for trace, said in zip(traces, sentences, strict=True)
        ]
    return add_workflow_documents(await induce_workflow(traces, person.__name__, ""))


@asynccontextmanager
async def opened_stores(site: RunningSite, folder: Path, *known: Document) -> AsyncIterator[Stores]:
    """Stores that know only the address of a site, and `known`."""
    website = Website(type="website", website_id=WEBSITE, name="Small", base_url=site.base)
    knowledge, _ = assemble([SourcedDocument(each) for each in (website, *known)])
    async with open_stores(folder) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        yield stores


@asynccontextmanager
async def visiting(
    browser: Browser, site: RunningSite, folder: Path, *known: Document
) -> AsyncIterator[Session]:
    """A session on a site of which only the address is known, and `known`."""
    async with (
        opened_stores(site, folder, *known) as stores,
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base) as session,
    ):
        yield session


async def ran_published(
    browser: Browser, stores: Stores, site: RunningSite, workflow_id: str, inputs: Mapping[str, Any]
) -> RunResult:
    """The result of running a published workflow in a new session."""
    async with (
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base) as session,
    ):
        return await run_workflow(TaskRunner(session), await session.knowledge.workflow(workflow_id), inputs)


async def ran(session: Session, result: PipelineResult, inputs: Mapping[str, Any]) -> RunResult:
    """The result of running the workflow of a synthesis."""
    assert result.lowered is not None
    lowered = mark_unverified(result.lowered)
    for task in lowered.tasks:
        session.knowledge.know(task)
    return await run_workflow(TaskRunner(session), lowered.workflow, inputs)
