"""Shown k times by people, done on goals nobody showed: workflows made of demonstrations of MiniWoB++ and run
on its pages, scored by the pages' own reward.

For each task, k of its demonstrations are drawn, a workflow is made of them by rules alone (no model), and
run with seeds that nobody demonstrated: the goal's sentence is read by the template that the demonstrations
gave. That is done for several draws. Nothing here or in the synthesis knows a task.

    python -m benchmarks.miniwob --demos ../shared/bench/miniwob_demos
    python -m benchmarks.miniwob --demos DIR --tasks click-link,login-user --k 5 --seeds 30

DIR has a folder for each task, with demonstrations as .json or .json.gz in the format of
stanfordnlp/miniwob-plusplus-demos; the task's page is the one of that name in --pages (`make setup-miniwob`
puts them where they are looked for). What the table says of a goal:

    solved   the page gave its full reward
    refused  nothing was done: no workflow without gaps could be made, or the sentence does not fit; with why
    stopped  the run noticed that it could not go on, and said so
    wrong    the page gave less than its full reward, or the run thought itself done and was not
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from mcp import Client
from playwright.async_api import Browser, Page
from playwright.async_api import Error as PlaywrightError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

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
from agent.synthesis.utterances.utterance_templates import (
    UtteranceMismatch,
    UtteranceTemplate,
    expand_value_forms,
)
from agent.synthesis.workflows.workflow_documents import WorkflowDocuments
from kb_schema import SourcedDocument, assemble
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.websites import Website
from kb_store import load_knowledge, open_stores
from loaders.recordings.imported_traces import UnreadableRecording
from loaders.recordings.miniwob_demonstrations import read
from periplus.knowledge_server import connect_knowledge_client
from periplus.session_setup import start_browser

PAGES = Path(__file__).parents[1] / ".tools/miniwob/miniwob/html"
KS, DRAWS, SEEDS = (1, 3, 5, 10), 5, 30
EPISODE_S = 30.0
"""How long one goal may take."""
GOOD = 0.9
"""Share of goals from which on a task counts as learned."""
_START = """(seed) => {
    const query = document.getElementById('query');
    query.innerHTML = window.wholeQuery ?? query.innerHTML;  // some pages say it once and for all
    Math.seedrandom(seed); core.EPISODE_MAX_TIME = 600000; core.startEpisodeReal();
    const said = core.getUtterance();
    // What tells the goal and the score is no part of the page that was demonstrated.
    window.wholeQuery = query.innerHTML;
    query.textContent = '';
    for (const id of ['reward-display', 'click-canvas']) document.getElementById(id).style.display = 'none';
    return said;
}"""
_ENDED = "() => [WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"

How = Literal["solved", "refused", "stopped", "wrong"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How one goal ended."""

    how: How
    goal: str
    why: str = ""


@dataclass(slots=True)
class Score:
    """All goals of one task and k."""

    task: str
    k: int
    endings: list[Ending] = field(default_factory=list)

    def share(self, how: How) -> float:
        """Of the goals, those that ended so."""
        return sum(each.how == how for each in self.endings) / len(self.endings) if self.endings else 0.0

    def reasons(self, *hows: How) -> list[tuple[str, int]]:
        """Why, and how often, most often first."""
        return Counter(each.why for each in self.endings if each.how in hows).most_common()


# -- demonstrations


def tasks_in(folder: Path) -> list[str]:
    """Folders that hold demonstrations."""
    return sorted(each.name for each in folder.iterdir() if each.is_dir() and any(_files(each)))


def drawn(folder: Path, k: int, dice: random.Random) -> list[ExecutionTrace]:
    """Demonstrations of a task, `k` at random of those that were rewarded and can be read; fewer where there
    are no more.
    """
    files = _files(folder)
    dice.shuffle(files)
    found: list[ExecutionTrace] = []
    for file in files:
        if len(found) >= k:
            break
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        try:
            traces = [each.trace for each in read(json.loads(text), file)]
        except UnreadableRecording:
            continue
        found += [trace for trace in traces if trace.success]
    return found[:k]


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])


# -- workflows


@dataclass(frozen=True, slots=True)
class Learned:
    """A workflow, and the sentences it understands."""

    lowered: WorkflowDocuments
    template: UtteranceTemplate | None
    shown: frozenset[str]
    """Goals that were demonstrated."""

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


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The base URL of a folder's files, on this machine only."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True, slots=True)
class Arena:
    """A page on which goals are set, and what sessions on it need."""

    page: Page
    client: Client
    website: Website

    async def open(self, task: str) -> None:
        """Show a task's page."""
        await self.page.goto(f"{self.website.base_url}/miniwob/{task}.html", wait_until="load")

    async def goal(self, seed: str) -> str:
        """Set the goal of a seed; its sentence."""
        told: str = await self.page.evaluate(_START, seed)
        return told

    async def run(self, learned: Learned, goal: str) -> Ending:
        """Do what the page asks for, now that its goal is set."""
        try:
            inputs = learned.inputs(goal)
        except UtteranceMismatch as exc:
            return Ending("refused", goal, str(exc))
        error = await self._done(learned.lowered, inputs)
        over, reward = await self.page.evaluate(_ENDED)
        if over and reward == 1:
            return Ending("solved", goal)
        if over or error is None:
            return Ending("wrong", goal, f"the reward is {reward}" if over else "it did not end the episode")
        return Ending("stopped", goal, error)

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


# -- the measurement


async def goals(place: Arena, count: int, shown: frozenset[str], draw: int = 0) -> list[str]:
    """Seeds whose goals nobody showed; all of them where the task has hardly any other goals."""
    seeds = [f"unseen {draw} {number}" for number in range(3 * count)]
    new = [seed for seed in seeds if await place.goal(seed) not in shown]
    told = {await place.goal(seed) for seed in seeds}
    return (new if len(new) >= count and len(told) > count / 2 else seeds)[:count]


async def measured(place: Arena, task: str, folder: Path, k: int, draw: int, seeds: int) -> list[Ending]:
    """One draw of k of the folder's demonstrations of a task, run on seeds that are none of theirs."""
    dice = random.Random(f"{task}/{k}/{draw}")  # noqa: S311 - a sample, no secret
    learned = await learn(drawn(folder / task, k, dice), task)
    if isinstance(learned, str):
        return [Ending("refused", "", learned)] * seeds
    await place.open(task)
    endings = []
    for seed in await goals(place, seeds, learned.shown, draw):
        endings.append(await place.run(learned, await place.goal(seed)))
        if place.page.url.rsplit("/", 1)[-1] != f"{task}.html":
            await place.open(task)
    return endings


def table(scores: Sequence[Score], ks: Sequence[int]) -> Table:
    """Success by task and k, and below it how many tasks are learned."""
    made = Table("task", *(f"k = {k}" for k in ks), title="Goals solved, of those that nobody showed")
    found = {(score.task, score.k): score for score in scores}
    for task in dict.fromkeys(score.task for score in scores):
        cells = [_cell(found[task, k]) if (task, k) in found else "" for k in ks]
        made.add_row(task, *cells)
    learned = [sum(score.share("solved") > GOOD for score in scores if score.k == k) for k in ks]
    made.add_section()
    made.add_row(f"tasks over {GOOD:.0%}", *map(str, learned))
    return made


def _cell(score: Score) -> str:
    solved = f"{score.share('solved'):4.0%}"
    others = [f"{score.share(how):.0%} {how}" for how in _OTHERS if score.share(how)]
    return f"{solved}  ({', '.join(others)})" if others else solved


_OTHERS: tuple[How, ...] = ("refused", "stopped", "wrong")


def told(scores: Sequence[Score], console: Console) -> None:
    """Why goals were not solved, refusals apart from errors."""
    for title, hows in (("Refused", ("refused",)), ("Stopped", ("stopped",)), ("Wrong", ("wrong",))):
        lines = [
            f"  {score.task}, k = {score.k}: {count} of {len(score.endings)}: {why[:200]}"
            for score in scores
            for why, count in score.reasons(*hows)[:3]  # type: ignore[arg-type] # literals of that type
        ]
        if lines:
            console.print(f"\n{title}:")
            console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


async def main(options: argparse.Namespace, console: Console) -> list[Score]:
    """Measure and print."""
    scores: list[Score] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    total = len(options.tasks) * len(options.k) * options.draws
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    async with start_browser(headed=False) as browser, arena(browser, options.pages) as place:
        with progress:
            bar = progress.add_task("", total=total)
            for task in options.tasks:
                for k in options.k:
                    score = Score(task, k)
                    for draw in range(options.draws):
                        progress.update(bar, description=f"{task}, k = {k}")
                        score.endings += await measured(place, task, options.demos, k, draw, options.seeds)
                        progress.advance(bar)
                    scores.append(score)
                    progress.console.print(f"{task}, k = {k}: {_cell(score)}", highlight=False)
    console.print(table(scores, options.k))
    told(scores, console)
    return scores


def _options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.miniwob",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--demos", type=Path, required=True, help="folder of demonstrations, one folder a task"
    )
    parser.add_argument("--pages", type=Path, default=PAGES, help="the html folder of MiniWoB++")
    parser.add_argument("--tasks", default="", help="names with commas between; all there are")
    parser.add_argument(
        "--k", default=",".join(map(str, KS)), help="demonstrations shown (default: %(default)s)"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="goals for each draw (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of k (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write every ending into this file")
    options = parser.parse_args(arguments)
    if not options.demos.is_dir():
        parser.error(f"--demos: there is no folder {options.demos}")
    if not (options.pages / "miniwob").is_dir():
        parser.error(f"--pages: {options.pages} has no folder miniwob: `make setup-miniwob` gets the pages")
    if min(options.seeds, options.draws) < 1:
        parser.error("--seeds and --draws: at least 1")
    _read_lists(parser, options)
    return options


def _read_lists(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    there = tasks_in(options.demos)
    options.tasks = [each.strip() for each in options.tasks.split(",") if each.strip()] or there
    for task in options.tasks:
        if task not in there:
            parser.error(
                f"--tasks: {options.demos} has no demonstrations of {task!r}; it has {', '.join(there)}"
            )
        if not (options.pages / "miniwob" / f"{task}.html").is_file():
            parser.error(f"--tasks: {options.pages} has no page of {task!r}")
    try:
        options.k = [int(each) for each in options.k.split(",")]
    except ValueError:
        parser.error(f"--k: {options.k!r} are no numbers with commas between")
    if min(options.k) < 1:
        parser.error("--k: at least 1")


def _written(scores: Sequence[Score]) -> str:
    return json.dumps([
        {"task": score.task, "k": score.k, "how": each.how, "goal": each.goal, "why": each.why}
        for score in scores
        for each in score.endings
    ], indent=1)  # fmt: skip


if __name__ == "__main__":
    chosen = _options()
    found = asyncio.run(main(chosen, Console(file=sys.stdout)))
    if chosen.json:
        chosen.json.write_text(_written(found), encoding="utf-8")
