"""WR's measurements come out of results."""

from __future__ import annotations

from datetime import UTC, datetime

from agent.execution.replanning.replanner import rank_replans
from agent.execution.results.run_metrics import compute_means, compute_run_metrics
from kb_schema.lessons import Lesson
from kb_schema.model_use import ModelUse
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, TriedApproach


def result_of(status, **more):
    return RunResult(
        run_id="r", website_id="w", task_id="t", status=status, evidence=EvidenceLevel.UNVERIFIED,
        started_at=datetime.now(UTC), duration_ms=1000, **more,
    )  # fmt: skip


def test_every_measurement_of_wr_is_there():
    tried = [
        TriedApproach(fingerprint=name, task_id="t", step_id="a", approach=approach, outcome=outcome)
        for name, approach, outcome in
        (("1", "authored", "failed"), ("2", "other_path", "failed"), ("3", "recovery_edge", "worked"))
    ]  # fmt: skip
    data = {"price": "29.99", "title": "", "each[0]>u": {"rating": "4.6"}}
    partial = compute_run_metrics(
        result_of(
            RunStatus.PARTIAL, replans=2, tried=tuple(tried), best_effort_data=data, values_read=2,
            degraded_steps=("b",), completion_percentage=80, confidence_score=0.65, state_bytes=512,
            model_use=ModelUse(calls=3, input_tokens=40, output_tokens=10, cost_usd=0.25),
        )
    )  # fmt: skip
    assert partial == {
        "replan_attempts": 2, "data_retention_rate": 1, "data_loss_incidents": 0, "partial_success_rate": 1,
        "degraded_completion_rate": 1, "completion_percentage": 80, "confidence_score": 0.65,
        "workflow_duration_ms": 1000, "memory_bytes": 512, "failed_approaches": 2, "replans_of.t.a": 2,
        "model_calls": 3, "model_tokens": 50, "model_cost_usd": 0.25,
    }  # fmt: skip
    lost = compute_run_metrics(result_of(RunStatus.FAILURE, values_read=4, best_effort_data={"price": "1"}))
    assert (lost["data_retention_rate"], lost["data_loss_incidents"]) == (0.25, 1)
    both = compute_means([partial, lost])
    assert (both["replan_attempts"], both["partial_success_rate"], both["replans_of.t.a"]) == (1, 0.5, 2)


def test_what_worked_here_last_comes_first_and_what_failed_here_last_comes_last():
    known = {"website_id": "w", "screen_id": "s", "task_id": "t", "step_id": "a", "approach": "x"}
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    worked = Lesson(**known, worked=1, failed=1, worked_at=late, failed_at=early)
    failed = Lesson(**known, worked=1, failed=1, worked_at=early, failed_at=late)
    assert [
        rank_replans(each) for each in (worked, None, failed, Lesson(**known, failed=1, failed_at=late))
    ] == [
        0,
        1,
        2,
        2,
    ]
