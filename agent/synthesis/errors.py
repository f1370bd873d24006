"""The errors of synthesis (MA, error categories).

MetaAgentError
+-- TraceEvaluationError          a trace could not be evaluated
+-- InsufficientSuccessTracesError  too few traces passed evaluation
+-- TraceNormalizationError       a step has an invalid target or value
+-- TraceAlignmentError           the traces do not show the same task
+-- PatternExtractionError        the alignment is inconsistent
+-- PipelineStageError            any of these, with the stage that failed
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.errors import AgentError


class MetaAgentError(AgentError):
    """Base class of the errors that synthesis raises."""


class TraceNormalizationError(MetaAgentError):
    """A step of a trace has a target or value that cannot be normalised."""

    def __init__(self, trace_id: str, step_index: int, message: str) -> None:
        self.trace_id, self.step_index = trace_id, step_index
        super().__init__(f"Normalization failed for trace '{trace_id}' at step {step_index}: {message}")


class TraceAlignmentError(MetaAgentError):
    """The traces do not show the same task. `trace_ids` names the traces that differ from the others."""

    def __init__(self, message: str, trace_ids: Sequence[str] = ()) -> None:
        self.trace_ids = list(trace_ids)
        super().__init__(
            f"Alignment failed: {message}", hint="leave these traces out, or synthesize them separately"
        )


class PatternExtractionError(MetaAgentError):
    """The positions of an alignment are not numbered consistently."""


class TraceEvaluationError(MetaAgentError):
    """A trace could not be evaluated."""

    def __init__(self, trace_id: str, message: str) -> None:
        self.trace_id = trace_id
        super().__init__(f"Trace evaluation failed for trace '{trace_id}': {message}")


class InsufficientSuccessTracesError(MetaAgentError):
    """Fewer traces passed evaluation than `min_success_traces` requires."""

    def __init__(
        self, required: int, actual: int, total: int, reasons: Sequence[str] = (), *, asked: bool = False,
        judged: bool = False, ruled: bool = False, evaluations: Sequence[object] = (),
    ) -> None:  # fmt: skip
        """`reasons`: why traces did not pass. `asked`: some would, if the question about them is answered. `judged`, `ruled`: a
        model or a rule rejected some. `evaluations`: the `EvaluationResult` of each trace.
        """
        self.evaluations = tuple(evaluations)
        self.required, self.actual, self.total, self.reasons = required, actual, total, tuple(reasons)
        told = "".join(f"; {each}" for each in reasons)
        ways = {
            "answer the question with --accept TRACE": asked,
            "lower the score that is needed (--min-score, min_score)": judged,
            "leave out the rule that they break": ruled,
            "ask for fewer (--min-traces, min_success_traces)": required > 1,
        }
        super().__init__(
            f"Insufficient successful traces: {actual}/{total} passed evaluation, but {required} required{told}",
            hint=", or ".join(["record more traces", *(way for way, helps in ways.items() if helps)]),
        )


class PipelineStageError(MetaAgentError):
    """A pipeline stage failed; `original_error` is the cause."""

    def __init__(self, stage: str, original_error: Exception) -> None:
        self.stage, self.original_error = stage, original_error
        super().__init__(f"Pipeline failed at stage '{stage}': {original_error}")
