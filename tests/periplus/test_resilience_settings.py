"""WR's configuration from the environment, and how a run's result is told."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console

from kb_schema.resilience_policy import ResiliencePolicy
from kb_schema.run_records import EvidenceLevel, RunResult, RunStatus, StepRecord, StepStatus, TriedApproach
from periplus.errors import UserError
from periplus.exit_codes import exit_code_for
from periplus.resilience_settings import load_resilience_policy
from periplus.runs.run_report import print_run_result


def test_without_an_environment_it_is_wrs_own():
    assert load_resilience_policy() == ResiliencePolicy()


def test_every_setting_of_the_policy_can_be_given(monkeypatch):
    given = {
        "MAX_RETRIES": "1", "MAX_REPLANS_PER_STEP": "999", "MAX_TOTAL_REPLANS": "15",
        "ENABLE_REPLANNING": "false", "ENABLE_DEGRADATION": "no", "ALLOW_EARLY_EXIT": "true",
        "MIN_ACCEPTABLE_COMPLETION": "60", "MIN_SUCCESS_CONFIDENCE": "0.6", "RUN_TIMEOUT_S": "90",
        "STEP_TIMEOUT_S": "4",
        "CRITICAL_STEPS": "submit, confirm",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(f"PERIPLUS_{name}", value)
    assert load_resilience_policy().model_dump() == {
        "max_retries": 1, "max_replans_per_step": 999, "max_total_replans": 15, "enable_replanning": False,
        "enable_degradation": False, "allow_early_exit": True, "min_acceptable_completion": 60,
        "min_success_confidence": 0.6, "timeout_s": 90, "step_timeout_s": 4, "critical_steps": ("submit", "confirm"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [("MAX_TOTAL_REPLANS", "16"), ("MIN_SUCCESS_CONFIDENCE", "2"), ("CRITICAL_STEPS", "a b")],
)
def test_a_value_that_cannot_be_names_its_variable(monkeypatch, name, value):
    monkeypatch.setenv(f"PERIPLUS_{name}", value)
    with pytest.raises(UserError, match=f"PERIPLUS_{name}"):
        load_resilience_policy()


def test_every_end_has_its_exit_code():
    assert {status: int(exit_code_for(status)) for status in RunStatus} == {
        "success": 0, "unverified": 5, "partial": 4, "degraded": 4, "failure": 1, "needs_person": 3,
    }  # fmt: skip


def test_a_partial_result_says_what_it_is_what_is_missing_and_what_was_tried():
    step = {"task_id": "t", "action_type": "click", "duration_ms": 5}
    tried = [
        TriedApproach(fingerprint=name, task_id="t", step_id="b", approach=how, detail=detail, outcome=outcome, item=item)
        for name, how, detail, outcome, item in
        (("1", "authored", "", "failed", None), ("2", "other_path", "a > b", "worked", "2"))
    ]  # fmt: skip
    result = RunResult(
        run_id="r1", website_id="w", task_id="t", status=RunStatus.PARTIAL, evidence=EvidenceLevel.UNVERIFIED,
        started_at=datetime.now(UTC), duration_ms=1500, completion_percentage=72.5, completed_steps=2,
        total_steps=3, degraded_steps=("b",), confidence_score=0.65, replans=1, tried=tuple(tried),
        error="b did not come off", errors=("step t.a: too late", "b did not come off"), goal="Read it", outputs={"name": "Gannet"},
        best_effort_data={"name": "Gannet", "each[1]>u": {"rating": "4"}},
        steps=(
            StepRecord(step_id="a", status=StepStatus.DONE, outcome="alternative", confidence=0.65, **step),
            StepRecord(step_id="b", status=StepStatus.SKIPPED, degraded=True, **step),
            StepRecord(step_id="c", status=StepStatus.DONE, approach="other_path", **step),
        ),
    )  # fmt: skip
    written = io.StringIO()
    print_run_result(Console(file=written, width=200), result, Path("out/result.json"))
    text = written.getvalue()
    for said in (
        "Read it", "before: step t.a: too late",
        "partial, unverified, 1.5 s, 72.5 % complete (2 of 3 steps), confidence 0.65",
        "done (alternative, confidence 0.65)", "skipped, continued without it", "done, by other_path",
        "skipped or partly done: b", "tried (1 replan):", "t.b, authored: failed",
        "t.b item 2, other_path a > b: worked", "name = Gannet", 'got each[1]>u = {"rating": "4"}',
    ):  # fmt: skip
        assert said in text, said
