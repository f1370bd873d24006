"""Reports say no secrets, and are whole whatever the secret is."""

from __future__ import annotations

from datetime import UTC, datetime

from agent.redaction import Secrets
from agent.verification.graph import redact_report
from kb_schema.verification import (
    ExecutedStep,
    OutcomeDifference,
    RootCause,
    VerdictReport,
    VerificationSummary,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_secret_that_is_an_ordinary_word_is_taken_out_of_what_was_said_only():
    secrets = Secrets()
    secrets.keep("test")
    secrets.keep("success")
    step = ExecutedStep(
        step_idx=0, element="Login", action="fill", value="test", status="success", timestamp=NOW,
        checks=("field_value:test",), screenshot="screenshots/test/1.jpg",
        difference=OutcomeDifference(expected="test", received="it is off"),
    )  # fmt: skip
    report = VerdictReport(
        req_id="test", verdict="fail", timestamp=NOW, summary=VerificationSummary(), steps=(step,),
        rca=RootCause(class_="success", confidence=1, message="it says test", evidence=("test",)),
        artifacts={"test_file": "generated_tests/test_test.py"}, notes=("success",),
    )  # fmt: skip
    told = redact_report(report, secrets.redact)
    assert (told.req_id, told.rca.class_, told.steps[0].status) == ("test", "success", "success")
    assert told.artifacts == report.artifacts
    assert told.steps[0].screenshot == step.screenshot
    assert (told.steps[0].value, told.steps[0].checks) == ("•••", ("field_value:•••",))
    assert told.steps[0].difference == OutcomeDifference(expected="•••", received="it is off")
    assert (told.rca.message, told.rca.evidence, told.notes) == ("it says •••", ("•••",), ("•••",))
    assert VerdictReport.model_validate_json(told.model_dump_json(by_alias=True)) == told
