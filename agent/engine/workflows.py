"""Runs a published workflow by the one engine: nodes in order, forks judged once, loops, waits (DESIGN 6).

The tasks of its nodes are the engine's work; here is only what comes when. A node that fails ends the
workflow, unless it may be skipped. Carried on after a crash, it goes on with the node it was at (`course`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from agent.context import Shelf
from agent.engine.calls import fill_conditions
from agent.engine.course import Course
from agent.engine.engine import FATAL, Engine
from agent.engine.inputs import NOWHERE, map_inputs, resolve_inputs
from agent.engine.items import fields_of
from agent.engine.judgement import use_judgement
from agent.engine.state import DoneStep
from agent.errors import AgentError, NotInKnowledge, PersonNeeded, StepFailed
from agent.events import InputResolved, TaskEnded, TaskStarted
from agent.knowledge import Knowledge
from agent.page.errors import PageError
from kb_schema.calls import ActionCall
from kb_schema.conditions import BaseCondition
from kb_schema.iterators import NoIterator
from kb_schema.runs import EvidenceLevel, RunResult, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.values import InputSpec, IoSpec, ValueType
from kb_schema.workflows import AgentNode, AnyNode, GroupNode, TaskNode, WaitNode, Workflow

FORK_S = 2.0
"""How long a page may take to show which way to go, or what an optional step is about."""
_ITEM = ("item", "item_index", "item_position")


async def run_workflow(engine: Engine, workflow: Workflow, given: Mapping[str, Any]) -> RunResult:
    """Run it to its end and say how it came out.

    Raises what `Engine.run_task` raises where nothing was done by then; else it is in the result.
    """
    return await _Running(engine, workflow).run(given)


async def find_workflow(knowledge: Knowledge, name: str) -> Workflow | None:
    """The published workflow of that name; None where it is a task's, or nothing's."""
    try:
        await knowledge.task(name)
    except NotInKnowledge:
        with suppress(NotInKnowledge):
            return await knowledge.workflow(name)
    return None


async def run_work(engine: Engine, name: str, given: Mapping[str, Any]) -> RunResult:
    """Run the task of that name, or the workflow. Raises what `Engine.run_task` raises."""
    workflow = await find_workflow(engine.session.knowledge, name)
    if workflow is None:
        return await engine.run_task(name, given)
    return await run_workflow(engine, workflow, given)


class _Failed(Exception):
    """A node's task did not succeed."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.error or result.status)
        self.result = result


class _Running:
    """One run of one workflow."""

    def __init__(self, engine: Engine, workflow: Workflow) -> None:
        self._engine, self._session, self._workflow = engine, engine.session, workflow
        self._values: dict[str, Any] = {}
        """Inputs, built-ins, and the item of the loop that runs."""
        self._records: list[StepRecord] = []
        self._results: list[RunResult] = []
        self._depth = 0
        self._course: Course
        self._ended_at: DoneStep | None = None
        """Where the task of a node ended that was over when the run was carried on."""

    async def run(self, given: Mapping[str, Any]) -> RunResult:
        started_at, started = datetime.now(UTC), time.monotonic()
        workflow, bus = self._workflow, self._session.bus
        bus.tell(TaskStarted(workflow.workflow_id, workflow.name, 0))
        status, error, hint = RunStatus.SUCCESS, None, None
        proven = False
        try:
            await self._engine.begin(workflow.workflow_id, given)
            self._course = Course(self._engine, workflow.workflow_id, workflow.workflow_id)
            await self._engine.guide.arrive()
            await self._begin(given)
            await self._nodes(workflow.nodes)
            proven = await self._close()
        except PersonNeeded as exc:
            status, error, hint = RunStatus.NEEDS_PERSON, str(exc), exc.hint
        except _Failed as exc:
            ended = exc.result
            person = ended.status is RunStatus.NEEDS_PERSON
            status, error, hint = (
                (RunStatus.NEEDS_PERSON if person else RunStatus.FAILURE),
                ended.error,
                ended.hint,
            )
        except (AgentError, PageError) as exc:
            if isinstance(exc, FATAL) and not self._records:
                bus.tell(TaskEnded(workflow.workflow_id, RunStatus.FAILURE, 0))
                raise
            status, error, hint = RunStatus.FAILURE, str(exc), getattr(exc, "hint", None)
        bus.tell(TaskEnded(workflow.workflow_id, status, 0))
        return self._result(status, error, hint, started_at, started, proven=proven)

    def _result(
        self, status: RunStatus, error: str | None, hint: str | None, started_at: datetime, started: float,
        *, proven: bool,
    ) -> RunResult:  # fmt: skip
        redact = self._session.context.redact
        done = sum(record.status is StepStatus.DONE for record in self._records)
        failed = sum(record.status is StepStatus.FAILED for record in self._records)
        levels = {result.evidence for result in self._results}
        evidence = (
            EvidenceLevel.VERIFIED
            if proven or levels == {EvidenceLevel.VERIFIED}
            else EvidenceLevel.UNVERIFIED
        )
        if EvidenceLevel.CONTRADICTED in levels and status is not RunStatus.SUCCESS:
            evidence = EvidenceLevel.CONTRADICTED
        whole = status is RunStatus.SUCCESS
        outputs = {name: value for result in self._results for name, value in result.outputs.items()}
        return RunResult(
            run_id=self._session.context.run_id, website_id=self._session.website.website_id,
            task_id=self._workflow.workflow_id, status=status, evidence=evidence, started_at=started_at,
            duration_ms=(time.monotonic() - started) * 1000, steps=tuple(self._records), outputs=redact(outputs),
            error=redact(error), hint=redact(hint), completed_steps=done,
            total_steps=done if whole else max(done + failed, 1),
            completion_percentage=100.0 if whole else 0.0,
            confidence_score=min((result.confidence_score for result in self._results), default=0.0) if whole else 0.0,
        )  # fmt: skip

    async def _begin(self, given: Mapping[str, Any]) -> None:
        """The workflow's own inputs, all of them before the first node (KS 10.2), but for those that only some
        of its ways need: they may be left open.
        """
        engine, session, workflow = self._engine, self._session, self._workflow
        for spec in workflow.io_spec.inputs:
            if spec.secret and spec.name in given:
                session.context.keep_secret(given[spec.name])
        built_ins = session.context.built_ins(
            website_id=session.website.website_id, base_url=session.base_url, screen_id=session.screen_id,
            url=session.page.url,
        )  # fmt: skip
        nothing = TaskStep(step_id="nothing", order=1, action=ActionCall(action_type="no_op"))
        holder = Task(task_id=workflow.workflow_id, io_spec=workflow.io_spec, steps=(nothing,))
        unset: set[str] = set()

        def tell(name: str, source: str) -> None:
            session.bus.tell(InputResolved(workflow.workflow_id, name, source))
            if source == NOWHERE:
                unset.add(name)

        values = await resolve_inputs(
            holder, given, session.context, scrape=engine.scrape, built_ins=built_ins, tell=tell,
            known=self._course.frame.values,
        )  # fmt: skip
        known = {name: value for name, value in values.items() if name not in unset}
        # The task that needs what nobody gave asks for it.
        self._values = {**self._course.frame.values, **built_ins, **known}
        await self._course.keep(self._values)

    async def _close(self) -> bool:
        """Whether what the workflow is for is there. Raises `StepFailed` where it is not."""
        frame = self._course.frame
        if frame.over:
            return frame.proven
        await self._course.come_back()
        criteria = fill_conditions(self._workflow.success_criteria, self._values)
        verdicts = await self._session.judge_until_held(criteria, self._values)
        for condition, verdict in zip(criteria, verdicts, strict=True):
            if not verdict.held:
                raise StepFailed(
                    f"the workflow's end is not reached: {condition.type}: {verdict.evidence}",
                    error="postcondition", acted=True,
                )  # fmt: skip
        frame.over, frame.proven = True, bool(criteria)
        await self._course.keep(self._values)
        return bool(criteria)

    # -- nodes

    async def _nodes(self, nodes: Sequence[AnyNode]) -> None:
        for node in nodes:
            self._engine.stop.check()
            over = self._course.done(node)
            if over is not None:
                self._records.append(over)
                continue
            if not await self._decided(node, "when", node.when):
                await self._nodes(node.else_nodes)
                continue
            unless = () if node.skip_unless is None else (node.skip_unless,)
            if not await self._decided(node, "skip_unless", unless):
                await self._over(node, StepStatus.SKIPPED)
                continue
            started = time.monotonic()
            try:
                await self._node(node)
            except (_Failed, StepFailed, PageError) as exc:
                person = isinstance(exc, _Failed) and exc.result.status is RunStatus.NEEDS_PERSON
                if not node.can_skip or person:
                    raise
                await self._over(node, StepStatus.SKIPPED, error=str(exc))
            else:
                await self._over(node, StepStatus.DONE, (time.monotonic() - started) * 1000)

    async def _decided(self, node: AnyNode, about: str, conditions: tuple[BaseCondition, ...]) -> bool:
        """Whether they hold, or did when that was decided."""
        if not conditions:
            return True
        return await self._course.chosen(f"{node.node_id} {about}", lambda: self._hold(conditions))

    async def _hold(self, conditions: tuple[BaseCondition, ...]) -> bool:
        told = fill_conditions(conditions, self._values)
        verdicts = await self._session.judge_until_held(told, self._values, timeout_s=FORK_S)
        return all(verdict.held for verdict in verdicts)

    async def _node(self, node: AnyNode) -> None:
        match node:
            case TaskNode() if isinstance(node.iterator_spec, NoIterator):
                await self._task(node, node.task_id, await self._inputs(node))
            case TaskNode():
                await self._loop(node, await self._inputs(node))
            case GroupNode() if isinstance(node.iterator_spec, NoIterator):
                await self._nodes(node.nodes)
            case GroupNode():
                await self._loop(node, {})
            case WaitNode():
                await self._wait(node)
            case AgentNode():
                await self._judge(node)

    async def _inputs(self, node: TaskNode) -> dict[str, Any]:
        """A node's inputs as they are when it begins; the workflow's own values are looked at first."""
        context, name = self._session.context, self._workflow.workflow_id
        context.outputs.pop(name, None)
        context.outputs[name] = Shelf(self._values)
        try:
            return await map_inputs(node.inputs, context, scrape=self._engine.scrape, built_ins=self._values)
        finally:
            del context.outputs[name]

    async def _task(self, node: AnyNode, task_id: str, inputs: Mapping[str, Any]) -> RunResult:
        """A task of a node. Within a loop it is part of the loop's task."""
        engine, course, path = self._engine, self._course, self._course.path(node)
        begun = course.begun(path, task_id)
        over = begun is not None and begun.over
        if begun is None:
            await course.come_back(await engine.session.knowledge.task(task_id))
        place, engine.place = engine.place, path
        try:
            result = await engine.run_task(task_id, inputs, depth=self._depth)
        finally:
            engine.place = place
        if not over:
            course.came_back()
        self._ended_at = begun.ends_at if over and begun is not None else None
        self._records += result.steps
        self._results.append(result)
        if not result.succeeded:
            raise _Failed(result)
        return result

    async def _loop(self, node: TaskNode | GroupNode, inputs: Mapping[str, Any]) -> None:
        """A task of the engine's own kind whose iterator is the node's: loops are one module's business."""
        engine = self._engine
        names = {**self._values, **inputs}
        task_id = f"{self._workflow.workflow_id}.{node.node_id}"
        engine.session.knowledge.know(_looping(task_id, node, names))
        if isinstance(node, GroupNode):
            engine.groups[task_id] = lambda values: self._round(node, values)
        try:
            await self._task(node, task_id, names)
        finally:
            engine.groups.pop(task_id, None)

    async def _round(self, node: GroupNode, values: Mapping[str, Any]) -> dict[str, Any]:
        """The nodes of a group, once, for one item."""
        engine = self._engine
        place = None if engine.place is None else f"{engine.place}>{node.node_id}"
        outer, depth, course = self._values, self._depth, self._course
        self._course = Course(engine, place, node.node_id)
        self._course.begin(engine.session)
        own = {name: values[name] for name in _ITEM if name in values}
        self._values = {**outer, **own, **fields_of(values.get("item"))}
        self._depth = self._engine.depth + 1
        try:
            await self._nodes(node.nodes)
        except _Failed as exc:
            if exc.result.status is RunStatus.NEEDS_PERSON:
                raise PersonNeeded(exc.result.error or "a person is needed", hint=exc.result.hint) from exc
            raise StepFailed(str(exc), error="node_failed", acted=True) from exc
        finally:
            self._values, self._depth, self._course = outer, depth, course
        return {}

    async def _wait(self, node: WaitNode) -> None:
        await self._course.come_back()
        asker = self._session.context.asker
        if asker is None:
            raise PersonNeeded(node.prompt, hint="run it where somebody can answer")
        for name in node.outputs or ("continue",):
            answer = await asker.ask(name, node.prompt, secret=False)
            if answer is None:
                raise PersonNeeded(node.prompt, hint="nobody answered")
            if node.outputs:
                self._values[name] = answer

    async def _judge(self, node: AgentNode) -> None:
        await self._course.come_back()
        await use_judgement(self._engine, node, self._values, [record.step_id for record in self._records])

    async def _over(
        self, node: AnyNode, status: StepStatus, duration_ms: float = 0.0, *, error: str | None = None
    ) -> None:
        """A node is over. What a task or the nodes of a group did is in the records already."""
        session, ended = self._session, self._ended_at
        self._ended_at = None
        record = StepRecord(
            task_id=self._workflow.workflow_id,
            step_id=node.node_id,
            action_type=node.type,
            status=status,
            duration_ms=duration_ms,
            screen_id=session.screen_id if ended is None else ended.record.screen_id,
            error=error,
        )
        if status is StepStatus.SKIPPED or not isinstance(node, TaskNode | GroupNode):
            self._records.append(record)
        url = session.page.url if ended is None else ended.url
        await self._course.note(node, record, self._values, url)


def _looping(task_id: str, node: TaskNode | GroupNode, values: Mapping[str, Any]) -> Task:
    """The task that a node with an iterator is."""
    known = {name: value for name, value in values.items() if name.isidentifier() and name not in _ITEM}
    inputs = tuple(
        InputSpec(name=name, type=_type_of(value), required=False, source=("task_context",))
        for name, value in known.items()
    )
    step = TaskStep(
        step_id="loop", order=1, type="iterator", action=ActionCall(action_type="execute_iterator")
    )
    io_spec = IoSpec(inputs=inputs, context_persistence="task")
    made = Task(task_id=task_id, name=task_id, steps=(step,), io_spec=io_spec)
    # Only the engine sees this task: a group's iterator would be refused in one that is authored.
    return made.model_copy(update={"iterator_spec": node.iterator_spec})


def _type_of(value: Any) -> ValueType:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else "string"
