"""From the state a verification ended in to its report (PACTS 8.3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from agent.verifying.flow.state import read
from kb_schema.base import Model
from kb_schema.runs import PactsVerdict
from kb_schema.verification import Requirement, RootCause, RunState, Summary, VerdictReport

M = TypeVar("M", bound=Model)


def report_of(
    state: RunState, requirement: Requirement, *, run_id: str, base_url: str, notes: tuple[str, ...] = ()
) -> VerdictReport:
    """What came of it. A run that was cut short says how far it came: `partial`, or `fail` where a step
    had failed.
    """
    kept = read(state)
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
        summary=Summary(
            total_steps=total,
            executed_steps=done,
            failed_steps=sum(each.status == "failed" for each in steps),
            heal_rounds=len(kept.healed),
        ),
        rca=kept.rca or _cut_short(done, total),
        steps=steps,
        heal_events=kept.healed,
        missing=kept.plan.missing if kept.plan is not None else (),
        console=evidence.console if evidence is not None else (),
        answers=evidence.answers if evidence is not None else (),
        artifacts=kept.artifacts,
        notes=(*kept.notes, *notes),
    )


def without_secrets(report: VerdictReport, redact: Callable[[Any], Any]) -> VerdictReport:
    """The report with secrets taken out of everything that a page or a person said. Names, places and words
    of the vocabulary stay: a secret may be an ordinary word.
    """
    root = report.rca
    return report.model_copy(
        update={
            "rca": _redacted(root, redact, "message", "evidence", "recommendation"),
            "steps": tuple(
                _redacted(each, redact, "value", "selector", "checks", "error") for each in report.steps
            ),
            "heal_events": tuple(
                _redacted(each, redact, "actions", "before", "after", "reason") for each in report.heal_events
            ),
            "missing": tuple(_redacted(each, redact, "what", "reason", "nearest") for each in report.missing),
            "console": tuple(_redacted(each, redact, "text", "url") for each in report.console),
            "answers": tuple(_redacted(each, redact, "url", "failure") for each in report.answers),
            "notes": tuple(redact(each) for each in report.notes),
        }
    )


def _redacted(model: M, redact: Callable[[Any], Any], *names: str) -> M:
    changed = {}
    for name in names:
        value = getattr(model, name)
        changed[name] = tuple(map(redact, value)) if isinstance(value, tuple) else redact(value)
    return model.model_copy(update=changed)


def of_error(
    requirement: Requirement, root: RootCause, *, run_id: str, began: datetime, verdict: PactsVerdict = "fail"
) -> VerdictReport:
    """The report of a verification that could not even begin."""
    now = datetime.now(UTC)
    return VerdictReport(
        req_id=requirement.req_id,
        run_id=run_id,
        title=requirement.title,
        url=requirement.url,
        verdict=verdict,
        timestamp=now,
        duration_ms=max(0.0, (now - began).total_seconds() * 1_000),
        summary=Summary(total_steps=len(requirement.steps)),
        rca=root,
    )


def _cut_short(done: int, total: int) -> RootCause:
    return RootCause(
        class_="env_fault",
        confidence=1.0,
        message=f"Completed {done}/{total} steps: it was stopped before its end",
        recommendation="carry it on with `periplus verify --resume RUN`",
    )
