"""Requirements written in every format the planner reads, for tests that they all say the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openpyxl import Workbook

from agent.verification.planning import read_requirements
from kb_schema.verification import Requirement

HEADER = ("Element@Region", "Action", "Value", "Expected Outcome")


@dataclass(frozen=True)
class Step:
    """One step as people say it: an element and its region, an action, a value, expected outcomes."""

    element: str = ""
    action: str = ""
    value: str | None = None
    expected: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[str, str, str, str]:
        value = '""' if self.value == "" else self.value or ""
        return self.element, self.action, value, "\n".join(self.expected)


@dataclass(frozen=True)
class Written:
    """One requirement as people say it."""

    req_id: str
    url: str
    steps: tuple[Step, ...]
    title: str = ""
    login: str = ""
    tags: tuple[str, ...] = ()

    @property
    def keys(self) -> list[tuple[str, str]]:
        return [
            ("Req ID", self.req_id), ("Title", self.title), ("URL", self.url), ("Login", self.login),
            ("Tags", ", ".join(self.tags)),
        ]  # fmt: skip


def as_sheets(path: Path, requirements: Sequence[Written]) -> None:
    """A sheet for each, with a header block."""
    book = Workbook()
    book.remove(book.active)
    for number, each in enumerate(requirements):
        sheet = book.create_sheet(f"sheet {number}")
        for row in [
            *(pair for pair in each.keys if pair[1]),
            (),
            HEADER,
            *(step.cells for step in each.steps),
        ]:
            sheet.append(row)
        for cell in (cell for row in sheet.iter_rows() for cell in row):
            cell.number_format = "@"
            if isinstance(cell.value, str):
                cell.data_type = "s"
    book.save(path)


def as_csv(path: Path, requirements: Sequence[Written]) -> None:
    """One table with columns for the requirement, said in its first row."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";", quoting=csv.QUOTE_ALL)
    writer.writerow([*(name for name, _ in requirements[0].keys), *HEADER])
    for each in requirements:
        for number, step in enumerate(each.steps):
            keys = [value if number == 0 else "" for _, value in each.keys]
            writer.writerow([*keys, *step.cells])
    path.write_bytes(b"\xef\xbb\xbf" + out.getvalue().encode())


def as_json(path: Path, requirements: Sequence[Written]) -> None:
    """Objects as in PACTS 8.1."""
    found = [
        {
            **({"title": each.title} if each.title else {}), **({"login": each.login} if each.login else {}),
            "req_id": each.req_id, "url": each.url, "tags": list(each.tags),
            "steps": [
                {
                    **({"element": step.element} if step.element else {}),
                    **({"action": step.action} if step.action else {}),
                    **({} if step.value is None else {"value": step.value}),
                    "expected": list(step.expected),
                }
                for step in each.steps
            ],
        }
        for each in requirements
    ]  # fmt: skip
    path.write_text(json.dumps(found), encoding="utf-8")


def as_pipes(path: Path, requirements: Sequence[Written]) -> None:
    """Headings and Markdown tables; texts of several lines cannot be said in it."""
    lines: list[str] = []
    for each in requirements:
        lines += [f"## [{each.req_id}] {each.title}".rstrip(), ""]
        lines += [f"{name}: {value}" for name, value in each.keys[2:] if value]
        lines += ["", _row(HEADER), _row(["---"] * 4)]
        for step in each.steps:
            lines.append(_row([*step.cells[:3], "; ".join(step.expected)]))
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def as_feature(path: Path, requirements: Sequence[Written]) -> None:
    """Scenarios whose outcomes are said in the words of the vocabulary."""
    lines = ["Feature: everything", ""]
    for each in requirements:
        lines += ["@" + " @".join(each.tags)] if each.tags else []
        lines += [f"Scenario: [{each.req_id}] {each.title}".rstrip(), f"Given I am on {quoted(each.url)}"]
        lines += [f"And I am signed in with {quoted(each.login)}"] if each.login else []
        for step in each.steps:
            lines.append(f"When {PHRASES[step.action](quoted(step.element), quoted(step.value or ''))}")
            lines += [f"Then {outcome}" for outcome in step.expected]
    path.write_text("\n".join(lines), encoding="utf-8")


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


PHRASES: dict[str, Callable[[str, str], str]] = {
    "fill": "I fill {0} with {1}".format,
    "type": "I type {1} into {0}".format,
    "click": "I click {0}".format,
    "press": "I press {1} in {0}".format,
    "select": "I select {1} from {0}".format,
    "check": "I check {0}".format,
    "uncheck": "I uncheck {0}".format,
    "hover": "I hover over {0}".format,
    "focus": "I focus {0}".format,
    "navigate": "I go to {1}".format,
}
FORMATS: dict[str, Callable[[Path, Sequence[Written]], None]] = {
    "all.xlsx": as_sheets,
    "all.csv": as_csv,
    "all.json": as_json,
    "all.md": as_pipes,
    "all.feature": as_feature,
}


async def read(path: Path, text: str | bytes, **options: object) -> list[Requirement]:
    """Write a file and read it."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return await read_requirements([path], **options)  # type: ignore[arg-type]


def said(requirements: Sequence[Requirement]) -> list[object]:
    """Requirements without the places they were read at."""
    return [
        {
            **each.model_dump(exclude={"place"}),
            "steps": [step.model_dump(exclude={"place"}) for step in each.steps],
        }
        for each in requirements
    ]
