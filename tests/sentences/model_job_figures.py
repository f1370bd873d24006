"""The figures of jobs in words (`tests.sentences.model_jobs`): how runs ended, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

TAUGHT = 3
"""Doings by which a job is taught."""
ANSWER_S = 2.0
"""Seconds that a provider takes for an answer, for the cost table: the scripted models answer at once."""
Kind = Literal["taught", "again", "mediocre", "bad"]
KINDS: tuple[Kind, ...] = ("taught", "again", "mediocre", "bad")
Outcome = Literal["right", "unclaimed", "refused", "part", "beside", "false_success"]
"""right: the person's state, and it is said. unclaimed: the person's state, and success is not claimed. refused: nothing changed.
part: a part of the person's changes, success not claimed. beside: another change, success not claimed. false_success: success is claimed,
and the state is not the person's.
"""


@dataclass(frozen=True, slots=True)
class JobRun:
    """How one run ended."""

    application: str
    job: str
    kind: Kind
    outcome: Outcome
    exit_code: int
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    first_s: float = 0.0
    """Seconds of the first doing by its own result, without the plan."""
    seconds: float = 0.0
    """Seconds of the whole command."""
    first_calls: int = 0
    """Calls of the first doing, its plan included."""
    first_tokens: int = 0
    first_usd: float = 0.0
    published: bool = False
    said: str = ""
    changes: tuple[str, ...] = ()
    """The first differences between the state and the person's."""


def read_runs(file: Path) -> list[JobRun]:
    """Return the runs that are kept; the last of each job and kind."""
    if not file.is_file():
        return []
    kept = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    for each in kept:
        each.pop("measured", None)
    runs = [JobRun(**{**each, "changes": tuple(each["changes"])}) for each in kept]
    return list({(each.application, each.job, each.kind): each for each in runs}.values())


def keep_runs(file: Path, runs: Sequence[JobRun]) -> None:
    """Append runs to a file, with the day."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as lines:
        for each in runs:
            dated = asdict(each) | {"measured": f"{datetime.now(UTC):%Y-%m-%d}"}
            lines.write(json.dumps(dated, ensure_ascii=False) + "\n")


def format_run(run: JobRun) -> str:
    """Return a run as a line, with the reason where it is not right."""
    told = f"{run.application} {run.job} {run.kind}: {run.outcome}, exit {run.exit_code}, {run.calls} calls, {run.first_s:g} s"
    if run.kind == "taught":
        told += ", published" if run.published else ", not published"
    wrong = run.outcome != "right" or (run.kind == "taught" and not run.published)
    why = " | ".join(run.said.splitlines()[-4:])
    return told if not wrong else f"{told}\n    {why}\n    {'; '.join(run.changes)}"


def summarize(runs: Sequence[JobRun]) -> str:
    """Return the figures of all runs that are kept."""
    lines = []
    for kind in KINDS:
        own = [each for each in runs if each.kind == kind]
        counted = {
            name: sum(each.outcome == name for each in own) for name in sorted({r.outcome for r in own})
        }
        more = f", published {sum(each.published for each in own)}" if kind == "taught" else ""
        calls = [each.calls for each in own]
        lines.append(
            f"{kind}: {len(own)} runs, {counted}{more}, calls {min(calls, default=0)} to {max(calls, default=0)}"
        )
    pairs = {(each.application, each.job): each for each in runs if each.kind == "taught"}
    learned = [
        (pairs[each.application, each.job], each)
        for each in runs
        if each.kind == "again" and each.outcome == "right" and each.first_s and (each.application, each.job) in pairs
    ]  # fmt: skip
    for wait_s, told in ((0.0, "a model that answers at once"), (ANSWER_S, f"{ANSWER_S:g} s an answer")):
        ratios = sorted(
            (first.first_s + first.first_calls * wait_s) / each.first_s for first, each in learned
        )
        if ratios:
            lines.append(
                f"without the model, {len(ratios)} jobs: {ratios[len(ratios) // 2]:.1f} times as fast (median;"
                f" {ratios[0]:.1f} to {ratios[-1]:.1f}), against {told}"
            )
    return "\n".join(lines)


def format_costs(runs: Sequence[JobRun]) -> str:
    """Return what the learned jobs cost in sum, as a table of docs/benchmarks.md: with a model each time, taught, and known."""
    again = {
        (each.application, each.job): each
        for each in runs
        if each.kind == "again" and each.outcome == "right"
    }
    pairs = [
        (each, again[key])
        for each in runs
        if each.kind == "taught" and (key := (each.application, each.job)) in again
    ]
    calls, tokens = sum(each.first_calls for each, _ in pairs), sum(each.first_tokens for each, _ in pairs)
    dollars = sum(each.first_usd for each, _ in pairs)
    taught = [sum(getattr(each, name) for each, _ in pairs) for name in ("calls", "tokens", "cost_usd")]
    acting_s, known_s = sum(each.first_s for each, _ in pairs), sum(each.first_s for _, each in pairs)
    lines = [
        f"| {len(pairs)} jobs, each done | calls | tokens | US dollars | seconds, answers at once | seconds, {ANSWER_S:g} s an answer |",
        "|---|---|---|---|---|---|",
    ]
    for times in (1, 10, 100):
        rows = (
            ("with the model each time", calls * times, tokens * times, dollars * times, acting_s * times, calls * times),
            (
                f"taught with {TAUGHT} of them, then without", taught[0], taught[1], taught[2],
                acting_s * TAUGHT + known_s * max(times - TAUGHT, 0), taught[0],
            ),
            ("as known tasks", 0, 0, 0.0, known_s * times, 0),
        )  # fmt: skip
        for name, asked, used, paid, seconds, waits in rows:
            if times < TAUGHT and name.startswith("taught"):
                continue
            lines.append(
                f"| {times} times, {name} | {asked:,} | {used:,} | {paid:.4f} | {seconds:,.0f} | {seconds + waits * ANSWER_S:,.0f} |"
            )
    return "\n".join(lines)
