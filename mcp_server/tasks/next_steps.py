"""The next step of a task, through sub-tasks and iterations (KS 7.7).

A step inside another task is named by its path: `sign_in/fill_email` is the step `fill_email` of the task that the
step `sign_in` runs. A task's own step has a path of one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kb_schema.iterators import ItemAction, NoIterator
from kb_schema.tasks import Task, TaskStep
from kb_schema.tool_answers import NextStep, StepLevel
from mcp_server.document_text import condition_text
from mcp_server.document_text.detail_levels import lean_step
from mcp_server.errors import UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.knowledge.task_screens import DEEPEST, find_step_screen, find_subtask

ITEM = "item"
"""The one step of an iteration that does an action, not a task, for each item."""


_DoneStep = tuple[Task, TaskStep | None]
"""A task and the step of it that was done; None: the action of an iteration's item."""


@dataclass(frozen=True, slots=True)
class _StepPosition:
    """A step of a task, and the levels that lead to it."""

    task: Task
    step: TaskStep
    path: tuple[str, ...]
    levels: tuple[StepLevel, ...]


def next_step(view: KnowledgeView, task: Task, after_step: str | None = None) -> NextStep:
    """Return the step after `after_step` (a step path; None: the first step).

    Steps of sub-tasks are included. After the last step of an item comes the next item's first step; `otherwise` holds
    the step for the end of the iteration. Raises `UnknownName` for an unknown step.
    """
    outer = StepLevel(task_id=task.task_id, kind="task")
    if after_step is None:
        return _to_next_step(view, task, _first(view, task, task.ordered_steps[0], (), (outer,)))
    done = tuple(after_step.split("/"))
    following = list(islice(_iterate_following(view, _trail(view, task, done), done, outer), 2))
    found = following[0] if following else None
    if found is None or not any(level.again for level in found.levels):
        return _to_next_step(view, task, found)
    return _to_next_step(view, task, found, "/".join(following[1].path) if len(following) > 1 else "done")


def _iterate_following(
    view: KnowledgeView, trail: Sequence[_DoneStep], done: tuple[str, ...], outer: StepLevel
) -> Iterator[_StepPosition]:
    """What comes after a step, from the inside out: the next step of its task; where it was the last of
    an item, the next item's first step, and then what comes when there is no next item.
    """
    for depth in reversed(range(len(trail))):
        at, step = trail[depth]
        levels, path = _levels(view, trail[:depth], outer), done[:depth]
        after = None if step is None else _after(at, step)
        if after is not None:
            yield _first(view, at, after, path, levels)
            return
        if levels[-1].kind == "iteration":
            again = (*levels[:-1], levels[-1].model_copy(update={"again": True}))
            if step is None:
                yield _StepPosition(at, _item_step(at), (*path, ITEM), again)
            else:
                yield _first(view, at, at.ordered_steps[0], path, again)


def _trail(view: KnowledgeView, task: Task, path: tuple[str, ...]) -> list[_DoneStep]:
    """The task and the step at each depth of a path; the step is None for an iterator's own action."""
    trail: list[_DoneStep] = []
    current: Task = task
    for depth, name in enumerate(path[: DEEPEST + 1]):
        holder = trail[-1] if trail else None
        if holder is not None and holder[1] is not None:
            inner = view.knowledge.tasks.get(find_subtask(current, holder[1]) or "")
            if inner is None and _item_action(current, holder[1]) is not None:
                if name != ITEM:
                    raise UnknownName("step", name, [ITEM], hint=f"in {'/'.join(path[:depth])!r}")
                trail.append((current, None))
                continue
            if inner is None:
                hint = f"{holder[1].step_id!r} of task {current.task_id!r} runs no task"
                raise UnknownName("step", "/".join(path), [], hint=hint)
            current = inner
        elif holder is not None:
            raise UnknownName("step", "/".join(path), [], hint=f"{ITEM!r} has no steps of its own")
        step = current.step(name)
        if step is None:
            ids = [each.step_id for each in current.ordered_steps]
            raise UnknownName("step", name, ids, hint=f"steps of task {current.task_id!r}")
        trail.append((current, step))
    if len(path) > DEEPEST + 1:
        raise UnknownName("step", "/".join(path)[:80], [], hint=f"at most {DEEPEST} levels of tasks")
    return trail


def _levels(view: KnowledgeView, trail: Sequence[_DoneStep], outer: StepLevel) -> tuple[StepLevel, ...]:
    levels = [outer]
    for task, step in trail:
        if step is not None:
            levels.append(_level(view, task, step))
    return tuple(levels)


def _level(view: KnowledgeView, task: Task, step: TaskStep) -> StepLevel:
    """What a step that runs a task or an iterator goes into."""
    spec = task.iterator_spec
    if step.action.canonical_type != "execute_iterator" or isinstance(spec, NoIterator):
        return StepLevel(
            task_id=step.action.task_id or task.task_id, kind="subtask", inputs=dict(step.action.inputs)
        )
    until = spec.termination_condition
    item = view.knowledge.tasks.get(spec.item_action.task_id or "")
    return StepLevel(
        task_id=task.task_id if item is None else item.task_id,
        kind="iteration",
        inputs=dict(spec.item_action.inputs),
        until=None if until is None else condition_text.describe_condition(until),
        max_iterations=spec.max_iterations,
    )


def _first(
    view: KnowledgeView, task: Task, step: TaskStep, path: tuple[str, ...], levels: tuple[StepLevel, ...]
) -> _StepPosition:
    """The step itself, or the first one of what it runs."""
    at = _StepPosition(task, step, (*path, step.step_id), levels)
    if len(levels) > DEEPEST:
        return at
    inner = view.knowledge.tasks.get(find_subtask(task, step) or "")
    if inner is not None:
        return _first(view, inner, inner.ordered_steps[0], at.path, (*levels, _level(view, task, step)))
    if _item_action(task, step) is not None:
        return _StepPosition(task, _item_step(task), (*at.path, ITEM), (*levels, _level(view, task, step)))
    return at


def _item_action(task: Task, step: TaskStep) -> ItemAction | None:
    """What an iterating step does for each item, where that is an action."""
    if step.action.canonical_type != "execute_iterator" or isinstance(task.iterator_spec, NoIterator):
        return None
    item = task.iterator_spec.item_action
    return item if item.action is not None else None


def _item_step(task: Task) -> TaskStep:
    assert not isinstance(task.iterator_spec, NoIterator)  # noqa: S101 - only asked of iterating tasks
    action = task.iterator_spec.item_action.action
    assert action is not None  # noqa: S101 - as `_item_action` found
    return TaskStep(step_id=ITEM, order=1, action=action)


def _after(task: Task, step: TaskStep) -> TaskStep | None:
    steps = task.ordered_steps
    place = steps.index(step) + 1
    return steps[place] if place < len(steps) else None


def _to_next_step(
    view: KnowledgeView, task: Task, at: _StepPosition | None, otherwise: str | None = None
) -> NextStep:
    ids = [step.step_id for step in task.ordered_steps]
    if at is None:
        return NextStep(
            website_id=view.website_id,
            task_id=task.task_id,
            step=None,
            remaining=0,
            success_criteria=tuple(condition_text.describe_condition(each) for each in task.success_criteria),
        )
    inside = at.levels[1:]
    outermost = ids.index(at.path[0])
    return NextStep(
        website_id=view.website_id,
        task_id=task.task_id,
        step=lean_step(at.step.to_json()),
        remaining=len(ids) - outermost - 1,
        path="/".join(at.path),
        within=at.levels if inside else (),
        otherwise=otherwise,
        screen_id=find_step_screen(at.step, view.places.owners),
    )
