"""Workflows made of demonstrations of MiniWoB++, run on its pages and judged by what the pages say.

Nothing here knows a task, but for the scripted person: what a stopped run leaves in a form must be a state that the
person passes on the way to the same goal, or the run is wrong though no reward says so.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from playwright.async_api import Browser, Page
from playwright.async_api import Error as PlaywrightError

from agent.errors import AgentError
from agent.events import EventBus
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.knowledge_client import KnowledgeClient
from agent.page import in_page_library
from agent.page.errors import PageError
from agent.run_context import RunContext
from agent.session import Session
from agent.synthesis.errors import MetaAgentError
from agent.synthesis.synthesis_pipeline import MetaAgentPipeline, PipelineConfig
from agent.synthesis.trace_consensus import find_gap, synthesize_consensus
from agent.synthesis.utterances.record_templates import RecordTemplate
from agent.synthesis.utterances.utterance_templates import (
    UtteranceMismatch,
    UtteranceTemplate,
    expand_value_forms,
)
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from benchmarks.miniwob_pages import open_task, read_reward, served, set_goal
from benchmarks.miniwob_person import FormState, find_wrong_values, read_forms
from benchmarks.miniwob_recordings import read_demonstration, sessions
from benchmarks.miniwob_ways import states_of
from kb_schema import SourcedDocument, assemble
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.websites import Website
from kb_store import load_knowledge, open_stores
from loaders.recordings.imported_traces import UnreadableRecording
from loaders.recordings.miniwob_demonstrations import read
from periplus.knowledge_server import connect_knowledge_client

EPISODE_S = 30.0
"""How long one goal may take."""

How = Literal["solved", "refused", "stopped", "wrong"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How one goal ended."""

    how: How
    goal: str
    why: str = ""


# -- demonstrations


def drawn(folder: Path, k: int, dice: random.Random) -> list[ExecutionTrace]:
    """Demonstrations of a task, `k` at random of those that were rewarded and can be read; fewer where there
    are no more.
    """
    files = [*demonstration_files(folder), *sessions(folder)]
    dice.shuffle(files)
    found: list[ExecutionTrace] = []
    for file in files:
        if len(found) >= k:
            break
        try:
            found += [trace for trace in _read(file) if trace.success]
        except UnreadableRecording:
            continue
    return found[:k]


def _read(file: Path) -> list[ExecutionTrace]:
    if file.is_dir():
        return [read_demonstration(file)]
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [each.trace for each in read(json.loads(text), file)]


def demonstration_files(folder: Path) -> list[Path]:
    """Return the demonstrations of people in a folder."""
    return sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])


# -- workflows


@dataclass(frozen=True, slots=True)
class Learned:
    """A workflow, and the sentences it understands."""

    lowered: WorkflowDocuments
    template: UtteranceTemplate | RecordTemplate | None
    shown: frozenset[str]
    """Goals that were demonstrated."""

    @property
    def needed(self) -> list[str]:
        """The inputs without which the workflow does not run."""
        return [spec.name for spec in self.lowered.workflow.io_spec.inputs if spec.required]

    def inputs(self, goal: str) -> dict[str, Any]:
        """What a goal says for the workflow's inputs. Raises `UtteranceMismatch`."""
        if self.template is None:
            return {}
        told = expand_value_forms(self.template.parse(goal))
        names = {spec.name for spec in self.lowered.workflow.io_spec.inputs}
        return {name: value for name, value in told.items() if name in names}


async def learn(traces: Sequence[ExecutionTrace], name: str) -> Learned | str:
    """A workflow of demonstrations, or why there is none. Slips of a few are left out where the others agree."""
    try:
        result = (
            await synthesize_consensus(MetaAgentPipeline(config=PipelineConfig(name=name)), traces)
        ).result
    except MetaAgentError as exc:
        return str(exc)
    why = find_gap(result)
    if why is not None or result.lowered is None:
        return str(why).split(" (at ")[0]
    template = None if result.understanding is None else result.understanding.template
    return Learned(result.lowered, template, frozenset(trace.task_description for trace in traces))


# -- pages


@dataclass(frozen=True, slots=True)
class Arena:
    """A page on which goals are set, and what sessions on it need."""

    page: Page
    client: Client
    website: Website

    async def open(self, task: str) -> None:
        """Show a task's page."""
        await open_task(self.page, self.website.base_url, task)

    async def goal(self, seed: str) -> str:
        """Set the goal of a seed; its sentence."""
        return await set_goal(self.page, seed)

    async def run(self, learned: Learned, goal: str) -> Ending:
        """Do what the page asks for, now that its goal is set."""
        try:
            inputs = learned.inputs(goal)
        except UtteranceMismatch as exc:
            return Ending("refused", goal, str(exc))
        missing = [name for name in learned.needed if name not in inputs]
        if missing:
            return Ending("refused", goal, f"the workflow asks for {', '.join(missing)}, which no goal says")
        error = await self._done(learned.lowered, inputs)
        over, reward = await read_reward(self.page)
        if over and reward == 1:
            return Ending("solved", goal)
        if over or error is None:
            return Ending("wrong", goal, f"the reward is {reward}" if over else "it did not end the episode")
        return Ending("stopped", goal, error)

    async def attempt(self, task: str, learned: Learned, seed: str) -> Ending:
        """Open a task's page, set the goal of a seed and do what it asks for.

        A run that stopped is wrong if a form has a value that the person never has there on the way to this goal.
        """
        await self.open(task)
        goal = await self.goal(seed)
        ended = await self.run(learned, goal)
        if ended.how != "stopped":
            return ended
        left = await read_forms(self.page)
        passed = await self._passed(task, seed)
        wrong = [] if passed is None else find_wrong_values(left, passed)
        return Ending("wrong", goal, f"{', '.join(wrong)}; then {ended.why}") if wrong else ended

    async def _passed(self, task: str, seed: str) -> list[FormState] | None:
        await self.open(task)
        goal = await self.goal(seed)
        try:
            return await states_of(task, goal, self.page)
        except PlaywrightError:
            return None

    async def _done(self, lowered: WorkflowDocuments, inputs: Mapping[str, Any]) -> str | None:
        """Run it; what it says went wrong."""
        knowledge = KnowledgeClient(self.client, self.website.website_id, self.website.base_url)
        for task in lowered.tasks:
            knowledge.know(task)
        context = RunContext()
        session = Session(
            self.page,
            knowledge,
            self.website,
            self.website.base_url,
            context=context,
            bus=EventBus(context.redact),
        )
        try:
            async with asyncio.timeout(EPISODE_S):
                done = await run_workflow(TaskRunner(session), lowered.workflow, inputs)
        except TimeoutError:
            return f"not done after {EPISODE_S:g} s"
        except (AgentError, PageError, PlaywrightError) as exc:
            return str(exc)
        return None if done.succeeded else str(done.error or done.status)


@asynccontextmanager
async def arena(browser: Browser, pages: Path) -> AsyncIterator[Arena]:
    """A page of a browser for the tasks whose pages are in a folder."""
    with served(pages) as url, tempfile.TemporaryDirectory() as folder:
        website = Website(website_id="miniwob", name="MiniWoB++", base_url=url)
        knowledge, _ = assemble([SourcedDocument(website, "website")])
        async with open_stores(Path(folder)) as stores:
            await load_knowledge(stores.documents, stores.graph, knowledge)
            async with connect_knowledge_client(stores) as client:
                context = await browser.new_context(viewport={"width": 500, "height": 600})
                try:
                    await in_page_library.install(context)
                    yield Arena(await context.new_page(), client, website)
                finally:
                    await context.close()


async def goals(
    place: Arena, task: str, count: int, shown: frozenset[str], draw: int = 0, series: str = ""
) -> list[str]:
    """Seeds whose goals nobody showed; all of them where the task has hardly any other goals."""
    await place.open(task)
    seeds = [f"{series or 'unseen'} {draw} {number}" for number in range(3 * count)]
    told = {seed: await place.goal(seed) for seed in seeds}
    new = [seed for seed in seeds if told[seed] not in shown]
    return (new if len(new) >= count and len(set(told.values())) > count / 2 else seeds)[:count]


async def measured(
    place: Arena, task: str, folder: Path, k: int, draw: int, seeds: int, series: str = ""
) -> list[Ending]:
    """One draw of k of the folder's demonstrations of a task, run on seeds that are none of theirs.

    `series` chooses another draw and other seeds: those of the default were looked at when rules were written.
    """
    dice = random.Random(f"{series}{task}/{k}/{draw}")  # noqa: S311 - a sample, no secret
    learned = await learn(drawn(folder / task, k, dice), task.replace("/", "-"))
    if isinstance(learned, str):
        return [Ending("refused", "", learned)] * seeds
    return [
        await place.attempt(task, learned, seed)
        for seed in await goals(place, task, seeds, learned.shown, draw, series)
    ]
