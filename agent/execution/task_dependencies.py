"""Tasks that depend on tasks: prerequisites first, and circles under a condition as loops (KS 3, 10.1 option A).

Decision 0095 says when a prerequisite counts as done.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from agent.errors import StepFailed, SubtaskFailed
from agent.execution.call_templates import fill_conditions
from agent.execution.recovery.precondition_remedies import name_failed_sign_in
from agent.run_context import is_meaningful
from kb_schema.conditions import BaseCondition, Combined
from kb_schema.graph_documents import TaskDependency
from kb_schema.probes import VerdictStatus

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun
    from agent.knowledge_client import KnowledgeClient
    from kb_schema.run_records import RunResult

ROUND_S = 1.0
"""Seconds that a page may take to show the end of a circle."""
MOST_ROUNDS = 50
"""Rounds of a circle of tasks at most, as of an iterator (KS 4.3)."""


class TaskDependencies:
    """Carries out prerequisites and circles for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine
        self.in_order: frozenset[str] = frozenset()
        """Tasks whose order a workflow states: their edges only repeat it."""
        self._circle: frozenset[str] = frozenset()
        """Tasks of the circle that is repeated now: each runs once a round."""

    async def of(self, task_id: str) -> Sequence[TaskDependency]:
        """Return the edges by which a task depends on others; none where pages are only read."""
        session = self._engine.session
        return () if session.beside else await session.knowledge.dependencies(task_id)

    async def carry_out(self, run: TaskRun, given: Mapping[str, Any]) -> None:
        """Run the tasks that a task depends on, before its first step. A resumed task has them behind it.

        Raises `StepFailed`, `InputMissing` or `PersonNeeded` of the first one that does not succeed.
        """
        if run.frame.done:
            return
        for edge in await self.of(run.task.task_id):
            needed = edge.to_task
            if needed in self.in_order or needed in self._circle or needed in run.running:
                continue
            values = {**self._engine.session.context.known_values(), **given}
            conditions = () if edge.condition is None else (edge.condition,)
            if not await self._hold(conditions, values, f"whether {needed!r} comes first"):
                continue
            if not await self._is_done(needed, values):
                await self._run(run, needed, given, f"{run.path}/depends_on")

    async def repeat(self, run: TaskRun, given: Mapping[str, Any]) -> None:
        """Run a circle of tasks again while the conditions of its edges hold; only for the task it was entered by.

        Raises `StepFailed`, also if the conditions still hold after `MOST_ROUNDS` rounds.
        """
        task_id = run.task.task_id
        if task_id in self._circle or self._engine.session.beside:
            return
        circle = await find_circle(self._engine.session.knowledge, task_id)
        members = [edge.to_task for edge in circle]
        if not circle or run.running & (set(members) - {task_id}) or set(members) & self.in_order:
            return
        conditions = tuple(edge.condition for edge in circle if edge.condition is not None)
        outer, self._circle = self._circle, frozenset(members)
        try:
            number = 0
            while not await self._is_over(task_id, conditions, run.values):
                if number == MOST_ROUNDS:
                    raise StepFailed(
                        f"task {task_id!r} was repeated {MOST_ROUNDS} times, and the condition of its circle still holds",
                        error="too_many_rounds",
                        acted=True,
                    )
                place = f"{run.path}/round[{number}]"
                for member in (*reversed(members[:-1]), task_id):  # what is depended on comes first
                    result = await self._run(run, member, given, place)
                    if member == task_id:
                        read = {name: value for name, value in result.outputs.items() if is_meaningful(value)}
                        run.outputs.update(read)
                if run.path is not None:
                    self._engine.checkpoints.state.forget(place)
                number += 1
        finally:
            self._circle = outer

    async def _run(self, run: TaskRun, task_id: str, given: Mapping[str, Any], place: str) -> RunResult:
        engine = self._engine
        task = await engine.session.knowledge.task(task_id)
        inputs = {spec.name: given[spec.name] for spec in task.io_spec.inputs if spec.name in given}
        outer, engine.place = engine.place, None if run.path is None else place
        try:
            return await engine.sub_task(task_id, inputs, run.depth)
        except SubtaskFailed as exc:
            raise name_failed_sign_in(exc, task_id, engine.session.website) from exc
        finally:
            engine.place = outer

    async def _hold(
        self, conditions: tuple[BaseCondition, ...], values: Mapping[str, Any], what: str
    ) -> bool:
        if not conditions:
            return True
        session = self._engine.session
        verdicts = await session.judge(fill_conditions(conditions, values), values)
        unknown = next((each for each in verdicts if each.status is VerdictStatus.UNKNOWN), None)
        if unknown is not None:
            raise StepFailed(f"{what} could not be evaluated: {unknown.evidence}", error="condition_unknown")
        return all(verdict.held for verdict in verdicts)

    async def _is_over(
        self, task_id: str, conditions: tuple[BaseCondition, ...], values: Mapping[str, Any]
    ) -> bool:
        """Whether a condition of a circle does not hold any more; the page may take a moment to show that."""
        filled = fill_conditions(conditions, values)
        going_on = Combined(type="all_of", conditions=cast("tuple[Any, ...]", filled))
        over = Combined(type="none_of", conditions=(going_on,))
        patience = max([ROUND_S, *(each.timeout or 0.0 for each in filled)])
        (verdict,) = await self._engine.session.judge_until_held([over], values, timeout_s=patience)
        if verdict.status is VerdictStatus.UNKNOWN:
            raise StepFailed(
                f"whether {task_id!r} goes on could not be evaluated: {verdict.evidence}",
                error="condition_unknown",
            )
        return verdict.held

    async def _is_done(self, task_id: str, values: Mapping[str, Any]) -> bool:
        """Whether a task is done: the page shows a signed-in session, or what the task is for, or it ran before."""
        session = self._engine.session
        if task_id == session.website.login_task_id and (signed_in := await session.signed_in()) is not None:
            return signed_in
        task = await session.knowledge.task(task_id)
        if task.already_done_when:
            try:
                filled = fill_conditions(task.already_done_when, values)
            except StepFailed:  # a value that only the task itself resolves
                return task_id in session.context.succeeded
            if all(verdict.held for verdict in await session.judge(filled, values)):
                return True
        return task_id in session.context.succeeded


async def find_circle(knowledge: KnowledgeClient, task_id: str) -> tuple[TaskDependency, ...]:
    """Return the edges from a task back to itself, the shortest way; none if there is no way."""
    waiting: list[tuple[TaskDependency, ...]] = [(edge,) for edge in await knowledge.dependencies(task_id)]
    seen: set[str] = set()
    while waiting:
        trail = waiting.pop(0)
        last = trail[-1].to_task
        if last == task_id:
            return trail
        if last not in seen:
            seen.add(last)
            waiting += [(*trail, edge) for edge in await knowledge.dependencies(last)]
    return ()


async def list_prerequisites(
    knowledge: KnowledgeClient, task_id: str, within: Collection[str] = ()
) -> list[tuple[TaskDependency, int]]:
    """Return the edges to all tasks that come before a task, in the order in which they run, with their depth.

    Edges back to a task of the same chain are left out: they are circles (`find_circle`).
    """
    found: list[tuple[TaskDependency, int]] = []
    chain = {*within, task_id}
    for edge in await knowledge.dependencies(task_id):
        if edge.to_task in chain or any(each.to_task == edge.to_task for each, _ in found):
            continue
        found += [
            each
            for each in await list_prerequisites(knowledge, edge.to_task, chain)
            if each[0].to_task not in {known.to_task for known, _ in found}
        ]
        found.append((edge, len(within)))
    return found
