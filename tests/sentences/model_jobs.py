"""Measures jobs in words with scripted models over HTTP: `python -m tests.sentences.model_jobs`.

Twenty-five jobs on four applications (`model_jobs.yaml`). A person does each job with four sets of values, and is recorded. Then the
command line does it: taught by a good model with the first three (`--teach 3`), without a model with the fourth, and with the first by a
mediocre and by a bad model. The application's own state, and the state that the person left, say how each run ended.

Each run is kept in out/models/jobs.jsonl as it ends, and left out the next time; `--again` repeats it. Who has a key can let a real model
do the same jobs (`--real openai:gpt-5-mini`), and keep its answers in a file that answers the same requests without a key (`--cassette`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml
from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError
from rich.console import Console

from periplus.session_setup import start_browser
from seeds import spadeworks
from tests.sentences.model_job_figures import (
    KINDS,
    TAUGHT,
    JobRun,
    Kind,
    Outcome,
    format_costs,
    format_run,
    keep_runs,
    read_runs,
    summarize,
)
from tests.sentences.spadeworks_people import SPADEWORKS
from tests.support import warm
from tests.support.demonstrated_models import (
    SENTENCE,
    DemonstratedModel,
    KnownJob,
    Policy,
    build_plan,
    find_changed_texts,
    find_control_change,
    find_switches,
    is_undone,
    read_demonstration,
)
from tests.support.live_spadeworks import ACCOUNT
from tests.support.model_cassette import serve_cassette
from tests.support.model_server import Answer, Asked, serve_model
from tests.zoo.applications import APPLICATIONS
from tests.zoo.registry.calibreweb import USER as CALIBREWEB_USER
from tests.zoo.registry.roundup import USER as ROUNDUP_USER
from tests.zoo.registry.serving import PASSWORD
from tests.zoo.registry.trac_project import USER as TRAC_USER
from tests.zoo.single_page.benchmark import MAKE
from tests.zoo.zoo_jobs import Application, Given, Instance, Job, NoNoise, RunningApplication
from tests.zoo.zoo_measurement import find_differences, read_opened_state, record_demonstration

HERE = Path(__file__).parent
OUT = Path("out/models")
FILE = "jobs.jsonl"
RUN_LIMIT_S = 240.0
"""Of one doing."""
STATE_LIMIT_S = 30.0
"""For the application to say its state."""
WRONG: tuple[Outcome, ...] = ("false_success", "beside")
"""How a doing must not end, the worst first."""
START_SCREENS = {"spadeworks": "dashboard", "roundup": "home", "trac": "home", "calibreweb": "home"}
BENCHMARK = frozenset(name for name, each in APPLICATIONS.items() if each.make == MAKE)
"""Applications whose sentences others wrote: only measured if they are named."""
SEEDED_BY_OPENING = BENCHMARK | {SPADEWORKS.name}
"""A fresh browser begins with the seed: it is another visitor, or the page keeps its state in the browser and sends the seed when it opens."""
INPUTS: dict[str, Mapping[str, str]] = {
    "spadeworks": ACCOUNT,
    "roundup": {"username": ROUNDUP_USER, "password": PASSWORD},
    "trac": {"username": TRAC_USER, "password": PASSWORD},
    "calibreweb": {"username": CALIBREWEB_USER, "password": PASSWORD},
}


@dataclass(frozen=True, slots=True)
class WordJob:
    """A job of the zoo with the sentence that asks for it."""

    application: Application
    job: Job
    sentence: str = ""
    """Empty: each instance has its own, and what a demonstration changed on the page is the evidence."""
    shown: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    policy: Policy = "good"
    """Of the model that teaches it."""

    def choose(self) -> list[Instance]:
        """Return the instances: those that teach it, and the one that is done without a model."""
        plain = [each for each in self.job.instances if each.kind == "plain" and all(each.given.values())]
        return plain[: TAUGHT + 1]

    @property
    def once(self) -> bool:
        """Whether it has too few different sentences to be taught: it is only done once, with the model."""
        return len({self.say(each) for each in self.choose()}) <= TAUGHT

    def say(self, instance: Instance) -> str:
        """Return the sentence with values."""
        text = self.sentence or instance.sentence
        for name, value in instance.given.items() if self.sentence else ():
            text = text.replace(f"{{{name}}}", value)
        return text

    def find_evidence(self, given: Given, session: Path) -> tuple[list[str], list[str]]:
        """Return the texts that the page shows, and no longer shows, when it is done."""
        if not self.sentence:
            return find_changed_texts(session, given.values())
        told = [
            [name.removeprefix("=") if name.startswith("=") else given[name] for name in names]
            for names in (self.shown, self.gone)
        ]
        return told[0], told[1]


def read_word_jobs() -> list[WordJob]:
    """Return the jobs of `model_jobs.yaml`."""
    listed = yaml.safe_load((HERE / "model_jobs.yaml").read_text(encoding="utf-8"))
    known = {**APPLICATIONS, SPADEWORKS.name: SPADEWORKS}
    return [
        WordJob(
            known[name],
            next(each for each in known[name].jobs if each.name == job),
            told["sentence"],
            tuple(told.get("shown", ())),
            tuple(told.get("gone", ())),
            tuple(told.get("allow", ())),
        )
        for name, jobs in listed.items()
        for job, told in jobs.items()
    ]


def read_benchmark_jobs(application: str) -> list[WordJob]:
    """Return the templates of a benchmark's application, with its own sentences, for a mediocre model."""
    found = APPLICATIONS[application]
    return [WordJob(found, job, policy="mediocre", allow=("deletes", "sends")) for job in found.jobs]


def judge_run(before: Any, wanted: Any, after: Any, *, claimed: bool) -> Outcome:
    """Return how a run ended, by the states before it, that the person leaves, and after it."""
    if claimed and after != wanted:
        return "false_success"
    if after == wanted:
        return "right" if claimed else "unclaimed"
    if after == before:
        return "refused"
    if has_more_entries(after, before, wanted):
        return "beside"  # for example done twice
    meant = set(find_differences(before, wanted))
    return "part" if set(find_differences(before, after)) <= meant else "beside"


def judge_doings(
    states: Sequence[Any], shots: Sequence[Any | None], claims: Sequence[bool], *, from_seed: bool
) -> Outcome | None:
    """Return the worst that one of several doings of a job did, if it is worse than not being done; else None.

    `states`: as the person left them, the first one before all. `shots`: after each doing; None: not known. `from_seed`: each doing
    begins with the first state, so that the last state says nothing of those before it.
    """
    ends = [
        judge_run(states[0 if from_seed else at], states[at + 1], shot, claimed=claimed)
        for at, (shot, claimed) in enumerate(zip(shots, claims, strict=True))
        if shot is not None
    ]
    return next((each for each in WRONG if each in ends), None)


def has_more_entries(after: Any, before: Any, wanted: Any) -> bool:
    """Whether a list in a state is longer than before and than the person leaves it."""
    if isinstance(after, dict):
        both = [each if isinstance(each, dict) else {} for each in (before, wanted)]
        return any(
            has_more_entries(value, *(each.get(name) for each in both)) for name, value in after.items()
        )
    if not isinstance(after, list):
        return False
    lists = [each if isinstance(each, list) else [] for each in (before, wanted)]
    return len(after) > max(map(len, lists)) or any(
        has_more_entries(value, *(each[at] if at < len(each) else None for each in lists))
        for at, value in enumerate(after)
    )


def make_knowledge(application: str, folder: Path) -> None:
    """Write the knowledge of an application that its jobs begin with: screens and the sign-in; no other task."""
    if application == SPADEWORKS.name:
        shutil.copytree(Path(spadeworks.__file__).parent / "kb", folder)
        for each in ("flows", "dependencies", "triggers"):
            shutil.rmtree(folder / each, ignore_errors=True)
        for file in (folder / "tasks").glob("*.yaml"):
            if file.stem not in ("login", "enter_one_time_code"):
                file.unlink()
    elif (HERE / "websites" / application).is_dir():
        shutil.copytree(HERE / "websites" / application, folder)
    else:
        folder.mkdir(parents=True)
        website = {
            "type": "website",
            "website_id": application,
            "name": application,
            "base_url": f"https://{application}.example",
        }
        (folder / "website.yaml").write_text(yaml.safe_dump(website), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class RealModel:
    """A provider's model, and the file that keeps its answers."""

    name: str
    """`openai:gpt-5-mini`, `anthropic:claude-haiku-4-5`."""
    cassette: Path
    upstream: str | None
    """The provider's address; None: only what the file has."""

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Yield the name under which the command line reaches it."""
        provider, _, model = self.name.partition(":")
        with serve_cassette(self.cassette, self.upstream) as cassette:
            yield cassette.anthropic(model) if provider == "anthropic" else cassette.openai(model)


@dataclass(slots=True)
class StateAfterEachDoing:
    """A model that notes the application's state whenever it says that a sentence is done: a later doing may begin with the seed."""

    model: DemonstratedModel
    read_state: Callable[[], Any]
    states: dict[str, Any] = field(default_factory=dict)
    """By sentence."""

    def __call__(self, asked: Asked) -> Answer:
        answer = self.model(asked)
        said = SENTENCE.search(asked.prompt)
        if said and answer.tool is not None and answer.tool.get("kind") == "done":
            self.states[said[1].strip()] = self.read_state()
        return answer


class WordJobMeasurement:
    """Measures the jobs of one running application."""

    def __init__(
        self, browser: Browser, running: RunningApplication, application: Application, folder: Path, real: RealModel | None
    ) -> None:  # fmt: skip
        """`folder`: for sessions, stores and results; it may be kept. `real`: does the jobs instead of the good model."""
        self._browser, self._running, self._application = browser, running, application
        self._folder, self._real = folder, real

    async def measure(self, word: WordJob, kinds: Sequence[Kind]) -> AsyncIterator[JobRun]:
        """Yield each run of a job as it ends, in the order of `KINDS`. `again` needs `taught`, which is then run and yielded, too."""
        folder = self._folder / word.job.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        instances = word.choose()
        states, known = await self._show(word, instances, folder)
        if "taught" in kinds or "again" in kinds:
            taught = await self._teach(word, known, states, folder)
            yield taught
            if "again" in kinds and taught.published:
                yield await self._do_again(word, known, states, folder)
        policies: tuple[Literal["mediocre", "bad"], ...] = ("mediocre", "bad")
        for policy in policies:
            if policy in kinds:
                yield await self._run_once(word, known[0], states, folder, policy)

    async def _show(
        self, word: WordJob, instances: Sequence[Instance], folder: Path
    ) -> tuple[list[Any], list[KnownJob]]:
        """Let the person do the job with all values, one after the other; return the states between, and what a model may know.

        In applications of `SEEDED_BY_OPENING` each run begins with the seed.
        """
        await self._running.reset()
        states, known = [await self._look(word)], []
        for number, instance in enumerate(instances):
            session = folder / "shown" / str(number)
            await record_demonstration(self._browser, self._running, word.job, instance, session, NoNoise())
            states.append(await self._running.state())
            steps = read_demonstration(session)
            shown, gone = word.find_evidence(instance.given, session)
            start = START_SCREENS.get(self._application.name)
            switches = (
                ([], [])
                if word.sentence or shown or gone
                else find_switches(steps, instance.given.values(), word.say(instance))
            )
            told = [each for each in instance.given.values() if each and each in word.say(instance)]
            changed: list[dict[str, Any]] = []
            if not (word.sentence or shown or any(switches)):
                changed = find_control_change(session, steps, told, word.say(instance))
                changed, gone = (
                    (changed, []) if not gone or is_undone(changed, word.say(instance)) else ([], gone)
                )
            plan = build_plan(
                steps, name=word.job.name.replace("_", " "), start=start, shown=shown, gone=gone,
                on=switches[0], off=switches[1], changed=changed,
            )  # fmt: skip
            known.append(KnownJob(word.say(instance), plan, steps, tuple(told) if not word.sentence else ()))
        return states, known

    async def _look(self, word: WordJob) -> Any:
        return await read_opened_state(self._browser, self._running, word.job.start)

    async def _teach(
        self, word: WordJob, known: Sequence[KnownJob], states: Sequence[Any], folder: Path
    ) -> JobRun:
        at = await self._prepare(word, folder / "good")
        return await self._command(
            word, "taught", known[0], DemonstratedModel(word.policy, known[:TAUGHT], word.job.name), at,
            states[0], states[TAUGHT], "--teach", str(TAUGHT), states=states, known_jobs=known,
        )  # fmt: skip

    async def _do_again(
        self, word: WordJob, known: Sequence[KnownJob], states: Sequence[Any], folder: Path
    ) -> JobRun:
        """Do a taught job with the values that are left, without a model."""
        model = DemonstratedModel("good", [], word.job.name)
        before = states[TAUGHT]
        if self._application.name in SEEDED_BY_OPENING:  # a sentence that is not bound opens nothing
            await self._running.reset()
            before = await self._look(word)
        return await self._command(
            word, "again", known[TAUGHT], model, folder / "good", before, states[TAUGHT + 1]
        )

    async def _run_once(
        self,
        word: WordJob,
        known: KnownJob,
        states: Sequence[Any],
        folder: Path,
        policy: Literal["mediocre", "bad"],
    ) -> JobRun:
        at = await self._prepare(word, folder / policy)
        model = DemonstratedModel(policy, [known], word.job.name)
        return await self._command(word, policy, known, model, at, states[0], states[1])

    async def _prepare(self, word: WordJob, folder: Path) -> Path:
        """Restore the application, and load its knowledge into an empty folder."""
        await self._running.reset()
        await self._look(word)
        knowledge = folder / "kb"
        make_knowledge(self._application.name, knowledge)
        loaded = await asyncio.to_thread(
            warm.run, "periplus", "kb", "load", str(knowledge), cwd=folder, timeout=100
        )
        if loaded.returncode:
            raise RuntimeError(loaded.stdout + loaded.stderr)
        return folder

    async def _command(
        self, word: WordJob, kind: Kind, known: KnownJob, model: DemonstratedModel, folder: Path, before: Any, wanted: Any,
        *more: str, states: Sequence[Any] = (), known_jobs: Sequence[KnownJob] = (),
    ) -> JobRun:  # fmt: skip
        given = [
            part
            for name, value in INPUTS.get(self._application.name, {}).items()
            for part in ("-i", f"{name}={value}")
        ]
        allowed = [part for name in word.allow for part in ("--allow", name)] if kind != "again" else []
        began, loop = time.monotonic(), asyncio.get_running_loop()
        noting = StateAfterEachDoing(
            model, lambda: asyncio.run_coroutine_threadsafe(self._running.state(), loop).result(STATE_LIMIT_S)
        )
        with ExitStack() as opened:
            server = opened.enter_context(serve_model(noting))
            real = self._real if kind == "taught" else None
            name = server.openai if real is None else opened.enter_context(real.serve())
            key = os.environ.get(
                "ANTHROPIC_API_KEY" if real and real.name.startswith("anthropic") else "OPENAI_API_KEY", ""
            )
            done = await asyncio.to_thread(
                warm.run, "periplus", "run", known.sentence, "--base-url", self._running.base_url, "--headless",
                "--model", name, "--yes", "--out", kind, *given, *allowed, *more,
                cwd=folder, env={"COLUMNS": "200", **({"PERIPLUS_MODEL_KEY": key} if real and key else {})},
                timeout=RUN_LIMIT_S * (TAUGHT if more else 1),
            )  # fmt: skip
            scripted = len(server.requests)
        seconds = round(time.monotonic() - began, 1)
        after = await self._running.state()
        results = [
            json.loads(each.read_text(encoding="utf-8"))
            for each in sorted((folder / kind).rglob("result.json"))
            if each.parent.name != "workflow"
        ]
        if more and len(results) < TAUGHT:
            wanted = states[len(results)]  # it ended before it was taught
        outcome = judge_run(
            before, wanted, after, claimed=_claims(done.returncode, results, taught=bool(more))
        )
        if more:
            shots = [noting.states.get(each.sentence) for each in known_jobs[: len(results)]]
            claims = [each["status"] == "success" for each in results[: len(shots)]]
            from_seed = self._application.name in SEEDED_BY_OPENING
            outcome = judge_doings(states, shots[: len(claims)], claims, from_seed=from_seed) or outcome
        uses = [each.get("model_use") or {} for each in results]
        said = (done.stdout + done.stderr).strip()
        return JobRun(
            self._application.name, word.job.name, kind, outcome,
            done.returncode, scripted if real is None else sum(each.get("calls", 0) for each in uses),
            sum(map(_tokens, uses)),
            round(sum(each.get("cost_usd") or 0.0 for each in uses), 6),
            round(results[0]["duration_ms"] / 1_000, 2) if results else 0.0, seconds,
            uses[0].get("calls", 0) if uses else 0, _tokens(uses[0]) if uses else 0, (uses[0].get("cost_usd") or 0.0) if uses else 0.0,
            published="the next run needs no model" in done.stdout, said=said[-700:],
            changes=tuple(find_differences(after, wanted)[:6]),
        )  # fmt: skip


def _tokens(use: Mapping[str, Any]) -> int:
    return int(use.get("input_tokens", 0)) + int(use.get("output_tokens", 0))


def _claims(exit_code: int, results: Sequence[Mapping[str, Any]], *, taught: bool) -> bool:
    """Whether the command says success. Teaching says it of each doing, whether or not a workflow could be published."""
    if taught:
        return len(results) == TAUGHT and all(each["status"] == "success" for each in results)
    return exit_code == 0


async def measure_jobs(
    words: Sequence[WordJob],
    kinds: Sequence[Kind],
    file: Path,
    console: Console,
    *,
    again: bool = False,
    keep: Path | None = None,
    real: RealModel | None = None,
) -> None:
    """Measure what is not measured yet, application by application."""
    kept = read_runs(file) if not again else []
    known = {(each.application, each.job, each.kind) for each in kept}
    known |= {
        (each.application, each.job, "again")
        for each in kept
        if each.kind == "taught" and not each.published  # so that nothing is there to be done without a model
    }
    todo: dict[str, list[tuple[WordJob, list[Kind]]]] = {}
    for word in words:
        wanted: Sequence[Kind] = ("mediocre",) if word.once else kinds
        left = [each for each in wanted if (word.application.name, word.job.name, each) not in known]
        if left:
            todo.setdefault(word.application.name, []).append((word, left))
    with tempfile.TemporaryDirectory(prefix="periplus-models-", ignore_cleanup_errors=True) as made:
        for each in todo.values():
            application = each[0][0].application
            folder = (keep or Path(made)) / application.name
            folder.mkdir(parents=True, exist_ok=True)
            async with start_browser(headed=False) as browser, application.start(folder) as running:
                measurement = WordJobMeasurement(browser, running, application, folder, real)
                for word, left in each:
                    try:
                        async for run in measurement.measure(word, left):
                            keep_runs(file, [run])
                            console.print(format_run(run), markup=False, highlight=False, soft_wrap=True)
                    except PlaywrightError as exc:  # on a machine that is too busy
                        console.print(
                            f"{word.job.name}: the person could not do it: {exc.message.splitlines()[0]}"
                        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.sentences.model_jobs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="APPLICATION[.JOB]", help="default: all")
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: all")
    parser.add_argument("--again", action="store_true", help="also what is measured already")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep sessions, stores and results here")
    parser.add_argument("--report", action="store_true", help="only print the figures that are kept")
    parser.add_argument(
        "--real", metavar="PROVIDER:MODEL", help="teach with this model instead of the scripted good one"
    )
    parser.add_argument(
        "--cassette", type=Path, metavar="FILE", help="with --real: keeps its answers, and answers with them"
    )
    parser.add_argument(
        "--upstream",
        metavar="URL",
        help="with --real: the provider's address, such as https://api.openai.com",
    )
    options = parser.parse_args(arguments)
    console = Console(width=160)
    listed = read_word_jobs()
    for name in {each.partition(".")[0] for each in options.names} & BENCHMARK:
        listed += read_benchmark_jobs(name)
    words = [
        each
        for each in listed
        if not options.names
        or each.application.name in options.names
        or f"{each.application.name}.{each.job.name}" in options.names
    ]
    if not words:
        parser.error(f"no such job: {' '.join(options.names)}")
    real = None
    if options.real:
        cassette = (options.cassette or OUT / "cassette.jsonl").resolve()
        cassette.parent.mkdir(parents=True, exist_ok=True)
        real = RealModel(options.real, cassette, options.upstream)
    file = OUT / ("benchmark.jsonl" if words[0].application.name in BENCHMARK else FILE)
    if real is not None:
        file = OUT / f"jobs-{options.real.replace(':', '-')}.jsonl"
    if not options.report:
        kinds = options.kind or (("taught", "again") if words[0].application.name in BENCHMARK else KINDS)
        keep = options.keep.resolve() if options.keep else None
        asyncio.run(measure_jobs(words, kinds, file, console, again=options.again, keep=keep, real=real))
    runs = read_runs(file)
    console.print(
        summarize(runs), format_costs(runs), sep="\n\n", markup=False, highlight=False, soft_wrap=True
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
