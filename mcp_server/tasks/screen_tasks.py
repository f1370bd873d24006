"""The tasks that involve a screen, and those that can be reached from it (the hybrid query of KS 8.4).

Documents say where tasks begin and act. The graph says how to get there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kb_schema.tool_answers import EntryPath, PathSearchResult, TaskList, TaskRelation, TaskSummary
from mcp_server import cursors
from mcp_server.cancellation import iterate_until_cancelled
from mcp_server.descriptions.document_summaries import summarize_task
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths.path_search import find_paths
from mcp_server.transition_graph.fact_conditions import KnownFacts

PAGE = 20
"""Tasks per page: each reachable one costs a path search."""
MOST_SEARCHES = 100
"""Tasks looked at for one page; a page of a site where little can be reached may have fewer on it."""

PathFinder = Callable[[str, str], PathSearchResult]
"""The best path from a screen to another, the two existing."""
RelatedTask = tuple[TaskRelation, str, str | None]
"""How a task is related, its id, and by which task."""


def find_screen_tasks(
    view: KnowledgeView,
    screen_id: str,
    *,
    reach: bool = False,
    facts: KnownFacts | None = None,
    cursor: str | None = None,
    size: int = PAGE,
    finding: PathFinder | None = None,
) -> TaskList:
    """Return the tasks that involve a screen: those that begin there first, then by id.

    With `reach` also tasks that begin on a reachable screen, each with the best path. `finding` searches that path;
    without it the path is searched in memory. Raises `BadRequest` for a foreign cursor.
    """
    finding = finding or partial(find_paths, view, facts=facts)
    related = [*_related_tasks(view, screen_id), *(_tasks_in_reach(view, screen_id) if reach else ())]
    question = f"tasks:{screen_id}:{reach}"
    begin = cursors.read(cursor, question)
    found: list[TaskSummary] = []
    for position, (relation, task_id, by) in enumerate(
        iterate_until_cancelled(related[begin:]), start=begin + 1
    ):
        summary = _summarize_related(view, screen_id, relation, task_id, by, finding)
        found += [] if summary is None else [summary]
        full = len(found) == size or position - begin == MOST_SEARCHES
        if full and position < len(related):
            return TaskList(
                website_id=view.website_id, tasks=tuple(found), next_cursor=cursors.make(position, question)
            )
    return TaskList(website_id=view.website_id, tasks=tuple(found))


def _related_tasks(view: KnowledgeView, screen_id: str) -> Iterator[RelatedTask]:
    """Those that have to do with the screen itself, each once, by its closest relation."""
    places = view.places
    begins = {task for task, screen in places.begins.items() if screen == screen_id}
    uses = set(view.tasks_of.get(screen_id, ()))
    ends = {task for task, screens in places.ends.items() if screen_id in screens}
    running = places.running(begins | uses | ends)
    told: set[str] = set()
    relations: tuple[tuple[TaskRelation, set[str]], ...] = (
        ("begins", begins),
        ("uses", uses - ends),
        ("ends", ends),
        ("by_subtask", set(running)),
    )
    for relation, tasks in relations:
        for task_id in sorted(tasks - told):
            yield relation, task_id, running.get(task_id) if relation == "by_subtask" else None
        told |= tasks


def _tasks_in_reach(view: KnowledgeView, screen_id: str) -> Iterator[RelatedTask]:
    near = {task_id for _, task_id, _ in _related_tasks(view, screen_id)}
    for task_id in sorted(view.places.begins):
        if task_id not in near:
            yield "in_reach", task_id, None


def _summarize_related(
    view: KnowledgeView,
    screen_id: str,
    relation: TaskRelation,
    task_id: str,
    by: str | None,
    finding: PathFinder,
) -> TaskSummary | None:
    """A task in the list; None where it cannot be reached."""
    more: dict[str, object] = {"relation": relation, "by": by}
    if relation == "in_reach":
        entry = view.places.begins[task_id]
        way = _path_to_entry(view, entry, finding(screen_id, entry))
        if way is None:
            return None
        more |= {"entry_screen": entry, "way": way}
    return summarize_task(view.knowledge.tasks[task_id]).model_copy(update=more)


def _path_to_entry(view: KnowledgeView, target: str, paths: PathSearchResult) -> EntryPath | None:
    """Return the best path to a screen: along transitions, else by opening its address; None if there is none."""
    found = paths.paths
    if not found:
        url = view.knowledge.screens[target].url
        return None if url is None else EntryPath(url=url)
    best = found[0]
    return EntryPath(
        transitions=tuple(step.transition_id for step in best.steps),
        expected_ms=best.expected_ms,
        reliability=best.reliability,
        assumptions=best.assumptions,
    )
