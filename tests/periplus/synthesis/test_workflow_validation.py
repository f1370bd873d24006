"""Why a workflow may not be run again to validate it."""

from __future__ import annotations

from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from periplus.synthesis.workflow_validation import _find_unrepeatable

PRESS = {"fingerprint": {"role": "button", "tag": "button", "name": "Run the task"}}


def _trace(*, skipped: bool) -> ExecutionTrace:
    press = TraceStep(action_type="click", metadata=PRESS, result=TraceActionResult(action_skipped=skipped))
    return ExecutionTrace(
        trace_id="t", task_description="open it", success=True, steps=(press,), input_data={}
    )


def test_a_step_that_was_skipped_presses_nothing():
    assert "presses" in (_find_unrepeatable([_trace(skipped=False)]) or "")
    assert _find_unrepeatable([_trace(skipped=True)]) is None
