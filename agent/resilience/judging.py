"""Asking the page what a step or a task came to: its conditions, acceptable outcomes and evidence (WR 3).

The rules are `evaluation.py`; this is the part that looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.engine.calls import fill_conditions
from agent.errors import StepFailed
from agent.resilience.evaluation import Demands, Evaluation, Evidence, evaluate, satisfied
from kb_schema.conditions import BaseCondition
from kb_schema.probes import Status, Verdict
from kb_schema.resilience import MIN_PARTIAL_CONFIDENCE, ResiliencePolicy
from kb_schema.tasks import Task, TaskStep

if TYPE_CHECKING:
    from agent.engine.engine import Engine
    from agent.engine.running import Run

EVIDENCE_S = 5.0
"""How long required evidence may take to be there, once the outcome is."""


Judged = TaskStep | Task
"""What may say more of its outcome than that it holds (WR 3.1)."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One look at everything that is stated of an outcome."""

    primary: tuple[BaseCondition, ...]
    alternatives: tuple[BaseCondition, ...]
    required: tuple[BaseCondition, ...]
    optional: tuple[BaseCondition, ...]


class Judging:
    """Judges for one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def step(self, run: Run, step: TaskStep, policy: ResiliencePolicy) -> list[Verdict]:
        """What the step brought about, in its time. The judgement goes into `run.judged`.

        Raises `StepFailed` where it is neither what was wanted, nor acceptable, nor enough of it.
        """
        stated = step.postconditions + ((step.validation,) if step.validation else ())
        what = f"step {step.step_id!r}: postcondition"
        verdicts, evaluation = await self._judge(run, stated, step, what, policy)
        run.judged[step.step_id] = evaluation
        return verdicts

    async def task(self, run: Run, policy: ResiliencePolicy) -> None:
        """Whether the task's success criteria hold, likewise, into `run.criteria`. Raises `StepFailed`."""
        task = run.task
        _, run.criteria = await self._judge(run, task.success_criteria, task, "success criterion", policy)

    async def _judge(
        self, run: Run, stated: Sequence[BaseCondition], rules: Judged, what: str, policy: ResiliencePolicy
    ) -> tuple[list[Verdict], Evaluation]:
        failed: StepFailed | None = None
        try:
            verdicts = await self._engine.steps.confirm(run, stated, what)
        except StepFailed as exc:
            if exc.error != "postcondition" or not _flexible(rules):
                raise
            failed, verdicts = exc, []
        if not _flexible(rules):
            return verdicts, evaluate(Evidence(primary=tuple(Status.HELD for _ in verdicts)))
        asked = _Asked(
            fill_conditions(tuple(stated), run.values),
            fill_conditions(rules.acceptable_outcomes, run.values) if failed else (),
            fill_conditions(rules.required_evidence, run.values),
            fill_conditions(rules.optional_evidence, run.values),
        )
        seen, evidence = await self._look(run, asked, failed)
        evaluation = evaluate(evidence, _demands(rules, policy))
        if evaluation.outcome is None:
            reason = str(failed) if failed else f"{what.rpartition(':')[0] or what}: {evaluation.reason}"
            run.contradicted = True
            raise StepFailed(reason, error="postcondition", acted=True)
        run.contradicted = False
        run.proven = run.proven or any(verdict.held for verdict in seen)
        return seen, evaluation

    async def _look(
        self, run: Run, asked: _Asked, failed: StepFailed | None
    ) -> tuple[list[Verdict], Evidence]:
        """One round trip, after the required evidence had its time."""
        session = self._engine.session
        if asked.required:
            await session.judge_until_held(asked.required, run.values, timeout_s=EVIDENCE_S)
        groups = (asked.primary, asked.alternatives, asked.required, asked.optional)
        conditions = [condition for group in groups for condition in group]
        verdicts = await session.judge(conditions, run.values)
        told = iter([satisfied(c, v) for c, v in zip(conditions, verdicts, strict=True)])
        primary, alternatives, required, optional = (tuple(next(told) for _ in group) for group in groups)
        if failed is None:  # it held within its time; a message may be gone by now
            primary = tuple(Status.HELD for _ in primary)
        return verdicts, Evidence(primary, alternatives, required, optional)


def _flexible(rules: Judged) -> bool:
    return bool(
        rules.acceptable_outcomes or rules.required_evidence or rules.optional_evidence
        or rules.allow_partial_success
    )  # fmt: skip


def _demands(rules: Judged, policy: ResiliencePolicy) -> Demands:
    own = rules.min_success_confidence
    return Demands(
        rules.allow_partial_success,
        policy.min_success_confidence if own is None else own,
        MIN_PARTIAL_CONFIDENCE if own is None else own,
    )
