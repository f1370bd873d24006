"""The errors of a run are told in their order, and the run's own error once."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from agent.execution.results.run_errors import list_errors
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, StepRecord, StepStatus
from periplus.runs.run_report import print_run_result


def record(step_id, error):
    return StepRecord(
        task_id="t",
        step_id=step_id,
        action_type="click",
        status=StepStatus.FAILED,
        duration_ms=1,
        error=error,
    )


STEPS = [record("a", None), record("f1", "no lamp"), record("f2", "no door")]


def test_the_first_failure_of_a_run_that_went_on_stands_before_the_later_one():
    assert list_errors(STEPS, "no lamp") == ("no lamp", "step t.f2: no door")


def test_what_ended_a_run_is_last():
    assert list_errors(STEPS, "no door; and no more replans") == (
        "step t.f1: no lamp",
        "no door; and no more replans",
    )
    assert list_errors(STEPS, "the time is over") == (
        "step t.f1: no lamp",
        "step t.f2: no door",
        "the time is over",
    )


def test_the_report_says_which_failures_came_before_and_after_the_one_it_names():
    result = RunResult(
        run_id="r", website_id="w", task_id="t", status=RunStatus.PARTIAL, evidence=EvidenceLevel.UNVERIFIED,
        started_at=datetime.now(UTC), duration_ms=1, error="no door",
        errors=("step t.f1: no lamp", "no door", "step t.f3: no key"),
    )  # fmt: skip
    written = io.StringIO()
    print_run_result(Console(file=written, width=200), result, Path("result.json"))
    lines = [line.strip() for line in written.getvalue().splitlines()]
    assert lines.index("before: step t.f1: no lamp") < lines.index("after it: step t.f3: no key")
    assert lines.count("no door") == 1
