"""A task's steps as `task_completion` counts them, from the records of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.errors import AgentError
from agent.execution.call_templates import COMPOSITE_ACTIONS, is_idempotent
from agent.execution.results.task_completion import CompletionPart
from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import StepRecord, StepStatus
from kb_schema.tasks import TaskStep

if TYPE_CHECKING:
    from agent.execution.task_run import TaskRun
    from agent.knowledge_client import KnowledgeClient

READS = frozenset({"get_screen_content"})


async def build_completion_parts(
    run: TaskRun, policy: ResiliencePolicy, knowledge: KnowledgeClient
) -> tuple[CompletionPart, ...]:
    """Return one part per step, in the order of the steps."""
    found = []
    for index in range(len(run.steps)):
        step = run.authored(index)
        repeatable = await _repeatable(run, step, knowledge)
        found.append(_part(run, step, policy, repeatable=repeatable, last=index + 1 == len(run.steps)))
    return tuple(found)


def leads_somewhere(step: TaskStep) -> bool:
    """Return whether later steps depend on the page it leads to."""
    named = any(condition.needs_screen for condition in step.postconditions)
    return named or step.action.canonical_type in ("navigate", "navigate_back")


async def _repeatable(run: TaskRun, step: TaskStep, knowledge: KnowledgeClient) -> bool:
    """As found when the step ran; else as the knowledge base says without a page."""
    if step.step_id in run.repeatable:
        return run.repeatable[step.step_id]
    if step.repeatable is not None:
        return step.repeatable
    try:
        document = await knowledge.action(step.action.action_type)
    except AgentError:
        document = None  # the knowledge server is gone: use the action type
    return is_idempotent(step.action, document)


def _part(
    run: TaskRun, step: TaskStep, policy: ResiliencePolicy, *, repeatable: bool, last: bool
) -> CompletionPart:
    record = run.last_record(step.step_id)
    composite = step.action.canonical_type in COMPOSITE_ACTIONS
    due = [
        output
        for output in run.task.io_spec.outputs
        if output.after_step == step.step_id or (last and output.after_step is None)
    ]
    critical = step.critical
    if critical is None:
        single = not (repeatable or composite or step.allow_partial_success)
        named = step.step_id in policy.critical_steps
        critical = step.required and (named or (single and _counts(step, record)))
    missing = sum(output.name in run.missing_outputs for output in due)
    return CompletionPart(
        step_id=step.step_id,
        share=_share(record) / (1 + missing),
        leaves=composite or not repeatable or bool(due) or step.action.canonical_type in READS,
        counts=_counts(step, record),
        critical=critical,
        confidence=None if record is None else record.confidence,
        reached=(record is not None and record.status is not StepStatus.SKIPPED) or _degraded(record),
        degraded=_degraded(record) or (record is not None and 0 < _share(record) < 1),
        changes=composite or not repeatable,
    )


def _degraded(record: StepRecord | None) -> bool:
    return record is not None and record.degraded


def _share(record: StepRecord | None) -> float:
    if record is None:
        return 0.0
    if record.share is not None:
        return record.share
    return 1.0 if record.status is StepStatus.DONE else 0.0


def _counts(step: TaskStep, record: StepRecord | None) -> bool:
    """Optional steps do not count, nor steps that did not apply."""
    if step.can_skip or not step.required:
        return False
    left_out = record is not None and record.status is StepStatus.SKIPPED and not record.degraded
    return not left_out
