"""The action of GitHub: what it calls runs, and what a website says gives no orders to the runner."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from kb_schema.verification import RootCause, VerdictReport, VerificationSummary
from periplus.github_action import Finding, format_annotation, format_summary, read_findings
from tests.support.small_sites import Answered, running_site

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EVIL = "late\n::add-path::/tmp/evil\r::stop-commands::x | <img src=x> `$(id)`"


def report(req_id, verdict, message="fine", cause="success"):
    return VerdictReport(
        req_id=req_id,
        title="Sign in",
        verdict=verdict,
        timestamp=datetime(2026, 1, 1, tzinfo=UTC),
        summary=VerificationSummary(total_steps=1, executed_steps=1),
        rca=RootCause(class_=cause, confidence=1.0, message=message, recommendation="look"),
    )


def test_failures_come_first_with_their_cause_and_what_to_do(tmp_path):
    for each in (report("A", "pass"), report("B", "fail", "no button", "app_defect"), report("C", "partial")):
        (tmp_path / f"verdict_{each.req_id}.json").write_text(each.model_dump_json(by_alias=True))
    found = read_findings(tmp_path)
    assert [(each.name, each.level) for each in found] == [
        ("B: Sign in", "error"),
        ("C: Sign in", "warning"),
        ("A: Sign in", ""),
    ]
    assert format_annotation(found[0]) == "::error title=B%3A Sign in::app defect: no button%0Alook"
    assert "1 of 3 without a finding" in format_summary("verify", found)


def test_what_a_website_says_gives_no_orders_to_the_runner():
    finding = Finding(EVIL, "fail", EVIL, EVIL, "error", EVIL)
    said = format_annotation(finding)
    assert len(said.splitlines()) == 1
    assert said.startswith("::error file=late%0A%3A%3Aadd-path")
    row = format_summary("verify", [finding]).splitlines()[-1]
    assert "<img" not in row
    assert re.search(r"(?<!\\)`", row) is None
    assert len(re.findall(r"(?<!\\)\|", row)) == 5


def test_a_workflow_puts_no_text_of_others_into_a_script():
    steps = ACTION["runs"]["steps"]
    assert [each["run"] for each in steps if "${{" in each.get("run", "")] == []
    for each in steps:
        if "uses" in each:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each["uses"])


def run_action(command, tmp_path, arguments, **more):
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "PERIPLUS_ARGUMENTS": arguments, "PERIPLUS_OUT": str(tmp_path / "out"),
        "PERIPLUS_DATA_DIR": str(tmp_path / "data"), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), **more,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "periplus.github_action", command],
        check=False, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=110,
    )  # fmt: skip


def test_a_verification_is_annotated_and_summarised_and_keeps_its_exit_code(tmp_path):
    with running_site(lambda _: Answered("<title>Shop</title><h1>Shop</h1>")) as site:
        (tmp_path / "smoke test.csv").write_text(
            f"ReqID,StartPage,Element,Action\nREQ-1,{site.base},Nothing of this name,click\n"
        )
        said = run_action("verify", tmp_path, "'smoke test.csv' --timeout 1 --no-tests --headless")
    if said.returncode == 2:
        pytest.fail(said.stderr + said.stdout)
    assert said.returncode == 1, said.stderr
    assert "::error title=REQ-1" in said.stdout
    assert "| REQ-1" in (tmp_path / "summary.md").read_text()
    assert list((tmp_path / "out").glob("verdict_*.json"))


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [("deploy", "", "expected verify or optimize"), ("verify", "'x", "the arguments cannot be read")],
)
def test_a_wrong_input_is_told(tmp_path, command, arguments, said):
    ended = run_action(command, tmp_path, arguments)
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_the_example_of_the_page_names_inputs_that_there_are():
    page = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (step,) = [
        each
        for each in yaml.safe_load(block)["jobs"]["verify"]["steps"]
        if "with" in each and "command" in each["with"]
    ]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == ACTION["inputs"].keys()
    assert json.dumps(ACTION["outputs"])
