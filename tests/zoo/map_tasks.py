"""Measures what a map holds of the function tasks of a benchmark, and whether its drafted tasks do them.

The scripted person is recorded once for each task, without noise. A step is held if the map knows the screen of its page
and has an element of that screen which leads to the control that the person used.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from agent.synthesis.traces.trace_normalization import TraceNormalizer
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema import KnowledgeBase
from kb_schema.execution_traces import TraceStep
from kb_schema.screens import UIElement
from kb_schema.selectors import TemplateStrategy
from kb_schema.session_reader import read_session
from kb_schema.url_patterns import origin_of
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from tests.zoo.zoo_jobs import Application, Job, NoNoise, RunningApplication
from tests.zoo.zoo_measurement import record_demonstration
from web_pages.accessible_names import is_interactive
from web_pages.element_tree import Element
from web_pages.page_texts import squeeze, text_of
from web_pages.stored_pages import answer_probes

MOST_ROW_TEXTS = 30
LONGEST_ROW_TEXT = 120
ROW_LEVELS = 5
"""So far around a control its row is looked for."""
APART = 3
"""A control and the element that stands for it lie so many levels apart at most, such as a button and its icon."""
_WITHOUT_CONTROL = frozenset({"navigate", "wait", "scroll", "switch_tab", "close_tab", "navigate_back"})


@dataclass(frozen=True, slots=True)
class UsedControl:
    """What the person used in one step, and what the map has of it."""

    action_type: str
    page: TracePage
    control: Element | None
    """None: the recording does not tell."""
    screen_id: str | None
    elements: tuple[tuple[UIElement, Mapping[str, str]], ...]
    """The elements that lead to the control, with the values of their parameters."""
    value: str = ""

    @property
    def gap(self) -> str:
        """What the map lacks; empty if it holds the step."""
        if self.control is None:
            return f"{self.action_type}: the recording has no control"
        said = squeeze(text_of(self.control))[:40] or self.control.get("aria-label") or self.control.tag
        if self.screen_id is None:
            return f"{self.action_type} {said!r}: the screen is unknown"
        return "" if self.elements else f"{self.action_type} {said!r} on {self.screen_id}: no element"


@dataclass(frozen=True, slots=True)
class HeldTask:
    """What a map holds of one function task."""

    application: str
    job: str
    task: str
    steps: int
    gaps: tuple[str, ...]
    """Of each step that is not held; empty: the map holds everything that is needed."""


async def record_tasks(
    browser: Browser, application: Application, running: RunningApplication, folder: Path
) -> None:
    """Record the person once for each task of the benchmark, if that is not in `folder`: JOB/TASK."""
    for job in application.jobs:
        for instance in job.instances:
            session = folder / job.name / instance.name
            if instance.verify is None or session.exists():
                continue
            begun = session.with_name(f"{session.name}.begun-{os.getpid()}")
            await running.reset()
            try:
                await record_demonstration(browser, running, job, instance, begun, NoNoise())
            except PlaywrightError:  # no page offers it, or the machine is too busy
                continue
            begun.rename(session)


def measure_holding(
    application: Application, knowledge: KnowledgeBase, folder: Path
) -> Iterator[tuple[HeldTask, list[UsedControl]]]:
    """Yield what a map holds of each task, and the steps. `folder`: of the recorded people."""
    held = MapHolding(knowledge)
    for job, task in list_tasks(application):
        session = folder / job.name / task
        if not session.is_dir():
            yield HeldTask(application.name, job.name, task, 0, ("nobody could do it",)), []
            continue
        used = list(held.list_used(session, _values(job, task)))
        gaps = tuple(each.gap for each in used if each.gap)
        yield HeldTask(application.name, job.name, task, len(used), gaps), used


def list_tasks(application: Application) -> Iterator[tuple[Job, str]]:
    """Yield the tasks of the benchmark with their jobs."""
    for job in application.jobs:
        for instance in job.instances:
            if instance.verify is not None:
                yield job, instance.name


def _values(job: Job, task: str) -> list[str]:
    return [value for each in job.instances if each.name == task for value in each.given.values() if value]


class MapHolding:
    """Looks for the controls of recorded steps in a map."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._knowledge = knowledge
        self._view: KnowledgeView = compile_view(knowledge, "g")
        self._pages = TracePages()

    def list_used(self, session: Path, values: Sequence[str]) -> Iterator[UsedControl]:
        """Yield the used controls of a recorded session. `values`: what the sentence says, to choose rows by."""
        trace, *_ = TraceNormalizer().normalize([read_session(session)])
        for step in trace.steps:
            if step.action_type in _WITHOUT_CONTROL or step.target is None:
                continue
            yield self._find(step, values)

    def _find(self, step: TraceStep, values: Sequence[str]) -> UsedControl:
        found = self._pages.find_target(step)
        page = self._pages.get(step.html_before, step.source_url)
        assert page is not None, "a recorded step has its page"
        value = str((step.args or {}).get("value", (step.args or {}).get("text", "")))
        if found is None:
            return UsedControl(step.action_type, page, None, None, (), value)
        page, control = found
        screen_id = identify(
            self._view, page.stored, answer_probes, base_url=origin_of(step.source_url or "")
        ).screen_id
        elements = () if screen_id is None else tuple(self._list_elements(screen_id, page, control, values))
        return UsedControl(step.action_type, page, control, screen_id, elements, value)

    def _list_elements(
        self, screen_id: str, page: TracePage, control: Element, values: Sequence[str]
    ) -> Iterator[tuple[UIElement, Mapping[str, str]]]:
        for element in self._knowledge.elements(screen_id).values():
            templates = [each for each in element.selector.strategies if isinstance(each, TemplateStrategy)]
            if not templates:
                one = page.stored.resolve(element.selector).element
                if one is not None and (is_same_control(one, control) or _is_text_of(one, control)):
                    yield element, {}
                continue
            if not _may_be(templates[0].template, control):
                continue
            for row in list_row_texts(control, values):
                given = dict.fromkeys(templates[0].parameters, row)
                found = (page.stored.resolve_template(each.template, given) for each in templates)
                rows = next(filter(None, found), ())
                if len(rows) == 1 and (is_same_control(rows[0], control) or _is_text_of(rows[0], control)):
                    yield element, given
                    break


_PREDICATE = re.compile(r"\[[^\[\]]*\]")


def _may_be(template: str, control: Element) -> bool:
    """Whether the tag at the end of a template is that of a control or around it: else it is not tried with each text."""
    steps = template
    while (plain := _PREDICATE.sub("", steps)) != steps:
        steps = plain
    end = re.match(r"[\w*-]+", steps.rpartition("/")[2])
    around = [control, *[*control.ancestors()][:APART]]
    return end is None or end[0] == "*" or end[0] in {each.tag for each in around}


def is_same_control(one: Element, other: Element) -> bool:
    """Whether two elements are one control: the same, or one in the other with the same words.

    Icons and counts beside words are none: `Inbox` in `📨 Inbox 12`. A sign alone is another control, such as one that closes.
    """
    if one is other:
        return True
    around = [*one.ancestors()][:APART], [*other.ancestors()][:APART]
    nested = any(each is other for each in around[0]) or any(each is one for each in around[1])
    said = {squeeze(text_of(each)) for each in (one, other)} - {""}
    words = {" ".join(re.findall(r"[^\W\d_]+", text)) for text in said}
    return nested and (len(said) < 2 or (len(words) == 1 and "" not in words))


def _is_text_of(whole: Element, control: Element) -> bool:
    """Whether what was pressed is a text in a control that nothing else on the page says: who presses it presses the control."""
    around = list(takewhile(lambda each: each is not whole, control.ancestors()))
    words = squeeze(text_of(control))
    if (
        len(around) > APART
        or whole not in control.ancestors()
        or any(map(is_interactive, (control, *around)))
    ):
        return False
    same = [
        each for each in control.root.elements if each.tag == control.tag and squeeze(text_of(each)) == words
    ]
    return len(words) > 1 and len(same) == 1


def list_row_texts(control: Element, values: Sequence[str]) -> list[str]:
    """Return texts by which a person may tell the row of a control: the values of the sentence, then what stands around."""
    around = [control, *[*control.ancestors()][:ROW_LEVELS]]
    texts = [squeeze(text_of(part)) for level in around for part in (level, *level.descendants())]
    told = (each for each in (*values, *texts) if each and len(each) <= LONGEST_ROW_TEXT)
    return list(dict.fromkeys(told))[:MOST_ROW_TEXTS]


def format_holding(figures: Iterable[HeldTask]) -> str:
    """Return the share, the kinds of gaps, and each task that is not held."""
    every = list(figures)
    held = sum(not each.gaps for each in every)
    steps, gaps = sum(each.steps for each in every), sum(len(each.gaps) for each in every if each.steps)
    kinds = Counter(_kind(gap) for each in every for gap in each.gaps)
    name = every[0].application if every else ""
    lines = [
        f"{name}: the map holds everything of {held} of {len(every)} tasks, and {steps - gaps} of {steps} steps"
    ]
    lines.append("    " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    lines += [f"    {each.job} {each.task}: {'; '.join(each.gaps)}" for each in every if each.gaps]
    return "\n".join(lines)


def _kind(gap: str) -> str:
    return gap.rpartition(": ")[2]
