"""The table of the conversations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.conversations.arms import ARMS

BEGIN = "<!-- conversations: written by `python -m benchmarks.conversations report --write docs/benchmarks.md` -->"
END = "<!-- end of conversations -->"
GOALS = {"unknown pages": 1 / 2, "known pages": 1 / 6, "known task": 1 / 20}
"""The most tokens that an arm may send, as a share of Playwright's server alone."""


def read(file: Path) -> list[dict[str, Any]]:
    """Return the last record of each conversation."""
    if not file.exists():
        return []
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return list({(each["application"], each["job"], each["arm"]): each for each in records}.values())


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return a row for each arm, over the jobs that all arms did; then the tokens of each job."""
    jobs = list(dict.fromkeys((each["application"], each["job"]) for each in records))
    by_key = {(each["application"], each["job"], each["arm"]): each for each in records}
    whole = [
        job for job in jobs if all((*job, arm) in by_key and not by_key[*job, arm]["wrong"] for arm in ARMS)
    ]
    done = {
        arm: sum((*job, arm) in by_key and not by_key[*job, arm]["wrong"] for job in jobs) for arm in ARMS
    }
    sums = {
        arm: {
            name: sum(by_key[*job, arm][name] for job in whole)
            for name in ("calls", "sent", "cached", "once", "written", "seconds")
        }
        for arm in ARMS
    }
    base = sums["alone"]
    lines = [
        f"Sums over {len(whole)} of {len(jobs)} jobs, those that all arms did; the last of them measured on {max((each['measured'] for each in records), default='')}.",
        "",
        "| arm | jobs done | calls | tokens sent | share of it (goal) | with caching | share | once | written | seconds in tools |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for arm, each in sums.items():
        goal = f" ({GOALS[arm]:.2f})" if arm in GOALS else ""
        share, cached = (each[name] / base[name] if base[name] else 0.0 for name in ("sent", "cached"))
        lines.append(
            f"| {arm} | {done[arm]} of {len(jobs)} | {each['calls']} | {each['sent']:,} | {share:.3f}{goal} | "
            f"{each['cached']:,} | {cached:.3f} | {each['once']:,} | {each['written']:,} | {each['seconds']:.0f} |"
        )
    lines += ["", f"| tokens sent | {' | '.join(ARMS)} |", f"|---|{'---|' * len(ARMS)}"]
    for application, job in jobs:
        cells = []
        for arm in ARMS:
            each = by_key.get((application, job, arm))
            cells.append("" if each is None else "not done" if each["wrong"] else f"{each['sent']:,}")
        lines.append(f"| {application}, `{job}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write(page: Path, text: str) -> None:
    """Put the table between its marks in a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
