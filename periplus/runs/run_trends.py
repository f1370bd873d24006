"""How runs went over the days: pass rate, durations, healing, and the steps that sometimes fail. Pure functions."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta

from kb_schema.run_records import RunStatus, StoredRun, StoredStep

KINDS = frozenset({"task", "workflow", "goal", "verification"})
"""Kinds of runs that pass or fail."""
FEWEST_RUNS = 3
"""A step is called flaky from this number of runs on."""
MOST_FLAKY = 20


@dataclass(frozen=True, slots=True)
class DayTrend:
    """The runs of one day (UTC)."""

    day: date
    passed: int
    """Runs that did everything, with evidence or without."""
    failed: int
    other: int
    """Runs that did a part, or need a person."""
    healed: int
    """Runs in which an element was found again with another selector."""
    median_ms: float | None
    """Of the runs that passed."""

    @property
    def runs(self) -> int:
        """Return the number of runs."""
        return self.passed + self.failed + self.other


@dataclass(frozen=True, slots=True)
class SubjectTrend:
    """The runs of one task, workflow, screen or requirement."""

    website_id: str
    subject: str
    kind: str
    runs: int
    pass_rate: float
    healed: int
    median_ms: float | None
    last_failed: str | None
    """The newest run that failed."""


@dataclass(frozen=True, slots=True)
class FlakyStep:
    """A step that failed in some runs and succeeded in others."""

    website_id: str
    task_id: str
    step_id: str
    runs: int
    failed: int
    last_failed: str
    """The newest run in which it failed."""

    @property
    def failure_rate(self) -> float:
        """Return the share of the runs in which it failed."""
        return self.failed / self.runs


@dataclass(frozen=True, slots=True)
class RunTrends:
    """Trends over some days, the oldest first."""

    days: tuple[DayTrend, ...]
    subjects: tuple[SubjectTrend, ...]
    flaky: tuple[FlakyStep, ...]


def build_trends(
    runs: Sequence[StoredRun], steps: Mapping[str, Sequence[StoredStep]], today: date, days: int
) -> RunTrends:
    """Return the trends of runs that ended within the last `days` days; `steps`: by run id."""
    first = today - timedelta(days=days - 1)
    ended = [
        each
        for each in sorted(runs, key=lambda each: each.started_at)
        if each.kind in KINDS
        and each.status is not None
        and first <= each.started_at.astimezone(UTC).date() <= today
    ]
    healed = {
        each.run_id
        for each in ended
        if each.heal_rounds or any(step.heal_round for step in steps.get(each.run_id, ()))
    }
    by_day: dict[date, list[StoredRun]] = {first + timedelta(days=n): [] for n in range(days)}
    by_subject: defaultdict[tuple[str, str, str], list[StoredRun]] = defaultdict(list)
    for run in ended:
        by_day[run.started_at.astimezone(UTC).date()].append(run)
        by_subject[run.website_id, run.subject, run.kind].append(run)
    return RunTrends(
        tuple(_build_day(day, own, healed) for day, own in by_day.items()),
        tuple(
            sorted(
                (_build_subject(*key, own, healed) for key, own in by_subject.items()),
                key=lambda each: (each.pass_rate, -each.runs, each.subject),
            )
        ),
        tuple(_find_flaky(ended, steps)),
    )


def _passed(run: StoredRun) -> bool:
    return run.status is not None and run.status.complete


def _median(runs: Sequence[StoredRun]) -> float | None:
    times = [each.duration_ms for each in runs if _passed(each) and each.duration_ms is not None]
    return statistics.median(times) if times else None


def _build_day(day: date, runs: Sequence[StoredRun], healed: set[str]) -> DayTrend:
    passed = sum(map(_passed, runs))
    failed = sum(each.status is RunStatus.FAILURE for each in runs)
    return DayTrend(
        day,
        passed,
        failed,
        len(runs) - passed - failed,
        sum(each.run_id in healed for each in runs),
        _median(runs),
    )


def _build_subject(
    website_id: str, subject: str, kind: str, runs: Sequence[StoredRun], healed: set[str]
) -> SubjectTrend:
    return SubjectTrend(
        website_id,
        subject,
        kind,
        len(runs),
        sum(map(_passed, runs)) / len(runs),
        sum(each.run_id in healed for each in runs),
        _median(runs),
        next((each.run_id for each in reversed(runs) if each.status is RunStatus.FAILURE), None),
    )


def _find_flaky(runs: Sequence[StoredRun], steps: Mapping[str, Sequence[StoredStep]]) -> list[FlakyStep]:
    """Return the steps that failed in some runs and not in others, the most evenly divided first.

    A step counts once for each run: it failed there if any of its attempts did.
    """
    seen: defaultdict[tuple[str, str, str], dict[str, bool]] = defaultdict(dict)
    for run in runs:
        for step in steps.get(run.run_id, ()):
            if step.status == "skipped":
                continue
            of_step = seen[run.website_id, step.task_id, step.step_id]
            of_step[run.run_id] = of_step.get(run.run_id, False) or step.status == "failed"
    found = []
    for (website_id, task_id, step_id), of_step in seen.items():
        failed = [run_id for run_id, each in of_step.items() if each]
        if failed and len(failed) < len(of_step) and len(of_step) >= FEWEST_RUNS:
            found.append(FlakyStep(website_id, task_id, step_id, len(of_step), len(failed), failed[-1]))
    return sorted(found, key=lambda each: (abs(each.failure_rate - 0.5), -each.runs))[:MOST_FLAKY]
