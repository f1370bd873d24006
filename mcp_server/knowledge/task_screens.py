"""The screens of each task: where it begins, where it leads, and which tasks it runs. Computed once per view."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kb_schema.base import CURRENT_SCREEN
from kb_schema.conditions import BaseCondition, OnScreen, ScreenTransition
from kb_schema.iterators import NoIterator
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.screens import UIElement
from kb_schema.tasks import Task, TaskStep

DEEPEST = 20
"""Levels of nested tasks that are followed: iterators may make cycles."""


@dataclass(frozen=True, slots=True)
class TaskScreens:
    """By task id."""

    begins: Mapping[str, str]
    """The screen it begins on; none for a task that begins on any screen."""
    ends: Mapping[str, frozenset[str]]
    """Screens it leads to, as authored."""
    runs: Mapping[str, tuple[str, ...]]
    """Tasks it runs, by a step, an iterator or a composition edge."""
    owners: Mapping[str, Sequence[str]]
    """By element id instead: the screens that have it."""

    def running(self, task_ids: Iterable[str]) -> dict[str, str]:
        """Return tasks that run one of these at any depth, each with the task it runs directly."""
        by: dict[str, str] = {}
        found = set(task_ids)
        for _ in range(DEEPEST):
            new = {
                task_id: next(each for each in ran if each in found)
                for task_id, ran in self.runs.items()
                if task_id not in found and not found.isdisjoint(ran)
            }
            if not new:
                break
            by |= new
            found |= new.keys()
        return by


def collect_task_screens(
    knowledge: KnowledgeBase, elements: Mapping[str, Mapping[str, UIElement]]
) -> TaskScreens:
    """The places of every task. `elements`: screen id -> its elements."""
    owners: dict[str, list[str]] = defaultdict(list)
    for screen_id, own in elements.items():
        for element_id in own:
            owners[element_id].append(screen_id)
    runs = _collect_subtasks(knowledge)
    begins = {
        task_id: screen
        for task_id, task in knowledge.tasks.items()
        if (screen := _entry(knowledge, task, owners, DEEPEST)) is not None
    }
    ends = {task_id: frozenset(_ends(task)) for task_id, task in knowledge.tasks.items()}
    return TaskScreens(begins, ends, runs, owners)


def find_step_screen(step: TaskStep, owners: Mapping[str, Sequence[str]]) -> str | None:
    """Return the screen a step takes place on, or opens; None if it states none."""
    if step.action.canonical_type == "navigate" and step.action.target_screen not in (None, CURRENT_SCREEN):
        return step.action.target_screen
    stated = next(_screens(step.preconditions), None)
    if stated is not None:
        return stated
    target = step.action.target
    owned = owners.get(target, ()) if isinstance(target, str) else ()
    return owned[0] if len(owned) == 1 else None


def find_subtask(task: Task, step: TaskStep) -> str | None:
    """The task that a step runs: itself, or for each item."""
    if step.action.canonical_type == "run_task":
        return step.action.task_id
    if step.action.canonical_type == "execute_iterator" and not isinstance(task.iterator_spec, NoIterator):
        return task.iterator_spec.item_action.task_id
    return None


def _entry(
    knowledge: KnowledgeBase, task: Task, owners: Mapping[str, Sequence[str]], depth: int
) -> str | None:
    for step in task.ordered_steps:
        screen = find_step_screen(step, owners)
        inner = knowledge.tasks.get(find_subtask(task, step) or "")
        if screen is None and inner is not None and depth > 0:
            screen = _entry(knowledge, inner, owners, depth - 1)
        if screen is not None and screen in knowledge.screens:
            return screen
    return None


def _ends(task: Task) -> Iterator[str]:
    yield from _screens(task.success_criteria)
    last = task.ordered_steps[-1]
    yield from _screens(last.postconditions)


def _screens(conditions: Iterable[BaseCondition]) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, OnScreen):
            yield condition.screen_id
        elif isinstance(condition, ScreenTransition):
            yield condition.to_screen


def _collect_subtasks(knowledge: KnowledgeBase) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {task_id: {} for task_id in knowledge.tasks}
    for task in knowledge.tasks.values():
        for step in task.ordered_steps:
            ran = find_subtask(task, step)
            if ran is not None:
                found[task.task_id][ran] = None
    for edge in knowledge.dependencies:
        if edge.type == "composes" and edge.from_task in found:
            found[edge.from_task][edge.to_task] = None
    return {task_id: tuple(ran) for task_id, ran in found.items() if ran}
