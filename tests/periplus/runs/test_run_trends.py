"""Trends over runs: what passed on which day, what healed, and which step fails in some runs only."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from kb_schema.run_records import EvidenceLevel, RunStatus, StoredRun, StoredStep
from periplus.runs.run_trends import build_trends

TODAY = date(2026, 3, 10)
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def run(name, days_ago=0, status=RunStatus.SUCCESS, ms=1_000.0, subject="buy", kind="task", **more):
    return StoredRun(
        run_id=name, url="https://shop.example", started_at=NOON - timedelta(days=days_ago), website_id="shop", kind=kind,
        subject=subject, status=status, evidence=EvidenceLevel.VERIFIED, finished_at=NOON, duration_ms=ms, **more,
    )  # fmt: skip


def step(run_id, step_id="pay", status="success", idx=0, **more):
    return StoredStep(
        run_id=run_id, step_idx=idx, action="click", status=status, executed_at=NOON, task_id="buy", step_id=step_id,
        duration_ms=10, **more,
    )  # fmt: skip


def test_each_day_has_what_passed_failed_and_healed_and_the_median_of_what_passed():
    runs = [
        run("a", 1, ms=1_000),
        run("b", 1, ms=3_000),
        run("c", 1, RunStatus.FAILURE, ms=90_000),
        run("d", 0, RunStatus.PARTIAL),
        run("old", 9),
        run("demo", 0, kind="demo"),
        run("going on", 0, None).model_copy(update={"status": None}),
    ]
    found = build_trends(runs, {"a": [step("a", heal_round=1)]}, TODAY, 3)
    assert [each.day.day for each in found.days] == [8, 9, 10]
    empty, yesterday, today = found.days
    assert (empty.runs, empty.median_ms) == (0, None)
    assert (yesterday.passed, yesterday.failed, yesterday.healed, yesterday.median_ms) == (2, 1, 1, 2_000)
    assert (today.runs, today.other) == (1, 1)


def test_what_fails_most_comes_first_with_its_newest_failure():
    runs = [
        *(run(f"good{n}", n, subject="search") for n in range(4)),
        run("first", 2, RunStatus.FAILURE),
        run("second", 1, RunStatus.FAILURE),
        run("third", 0),
    ]
    buy, search = build_trends(runs, {}, TODAY, 7).subjects
    assert (buy.subject, round(buy.pass_rate, 2), buy.last_failed) == ("buy", 0.33, "second")
    assert (search.pass_rate, search.last_failed) == (1.0, None)


def test_a_step_is_flaky_if_it_failed_in_some_runs_only_and_counts_once_a_run():
    runs = [run(name, 3 - n) for n, name in enumerate("abcd")]
    steps = {
        # Failed, and a further attempt succeeded: the run passed, and the step is flaky.
        "a": [step("a", status="failed"), step("a", idx=1), step("a", "always", "failed", 2)],
        "b": [step("b"), step("b", "always", "failed", 1)],
        "c": [step("c", status="failed"), step("c", "always", "failed", 1), step("c", "rare", idx=2)],
        "d": [step("d"), step("d", "rare", "skipped", 1)],
    }
    (pay,) = build_trends(runs, steps, TODAY, 7).flaky
    assert (pay.step_id, pay.failed, pay.runs, pay.last_failed, pay.failure_rate) == ("pay", 2, 4, "c", 0.5)
    assert build_trends(runs[:2], steps, TODAY, 7).flaky == ()  # too few runs to tell
