"""Stage 6b: runs a graph and compares the run with the recorded traces (MA 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agent.synthesis.alignment.step_equivalence import are_equivalent
from agent.synthesis.graph.action_graph import ActionGraph
from agent.synthesis.synthesis_prompts import render_step
from agent.synthesis.traces.input_data_generation import Data
from agent.synthesis.traces.trace_cleanup import clean_up_steps
from agent.synthesis.traces.trace_normalization import TraceNormalizer
from kb_schema.execution_traces import ExecutionTrace, TraceStep


class GraphRunner(Protocol):
    """Runs a graph once, on the website or on a simulation of it."""

    async def __call__(self, graph: ActionGraph, data: Data | None) -> ExecutionTrace:
        """Return the trace of the run, also of a failed run. Raises only if the graph cannot be run."""
        ...


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """The comparison of one run with its expected trace (MA 8)."""

    input_data: Data | None
    passed: bool
    divergence_point: int | None = None
    """Index of the first step that differs."""
    expected_outcome: Any = None
    actual_outcome: Any = None
    error: str | None = None
    trace_id: str | None = None
    """The trace whose inputs the run had."""
    held_out: bool = False
    """The workflow is the same without this trace, so the run shows that it also holds for what was not shown."""


@dataclass(frozen=True, slots=True)
class ValidationResults:
    """The results of all validation runs."""

    results: tuple[ValidationResult, ...] = ()

    @property
    def success_rate(self) -> float:
        """The share of runs that passed; 0.0 without runs."""
        return sum(each.passed for each in self.results) / len(self.results) if self.results else 0.0

    @property
    def all_passed(self) -> bool:
        """Whether every run passed."""
        return all(each.passed for each in self.results)


class GraphValidator:
    """Validates graphs by running them."""

    def __init__(self, runner: GraphRunner) -> None:
        self._run = runner

    async def validate(
        self,
        graph: ActionGraph,
        test_data: Sequence[Data | None] = (),
        expected_traces: Sequence[ExecutionTrace] = (),
    ) -> ValidationResults:
        """Return one result per expected trace, run with its data, then one per set of test data.

        A run with test data passes if it succeeds; it is not compared with a trace.
        """
        results = []
        for expected in expected_traces:
            done = await self._once(graph, expected.input_data)
            results.append(done if isinstance(done, ValidationResult) else compare_execution(done, expected))
        for data in test_data:
            done = await self._once(graph, data)
            results.append(
                done if isinstance(done, ValidationResult) else _build_validation_result(done, data)
            )
        return ValidationResults(tuple(results))

    async def _once(self, graph: ActionGraph, data: Data | None) -> ExecutionTrace | ValidationResult:
        try:
            return await self._run(graph, data)
        except Exception as exc:  # noqa: BLE001 - the boundary to whatever runs it: a crash is a run that did not pass
            return ValidationResult(
                data, passed=False, divergence_point=0, error=f"{type(exc).__name__}: {exc}"
            )


def compare_execution(done: ExecutionTrace, expected: ExecutionTrace) -> ValidationResult:
    """Compare a run with a trace, step by step.

    Both are normalised and cleaned up. Typed values may differ; actions, targets and success may not.
    """
    mine, its = _steps(done), _steps(expected)
    apart = next(
        (
            at
            for at, (one, other) in enumerate(zip(mine, its, strict=False))
            if not are_equivalent(one, other)
        ),
        None,
    )
    if apart is None and len(mine) != len(its):
        apart = min(len(mine), len(its))
    if apart is None and done.success != expected.success:
        apart = len(mine)
    if apart is None:
        return ValidationResult(expected.input_data, passed=True)
    return ValidationResult(
        expected.input_data,
        passed=False,
        divergence_point=apart,
        expected_outcome=_outcome(its, apart, expected),
        actual_outcome=_outcome(mine, apart, done),
        error=done.error,
    )


def _steps(trace: ExecutionTrace) -> tuple[TraceStep, ...]:
    return clean_up_steps(TraceNormalizer().normalize([trace])[0].steps)


def _outcome(steps: Sequence[TraceStep], at: int, trace: ExecutionTrace) -> str:
    return render_step(steps[at]) if at < len(steps) else f"end, {'success' if trace.success else 'failure'}"


def _build_validation_result(done: ExecutionTrace, data: Data | None) -> ValidationResult:
    if done.success:
        return ValidationResult(data, passed=True)
    broken = (at for at, step in enumerate(done.steps) if step.result is not None and not step.result.success)
    return ValidationResult(
        data,
        passed=False,
        divergence_point=next(broken, len(done.steps)),
        expected_outcome="success",
        actual_outcome="failure",
        error=done.error,
    )
