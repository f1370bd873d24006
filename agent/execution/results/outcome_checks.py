"""Judges a step or task on the page: its conditions, acceptable outcomes and evidence (WR 3).

The rules are `agent.execution.outcome_evaluation`; this module reads the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.errors import StepFailed
from agent.execution.call_templates import fill_conditions
from agent.execution.outcome_evaluation import (
    OutcomeDemands,
    OutcomeEvaluation,
    OutcomeEvidence,
    evaluate_outcome,
    status_for_success,
)
from kb_schema.conditions import BaseCondition
from kb_schema.probes import Verdict, VerdictStatus
from kb_schema.resilience_policy import MIN_PARTIAL_CONFIDENCE, ResiliencePolicy
from kb_schema.tasks import Task, TaskStep

if TYPE_CHECKING:
    from agent.execution.execution_ports import TaskExecution
    from agent.execution.task_run import TaskRun

EVIDENCE_S = 5.0
"""Seconds required evidence may take to appear after the outcome."""


StepOrTask = TaskStep | Task
"""Either may state more than postconditions (WR 3.1)."""


@dataclass(frozen=True, slots=True)
class _OutcomeQuery:
    """All conditions stated for an outcome."""

    primary: tuple[BaseCondition, ...]
    alternatives: tuple[BaseCondition, ...]
    required: tuple[BaseCondition, ...]
    optional: tuple[BaseCondition, ...]


class OutcomeChecker:
    """Judges for one task runner."""

    def __init__(self, engine: TaskExecution) -> None:
        self._engine = engine

    async def step(self, run: TaskRun, step: TaskStep, policy: ResiliencePolicy) -> list[Verdict]:
        """Judge what the step brought about, into `run.judged`.

        Raises `StepFailed` if it is neither the wanted nor an acceptable outcome, nor enough of it.
        """
        stated = step.postconditions + ((step.validation,) if step.validation else ())
        what = f"step {step.step_id!r}: postcondition"
        verdicts, evaluation = await self._judge(run, stated, step, what, policy)
        run.judged[step.step_id] = evaluation
        return verdicts

    async def task(self, run: TaskRun, policy: ResiliencePolicy) -> None:
        """Judge the task's success criteria, into `run.criteria` if there are any. Raises `StepFailed`."""
        task = run.task
        _, evaluation = await self._judge(run, task.success_criteria, task, "success criterion", policy)
        if task.success_criteria or _flexible(task):
            run.criteria = evaluation

    async def _judge(
        self,
        run: TaskRun,
        stated: Sequence[BaseCondition],
        rules: StepOrTask,
        what: str,
        policy: ResiliencePolicy,
    ) -> tuple[list[Verdict], OutcomeEvaluation]:
        failed: StepFailed | None = None
        try:
            verdicts = await self._engine.steps.confirm(run, stated, what)
        except StepFailed as exc:
            if exc.error != "postcondition" or not _flexible(rules):
                raise
            failed, verdicts = exc, []
        if not _flexible(rules):
            return verdicts, evaluate_outcome(
                OutcomeEvidence(primary=tuple(VerdictStatus.HELD for _ in verdicts))
            )
        query = _OutcomeQuery(
            fill_conditions(tuple(stated), run.values),
            fill_conditions(rules.acceptable_outcomes, run.values) if failed else (),
            fill_conditions(rules.required_evidence, run.values),
            fill_conditions(rules.optional_evidence, run.values),
        )
        seen, evidence = await self._look(run, query, failed)
        evaluation = evaluate_outcome(evidence, _demands(rules, policy))
        if evaluation.outcome is None:
            reason = str(failed) if failed else f"{what.rpartition(':')[0] or what}: {evaluation.reason}"
            run.contradicted = True
            raise StepFailed(reason, error="postcondition", acted=True)
        run.contradicted = False
        run.proven = run.proven or any(verdict.held for verdict in seen)
        return seen, evaluation

    async def _look(
        self, run: TaskRun, query: _OutcomeQuery, failed: StepFailed | None
    ) -> tuple[list[Verdict], OutcomeEvidence]:
        """One round trip, after waiting for required evidence."""
        session = self._engine.session
        if query.required:
            await session.judge_until_held(query.required, run.values, timeout_s=EVIDENCE_S)
        groups = (query.primary, query.alternatives, query.required, query.optional)
        conditions = [condition for group in groups for condition in group]
        verdicts = await session.judge(conditions, run.values)
        statuses = iter([status_for_success(c, v) for c, v in zip(conditions, verdicts, strict=True)])
        primary, alternatives, required, optional = (tuple(next(statuses) for _ in group) for group in groups)
        if failed is None:  # it held in time; a message may have disappeared since
            primary = tuple(VerdictStatus.HELD for _ in primary)
        return verdicts, OutcomeEvidence(primary, alternatives, required, optional)


def _flexible(rules: StepOrTask) -> bool:
    return bool(
        rules.acceptable_outcomes
        or rules.required_evidence
        or rules.optional_evidence
        or rules.allow_partial_success
    )


def _demands(rules: StepOrTask, policy: ResiliencePolicy) -> OutcomeDemands:
    own = rules.min_success_confidence
    return OutcomeDemands(
        rules.allow_partial_success,
        policy.min_success_confidence if own is None else own,
        MIN_PARTIAL_CONFIDENCE if own is None else own,
    )
