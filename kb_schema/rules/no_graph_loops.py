"""No-Graph-Loops (KS 10.1): no cycle among tasks, except through an iterator or a condition.

A task that remedies a precondition of a step counts as called: a login that needs login is a cycle.

Jumps between steps are refused when a task is parsed (`kb_schema.tasks`).
"""

from __future__ import annotations

from collections.abc import Iterator

from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase

RULE = "no-graph-loops"


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield a problem per cycle of task calls and unconditional task edges."""
    calls: dict[str, set[str]] = {task_id: set() for task_id in knowledge.tasks}
    for task_id, task in knowledge.tasks.items():
        for step in task.steps:
            remedies = (condition.remediation_task_id for condition in step.preconditions)
            calls[task_id] |= {called for called in (step.action.task_id, *remedies) if called}
    for edge in knowledge.dependencies:
        if edge.condition is None:
            calls.setdefault(edge.from_task, set()).add(edge.to_task)
    for cycle in _cycles(calls):
        way = " -> ".join([*cycle, cycle[0]])
        yield Problem(
            f"tasks call each other in a cycle: {way}",
            path="$.steps",
            document=f"task:{cycle[0]}",
            fix="repeat through `iterator_spec`, or put a condition on the task edge",
            rule=RULE,
        )


def _cycles(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """Yield one cycle for each back edge of a depth-first search; every task is visited once."""
    done: set[str] = set()
    for start in sorted(graph):
        if start in done:
            continue
        trail: list[str] = []
        on_trail: set[str] = set()
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(graph[start])))]
        trail.append(start)
        on_trail.add(start)
        while stack:
            node, neighbours = stack[-1]
            following = next(neighbours, None)
            if following is None:
                stack.pop()
                on_trail.discard(trail.pop())
                done.add(node)
            elif following in on_trail:
                yield trail[trail.index(following) :]
            elif following not in done and following in graph:
                trail.append(following)
                on_trail.add(following)
                stack.append((following, iter(sorted(graph[following]))))
