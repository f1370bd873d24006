"""Records of submissions in the run store: the queued submission, then verdict, steps and artifacts.

A submission is one row in `runs`, written before it is accepted. Its `outputs` contain the requirement until the
end of the run replaces them.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import JsonValue, ValidationError

from agent.run_records.run_log import strip_url
from kb_schema.run_records import Artifact, EvidenceLevel, Metric, RunEnding, RunStatus, StoredRun, StoredStep
from kb_schema.verification import ExecutedStep, Requirement, VerdictReport
from kb_store.runs.run_store import RunStore

PREFIX = "serve-"
"""Prefix of the run ids of this service; the rest sorts by the time of submission."""
SubmissionEnd = Literal["completed", "cancelled", "failed"]
"""`completed`: there is a verdict. `failed`: it could not be verified; the error says why."""

_ENDINGS = {
    "pass": (RunStatus.SUCCESS, EvidenceLevel.VERIFIED),
    "partial": (RunStatus.PARTIAL, EvidenceLevel.VERIFIED),
    "fail": (RunStatus.FAILURE, EvidenceLevel.CONTRADICTED),
}
"""PACTS verdict -> run status; `verdict_of` is the inverse."""
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class StoredSubmission:
    """The content of a queued row."""

    server: str
    """The process that accepted it."""
    requirement: Requirement


def new_run_id() -> str:
    """Return a new id; ids sort by creation, also within a millisecond."""
    now = datetime.now(UTC)
    moment = f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1_000:03d}"
    return f"{PREFIX}{moment}-{next(_NUMBERS) % 1_000_000:06d}-{secrets.token_hex(3)}"


def build_submission_row(run_id: str, server: str, requirement: Requirement) -> StoredRun:
    """Return the row of a submission."""
    held: dict[str, JsonValue] = {
        "state": "waiting",
        "server": server,
        "requirement": requirement.model_dump(mode="json"),
    }
    return StoredRun(
        run_id=run_id,
        req_id=requirement.req_id,
        url=strip_url(requirement.url),
        started_at=datetime.now(UTC),
        website_id=urlsplit(requirement.url).netloc.rpartition("@")[2],
        kind="verification",
        subject=requirement.req_id,
        outputs=held,
    )


def read_submission(run: StoredRun) -> StoredSubmission | None:
    """Return the submission of a queued row; None if the run has ended or is not of this service."""
    if run.finished_at is not None or not run.run_id.startswith(PREFIX):
        return None
    try:
        requirement = Requirement.model_validate(run.outputs.get("requirement"))
    except ValidationError:
        return None
    return StoredSubmission(str(run.outputs.get("server", "")), requirement)


def read_submission_end(run: StoredRun) -> SubmissionEnd | None:
    """Return how a run ended; None if it has not."""
    if run.finished_at is None:
        return None
    told = run.outputs.get("state")
    return told if told in ("completed", "cancelled", "failed") else "completed"  # type: ignore[return-value]


def build_run_ending(
    end: SubmissionEnd,
    began: datetime,
    *,
    error: str | None = None,
    hint: str | None = None,
    report: VerdictReport | None = None,
) -> RunEnding:
    """Return the end of a run, with a verdict (`report`) or with an error."""
    now = datetime.now(UTC)
    status, evidence = RunStatus.FAILURE, EvidenceLevel.UNVERIFIED
    outputs: dict[str, JsonValue] = {"state": end}
    if report is not None:
        status, evidence = _ENDINGS[report.verdict]
        outputs["summary"] = report.summary.model_dump(mode="json")
        outputs["rca"] = report.rca.model_dump(mode="json", by_alias=True)
        outputs["title"] = report.title
        if report.offered is not None:
            outputs["offered"] = report.offered.model_dump(mode="json")
        outputs["missing"] = [each.model_dump(mode="json") for each in report.missing]
    return RunEnding(
        status=status,
        evidence=evidence,
        finished_at=now,
        duration_ms=report.duration_ms if report else max(0.0, (now - began).total_seconds() * 1_000),
        outputs=outputs,
        error=error,
        hint=hint,
        heal_rounds=report.summary.heal_rounds if report else 0,
        rca_class=report.rca.class_ if report else None,
        rca_message=report.rca.message if report else None,
    )


async def store_report(runs: RunStore, run_id: str, report: VerdictReport, folder: Path) -> None:
    """Store the steps, artifacts and metrics of a report. All writes are idempotent. Raises `StoreError`."""
    for step in report.steps:
        await runs.append_step(_step(run_id, report.req_id, step))
    known = {each.file_path for each in await runs.artifacts(run_id)}  # the verifier may have stored its own
    for artifact in await asyncio.to_thread(lambda: list(_artifacts(run_id, report, folder))):
        if artifact.file_path not in known:
            await runs.put_artifact(artifact)
    for name, value in report.rca.metrics.items():
        await runs.add_metric(
            Metric(
                run_id=run_id,
                metric_id=f"{run_id}/{name}",
                metric_name=name,
                metric_value=value,
                recorded_at=report.timestamp,
            )
        )


def _step(run_id: str, req_id: str, step: ExecutedStep) -> StoredStep:
    return StoredStep(
        run_id=run_id,
        step_idx=step.step_idx,
        element=step.element,
        action=step.action,
        selector=step.locator or step.selector,
        strategy=step.strategy or None,
        confidence=step.confidence,
        status=step.status,
        heal_round=step.heal_round,
        error_message=step.error,
        executed_at=step.timestamp,
        task_id=req_id,
        step_id=f"step_{step.step_idx + 1}",
        duration_ms=step.duration_ms,
    )


def _artifacts(run_id: str, report: VerdictReport, folder: Path) -> Iterator[Artifact]:
    """Yield the report's artifacts that are files in the folder of runs; others are ignored."""
    for name, told in report.artifacts.items():
        path = resolve_inside(folder, told)
        if path is None:
            continue
        content = path.read_bytes()
        yield Artifact(
            run_id=run_id,
            name=name,
            artifact_type=name,
            file_path=str(path),
            file_hash=hashlib.sha256(content).hexdigest(),
            size_bytes=len(content),
            created_at=datetime.now(UTC),
        )


def resolve_inside(folder: Path, told: str) -> Path | None:
    """Return the regular file at a path, after resolving links; None if it is missing or outside of the folder."""
    try:
        root = folder.resolve()
        path = (root / told).resolve()
        return path if path.is_relative_to(root) and path.is_file() else None
    except (OSError, ValueError):
        return None
