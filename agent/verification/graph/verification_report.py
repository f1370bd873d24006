"""Builds the report of a verification from its final state (PACTS 8.3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from agent.verification.graph.verification_state import read_context
from kb_schema.base import Model
from kb_schema.run_records import PactsVerdict
from kb_schema.verification import (
    OutcomeDifference,
    Requirement,
    RootCause,
    VerdictReport,
    VerificationRunState,
    VerificationSummary,
)

M = TypeVar("M", bound=Model)


def build_report(
    state: VerificationRunState,
    requirement: Requirement,
    *,
    run_id: str,
    base_url: str,
    notes: tuple[str, ...] = (),
) -> VerdictReport:
    """Return the report. An interrupted run is `partial`, or `fail` if a step had failed."""
    kept = read_context(state)
    now = datetime.now(UTC)
    ended, began = kept.ended or now, kept.began or now
    steps = kept.executed
    total = len(requirement.steps)
    done = sum(each.status == "success" for each in steps)
    evidence = kept.evidence
    return VerdictReport(
        req_id=requirement.req_id,
        run_id=run_id,
        title=requirement.title,
        url=requirement.url if "://" in requirement.url else f"{base_url.rstrip('/')}{requirement.url}",
        verdict=state.verdict or "partial",
        timestamp=ended,
        duration_ms=max(0.0, (ended - began).total_seconds() * 1_000),
        summary=VerificationSummary(
            total_steps=total,
            executed_steps=done,
            failed_steps=sum(each.status == "failed" for each in steps),
            heal_rounds=len(kept.healed),
        ),
        rca=kept.rca or _build_interrupted_cause(done, total),
        steps=steps,
        heal_events=kept.healed,
        missing=kept.plan.missing if kept.plan is not None else (),
        console=evidence.console if evidence is not None else (),
        answers=evidence.answers if evidence is not None else (),
        offered=evidence.offered
        if evidence is not None and kept.rca is not None and kept.rca.class_ == "healing_declined"
        else None,
        artifacts=kept.artifacts,
        proof=kept.proof,
        notes=(*kept.notes, *notes),
    )


def redact_report(report: VerdictReport, redact: Callable[[Any], Any]) -> VerdictReport:
    """Return the report without secrets in texts that come from the page or the requirement.

    Ids, paths, classes and statuses stay as they are, since a secret may be an ordinary word such as "test".
    """
    root = report.rca
    return report.model_copy(
        update={
            "rca": _redact_fields(root, redact, "message", "evidence", "recommendation"),
            "steps": tuple(
                _redact_fields(each, redact, "value", "locator", "selector", "checks", "error", "difference")
                for each in report.steps
            ),
            "heal_events": tuple(
                _redact_fields(each, redact, "actions", "before", "after", "reason")
                for each in report.heal_events
            ),
            "missing": tuple(
                _redact_fields(
                    each,
                    redact,
                    "what",
                    "reason",
                    "nearest",
                    "difference",
                    "cover",
                    "missing_option",
                    "options",
                )
                for each in report.missing
            ),
            "console": tuple(_redact_fields(each, redact, "text", "url") for each in report.console),
            "answers": tuple(_redact_fields(each, redact, "url", "failure") for each in report.answers),
            "notes": tuple(redact(each) for each in report.notes),
            "proof": report.proof and _redact_fields(report.proof, redact, "reason"),
        }
    )


def _redact_fields(model: M, redact: Callable[[Any], Any], *names: str) -> M:
    changed: dict[str, Any] = {}
    for name in names:
        value = getattr(model, name)
        if isinstance(value, OutcomeDifference):
            changed[name] = _redact_fields(value, redact, *OutcomeDifference.model_fields)
            continue
        changed[name] = tuple(map(redact, value)) if isinstance(value, tuple) else redact(value)
    return model.model_copy(update=changed)


def build_error_report(
    requirement: Requirement, root: RootCause, *, run_id: str, began: datetime, verdict: PactsVerdict = "fail"
) -> VerdictReport:
    """Return the report of a verification that could not begin."""
    now = datetime.now(UTC)
    return VerdictReport(
        req_id=requirement.req_id,
        run_id=run_id,
        title=requirement.title,
        url=requirement.url,
        verdict=verdict,
        timestamp=now,
        duration_ms=max(0.0, (now - began).total_seconds() * 1_000),
        summary=VerificationSummary(total_steps=len(requirement.steps)),
        rca=root,
    )


def _build_interrupted_cause(done: int, total: int) -> RootCause:
    return RootCause(
        class_="env_fault",
        confidence=1.0,
        message=f"Completed {done}/{total} steps, then the run was stopped",
        recommendation="resume it with `periplus verify --resume RUN`",
    )
