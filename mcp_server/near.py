"""Which tasks have to do with a screen, and which can be reached from it (the hybrid query of KS 8.4).

The documents say where tasks begin and act, the graph how one gets there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kb_schema.answers import Paths, TaskList, TaskRelation, TaskSummary, WayThere
from mcp_server import cursors
from mcp_server.compiled import View
from mcp_server.describe import task_summary
from mcp_server.foresight import Known
from mcp_server.paths import find_paths
from mcp_server.patience import while_wanted

PAGE = 20
"""Tasks on a page: each that is in reach costs a search for the way."""
MOST_SEARCHES = 100
"""Tasks looked at for one page; a page of a site where little can be reached may have fewer on it."""

Finding = Callable[[str, str], Paths]
"""The best path from a screen to another, the two existing."""
Related = tuple[TaskRelation, str, str | None]
"""How a task is related, its id, and by which task."""


def tasks_for_screen(
    view: View, screen_id: str, *, reach: bool = False, facts: Known | None = None,
    cursor: str | None = None, size: int = PAGE, finding: Finding | None = None,
) -> TaskList:  # fmt: skip
    """The tasks that have to do with a screen: those that begin there first, then by id.

    With `reach` also those that begin on a screen one can get to from there, each with the best way.
    `finding` is asked for that way; without it, it is searched in memory. Raises `BadRequest` for a
    cursor that is not of this question.
    """
    finding = finding or partial(find_paths, view, facts=facts)
    related = [*_related(view, screen_id), *(_elsewhere(view, screen_id) if reach else ())]
    question = f"tasks:{screen_id}:{reach}"
    begin = cursors.read(cursor, question)
    found: list[TaskSummary] = []
    for position, (relation, task_id, by) in enumerate(while_wanted(related[begin:]), start=begin + 1):
        summary = _told(view, screen_id, relation, task_id, by, finding)
        found += [] if summary is None else [summary]
        full = len(found) == size or position - begin == MOST_SEARCHES
        if full and position < len(related):
            return TaskList(
                website_id=view.website_id, tasks=tuple(found), next_cursor=cursors.make(position, question)
            )
    return TaskList(website_id=view.website_id, tasks=tuple(found))


def _related(view: View, screen_id: str) -> Iterator[Related]:
    """Those that have to do with the screen itself, each once, by its closest relation."""
    places = view.places
    begins = {task for task, screen in places.begins.items() if screen == screen_id}
    uses = set(view.tasks_of.get(screen_id, ()))
    ends = {task for task, screens in places.ends.items() if screen_id in screens}
    running = places.running(begins | uses | ends)
    told: set[str] = set()
    relations: tuple[tuple[TaskRelation, set[str]], ...] = (
        ("begins", begins), ("uses", uses - ends), ("ends", ends), ("by_subtask", set(running)),
    )  # fmt: skip
    for relation, tasks in relations:
        for task_id in sorted(tasks - told):
            yield relation, task_id, running.get(task_id) if relation == "by_subtask" else None
        told |= tasks


def _elsewhere(view: View, screen_id: str) -> Iterator[Related]:
    near = {task_id for _, task_id, _ in _related(view, screen_id)}
    for task_id in sorted(view.places.begins):
        if task_id not in near:
            yield "in_reach", task_id, None


def _told(
    view: View, screen_id: str, relation: TaskRelation, task_id: str, by: str | None, finding: Finding
) -> TaskSummary | None:
    """A task in the list; None where it cannot be reached."""
    more: dict[str, object] = {"relation": relation, "by": by}
    if relation == "in_reach":
        entry = view.places.begins[task_id]
        way = _way_there(view, entry, finding(screen_id, entry))
        if way is None:
            return None
        more |= {"entry_screen": entry, "way": way}
    return task_summary(view.knowledge.tasks[task_id]).model_copy(update=more)


def _way_there(view: View, target: str, paths: Paths) -> WayThere | None:
    """The best way to a screen: along transitions, else by opening its address; None: there is none."""
    found = paths.paths
    if not found:
        url = view.knowledge.screens[target].url
        return None if url is None else WayThere(url=url)
    best = found[0]
    return WayThere(
        transitions=tuple(step.transition_id for step in best.steps),
        expected_ms=best.expected_ms,
        reliability=best.reliability,
        assumptions=best.assumptions,
    )
