"""Stage 2: evaluates which traces are good enough to learn from (MA 2). Does not change traces."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.inferencer import InferenceFailed, Inferencer
from agent.synthesis.errors import TraceEvaluationError
from agent.synthesis.pipeline_config import EvaluationStrategy
from agent.synthesis.synthesis_prompts import EVALUATION_TEMPLATE_KEY, PromptFormatter, build_evaluation_feed
from agent.synthesis.traces.refused_steps import (
    find_final_refusal,
    find_refused_midway,
    find_unsent,
    find_warned,
)
from kb_schema.excerpts import excerpt
from kb_schema.execution_traces import ExecutionTrace

ASKED = "asked"
"""Metadata of a trace that was left out with a question."""
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class EvaluationRule:
    """A condition for good traces. A failed `warning` is noted; a failed `error` rejects the trace."""

    name: str
    description: str
    predicate: Callable[[ExecutionTrace], bool]
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The evaluation of one trace."""

    trace_id: str
    passed: bool
    score: float = 1.0
    failed_rules: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """Why the trace was rejected; empty if it passed."""
        if self.passed:
            return ""
        if self.failed_rules:
            return f"breaks {', '.join(self.failed_rules)}"
        return str(self.metadata.get("error") or f"judged {self.score:.2f}")


class TraceEvaluator:
    """Evaluates traces by one strategy."""

    def __init__(
        self,
        strategy: EvaluationStrategy = EvaluationStrategy.EXCEPTION_ONLY,
        rules: Sequence[EvaluationRule] = (),
        inferencer: Inferencer | None = None,
        min_score: float = 0.5,
        prompt_formatter: PromptFormatter | None = None,
        accepted_traces: Collection[str] = (),
        *,
        only_succeeded: bool = False,
    ) -> None:
        """`accepted_traces`: ids of traces that count although the application seemed to refuse something.
        `only_succeeded`: failed runs are rejected whatever the strategy says.

        Raises `ValueError` if the strategy needs rules or an inferencer and none is given.
        """
        if strategy is EvaluationStrategy.RULE_BASED and not rules:
            raise ValueError("RULE_BASED strategy requires at least one evaluation rule")
        if strategy is EvaluationStrategy.LLM_JUDGE and inferencer is None:
            raise ValueError("LLM_JUDGE strategy requires an inferencer")
        self._rules, self._inferencer, self._min_score = tuple(rules), inferencer, min_score
        self._formatter = prompt_formatter or PromptFormatter()
        self._accepted_traces = frozenset(accepted_traces)
        self._only_succeeded = only_succeeded
        judges: dict[EvaluationStrategy, Callable[[ExecutionTrace, str], Awaitable[EvaluationResult]]] = {
            EvaluationStrategy.EXCEPTION_ONLY: self._exception_only,
            EvaluationStrategy.RULE_BASED: self._rule_based,
            EvaluationStrategy.LLM_JUDGE: self._llm_judge,
        }
        self._judge = judges[strategy]

    async def evaluate(
        self, traces: Sequence[ExecutionTrace], task_description: str = ""
    ) -> list[EvaluationResult]:
        """Return one result per trace, in order. Raises `TraceEvaluationError` if an evaluation fails."""
        judged = [await self._evaluate(trace, task_description) for trace in traces]
        asked = self._ask([trace for trace, result in zip(traces, judged, strict=True) if result.passed])
        return [
            _reject(result, asked[result.trace_id]) if result.trace_id in asked else result
            for result in judged
        ]

    async def _evaluate(self, trace: ExecutionTrace, task: str) -> EvaluationResult:
        if self._only_succeeded and not trace.success:
            return await self._exception_only(trace, task)
        return await self._judge(trace, task)

    def _ask(self, traces: Sequence[ExecutionTrace]) -> dict[str, str]:
        """Return the questions about traces in which the application seems to have refused something, by id.

        They reject a trace whatever the strategy says. A person answers with `accepted_traces`.
        """
        finals = {trace.trace_id: find_final_refusal(trace) for trace in traces}
        asked = {name: question for name, question in finals.items() if question is not None}
        good = [trace for trace in traces if trace.trace_id not in asked]
        asked |= find_refused_midway(good) | find_warned(good) | find_unsent(good)
        return {name: question for name, question in asked.items() if name not in self._accepted_traces}

    async def _exception_only(self, trace: ExecutionTrace, _task: str) -> EvaluationResult:
        if trace.success:
            return EvaluationResult(trace.trace_id, passed=True)
        return EvaluationResult(
            trace.trace_id, passed=False, score=0.0, metadata={"error": trace.error or "the run failed"}
        )

    async def _rule_based(self, trace: ExecutionTrace, _task: str) -> EvaluationResult:
        broken = [rule for rule in self._rules if not self._holds(rule, trace)]
        failed = tuple(rule.name for rule in broken if rule.severity == "error")
        warnings = tuple(rule.name for rule in broken if rule.severity == "warning")
        score = 1 - len(broken) / len(self._rules)
        return EvaluationResult(trace.trace_id, not failed, score, failed, warnings)

    def _holds(self, rule: EvaluationRule, trace: ExecutionTrace) -> bool:
        try:
            return bool(rule.predicate(trace))
        except Exception as exc:
            raise TraceEvaluationError(trace.trace_id, f"rule {rule.name!r} raised {exc!r}") from exc

    async def _llm_judge(self, trace: ExecutionTrace, task: str) -> EvaluationResult:
        if self._inferencer is None:
            raise TraceEvaluationError(trace.trace_id, "the LLM_JUDGE strategy has no inferencer")
        feed = build_evaluation_feed(trace, task or trace.task_description)
        try:
            answer = await self._inferencer.infer(self._formatter(EVALUATION_TEMPLATE_KEY, **feed))
        except (InferenceFailed, ValueError) as exc:  # no answer, or a template that reaches out
            raise TraceEvaluationError(trace.trace_id, str(exc)) from exc
        score = _score(answer)
        if score is None:
            raise TraceEvaluationError(
                trace.trace_id,
                f"expected a score from 0 to 1 in the model's answer, found {excerpt(answer)!r}",
            )
        told = {"answer": answer[:2_000]}
        if score < self._min_score:
            told["error"] = f"the model's score is {score:.2f}, {self._min_score:.2f} is needed"
        return EvaluationResult(trace.trace_id, score >= self._min_score, score, metadata=told)


def _reject(result: EvaluationResult, question: str) -> EvaluationResult:
    return replace(
        result, passed=False, score=0.0, metadata={**result.metadata, "error": question, ASKED: True}
    )


def _score(answer: str) -> float | None:
    found = _OBJECT.search(answer)
    try:
        score: Any = json.loads(found[0])["score"] if found else None
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(score, int | float) or isinstance(score, bool):
        return None
    return float(score) if 0 <= score <= 1 else None
