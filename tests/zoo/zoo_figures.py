"""Reads the figures of measured jobs and summarizes them; a page keeps the rows that were measured before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

Figures = Mapping[str, Any]
"""`JobFigures` as JSON, with `measured`: the day as `2026-11-27`."""


def read_figures(file: Path) -> list[Figures]:
    """Return the figures of a file; of a job that was measured again, the last."""
    if not file.is_file():
        return []
    last: dict[tuple[str, str, str], Figures] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        each = {"setting": "same", "question": ""} | json.loads(line)
        last[each["job"], each["naming"], each["setting"]] = each
    return list(last.values())


def format_job(figures: Figures) -> str:
    """Return a job's figures as lines."""
    head = f"{figures['job']} [{figures['naming']}, {figures['setting']}]"
    if not figures["whole"]:
        return f"{head}: not whole: {figures['reason']}"
    counts = Counter(each["outcome"] for each in figures["endings"])
    lines = [
        f"{head}: {', '.join(f'{count} {name}' for name, count in counts.items())}; {figures['evidence'] or 'no criteria'}"
    ]
    if figures["setting"] == "invalid":
        lines.append(f"    the refused recording: {figures['question'] or 'taken for a good one'}")
    lines += [
        f"    {each['outcome']} {each['instance']} ({each['kind']}) {each['claim']} {each['seconds']} s: {each['said'][:300]}"
        f" {list(each['changes'][:2])}"
        for each in figures["endings"]
        if each["outcome"] != "right"
    ]
    return "\n".join(lines)


COLUMNS = (
    "application", "naming", "setting", "jobs", "whole", "feasible", "right", "unclaimed", "refused", "part", "beside",
    "false success", "blamed", "hung", "unbound", "infeasible", "refused rightly", "not run", "slow refusals", "asked", "measured",
)  # fmt: skip
BLAME = "the application refused"
"""What a run says that puts its failure down to the application; false in a run of what can be done."""
NAMES = 3
"""So many first columns say which row it is."""


def list_rows(figures: Sequence[Figures]) -> list[list[str]]:
    """Return one row per application and naming, in the order of `COLUMNS`."""
    rows = []
    groups: dict[tuple[str, str, str], list[Figures]] = {}
    for each in figures:
        groups.setdefault((each["application"], each["naming"], each["setting"]), []).append(each)
    for (application, naming, setting), jobs in groups.items():
        endings = [ending for job in jobs for ending in job["endings"]]
        can = [each for each in endings if each["feasible"]]
        cannot = [each for each in endings if not each["feasible"]]
        counts = Counter(each["outcome"] for each in can)
        all_counts = Counter(each["outcome"] for each in endings)
        rows.append([
            application, naming, setting, str(len(jobs)), str(sum(job["whole"] for job in jobs)), str(len(can)),
            *(str(counts[name]) for name in ("right", "unclaimed", "refused", "part")),
            str(all_counts["beside"]), str(all_counts["false_success"]),
            str(sum(BLAME in each["said"] for each in can)), str(all_counts["hung"]), str(counts["unbound"]), str(len(cannot)),
            str(sum(each["outcome"] == "right" and bool(each["claim"]) for each in cannot)),
            str(sum(not each["claim"] for each in cannot)),
            str(sum(each["outcome"] == "right" and each["seconds"] > 20 for each in cannot)),
            str(sum(bool(job["question"]) for job in jobs)) if setting == "invalid" else "",
            max(job["measured"] for job in jobs),
        ])  # fmt: skip
    return rows


def summarize(figures: Sequence[Figures]) -> Table:
    """Return the rows as a table for the terminal."""
    table = Table(*COLUMNS)
    for row in list_rows(figures):
        table.add_row(*row)
    return table


def write_markdown(figures: Sequence[Figures], former: str) -> str:
    """Return the rows as a table in Markdown, with the rows of a `former` table that were not measured again.

    A row of the former table stays, too, where fewer of its jobs were measured now. What it does not tell is empty.
    """
    head, *before = [
        row for line in former.splitlines() if (row := [cell.strip() for cell in line.split("|")[1:-1]])
    ] or [[]]
    rows = {}
    for row in before:
        cells = dict(zip(head, row, strict=False))
        if len(row) == len(head) and cells.get("jobs", "").isdigit():
            rows[tuple(row[:NAMES])] = [cells.get(name, "") for name in COLUMNS]
    for row in list_rows(figures):
        last = rows.get(tuple(row[:NAMES]))
        if last is None or int(row[NAMES]) >= int(last[NAMES]):
            rows[tuple(row[:NAMES])] = row
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows.values()]
    return "\n".join(lines) + "\n"
