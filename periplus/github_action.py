"""`python -m periplus.github_action verify|optimize`: runs the command in a workflow of GitHub, with annotations and a summary.

`action.yml` calls it. The arguments are in `PERIPLUS_ARGUMENTS`, so that no workflow puts a text of others into a script. What a
website says is escaped: it could otherwise give orders to the runner (`::set-env`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from kb_schema.suite_optimization import OptimizationReport
from kb_schema.verification import VerdictReport
from periplus.exit_codes import ExitCode

COMMANDS = ("verify", "optimize")
OPTIMIZATION = "optimization.json"
MOST_ANNOTATIONS = 10
"""GitHub shows ten of each kind for a step."""
LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the summary; with `level`, an annotation, too."""

    name: str
    outcome: str
    message: str = ""
    fix: str = ""
    level: str = ""
    """`error`, `warning`, or empty."""
    file: str = ""


def read_findings(folder: Path) -> list[Finding]:
    """Return what the reports in a folder of results say, failures first; empty without a report."""
    found = [*_read_verdicts(folder), *_read_optimization(folder)]
    return sorted(found, key=lambda each: (each.level == "", each.level != "error", each.name))


def _read_verdicts(folder: Path) -> Iterator[Finding]:
    for path in sorted(folder.rglob("verdict_*.json")):
        try:
            report = VerdictReport.model_validate_json(path.read_bytes())
        except ValidationError:
            continue
        name = f"{report.req_id}: {report.title}" if report.title else report.req_id
        level = {"pass": "", "partial": "warning"}.get(report.verdict, "error")
        words = f"{report.rca.class_.replace('_', ' ')}: {report.rca.message}" if level else ""
        yield Finding(name, report.verdict, words, report.rca.recommendation or "", level)


def _read_optimization(folder: Path) -> Iterator[Finding]:
    path = folder / OPTIMIZATION
    if not path.is_file():
        return
    try:
        report = OptimizationReport.model_validate_json(path.read_bytes())
    except ValidationError:
        return
    for test in report.tests:
        file = test.test_id.partition("::")[0]
        if test.after == "passed":
            repaired = bool(test.patches)
            words = "its locators were repaired: look at the patch" if repaired else ""
            yield Finding(test.test_id, "repaired" if repaired else "passed", words, level="warning" if repaired else "", file=file)  # fmt: skip
        else:
            cause = f"{test.rca.class_.replace('_', ' ')}: {test.rca.message}" if test.rca else "it failed"
            fix = (test.rca.recommendation or "") if test.rca else ""
            yield Finding(test.test_id, test.after, cause, fix, "error", file)


def format_annotation(finding: Finding) -> str:
    """Return the order for the runner that makes an annotation."""
    message = f"{finding.message}\n{finding.fix}".strip()[:LONGEST]
    where = f"file={_escape_property(finding.file)}," if finding.file else ""
    return f"::{finding.level} {where}title={_escape_property(finding.name[:200])}::{_escape(message)}"


def format_summary(command: str, findings: list[Finding]) -> str:
    """Return the summary of a step in Markdown."""
    if not findings:
        return f"## periplus {command}\n\nNo report was written; see the log.\n"
    good = sum(each.level == "" for each in findings)
    lines = [f"## periplus {command}", "", f"{good} of {len(findings)} without a finding", ""]
    lines += ["| | outcome | why | what to do |", "|---|---|---|---|"]
    lines += [
        f"| {_cell(each.name)} | {_cell(each.outcome)} | {_cell(each.message)} | {_cell(each.fix)} |"
        for each in findings[:200]
    ]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _cell(text: str) -> str:
    """Return text for a cell of a table: one line, and no markup of the page."""
    flat = " ".join(text.split())[:300].replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{each}" if each in "|`[]*_!" else each for each in flat)


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code."""
    command = arguments[0] if arguments else ""
    if command not in COMMANDS:
        print(f"Error: expected {' or '.join(COMMANDS)}, found {command!r}", file=sys.stderr)  # noqa: T201 - a program of its own
        return ExitCode.USER_ERROR
    try:
        given = shlex.split(os.environ.get("PERIPLUS_ARGUMENTS", ""))
    except ValueError as exc:
        print(f"Error: the arguments cannot be read: {exc}", file=sys.stderr)  # noqa: T201 - as above
        return ExitCode.USER_ERROR
    folder = Path(os.environ.get("PERIPLUS_OUT") or f"periplus-{command}")
    own = [sys.executable, "-m", "periplus", command, *given, "--out", str(folder)]
    code = subprocess.run(own, check=False).returncode
    findings = read_findings(folder)
    for each in [each for each in findings if each.level][: 2 * MOST_ANNOTATIONS]:
        print(format_annotation(each))  # noqa: T201 - orders for the runner
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(format_summary(command, findings))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
