"""View models of `/reports`: verdicts of requirements, and report files.

Pure functions, except `find_reports`, which reads the runs' folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from kb_schema.run_records import StoredRun
from periplus.console.run_labels import DisplayedMoment, format_size, format_when, shorten_value
from periplus.console.template_filters import format_duration

KINDS = {"rehearsal.html": "rehearsal", "report.html": "report"}
"""File name of a report -> its kind."""
DEEPEST = 3
"""How many folder levels below the runs' folder are searched."""
MOST_LOOKED_AT = 5_000
MOST = 200
_PAST = 8
"""How many earlier verdicts are shown."""


@dataclass(frozen=True, slots=True)
class RequirementStanding:
    """One requirement: its newest run and its earlier verdicts."""

    req_id: str
    title: str
    verdict: str
    run_id: str
    at: DisplayedMoment
    took: str
    why: str
    kind: str
    """The class of the root cause; empty if it passed."""
    past: tuple[str, ...]
    """Earlier verdicts, newest first."""


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report file in the runs' folder."""

    path: str
    """Its path, relative to the runs' folder."""
    kind: str
    at: DisplayedMoment
    size: str


def list_requirement_standings(runs: Sequence[StoredRun], today: date) -> list[RequirementStanding]:
    """Return every verified requirement, failing ones first. `runs`: newest first."""
    by_requirement: dict[str, list[StoredRun]] = {}
    for run in runs:
        if run.kind == "verification" and run.req_id:
            by_requirement.setdefault(run.req_id, []).append(run)
    found = [_standing(each, today) for each in by_requirement.values()]
    order = {"fail": 0, "partial": 1, "open": 2, "pass": 3}
    return sorted(found, key=lambda each: (order[each.verdict], each.req_id))


def count_verdicts(found: Sequence[RequirementStanding]) -> list[tuple[str, int]]:
    """Return the number of requirements per verdict, without zeros."""
    counted = Counter(each.verdict for each in found)
    return [
        (verdict, counted[verdict]) for verdict in ("pass", "partial", "fail", "open") if counted[verdict]
    ]


def find_reports(folder: Path, today: date) -> list[ReportFile]:
    """Return the reports in the runs' folder, newest first; symbolic links out of it are not followed."""
    found = [(path.stat(), path) for path in _reports(folder)]
    found.sort(key=lambda each: each[0].st_mtime, reverse=True)
    return [
        ReportFile(
            path.relative_to(folder).as_posix(),
            KINDS[path.name],
            format_when(datetime.fromtimestamp(stat.st_mtime, UTC), today),
            format_size(stat.st_size),
        )
        for stat, path in found[:MOST]
    ]


def _reports(folder: Path) -> Iterator[Path]:
    looked_at, waiting = 0, [(folder, 0)]
    while waiting:
        here, depth = waiting.pop()
        try:
            entries = sorted(here.iterdir())
        except OSError:
            continue
        for entry in entries:
            looked_at += 1
            if looked_at > MOST_LOOKED_AT:
                return
            if entry.is_symlink():
                continue
            if entry.is_dir() and depth < DEEPEST:
                waiting.append((entry, depth + 1))
            elif entry.name in KINDS and entry.is_file():
                yield entry


def _standing(runs: Sequence[StoredRun], today: date) -> RequirementStanding:
    newest = runs[0]
    title = newest.outputs.get("title")
    return RequirementStanding(
        req_id=newest.req_id or "",
        title=title if isinstance(title, str) else "",
        verdict=_verdict(newest),
        run_id=newest.run_id,
        at=format_when(newest.started_at, today),
        took=format_duration(newest.duration_ms),
        why="" if newest.verdict == "pass" else shorten_value(newest.rca_message or newest.error or "", 240),
        kind="" if newest.verdict == "pass" else (newest.rca_class or ""),
        past=tuple(_verdict(each) for each in runs[1 : _PAST + 1]),
    )


def _verdict(run: StoredRun) -> str:
    return run.verdict or "open"
