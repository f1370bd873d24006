"""Measures whether a map's drafted tasks do the function tasks of a benchmark, given the sentence's values by hand.

The draft of a task is the one that uses the controls that the recorded person used, and its inputs get what the person
typed, chose and took the row of. What the run did is judged by the benchmark's verifier and by the state the person leaves.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from playwright.async_api import Browser

from kb_schema import KnowledgeBase
from kb_schema.tasks import DRAFT, Task, TaskStep
from kb_store import Stores, load_knowledge, open_stores
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from tests.zoo.map_tasks import UsedControl, measure_holding
from tests.zoo.published_runs import run_published
from tests.zoo.zoo_jobs import Application, Instance, Job, NoNoise, RunningApplication
from tests.zoo.zoo_measurement import do_by_hand, find_differences, read_seed_state

STEP_TIMEOUT_S = 20.0
CHECKED_ATTRIBUTE = "data-pp-checked"
DraftOutcome = Literal["done", "as_person", "no_draft", "nothing", "part", "beside", "false_success"]
"""What a run came to.

done: the verifier passes, and the state is the one that the person leaves. as_person: the state is that one, and the verifier passes
neither. no_draft: no drafted task uses the controls.
nothing: nothing changed. part: less than the person changed. beside: something else changed. false_success: the run says
success, and it is not so.
"""


@dataclass(frozen=True, slots=True)
class ChosenDraft:
    """A drafted task with its inputs."""

    task: Task
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DraftFigures:
    """What the draft of one function task came to."""

    application: str
    job: str
    task: str
    outcome: DraftOutcome
    draft: str = ""
    values: Mapping[str, Any] | None = None
    claim: str = ""
    said: str = ""
    changes: tuple[str, ...] = ()
    """The first differences from the state that the person leaves."""
    seconds: float = 0.0


SEARCH = "search"
"""What the ids of fields contain in which a list is searched."""


def choose_draft(knowledge: KnowledgeBase, used: Sequence[UsedControl]) -> ChosenDraft | None:
    """Return the draft that uses what the person used from some step on, to the last; None if there is none."""
    found = [
        (count, chosen)
        for task in knowledge.tasks.values()
        if DRAFT in task.metadata and (told := _follow(task, used)) is not None
        for count, chosen in (told,)
    ]
    return max(found, key=lambda each: each[0], default=(0, None))[1]


def _follow(task: Task, used: Sequence[UsedControl]) -> tuple[int, ChosenDraft] | None:
    """Return how many controls of the person a draft uses, and its inputs; None if it ends or types otherwise.

    What the person typed to find a row counts for nothing: whether the row is found without it is seen when the draft runs.
    """
    steps = list(_list_placed(task))
    values: dict[str, Any] = {}
    pressed: set[str] = set()
    searching = [each for each in used if any(SEARCH in element.element_id for element, _ in each.elements)]
    for each in searching:  # typed letter by letter: the last counts
        _cover(each, steps, values, pressed)
    used = [each for each in used if each not in searching]
    covered = [_cover(each, steps, values, pressed) for each in used]
    if not covered or not covered[-1]:
        return None
    alike = {element.element_id for each in used for element, given in each.elements if not given}
    opening = {
        step.step_id
        for _, step in steps
        if step.type == "navigation" and not step.skip_when and step.action.target not in alike
    }
    if opening - pressed:
        return None  # it would open another one than the person did: a menu's entry is the same on each of its pages
    first = covered.index(True)
    if not all(covered[first:]):
        return None
    needed = {each.name for each in task.io_spec.inputs if each.required}
    return None if needed - values.keys() else (sum(covered), ChosenDraft(task, values))


def _list_placed(task: Task) -> Iterator[tuple[str, TaskStep]]:
    """Yield the steps that use a control, each with its screen."""
    screen = ""
    for step in task.steps:
        if step.action.target_screen:
            screen = step.action.target_screen
            continue
        yield screen, step
        for each in step.postconditions:
            screen = getattr(each, "screen_id", None) or screen


def _cover(
    each: UsedControl, steps: Iterable[tuple[str, TaskStep]], values: dict[str, Any], pressed: set[str]
) -> bool:
    """Whether a draft uses a control that the person used; note the values of the inputs that this takes."""
    placed = list(steps)
    screens = {screen_id for screen_id, _ in placed}
    for screen_id, step in placed:
        action = step.action
        entry = step.step_id.startswith("choose_") and each.screen_id not in screens
        if screen_id != each.screen_id and not entry:
            continue  # the entries of a list lie on a screen that no step names
        for element, given in each.elements:
            if action.target != element.element_id or action.action_type == _toggles_back(each):
                continue
            for name, template in action.parameters.items():
                values[str(template).strip("{}")] = given.get(name, "")
            if isinstance(action.value, str) and action.value.startswith("{"):
                values[action.value.strip("{}")] = each.value
            for skipped in step.skip_when:
                for inner in getattr(skipped, "conditions", ()):
                    if getattr(inner, "value", None) is not None:
                        values[inner.name] = inner.value
            pressed.add(step.step_id)
            return True
    return False


def _toggles_back(each: UsedControl) -> str:
    """Return what the person did not do with a check box: `check` if it was checked before; nothing of a radio button."""
    if each.control is not None and each.control.get("type") == "radio":
        return ""
    checked = "" if each.control is None else each.control.get(CHECKED_ATTRIBUTE)
    return {"true": "check", "false": "uncheck"}.get(checked or "", "")


async def measure_drafts(
    browser: Browser, application: Application, knowledge: KnowledgeBase, people: Path, folder: Path, known: Collection[str]
) -> AsyncIterator[DraftFigures]:  # fmt: skip
    """Yield the figures of each function task that is not `known`. `people`: the recordings. `folder`: for runs."""
    instances = {each.name: (job, each) for job in application.jobs for each in job.instances if each.verify}
    folder.mkdir(parents=True, exist_ok=True)
    async with (
        application.start(folder) as running,
        open_stores(folder / "stores") as stores,
        open_runs(folder / "stores", None) as runs,
    ):
        await load_knowledge(stores.documents, stores.graph, knowledge)
        measured = _DraftRuns(browser, running, knowledge.website.website_id, stores, runs, folder)
        for held, used in measure_holding(application, knowledge, people):
            if held.task in known:
                continue
            job, instance = instances[held.task]
            chosen = choose_draft(knowledge, used)
            if chosen is None:
                yield DraftFigures(application.name, job.name, held.task, "no_draft")
                continue
            yield await measured.run(application.name, job, instance, chosen)


class _DraftRuns:
    """Runs drafts in a running application."""

    def __init__(
        self, browser: Browser, running: RunningApplication, website_id: str, stores: Stores, runs: RunStore, folder: Path
    ) -> None:  # fmt: skip
        self._browser, self._running, self._website_id = browser, running, website_id
        self._stores, self._runs, self._folder = stores, runs, folder

    async def run(self, application: str, job: Job, instance: Instance, chosen: ChosenDraft) -> DraftFigures:
        """Run a draft and judge the state that it leaves."""
        assert instance.verify is not None
        before = await read_seed_state(self._browser, self._running, job)
        await do_by_hand(self._browser, self._running, job, instance.given, NoNoise())
        wanted = await self._running.state()
        await read_seed_state(self._browser, self._running, job)
        began = time.monotonic()
        claim, said, success = await self._execute(chosen, self._folder / f"run-{instance.name}")
        seconds = round(time.monotonic() - began, 1)
        after = await self._running.state()
        verified = instance.verify(self._running.base_url)[0]
        return DraftFigures(
            application, job.name, instance.name, judge_draft(before, wanted, after, success=success, verified=verified),
            chosen.task.task_id, dict(chosen.values), claim, said, tuple(find_differences(after, wanted)[:4]), seconds,
        )  # fmt: skip

    async def _execute(self, chosen: ChosenDraft, folder: Path) -> tuple[str, str, bool]:
        ended = await run_published(
            self._browser, self._running.base_url, self._website_id, chosen.task.task_id, chosen.values,
            self._stores, self._runs, folder, step_timeout_s=STEP_TIMEOUT_S,
        )  # fmt: skip
        return ended.claim, ended.said, ended.success


def judge_draft(before: Any, wanted: Any, after: Any, *, success: bool, verified: bool) -> DraftOutcome:
    """Return what a run came to, by the states before it, that the person leaves, and after it.

    >>> judge_draft({"a": 1}, {"a": 2}, {"a": 2}, success=False, verified=True)
    'done'
    >>> judge_draft({"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, success=False, verified=False)
    'beside'
    """
    if after == wanted != before:
        return "done" if verified else "as_person"
    if success:
        return "false_success"
    if after == before:
        return "nothing"
    allowed = {each.split(":")[0] for each in find_differences(before, wanted)}
    touched = {each.split(":")[0] for each in find_differences(before, after)}
    return "part" if touched <= allowed else "beside"


def format_drafts(figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the shares, and each task that was not done."""
    counts = Counter(each["outcome"] for each in figures)
    name = figures[0]["application"] if figures else ""
    told = ", ".join(f"{outcome} {count}" for outcome, count in counts.most_common())
    lines = [f"{name}: drafted tasks did {counts['done']} of {len(figures)} tasks ({told})"]
    lines += [
        f"    {each['job']} {each['task']}: {each['outcome']} {each['draft']} {each['values'] or ''}"
        f" {each['claim']} {each['said'][:160]} {'; '.join(each['changes'])[:200]}".rstrip()
        for each in figures
        if each["outcome"] not in ("done", "no_draft")
    ]
    return "\n".join(lines)
