"""What `/reports` shows: how each requirement stands, and reports that lie among the runs. Pure but for `left_in`,
which looks into the runs' folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from kb_schema.runs import StoredRun
from periplus.console.runs_words import When, short, size, when
from periplus.console.telling import duration

KINDS = {"rehearsal.html": "rehearsal", "report.html": "report"}
"""Files that are reports, by name."""
DEEPEST = 3
"""Folders below the runs' own in which reports are looked for."""
MOST_LOOKED_AT = 5_000
MOST = 200
_PAST = 8
"""Verdicts before the newest one that are shown."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One requirement: its newest run, and how those before it came out."""

    req_id: str
    title: str
    verdict: str
    run_id: str
    at: When
    took: str
    why: str
    kind: str
    """The root cause's class; empty where it passed."""
    past: tuple[str, ...]
    """Verdicts before, the newest first."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report that lies in the runs' folder."""

    path: str
    """Within it."""
    kind: str
    at: When
    size: str


def standings(runs: Sequence[StoredRun], today: date) -> list[Standing]:
    """Every requirement that was verified, failing ones first. `runs`: the newest first."""
    by_requirement: dict[str, list[StoredRun]] = {}
    for run in runs:
        if run.kind == "verification" and run.req_id:
            by_requirement.setdefault(run.req_id, []).append(run)
    found = [_standing(each, today) for each in by_requirement.values()]
    order = {"fail": 0, "partial": 1, "open": 2, "pass": 3}
    return sorted(found, key=lambda each: (order[each.verdict], each.req_id))


def totals(found: Sequence[Standing]) -> list[tuple[str, int]]:
    """How many requirements have which verdict; those that none has are left out."""
    counted = Counter(each.verdict for each in found)
    return [
        (verdict, counted[verdict]) for verdict in ("pass", "partial", "fail", "open") if counted[verdict]
    ]


def left_in(folder: Path, today: date) -> list[Report]:
    """Reports in the runs' folder, the newest first; links out of it are not followed."""
    found = [(path.stat(), path) for path in _reports(folder)]
    found.sort(key=lambda each: each[0].st_mtime, reverse=True)
    return [
        Report(
            path.relative_to(folder).as_posix(),
            KINDS[path.name],
            when(datetime.fromtimestamp(stat.st_mtime, UTC), today),
            size(stat.st_size),
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


def _standing(runs: Sequence[StoredRun], today: date) -> Standing:
    newest = runs[0]
    title = newest.outputs.get("title")
    return Standing(
        req_id=newest.req_id or "",
        title=title if isinstance(title, str) else "",
        verdict=_verdict(newest),
        run_id=newest.run_id,
        at=when(newest.started_at, today),
        took=duration(newest.duration_ms),
        why="" if newest.verdict == "pass" else short(newest.rca_message or newest.error or "", 240),
        kind="" if newest.verdict == "pass" else (newest.rca_class or ""),
        past=tuple(_verdict(each) for each in runs[1 : _PAST + 1]),
    )


def _verdict(run: StoredRun) -> str:
    return run.verdict or "open"
