"""Measures a job: record it three times, make a workflow of it, run it on the other instances, compare the states.

Every run uses what users use: the recorder, the synthesis, the published workflow and the task run.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, StorageState

from agent.recording.demonstration_recorder import DemonstrationRecorder
from agent.run_context import RunContext
from agent.synthesis.errors import MetaAgentError
from agent.synthesis.patterns.target_templates import ALSO
from agent.synthesis.synthesis_pipeline import PipelineResult
from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.utterance_templates import UtteranceMismatch, expand_value_forms
from kb_schema import SourcedDocument, assemble
from kb_schema.io_specs import InputSpec
from kb_schema.templates import list_telling_words
from kb_schema.transforms import ungroup_number
from kb_schema.websites import Website
from kb_store import Stores, load_knowledge, open_stores, read_knowledge
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from periplus.errors import UserError
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    induce_workflow,
    publish_workflow,
    read_shown_values,
    read_traces,
)
from tests.support.people import Noise
from tests.zoo.published_runs import run_published
from tests.zoo.zoo_jobs import Application, Given, Instance, Job, NoNoise, RunningApplication, fill_sentence

FEW = 4
"""Runs of a job in another setting than `same`, beside one that nobody can do."""
REFUSED_IN_S = 20.0
"""Goal: how long a run may take to say that the job cannot be done."""
PERSON_TIMEOUT_MS = 20_000.0
"""How long a scripted person looks for a control."""
LOADED_MS = 60_000.0
"""How long a page may take to load, on a busy machine."""
_SETTLE_S = 0.3
"""The last request of a page is on its way when a person closes it."""

Setting = Literal["same", "next_day", "to_older", "to_newer", "invalid"]
"""Where and when a workflow is run, and what was shown.

same: in the application in which it was shown. next_day: with a copy of the knowledge, without anything else that was
kept, at another port. to_older, to_newer: the same, in the other release. invalid: as `same`, and one more
demonstration was recorded, which the application refused.
"""
ELSEWHERE: tuple[Setting, ...] = ("next_day", "to_older", "to_newer")
"""Settings in which a workflow is run elsewhere than it was shown."""
Naming = Literal["sentence", "values"]
"""Whether the traces have sentences, from which the inputs are read, or inputs are given by name."""
Outcome = Literal["right", "unclaimed", "refused", "part", "beside", "false_success", "hung", "unbound"]
"""How an instance ended, by the application's state and the claim of the run.

right: the state is the person's, and the run says success; or nobody can do it, and the run changed nothing and says so.
unclaimed: the state is the person's, but the run does not say success.
refused: nothing changed, though it can be done. part: only a part of it is done, and the run does not say success.
beside: the run changed something that the person does not change. false_success: it says success, and it is not so.
hung: not ended in time. unbound: the sentence or the values give no inputs.
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How one instance ended."""

    instance: str
    kind: str
    outcome: Outcome
    feasible: bool
    claim: str = ""
    """status/evidence of the run."""
    seconds: float = 0.0
    said: str = ""
    """The error and the hint of the run."""
    changes: tuple[str, ...] = ()
    """The first differences between the states of the run and of the person."""
    verified: bool | None = None
    """The benchmark's own verdict on the run."""


@dataclass(slots=True)
class JobFigures:
    """What was measured of one job."""

    application: str
    job: str
    naming: Naming
    whole: bool
    """Whether the workflow was made without gaps."""
    reason: str = ""
    """Why it is not whole."""
    evidence: str = ""
    """`criteria` if the workflow has success criteria."""
    setting: Setting = "same"
    question: str = ""
    """What is asked about the demonstration that the application refused; empty: it was taken for a good one."""
    endings: list[Ending] = field(default_factory=list)


def find_differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Return the paths at which two JSON values differ, with both values, shortened.

    Lists of the same length are compared by position; else by content.
    """
    if type(one) is not type(other):
        return [f"{path}: {_short(one)} | {_short(other)}"]
    if isinstance(one, dict):
        found = []
        for key in sorted({*one, *other}):
            if key not in one or key not in other:
                found.append(f"{path}.{key}: {_short(one.get(key))} | {_short(other.get(key))}")
            else:
                found += find_differences(one[key], other[key], f"{path}.{key}")
        return found
    if isinstance(one, list):
        if len(one) == len(other):
            return [
                each
                for number, (left, right) in enumerate(zip(one, other, strict=True))
                for each in find_differences(left, right, f"{path}[{number}]")
            ]
        lines = [{_dump(each): each for each in side} for side in (one, other)]
        only = [f"{path}+: {_short(each)} | " for text, each in lines[0].items() if text not in lines[1]]
        only += [f"{path}+:  | {_short(each)}" for text, each in lines[1].items() if text not in lines[0]]
        return only or [f"{path}: {len(one)} entries | {len(other)} entries"]
    return [] if one == other else [f"{path}: {_short(one)} | {_short(other)}"]


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> str:
    text = _dump(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


async def do_by_hand(
    browser: Browser, running: RunningApplication, job: Job, given: Given, dice: random.Random
) -> None:
    """Let the scripted person do the job. Raises a Playwright error if it cannot be done."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(PERSON_TIMEOUT_MS)
    context.set_default_navigation_timeout(LOADED_MS)
    try:
        page = await context.new_page()
        await page.goto(f"{running.base_url}{job.start}")
        await job.person(page, given, Noise(page, dice))
        await asyncio.sleep(_SETTLE_S)
    finally:
        await context.close()


async def read_seed_state(browser: Browser, running: RunningApplication, job: Job) -> Any:
    """Restore the seed and return its state, as a page leaves it that was only opened."""
    await running.reset()
    return await read_opened_state(browser, running, job.start)


async def read_opened_state(browser: Browser, running: RunningApplication, start: str) -> Any:
    """Return the state of an application as a page leaves it that was only opened."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        page = await context.new_page()
        await page.goto(f"{running.base_url}{start}")
        await asyncio.sleep(_SETTLE_S)
    finally:
        await context.close()
    return await running.state()


async def record_demonstration(
    browser: Browser,
    running: RunningApplication,
    job: Job,
    instance: Instance,
    folder: Path,
    dice: random.Random,
    storage: StorageState | None = None,
) -> StorageState:
    """Record the scripted person, with noise, into a session folder. Return the cookies they leave. `storage`: those they come with."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720}, storage_state=storage)
    context.set_default_timeout(PERSON_TIMEOUT_MS)
    context.set_default_navigation_timeout(LOADED_MS)
    try:
        recorder = DemonstrationRecorder(
            context, folder, context=RunContext(), name=instance.sentence or job.name.replace("_", " ")
        )
        await recorder.start()
        page = await context.new_page()
        await page.goto(f"{running.base_url}{job.start}")
        await job.person(page, instance.given, Noise(page, dice))
        await asyncio.sleep(_SETTLE_S)  # as people do; the last event is on its way to the recorder
        await recorder.rest()
        await page.close()
        await asyncio.wait_for(recorder.closed.wait(), 10)
        await recorder.finish()
        return await context.storage_state()
    finally:
        await context.close()


class NotedValues(dict[str, str]):
    """The values of an instance, with the names of those that were used."""

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.used.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value and note its name."""
        self.used.add(name)
        return super().get(name, default)

    def __or__(self, other: Any) -> Any:
        self.used.update(self)
        return super().__or__(other)


@dataclass(frozen=True, slots=True)
class LearnedJob:
    """A published workflow, and what its inputs are called."""

    workflow_id: str
    result: PipelineResult
    demonstrations: Sequence[Instance]
    folders: Sequence[Path]
    secrets: Mapping[str, str]

    def bind(
        self, instance: Instance, naming: Naming, needed: Collection[str] | None = None
    ) -> dict[str, Any] | str:
        """Return the workflow's inputs for an instance, or why there are none.

        `needed`: the values that must be told; None: all.
        """
        lowered = self.result.lowered
        assert lowered is not None
        specs = lowered.workflow.io_spec.inputs
        bound = {
            spec.name: next(
                (value for part, value in sorted(self.secrets.items(), reverse=True) if part in spec.name), ""
            )
            for spec in specs
            if spec.secret
        }
        plain = [spec for spec in specs if not spec.secret]
        reads = naming == "sentence" and not self.result.unused_sentences
        found = self._read(instance, plain) if reads else self._take(instance, plain, needed)
        return found if isinstance(found, str) else bound | found

    def _read(self, instance: Instance, specs: Sequence[InputSpec]) -> dict[str, Any] | str:
        """Read the inputs from the sentence."""
        template = None if self.result.understanding is None else self.result.understanding.template
        if template is None:
            return "no template reads the sentence" if specs else {}
        try:
            told = expand_value_forms(template.parse(instance.sentence))
        except UtteranceMismatch as exc:
            return str(exc)
        missing = [spec.name for spec in specs if spec.name not in told and spec.required]
        if missing:
            return f"the sentence has no value for {', '.join(missing)}"
        return {spec.name: told[spec.name] for spec in specs if spec.name in told}

    def _take(
        self, instance: Instance, specs: Sequence[InputSpec], needed: Collection[str] | None
    ) -> dict[str, Any] | str:
        """Take the inputs from the given values."""
        keys = {spec.name: self._key_of(spec.name) for spec in specs}
        beside = {
            key for name in keys for key in instance.given if f"{{{key}}}" in (self._pattern(name) or "")
        }
        untold = self._list_untold(instance, [*keys.values(), *beside], needed)
        also = next((spec.name for spec in specs if spec.name.endswith(ALSO) and not spec.required), None)
        missing = next((spec.name for spec in specs if spec.required and keys[spec.name] is None), None)
        if missing or (untold and also is None):
            return (
                f"the workflow has no input for {untold[0]}"
                if untold
                else f"the input {missing} is none of the given values"
            )
        further = (
            {} if also is None or not untold else {also: " ".join(map(instance.given.__getitem__, untold))}
        )
        return further | {
            name: self._as_shown(name, key, instance.given) for name, key in keys.items() if key is not None
        }

    def _as_shown(self, name: str, key: str, given: Given) -> str:
        """Return a given value with what the page has around it in every demonstration: `photos/`, `{item} - {service}`."""
        pattern = self._pattern(name)
        if pattern is not None and f"{{{key}}}" in pattern:
            return fill_sentence(pattern, given)
        return given[key]

    def _pattern(self, name: str) -> str | None:
        """Return what all demonstrations show of an input, with the names of given values in their place."""
        found = {
            self._with_names(str(shown[name]), each.given)
            for number, each in enumerate(self.demonstrations)
            if name in (shown := self._shown(number))
        }
        return found.pop() if len(found) == 1 else None

    @staticmethod
    def _with_names(text: str, given: Given) -> str:
        for key, value in sorted(given.items(), key=lambda each: -len(each[1])):
            if value and f"{{{key}}}" not in text:
                text = text.replace(value, f"{{{key}}}", 1)
        return text

    def _list_untold(
        self, instance: Instance, taken: Sequence[str | None], needed: Collection[str] | None
    ) -> list[str]:
        """Return the given values for which the workflow has no input: they can only say which row is meant.

        A value that all demonstrations share must be the same here. One that is always another input's value is told.
        """
        untold = []
        for key, value in instance.given.items():
            if needed is not None and key not in needed:
                continue
            shown = {each.given.get(key) for each in self.demonstrations}
            if shown == {value} or key in taken or self._is_told_by_another(instance, key, taken):
                continue
            untold.append(key)
        return untold

    def _is_told_by_another(self, instance: Instance, key: str, taken: Sequence[str | None]) -> bool:
        return any(
            other is not None
            and all(each.given.get(key) == each.given.get(other) for each in (instance, *self.demonstrations))
            for other in taken
        )

    def _key_of(self, name: str) -> str | None:
        """Return the given value that an input takes: the one of every demonstration that shows the input.

        A demonstration that keeps what the form proposes does not show it.
        """
        shown = [
            (value, each)
            for number, each in enumerate(self.demonstrations)
            if (value := self._shown(number).get(name)) is not None
        ]
        for key in self.demonstrations[0].given:
            if shown and all(_alike(value, each.given.get(key)) for value, each in shown):
                return key
        for key in self.demonstrations[
            0
        ].given:  # "Choir", where all rows chosen have "Choir rehearsal" in common
            told = [
                (_list_words(str(value)), _list_words(each.given.get(key) or "")) for value, each in shown
            ]
            if told and all(given and given <= value for value, given in told):
                return key
        for key in self.demonstrations[0].given:
            around = {tuple(str(value).split(each.given.get(key) or "\0", 1)) for value, each in shown}
            if len(around) == 1 and len(around.pop()) == 2:
                return key
        return None

    def _shown(self, number: int) -> dict[str, Any]:
        folder = str(self.folders[number])
        trace = next((each for each in self.result.traces if each.session_dir == folder), None)
        return {} if trace is None else read_shown_values(self.result, trace.trace_id)


def _alike(value: Any, given: str | None) -> bool:
    return given is not None and _words(str(value)) == _words(given)


def _list_words(value: str) -> set[str]:
    return {*list_telling_words(value)}


def _words(value: str) -> str:
    return ungroup_number(" ".join(value.split())).casefold()


async def learn_workflow(
    folders: Sequence[Path], job: Job, naming: Naming, stores: Stores, base_url: str
) -> tuple[str, PipelineResult] | str:
    """Publish the workflow of recorded sessions into empty stores; return its id and how it was made, or why it is not whole."""
    website = Website(type="website", website_id="zoo", name="Zoo", base_url=base_url)
    await load_knowledge(stores.documents, stores.graph, assemble([SourcedDocument(website)])[0])
    traces = read_traces(folders)
    if naming == "values":
        traces = [each.model_copy(update={"task_description": ""}) for each in traces]
    try:
        result = await induce_workflow(traces, job.name, "")
        found = await find_screens(stores, "zoo", base_url, result)
        result = build_documents(result, found.by_step)
        gap = find_gap(result)
        if gap is not None or result.lowered is None:
            return str(gap)
        site = SynthesisSite(stores, "zoo", base_url, allow_unverified=True)
        return await publish_workflow(site, result.lowered, found.new, replace=False), result
    except (UserError, MetaAgentError) as exc:
        return str(exc)


class JobMeasurement:
    """Measures jobs of one running application."""

    def __init__(
        self, browser: Browser, running: RunningApplication, application: str, folder: Path, seed: int, *,
        setting: Setting = "same", shown_in: RunningApplication | None = None,
    ) -> None:  # fmt: skip
        """`folder`: for sessions, stores and results of runs. `shown_in`: another than that of the runs."""
        self._browser, self._running, self._application = browser, running, application
        self._folder, self._seed, self._setting = folder, seed, setting
        self._shown_in = shown_in or running
        self._wanted: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._needed: dict[str, set[str]] = {}
        """Job -> the values that the person has used so far. The others only describe a thing in sentences."""
        """The states before and after the scripted person's work, by job and instance."""

    async def measure(self, job: Job, naming: Naming) -> JobFigures:
        """Record, synthesize, publish and run a job."""
        folder = self._folder / job.name / self._setting / naming
        folder.mkdir(parents=True, exist_ok=True)
        figures = JobFigures(self._application, job.name, naming, whole=False, setting=self._setting)
        async with open_stores(folder / "stores") as stores:
            learned = await self.learn(job, naming, folder, stores)
            if isinstance(learned, str):
                figures.reason = learned
                return figures
            assert learned.result.lowered is not None
            figures.whole = True
            figures.evidence = "criteria" if learned.result.lowered.workflow.success_criteria else ""
            figures.question = _find_question(learned, len(job.demonstrations))
            knowledge, _ = await read_knowledge(stores.documents, stores.graph, "zoo")
        kept = folder / ("stores" if self._setting not in ELSEWHERE else "copy")
        async with open_stores(kept) as stores, open_runs(kept, None) as runs:
            if self._setting in ELSEWHERE:
                await load_knowledge(stores.documents, stores.graph, knowledge)
            for instance in self._choose(job):
                figures.endings.append(
                    await self.run_instance(job, naming, learned, instance, stores, runs, folder)
                )
        return figures

    def _choose(self, job: Job) -> list[Instance]:
        """Return the instances that are run: of other settings than `same` a few plain ones and a missing one."""
        if self._setting == "same":
            return job.unseen
        plain = [each for each in job.unseen if each.kind == "plain"]
        missing = [each for each in job.unseen if each.kind == "missing"]
        return [*plain[:FEW], *missing[:1]]

    async def learn(self, job: Job, naming: Naming, folder: Path, stores: Stores) -> LearnedJob | str:
        """Return the published workflow, or why it is not whole."""
        running = self._shown_in
        shown = [*job.demonstrations]
        if self._setting == "invalid":
            assert job.invalid is not None
            shown.append(Instance("invalid", job.invalid, "refused"))
        dice = random.Random(f"{self._seed}/{self._application}/{job.name}")
        folders = []
        for number, instance in enumerate(shown):
            await running.reset()
            session = folder.parent.parent / f"sessions-{urlsplit(running.base_url).port}" / str(number)
            if not session.exists():
                await record_demonstration(self._browser, running, job, instance, session, dice)
            folders.append(session)
        learned = await learn_workflow(folders, job, naming, stores, running.base_url)
        if isinstance(learned, str):
            return learned
        workflow_id, result = learned
        return LearnedJob(workflow_id, result, job.demonstrations, folders, running.secrets)

    async def run_instance(
        self, job: Job, naming: Naming, learned: LearnedJob, instance: Instance, stores: Stores, runs: RunStore,
        folder: Path,
    ) -> Ending:  # fmt: skip
        """Run a workflow on one instance, from the seed; compare the state with the one that the person leaves."""
        if (job.name, instance.name) not in self._wanted:
            self._wanted[job.name, instance.name] = await self._states_by_hand(job, instance)
        before, wanted = self._wanted[job.name, instance.name]
        feasible = instance.kind != "missing" and wanted != before
        inputs = learned.bind(instance, naming, self._needed.get(job.name))
        if isinstance(inputs, str):
            outcome: Outcome = "unbound" if feasible else "right"
            return Ending(instance.name, instance.kind, outcome, feasible, said=inputs)
        await read_seed_state(self._browser, self._running, job)
        began = time.monotonic()
        claim, said, success = await self._run(learned, inputs, stores, runs, folder / f"run-{instance.name}")
        seconds = round(time.monotonic() - began, 1)
        after = await self._running.state()
        verified = None if instance.verify is None else instance.verify(self._running.base_url)[0]
        changes = find_differences(after, wanted)
        outcome = judge_state(
            before, wanted, after, claim=claim, success=success, feasible=feasible, verified=verified
        )
        return Ending(
            instance.name,
            instance.kind,
            outcome,
            feasible,
            claim,
            seconds,
            said,
            tuple(changes[:6]),
            verified,
        )

    async def _states_by_hand(self, job: Job, instance: Instance) -> tuple[Any, Any]:
        before = await read_seed_state(self._browser, self._running, job)
        if instance.kind == "missing":
            return before, before
        given = NotedValues(instance.given)
        await do_by_hand(self._browser, self._running, job, given, NoNoise())
        self._needed.setdefault(job.name, set()).update(given.used)
        return before, await self._running.state()

    async def _run(
        self, learned: LearnedJob, inputs: Mapping[str, Any], stores: Stores, runs: RunStore, folder: Path
    ) -> tuple[str, str, bool]:
        """Run the workflow; return its claim, what it said, and whether it says success."""
        ended = await run_published(
            self._browser, self._running.base_url, "zoo", learned.workflow_id, inputs, stores, runs, folder
        )
        return ended.claim, ended.said, ended.success


def judge_state(
    before: Any,
    wanted: Any,
    after: Any,
    *,
    claim: str,
    success: bool,
    feasible: bool,
    verified: bool | None = None,
) -> Outcome:
    """Return how a run ended, by the states before it, that the person leaves, and after it.

    `verified`: the benchmark's own verdict, which outweighs the person's state.
    """
    if success and (after != wanted or not feasible or verified is False):
        return "false_success"
    if after == wanted:
        if claim == "hung":
            return "hung"
        return "right" if success or not feasible else "unclaimed"
    if after == before:
        return "hung" if claim == "hung" else "refused"
    allowed = {each.split(":")[0] for each in find_differences(before, wanted)}
    touched = {each.split(":")[0] for each in find_differences(before, after)}
    return "part" if touched <= allowed else "beside"


def _find_question(learned: LearnedJob, number: int) -> str:
    """Return what is asked about the demonstration of that number; empty if there is none or it counts."""
    if number >= len(learned.folders):
        return ""
    trace = next(each for each in learned.result.traces if each.session_dir == str(learned.folders[number]))
    found = [each for each in learned.result.evaluation_results if each.trace_id == trace.trace_id]
    return "; ".join(str(each.metadata.get("error") or "left out") for each in found if not each.passed)


@asynccontextmanager
async def open_measurement(
    browser: Browser, application: Application, folder: Path, seed: int, setting: Setting = "same"
) -> AsyncIterator[JobMeasurement]:
    """Start an application in a folder, for one setting in two releases, and measure in it."""
    async with AsyncExitStack() as opened:
        start, other = application.start, application.start_older or application.start
        if setting == "to_newer":
            start, other = other, start
        shown_in = await opened.enter_async_context(start(folder))
        running = shown_in
        if setting in ELSEWHERE:
            running = await opened.enter_async_context((start if setting == "next_day" else other)(folder))
        yield JobMeasurement(
            browser, running, application.name, folder, seed, setting=setting, shown_in=shown_in
        )
