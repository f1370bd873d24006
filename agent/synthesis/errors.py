"""What can go wrong while workflows are made from traces (MA, error categories).

MetaAgentError
+-- TraceCollectionError          no run could be collected
+-- TraceEvaluationError          a trace could not be judged
+-- InsufficientSuccessTracesError  too few traces are good enough
+-- TraceNormalizationError       a step cannot be read
+-- TraceAlignmentError           traces too unlike to be the same task
+-- PatternExtractionError        an alignment that is none
+-- GraphSynthesisError           a pattern cannot be expressed
+-- PipelineStageError            any of these, with the stage it happened in
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.errors import AgentError


class MetaAgentError(AgentError):
    """Base of everything synthesis raises on purpose."""


class TraceCollectionError(MetaAgentError):
    """A run could not be collected."""

    def __init__(self, run_index: int, original_error: Exception) -> None:
        self.run_index, self.original_error = run_index, original_error
        super().__init__(f"Trace collection failed at run {run_index}: {original_error}")


class TraceNormalizationError(MetaAgentError):
    """A step says something that cannot be read."""

    def __init__(self, trace_id: str, step_index: int, message: str) -> None:
        self.trace_id, self.step_index = trace_id, step_index
        super().__init__(f"Normalization failed for trace '{trace_id}' at step {step_index}: {message}")


class TraceAlignmentError(MetaAgentError):
    """Traces that do not show the same task. `trace_ids` are those that stand apart."""

    def __init__(self, message: str, trace_ids: Sequence[str] = ()) -> None:
        self.trace_ids = list(trace_ids)
        super().__init__(
            f"Alignment failed: {message}", hint="leave these traces out, or synthesize them on their own"
        )


class PatternExtractionError(MetaAgentError):
    """An alignment contradicts itself."""


class TraceEvaluationError(MetaAgentError):
    """A trace could not be judged."""

    def __init__(self, trace_id: str, message: str) -> None:
        self.trace_id = trace_id
        super().__init__(f"Trace evaluation failed for trace '{trace_id}': {message}")


class InsufficientSuccessTracesError(MetaAgentError):
    """Too few traces are good enough to go on."""

    def __init__(self, required: int, actual: int, total: int) -> None:
        self.required, self.actual, self.total = required, actual, total
        super().__init__(
            f"Insufficient successful traces: {actual}/{total} passed evaluation, but {required} required",
            hint="record more, or lower min_success_traces",
        )


class GraphSynthesisError(MetaAgentError):
    """A pattern cannot be expressed as actions."""

    def __init__(self, message: str, pattern_type: str | None = None) -> None:
        self.pattern_type = pattern_type
        super().__init__(f"Synthesis failed: {message}")


class PipelineStageError(MetaAgentError):
    """A stage failed; `original_error` says how."""

    def __init__(self, stage: str, original_error: Exception) -> None:
        self.stage, self.original_error = stage, original_error
        super().__init__(f"Pipeline failed at stage '{stage}': {original_error}")
