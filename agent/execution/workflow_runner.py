"""Runs a published workflow: nodes in order, branches judged once, loops, waits.

The task runner runs the tasks of its nodes; this module only decides what comes next. A node that fails ends
the workflow unless it may be skipped, or no later node changes the site (decision 0094). A resumed workflow goes on with the node at which it was interrupted
(`workflow_progress`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from agent.errors import AgentError, PersonNeeded, StepFailed, UnknownToKnowledge
from agent.events import InputResolved, TaskEnded, TaskStarted, WorkflowVersionFixed
from agent.execution.call_templates import can_start_anywhere, fill_conditions
from agent.execution.effects.effect_read_backs import AFTER_S, BEFORE_S, read_page
from agent.execution.effects.person_answers import ask_until_done
from agent.execution.judgement_node import run_judgement_node
from agent.execution.loops.loop_items import read_item_fields
from agent.execution.loops.node_loop_task import ITEM_NAMES, build_node_loop_task
from agent.execution.page_complaints import quote_complaint, read_complaint
from agent.execution.passing_messages import accept_passing_messages
from agent.execution.persistence.checkpoint_state import CompletedStep
from agent.execution.results.task_completion import CompletionPart, is_enough
from agent.execution.results.workflow_completion import NodeParts, share_of
from agent.execution.results.workflow_result import (
    WorkflowRecords,
    WorkflowRunEnd,
    build_workflow_result,
    choose_workflow_status,
)
from agent.execution.task_runner import FATAL_ERRORS, TaskRunner
from agent.execution.values.input_resolution import NOWHERE, map_inputs, resolve_inputs
from agent.execution.workflow_progress import WorkflowProgress
from agent.knowledge_client import KnowledgeClient
from agent.page.errors import PageError
from agent.run_context import TimestampedValues
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition, ElementVisible, NumberChanged, WriteAccepted
from kb_schema.iterators import NoIterator
from kb_schema.probes import VerdictStatus
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, StepRecord, StepStatus
from kb_schema.tasks import Task, TaskStep
from kb_schema.templates import tree_variables
from kb_schema.url_patterns import place_of, query_of
from kb_schema.workflow_versions import compute_workflow_version
from kb_schema.workflows import AgentNode, AnyNode, GroupNode, TaskNode, WaitNode, Workflow, walk

_READ_BEFORE = "read-back before"
ALREADY_SO = "already so: the page showed it before anything was pressed for it, and nothing was sent"
FORK_S = 2.0
"""Seconds a page may take to show which branch to take, or whether an optional node applies."""


async def run_workflow(engine: TaskRunner, workflow: Workflow, given: Mapping[str, Any]) -> RunResult:
    """Run a workflow to its end and return its result.

    Raises what `TaskRunner.run_task` raises if nothing was done yet; otherwise the error is in the result.
    """
    return await _WorkflowRun(engine, workflow).run(given)


async def find_workflow(knowledge: KnowledgeClient, name: str) -> Workflow | None:
    """Return the published workflow of that name; None if the name is a task or unknown."""
    try:
        await knowledge.task(name)
    except UnknownToKnowledge:
        with suppress(UnknownToKnowledge):
            return await knowledge.workflow(name)
    return None


async def run_task_or_workflow(engine: TaskRunner, name: str, given: Mapping[str, Any]) -> RunResult:
    """Run the task or workflow of that name. Raises what `TaskRunner.run_task` raises."""
    workflow = await find_workflow(engine.session.knowledge, name)
    if workflow is None:
        return await engine.run_task(name, given)
    return await run_workflow(engine, workflow, given)


def _is_plain_group(node: AnyNode) -> bool:
    """Return whether a node is a group that is not repeated: its nodes count, not itself."""
    return isinstance(node, GroupNode) and isinstance(node.iterator_spec, NoIterator)


class _NodeFailed(Exception):
    """A node's task failed."""

    def __init__(self, result: RunResult) -> None:
        super().__init__(result.error or result.status)
        self.result = result


class _WorkflowRun:
    """One run of one workflow."""

    def __init__(self, engine: TaskRunner, workflow: Workflow) -> None:
        self._engine, self._session, self._workflow = engine, engine.session, workflow
        self._values: dict[str, Any] = {}
        """Inputs, built-ins, and the item of the present loop."""
        self._records: list[StepRecord] = []
        self._results: list[RunResult] = []
        self._ended: dict[str, StepRecord] = {}
        """Node id -> how it ended; of a loop's nodes, the last round."""
        self._otherwise: set[str] = set()
        """Ids of the nodes whose `else_nodes` were chosen."""
        self._made_of = NodeParts(workflow.nodes, {}, {})
        self._passed_over: str | None = None
        """The failed node without which the run goes on, while the page is not where the next one begins."""
        self._trouble: tuple[str | None, str | None] | None = None
        """Error and hint of the first node that the run went on without."""
        self._early_exit = False
        self._depth = 0
        self._version: str | None = None
        self._group_loops: set[str] = set()
        """The ids of loops over groups: their evidence is that of the tasks inside."""
        self._void = False
        """The success criteria held before the last write: they say nothing about this run."""
        self._progress: WorkflowProgress
        self._shown_by: str | None = None
        """What the read-back showed that the success criteria did not."""
        self._ended_at: CompletedStep | None = None
        """Where the task of a node ended that was done before a resume."""

    async def run(self, given: Mapping[str, Any]) -> RunResult:
        started_at, started = datetime.now(UTC), time.monotonic()
        workflow, bus = self._workflow, self._session.bus
        bus.tell(TaskStarted(workflow.workflow_id, workflow.name, 0))
        end = WorkflowRunEnd()
        closing = proven = False
        self._engine.resilience.begin(None, nodes=True)
        in_order = {node.task_id for node in walk(workflow.nodes) if isinstance(node, TaskNode)}
        self._engine.dependencies.in_order = frozenset(in_order)
        try:
            given = await self._engine.begin(workflow.workflow_id, given)
            await self._fix_version()
            self._progress = WorkflowProgress(self._engine, workflow.workflow_id, workflow.workflow_id)
            self._session.criteria = self._hold_criteria
            frame = self._progress.frame
            self._ended = {name: done.record for name, done in frame.done.items()}
            self._otherwise = {
                key.removesuffix(" when")
                for key, held in frame.chosen.items()
                if key.endswith(" when") and not held
            }
            await self._engine.guide.arrive(leaves=await self._begins_elsewhere())
            await self._begin(given)
            await self._nodes(workflow.nodes)
            closing = not self._early_exit and self._trouble is None
            proven = await self._close_or_go_without(closing=closing)
            error, hint = self._trouble or (None, self._shown_by)
            end = WorkflowRunEnd(error, hint, early_exit=self._early_exit)
        except PersonNeeded as exc:
            end = WorkflowRunEnd(str(exc), exc.hint, needs_person=True)
        except _NodeFailed as exc:
            ended = exc.result
            person = ended.status is RunStatus.NEEDS_PERSON
            end = WorkflowRunEnd(ended.error or str(exc), ended.hint, needs_person=person)
        except (AgentError, PageError) as exc:
            if isinstance(exc, FATAL_ERRORS) and not self._records:
                bus.tell(TaskEnded(workflow.workflow_id, RunStatus.FAILURE, 0))
                raise
            end = WorkflowRunEnd(str(exc), getattr(exc, "hint", None), closing=closing)
        finally:
            self._session.criteria = None
            self._engine.dependencies.in_order = frozenset()
        result = self._result(end, started_at, started, proven=proven)
        self._session.memory.conclude(bus.tell, verified=result.status is RunStatus.SUCCESS)
        bus.tell(TaskEnded(workflow.workflow_id, result.status, 0))
        return result

    async def _close_or_go_without(self, *, closing: bool) -> bool:
        """Check the success criteria; return whether they hold.

        A run that went on without a node is not failed again by its criteria, and one that exits early is not asked.
        """
        if self._early_exit:
            return False
        try:
            return await self._close()
        except StepFailed:
            if closing:
                raise
            return False

    def _parts(self) -> tuple[CompletionPart, ...]:
        """Return the nodes with what is done of each so far."""
        return self._made_of.build(self._ended, self._otherwise)

    def _result(
        self, end: WorkflowRunEnd, started_at: datetime, started: float, *, proven: bool
    ) -> RunResult:
        engine, workflow = self._engine, self._workflow
        parts = self._parts()
        status = choose_workflow_status(parts, end, engine.resilience.policy())
        return build_workflow_result(
            engine,
            workflow,
            self._version,
            end,
            status,
            self._evidence(status, proven=proven),
            parts,
            WorkflowRecords(self._records, self._ended, self._results),
            started_at,
            started,
        )

    async def _fix_version(self) -> None:
        """Read what the workflow uses before the first node, so that an edit does not change a run that is under way.

        Raises `StepFailed` if a resumed run began with another version.
        """
        knowledge, state = self._session.knowledge, self._engine.checkpoints.state
        tasks, actions = await knowledge.read_parts(self._workflow)
        self._made_of = NodeParts(
            self._workflow.nodes,
            {task.task_id: task for task in tasks},
            {action.action_id: action for action in actions},
            frozenset(self._engine.resilience.policy().critical_steps),
        )
        version = compute_workflow_version(self._workflow, tasks, actions)
        self._version = state.workflow_version or version
        name = self._workflow.workflow_id
        self._session.bus.tell(WorkflowVersionFixed(name, self._version))
        if self._version != version:
            raise StepFailed(
                f"workflow {name!r} was changed while the run was interrupted: it began with version"
                f" {self._version}, and the knowledge base has version {version} now; start a new"
                f" run, or restore it with `periplus workflows rollback {name} --to {self._version}`",
                error="other_version",
            )
        state.workflow_version = version

    def _evidence(self, status: RunStatus, *, proven: bool) -> EvidenceLevel:
        """Return the evidence for the whole: its criteria, or that of every task."""
        levels = {result.evidence for result in self._results if result.task_id not in self._group_loops}
        if EvidenceLevel.CONTRADICTED in levels and status is not RunStatus.SUCCESS:
            return EvidenceLevel.CONTRADICTED
        if not (status.complete or proven):
            return EvidenceLevel.UNVERIFIED
        by_tasks = levels == {EvidenceLevel.VERIFIED} and not self._workflow.unverified and not self._void
        return EvidenceLevel.VERIFIED if proven or by_tasks else EvidenceLevel.UNVERIFIED

    async def _begins_elsewhere(self) -> bool:
        """Whether the first step of the first node's task opens a page of its own."""
        first = self._workflow.nodes[0]
        if not isinstance(first, TaskNode):
            return False
        task = await self._session.knowledge.task(first.task_id)
        return can_start_anywhere(task.ordered_steps[0].action)

    async def _begin(self, given: Mapping[str, Any]) -> None:
        """Resolve the workflow's own inputs before the first node (KS 10.2), except those that only some
        branches need.
        """
        engine, session, workflow = self._engine, self._session, self._workflow
        for spec in workflow.io_spec.inputs:
            if spec.secret and spec.name in given:
                session.context.keep_secret(given[spec.name])
        built_ins = session.context.built_ins(
            website_id=session.website.website_id,
            base_url=session.base_url,
            screen_id=session.screen_id,
            url=session.page.url,
        )
        nothing = TaskStep(step_id="nothing", order=1, action=ActionCall(action_type="no_op"))
        holder = Task(task_id=workflow.workflow_id, io_spec=workflow.io_spec, steps=(nothing,))
        unset: set[str] = set()

        def tell(name: str, source: str) -> None:
            session.bus.tell(InputResolved(workflow.workflow_id, name, source))
            if source == NOWHERE:
                unset.add(name)

        values = await resolve_inputs(
            holder,
            given,
            session.context,
            scrape=engine.scrape,
            built_ins=built_ins,
            tell=tell,
            known=self._progress.frame.values,
        )
        known = {name: value for name, value in values.items() if name not in unset}
        # The task that needs a missing input asks for it.
        self._values = {**self._progress.frame.values, **built_ins, **known}
        await self._progress.keep(self._values)

    async def _close(self) -> bool:
        """Check the workflow's success criteria; return whether they show that it worked.

        A criterion about an empty value is not asked. What held before the last write is no evidence of it. What was
        sent or shown before a resume is not known, nor what the page showed after a step of which a person says that it
        happened. Raises `StepFailed` if another criterion does not hold.
        """
        frame = self._progress.frame
        if frame.over:
            return frame.proven
        await self._progress.come_back()
        criteria = fill_conditions(self._list_asked(), self._values)
        verdicts = await self._session.judge_until_held(criteria, self._values)
        if not all(verdict.held for verdict in verdicts) and await read_complaint(self._session) is None:
            verdicts = await accept_passing_messages(self._session.page, criteria, verdicts)
        told = self._engine.resumption.told_happened
        forgotten = [
            (isinstance(condition, WriteAccepted | NumberChanged) and verdict.status is VerdictStatus.UNKNOWN)
            or (told and not verdict.held)
            for condition, verdict in zip(criteria, verdicts, strict=True)
        ]
        for condition, verdict, unknown in zip(criteria, verdicts, forgotten, strict=True):
            if not verdict.held and not unknown:
                missing = StepFailed(
                    f"success criterion {condition.type} of the workflow does not hold: {verdict.evidence}",
                    error="postcondition",
                    acted=True,
                )
                complaint, names = await read_complaint(self._session), self._workflow.io_spec.inputs
                if complaint is None and await self._is_read_back():
                    frame.over, frame.proven = True, True
                    await self._progress.keep(self._values)
                    return True
                raise quote_complaint(
                    missing, complaint, self._values, [each.name for each in names], kind=missing.error
                )
        presses = self._session.presses
        self._void = presses.held_before or (told and any(forgotten))
        if presses.already and not presses.accepted and criteria:
            self._shown_by = ALREADY_SO
        proven = bool(criteria) and not self._void and not any(forgotten)
        frame.over, frame.proven = True, proven or await self._is_read_back()
        await self._progress.keep(self._values)
        return frame.proven

    async def _look_before(self) -> None:
        """Note whether the read-back of the workflow holds when its page is first seen before a press."""
        rule, session, chosen = self._workflow.read_back, self._session, self._progress.frame.chosen
        if rule is None or _READ_BEFORE in chosen or any(map(self._lacks_value, rule.conditions)):
            return
        there = self._engine.guide.resolved(rule.url)
        if place_of(session.page.url) != place_of(there) or query_of(session.page.url) != query_of(there):
            return  # with another query, the list may show other rows
        conditions = fill_conditions((rule.is_drawn, *rule.conditions), self._values)
        drawn, *verdicts = await session.judge_until_held(conditions, self._values, timeout_s=BEFORE_S)
        # What cannot be judged counts as held: nothing can be told from it afterwards.
        unknown = not drawn.held or any(each.status is VerdictStatus.UNKNOWN for each in verdicts)
        chosen[_READ_BEFORE] = unknown or all(each.held for each in verdicts)

    async def _is_read_back(self) -> bool:
        """Whether the read-back of the workflow holds now, and did not before the press that followed."""
        rule = self._workflow.read_back
        if rule is None or self._progress.frame.chosen.get(_READ_BEFORE, True):
            return False
        shown = await read_page(self._engine, rule, self._values, AFTER_S) is True
        if shown:
            self._shown_by = f"the success criteria did not show it; {rule.url} does, and did not before"
        return shown

    async def _hold_criteria(self) -> bool:
        """Whether all success criteria about the page hold now, before a press. A write to come is none: it may change
        nothing.
        """
        asked = self._list_asked()
        asked = tuple(each for each in asked if not isinstance(each, WriteAccepted)) or asked
        try:
            await self._look_before()
            verdicts = await self._session.judge(fill_conditions(asked, self._values), self._values)
        except (AgentError, PageError):
            return False
        return bool(asked) and all(verdict.held for verdict in verdicts)

    def _list_asked(self) -> tuple[BaseCondition, ...]:
        """Return the success criteria without those about an empty value, and about writes where it is so already."""
        already = self._session.presses.already
        return tuple(
            each
            for each in self._workflow.success_criteria
            if not (self._lacks_value(each) or (already and isinstance(each, WriteAccepted)))
        )

    def _lacks_value(self, condition: BaseCondition) -> bool:
        """Whether a condition is about a value that is empty in this run."""
        names = tree_variables(condition.to_json())
        return any(self._values.get(name, "?") in ("", None) for name in names)

    # -- nodes

    async def _nodes(self, nodes: Sequence[AnyNode]) -> None:
        for node in nodes:
            self._engine.stop.check()
            over = self._progress.done(node)
            if over is not None:
                self._records.append(over)
                self._recall(node)
                continue
            if self._is_out_of_reach(node):
                why = f"not reached: node {self._passed_over!r} failed"
                await self._over(node, StepStatus.SKIPPED, error=why, degraded=True)
                continue
            self._engine.resilience.check_time()
            if not await self._decided(node, "when", node.when):
                self._otherwise.add(node.node_id)
                await self._nodes(node.else_nodes)
                if self._early_exit:
                    return
                continue
            if not await self._decided_to_run(node):
                await self._over(node, StepStatus.SKIPPED)
                continue
            started = time.monotonic()
            try:
                await self._node(node)
            except (_NodeFailed, StepFailed, PageError) as exc:
                person = isinstance(exc, _NodeFailed) and exc.result.status is RunStatus.NEEDS_PERSON
                if node.can_skip and not person:
                    await self._over(node, StepStatus.SKIPPED, error=str(exc))
                    continue
                self._note_failure(node, exc)
                if person or not self._may_go_on(node):
                    raise
                await self._go_on_without(node, exc)
            else:
                if self._early_exit:
                    return
                self._passed_over = self._passed_over if _is_plain_group(node) else None
                await self._over(node, StepStatus.DONE, (time.monotonic() - started) * 1000)
            if self._depth == 0 and is_enough(self._parts(), self._engine.resilience.policy()):
                self._early_exit = True
                return

    def _is_out_of_reach(self, node: AnyNode) -> bool:
        """Whether a node depends on the page of a failed one."""
        if self._passed_over is None or _is_plain_group(node):
            return False
        return not self._made_of.starts_anywhere(node)

    def _recall(self, node: AnyNode) -> None:
        """Note what a node that was over before a resume means for the nodes after it."""
        for each in walk((node,)):
            record = self._ended.get(each.node_id)
            if record is None or _is_plain_group(each):
                continue
            if record.degraded:
                self._trouble = self._trouble or (record.error, None)
                self._passed_over = self._passed_over or each.node_id
            elif record.status is StepStatus.DONE:
                self._passed_over = None

    def _note_failure(self, node: AnyNode, error: Exception) -> None:
        """Record how much of a node was done that failed."""
        result = error.result if isinstance(error, _NodeFailed) else None
        if _is_plain_group(node):
            return  # its nodes are recorded
        share = 0.0 if result is None else share_of(result)
        self._ended[node.node_id] = self._record(node, StepStatus.FAILED, error=str(error)).model_copy(
            update={"share": share, "confidence": None if result is None else result.confidence_score}
        )

    def _may_go_on(self, node: AnyNode) -> bool:
        """Whether no later node can do harm without this one (WR degradation; decision 0094)."""
        policy, parts = self._engine.resilience.policy(), self._parts()
        found = next((number for number, part in enumerate(parts) if part.step_id == node.node_id), None)
        if self._depth > 0 or found is None or found + 1 == len(parts) or not policy.enable_degradation:
            return False
        self._engine.resilience.check_time()
        if parts[found].critical and parts[found].share <= 0:
            return False
        return not any(part.changes for part in parts[found + 1 :])

    async def _go_on_without(self, node: AnyNode, error: Exception) -> None:
        """Pass over a failed node; a resumed run does not start it again."""
        hint = error.result.hint if isinstance(error, _NodeFailed) else getattr(error, "hint", None)
        self._trouble = self._trouble or (str(error), hint)
        self._passed_over = node.node_id
        self._engine.checkpoints.state.ledger.over = False
        failed = self._ended[node.node_id]
        status = StepStatus.DONE if failed.share else StepStatus.SKIPPED
        record = failed.model_copy(update={"status": status, "degraded": True})
        self._ended[node.node_id] = record
        self._records.append(record)
        await self._progress.note(node, record, self._values, self._session.page.url)

    async def _decided(self, node: AnyNode, about: str, conditions: tuple[BaseCondition, ...]) -> bool:
        """Whether the conditions hold, or held when that was decided."""
        if not conditions:
            return True
        return await self._progress.chosen(f"{node.node_id} {about}", lambda: self._hold(conditions))

    async def _decided_to_run(self, node: AnyNode) -> bool:
        """Whether a node without which the workflow may go on applies, or did when that was decided."""
        unless = node.skip_unless
        if unless is None:
            return True

        async def applies() -> bool:
            return await self._hold((unless,)) or await self._is_elsewhere(node, unless)

        return await self._progress.chosen(f"{node.node_id} skip_unless", applies)

    async def _is_elsewhere(self, node: AnyNode, unless: BaseCondition) -> bool:
        """Whether the element that an optional node waits for is there as it was recorded, under another selector."""
        if not isinstance(node, TaskNode) or not isinstance(unless, ElementVisible):
            return False
        task = await self._session.knowledge.task(node.task_id)
        call = task.ordered_steps[0].action
        if call.target != unless.element:
            return False
        try:
            return await self._engine.actions.is_recorded_element_elsewhere(call, self._values)
        except (AgentError, PageError):
            return False

    async def _hold(self, conditions: tuple[BaseCondition, ...]) -> bool:
        filled = fill_conditions(conditions, self._values)
        verdicts = await self._session.judge_until_held(filled, self._values, timeout_s=FORK_S)
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
        """A node's inputs as they are when it begins; the workflow's own values come first."""
        context, name = self._session.context, self._workflow.workflow_id
        context.outputs.pop(name, None)
        context.outputs[name] = TimestampedValues(self._values)
        try:
            specs = (await self._session.knowledge.task(node.task_id)).io_spec.inputs
            return await map_inputs(
                node.inputs, context, scrape=self._engine.scrape, built_ins=self._values, inputs=specs
            )
        finally:
            del context.outputs[name]

    async def _task(self, node: AnyNode, task_id: str, inputs: Mapping[str, Any]) -> RunResult:
        """Run a node's task. Inside a loop it is part of the loop's task."""
        engine, progress, path = self._engine, self._progress, self._progress.path(node)
        begun = progress.begun(path, task_id)
        over = begun is not None and begun.over
        if begun is None:
            await progress.come_back(await engine.session.knowledge.task(task_id))
        place, engine.place = engine.place, path
        try:
            result = await engine.run_task(task_id, inputs, depth=self._depth)
        finally:
            engine.place = place
        if not over:
            progress.came_back()
        self._ended_at = begun.ends_at if over and begun is not None else None
        self._records += result.steps
        self._results.append(result)
        if not result.complete:
            raise _NodeFailed(result)
        return result

    async def _loop(self, node: TaskNode | GroupNode, inputs: Mapping[str, Any]) -> None:
        """Run a node's iterator as a generated task, so that the task runner executes all loops."""
        engine = self._engine
        names = {**self._values, **inputs}
        task_id = f"{self._workflow.workflow_id}.{node.node_id}"
        engine.session.knowledge.know(build_node_loop_task(task_id, node, names))
        if isinstance(node, GroupNode):
            self._group_loops.add(task_id)
            engine.groups[task_id] = lambda values: self._round(node, values)
        try:
            await self._task(node, task_id, names)
        finally:
            engine.groups.pop(task_id, None)

    async def _round(self, node: GroupNode, values: Mapping[str, Any]) -> dict[str, Any]:
        """Run the nodes of a group once, for one item."""
        engine = self._engine
        place = None if engine.place is None else f"{engine.place}>{node.node_id}"
        outer, depth, progress = self._values, self._depth, self._progress
        self._progress = WorkflowProgress(engine, place, node.node_id)
        self._progress.begin(engine.session)
        own = {name: values[name] for name in ITEM_NAMES if name in values}
        self._values = {**outer, **own, **read_item_fields(values.get("item"))}
        self._depth = self._engine.depth + 1
        try:
            await self._nodes(node.nodes)
        except _NodeFailed as exc:
            if exc.result.status is RunStatus.NEEDS_PERSON:
                raise PersonNeeded(exc.result.error or "a node needs a person", hint=exc.result.hint) from exc
            raise StepFailed(str(exc), error="node_failed", acted=True) from exc
        finally:
            self._values, self._depth, self._progress = outer, depth, progress
        return {}

    async def _wait(self, node: WaitNode) -> None:
        await self._progress.come_back()
        asker = self._session.context.asker
        if asker is None:
            raise PersonNeeded(node.prompt, hint="run it in a terminal, where you can answer")
        if not node.outputs and not await ask_until_done(self._session.context, node.prompt):
            raise PersonNeeded(node.prompt, hint="there was no answer: run it again and answer")
        for name in node.outputs:
            answer = await asker.ask(name, node.prompt, secret=False)
            if answer is None:
                raise PersonNeeded(node.prompt, hint="there was no answer: run it again and answer")
            self._values[name] = answer

    async def _judge(self, node: AgentNode) -> None:
        await self._progress.come_back()
        await run_judgement_node(
            self._engine, node, self._values, [record.step_id for record in self._records]
        )

    def _record(
        self, node: AnyNode, status: StepStatus, duration_ms: float = 0.0, *, error: str | None = None
    ) -> StepRecord:
        session, ended = self._session, self._ended_at
        return StepRecord(
            task_id=self._workflow.workflow_id,
            step_id=node.node_id,
            action_type=node.type,
            status=status,
            duration_ms=duration_ms,
            screen_id=session.screen_id if ended is None else ended.record.screen_id,
            error=None if error is None else session.context.redact(error),
        )

    async def _over(
        self,
        node: AnyNode,
        status: StepStatus,
        duration_ms: float = 0.0,
        *,
        error: str | None = None,
        degraded: bool = False,
    ) -> None:
        """Record that a node is over. The steps of its task or group are in the records already."""
        ended = self._ended_at
        record = self._record(node, status, duration_ms, error=error).model_copy(
            update={"degraded": degraded}
        )
        self._ended_at = None
        if status is StepStatus.DONE and isinstance(node, TaskNode) and self._results:
            record = record.model_copy(update={"confidence": self._results[-1].confidence_score})
        if status is StepStatus.SKIPPED or not isinstance(node, TaskNode | GroupNode):
            self._records.append(record)
        self._ended[node.node_id] = record
        url = self._session.page.url if ended is None else ended.url
        await self._progress.note(node, record, self._values, url)
