"""Runs the function tasks of a benchmark from their sentences alone, without a model.

All jobs of an application are learned from their recorded demonstrations, and published into one store. Each sentence of the benchmark is
bound as `periplus run "..."` binds it. What is bound is run from the seed, and judged by the benchmark's verifier and by the state that
the scripted person leaves.
"""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.sentences.sentence_binding import bind_sentence
from agent.synthesis.errors import MetaAgentError
from agent.synthesis.trace_consensus import find_gap
from kb_schema import KnowledgeBase, SourcedDocument, assemble
from kb_schema.websites import Website
from kb_store import Stores, load_knowledge, open_stores, read_knowledge
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from periplus.errors import UserError
from periplus.runs.sentence_tasks import find_meaning
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    induce_workflow,
    publish_workflow,
    read_traces,
)
from tests.zoo.published_runs import run_published
from tests.zoo.zoo_jobs import Application, Instance, Job, NoNoise, RunningApplication
from tests.zoo.zoo_measurement import do_by_hand, find_differences, judge_state, read_seed_state

WEBSITE = "zoo"
SHOWN_AT = "http://127.0.0.1:9"
"""The address that stands in the knowledge; runs name the application's own."""
LEARNED = "learned.json"
Bound = Literal["bound", "asked", "refused"]


@dataclass(frozen=True, slots=True)
class SentenceRun:
    """What came of one sentence of the benchmark."""

    application: str
    job: str
    task: str
    sentence: str
    shown: bool
    """Whether the workflow was learned from this sentence, among others."""
    known: str
    """The workflow of its job in the store; empty: there is none."""
    bound: Bound
    workflow: str = ""
    """What it was bound to, or the first one that was asked about."""
    values: Mapping[str, Any] | None = None
    alone: str = ""
    """What it was bound to without the workflow of its job; must be empty."""
    outcome: str = ""
    """Of the run, as in docs/zoo.md; empty: nothing was run."""
    verified: bool | None = None
    claim: str = ""
    said: str = ""
    changes: tuple[str, ...] = ()
    calls: int = 0
    """Of a model."""
    seconds: float = 0.0


async def learn_jobs(
    jobs: Sequence[Job], sessions: Path, folder: Path, tell: Callable[[str], None]
) -> dict[str, dict[str, str]]:
    """Publish the workflow of each job into the stores of `folder`; return what became of each.

    `sessions`: JOB/NUMBER. What was learned is kept; jobs that were learned before are left out.
    """
    file = folder / LEARNED
    known: dict[str, dict[str, str]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if not known:
        shutil.rmtree(folder / "stores", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    async with open_stores(folder / "stores") as stores:
        if not known:
            website = Website(type="website", website_id=WEBSITE, name="Zoo", base_url=SHOWN_AT)
            await load_knowledge(stores.documents, stores.graph, assemble([SourcedDocument(website)])[0])
        for job in jobs:
            if job.name in known:
                continue
            known[job.name] = await _learn(job, sessions / job.name, stores)
            file.write_text(json.dumps(known, indent=1, ensure_ascii=False), encoding="utf-8")
            tell(f"{job.name}: {known[job.name]}")
    return known


async def _learn(job: Job, sessions: Path, stores: Stores) -> dict[str, str]:
    found = sorted(each for each in sessions.glob("*") if each.is_dir()) if sessions.is_dir() else []
    if not found:
        return {"reason": "it was not recorded"}
    traces = read_traces(found)
    try:
        result = await induce_workflow(traces, job.name, "")
        screens = await find_screens(stores, WEBSITE, SHOWN_AT, result)
        result = build_documents(result, screens.by_step)
        gap = find_gap(result)
        if gap is not None or result.lowered is None:
            return {"reason": str(gap)}
        site = SynthesisSite(stores, WEBSITE, SHOWN_AT, allow_unverified=True)
        workflow_id = await publish_workflow(site, result.lowered, screens.new, replace=True)
    except (UserError, MetaAgentError) as exc:
        return {"reason": str(exc)}
    return {
        "workflow": workflow_id,
        "sentences": " | ".join(result.lowered.workflow.sentences),
        "unused": result.unused_sentences,
    }


@asynccontextmanager
async def open_sentence_runs(
    browser: Browser, application: Application, learned: Mapping[str, Mapping[str, str]], folder: Path
) -> AsyncIterator[SentenceRuns]:
    """Start the application, to run sentences in it. `learned`, `folder`: of `learn_jobs`."""
    async with AsyncExitStack() as opened:
        running = await opened.enter_async_context(application.start(folder))
        stores = await opened.enter_async_context(open_stores(folder / "stores"))
        runs = await opened.enter_async_context(open_runs(folder / "stores", None))
        knowledge, _ = await read_knowledge(stores.documents, stores.graph, WEBSITE)
        yield SentenceRuns(browser, running, application, learned, knowledge, stores, runs, folder)


class SentenceRuns:
    """Runs the sentences of one application."""

    def __init__(
        self, browser: Browser, running: RunningApplication, application: Application, learned: Mapping[str, Mapping[str, str]],
        knowledge: KnowledgeBase, stores: Stores, runs: RunStore, folder: Path,
    ) -> None:  # fmt: skip
        self._browser, self._running, self._application = browser, running, application
        self._learned, self._knowledge = learned, knowledge
        self._stores, self._runs, self._folder = stores, runs, folder

    async def measure(
        self, known: Collection[str], *, bind_only: bool = False, seconds: float = math.inf
    ) -> AsyncIterator[SentenceRun]:
        """Yield what came of each sentence that is not `known`; none is begun after `seconds`. `bind_only`: nothing is run."""
        last = time.monotonic() + seconds
        for job in self._application.jobs:
            for instance in job.instances:
                if instance.verify is None or not instance.sentence or instance.name in known:
                    continue
                if time.monotonic() > last:
                    return
                found = self._bind(job, instance)
                if found.bound == "bound" and not bind_only:
                    try:
                        found = await self._run(job, instance, found)
                    except PlaywrightError:  # on a machine that is too busy: it is measured the next time
                        continue
                yield found

    def _bind(self, job: Job, instance: Instance) -> SentenceRun:
        meaning = find_meaning(instance.sentence, self._knowledge)
        own = self._learned[job.name].get("workflow", "")
        others = [each for name, each in self._knowledge.workflows.items() if name != own]
        alone = bind_sentence(instance.sentence, [*others, *self._list_other_tasks(own)]).task
        told = meaning.task or next(iter(meaning.similar), None)
        return SentenceRun(
            self._application.name, job.name, instance.name, instance.sentence,
            instance.name in {each.name for each in job.demonstrations}, own,
            "bound" if meaning.task else "asked" if meaning.similar else "refused",
            "" if told is None else told.task_id, None if told is None else dict(told.values),
            "" if alone is None else alone.task_id,
        )  # fmt: skip

    def _list_other_tasks(self, own: str) -> list[Any]:
        """Return the tasks but those of a workflow: a workflow's nodes are published as tasks, too."""
        workflow = self._knowledge.workflows.get(own)
        used = set() if workflow is None else {getattr(node, "task_id", None) for node in workflow.nodes}
        return [each for name, each in self._knowledge.tasks.items() if name not in used]

    async def _run(self, job: Job, instance: Instance, found: SentenceRun) -> SentenceRun:
        assert instance.verify is not None
        await self._running.reset()
        await do_by_hand(self._browser, self._running, job, instance.given, NoNoise())
        wanted = await self._running.state()
        before = await read_seed_state(self._browser, self._running, job)
        into = self._folder / "runs" / instance.name
        shutil.rmtree(into, ignore_errors=True)  # of a run that was cut off
        began = time.monotonic()
        ended = await run_published(
            self._browser, self._running.base_url, WEBSITE, found.workflow, found.values or {}, self._stores,
            self._runs, into,
        )  # fmt: skip
        seconds = round(time.monotonic() - began, 1)
        after = await self._running.state()
        verified = (await asyncio.to_thread(instance.verify, self._running.base_url))[0]
        outcome = judge_state(
            before, wanted, after, claim=ended.claim, success=ended.success, feasible=True, verified=verified
        )
        return SentenceRun(
            found.application, found.job, found.task, found.sentence, found.shown, found.known, found.bound,
            found.workflow, found.values, found.alone, outcome, verified, ended.claim, ended.said,
            tuple(find_differences(after, wanted)[:6]), ended.calls, seconds,
        )  # fmt: skip


OUTCOMES = ("right", "unclaimed", "refused", "part", "beside", "false_success", "hung")
COLUMNS = ("application", "sentences", "in the store", "bound", "asked", "refused", "run", *OUTCOMES[:2], "run refused",
           *OUTCOMES[3:], "model calls", "bound without its workflow")  # fmt: skip


def list_sentence_rows(figures: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return rows of `COLUMNS`, one for each application, and their sum. Of what was measured again, the last counts."""
    last = {(each["application"], each["task"]): each for each in figures}.values()
    names = list(dict.fromkeys(each["application"] for each in last))
    rows = []
    for name in (*names, "all"):
        own = [each for each in last if name in ("all", each["application"])]
        bound, outcomes = (Counter(each[key] for each in own) for key in ("bound", "outcome"))
        run = sum(bool(each["outcome"]) for each in own)
        counts = [
            len(own), sum(bool(each["known"]) for each in own), bound["bound"], bound["asked"], bound["refused"],
            run, *(outcomes[each] for each in OUTCOMES), sum(each["calls"] for each in own),
            sum(bool(each["alone"]) for each in own),
        ]  # fmt: skip
        rows.append([name, *map(str, counts)])
    return rows


def write_sentence_table(figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in list_sentence_rows(figures))]) + "\n"


def format_sentence(figures: Mapping[str, Any]) -> str:
    """Return one sentence's figures as a line, with the reason where it is not right."""
    line = f"{figures['job']} {figures['task']}: {figures['bound']} {figures['outcome']} {figures['claim']}"
    if figures["outcome"] == "right":
        return line
    told = f"\n    {figures['sentence']!r} -> {figures['workflow']} {figures['values']}"
    more = " | ".join(filter(None, (figures["said"][:200], "; ".join(figures["changes"])[:300])))
    return f"{line}{told}" + (f"\n    {more}" if more else "")
