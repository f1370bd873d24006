"""`periplus collect` makes inputs, drives a task or an agent, and hands the traces to `synthesize`; `refine` takes more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb_schema.session_reader import read_manifest
from tests.support import warm

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
AGENT = """
from pathlib import Path

from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep
from kb_schema.session_writer import write_session

BASE = "http://fleet.test"
ASKED = []


async def names(task, data):
    ASKED.append((task, data))
    if len(ASKED) == 2:
        raise RuntimeError("the model did not answer")
    page = f"<title>New</title><h1>New</h1><label>Name <input id=name></label><button id=save>Save</button>"
    done = f"<title>Done</title><h1>Done</h1><p role=status>{data['name']} was added</p>"
    field = {"strategies": [{"type": "id", "value": "name"}]}
    save = {"strategies": [{"type": "id", "value": "save"}]}
    steps = (
        TraceStep(action_type="fill", target=field, args={"value": data["name"]}, result=TraceActionResult(),
                  html_before=page, source_url=BASE + "/new"),
        TraceStep(action_type="click", target=save, result=TraceActionResult(), html_before=page, html_after=done,
                  source_url=BASE + "/new", metadata={"url_after": BASE + "/done"},
                  reasoning=f"the form is full, and {data['api_key']} is known"),
    )
    return ExecutionTrace(trace_id="any", steps=steps)


def no_coroutine(task, data):
    return None
"""


def periplus(*arguments: str, cwd: Path):
    return warm.run("periplus", *arguments, cwd=cwd, env={"COLUMNS": "240"}, timeout=170)


@pytest.mark.timeout(400)
def test_inputs_are_made_the_traces_become_a_workflow_and_more_traces_refine_it(site, tmp_path):
    assert periplus("kb", "load", str(HARBOUR / "kb"), cwd=tmp_path).returncode == 0
    base = ["--base-url", site.url]
    made = ["collect", "register_boat", *base, "--make", "length=6|12", "--workers", "1"]
    first = periplus(
        *made, "--runs", "3", "--seed", "one", "--out", "c", "--synthesize", "Moor boats", "--no-validate",
        "--publish", cwd=tmp_path,
    )  # fmt: skip
    assert first.returncode == 0, first.stdout + first.stderr
    assert "3 of 3 done" in first.stdout
    assert "published" in first.stdout
    rows = [json.loads(line) for line in (tmp_path / "c" / "inputs.jsonl").read_text().splitlines()]
    assert [boat["name"] for boat in site.state()["boats"]] == [row["boat_name"] for row in rows]
    assert len({row["boat_name"] for row in rows}) == 3
    assert {row["length"] for row in rows} == {"6", "12"}
    kept = [
        read_manifest(each.parent).input_data for each in sorted((tmp_path / "c/runs").rglob("manifest.json"))
    ]
    assert kept == rows
    workflow = json.loads((tmp_path / "c/workflow/workflow.json").read_text())
    assert {spec["name"] for spec in workflow["io_spec"]["inputs"]} == {"boat_name", "length"}

    same = periplus("refine", "Moor_boats", "c/runs", cwd=tmp_path)
    assert same.returncode == 2
    assert "made of these traces already" in same.stderr
    assert periplus(*made, "--runs", "2", "--seed", "two", "--out", "d", cwd=tmp_path).returncode == 0
    ruled = periplus(
        "refine", "Moor_boats", "d/runs", *base, "--no-validate", "--rule", "max-steps=1", cwd=tmp_path
    )
    assert ruled.returncode == 2, ruled.stdout
    assert "0/5 passed evaluation" in ruled.stdout + ruled.stderr
    refined = periplus("refine", "Moor_boats", "d/runs", *base, "--no-validate", "--publish", cwd=tmp_path)
    assert refined.returncode == 0, refined.stdout + refined.stderr
    assert "5 traces, 2 of them new" in refined.stdout
    assert "published" in refined.stdout
    versions = periplus("workflows", "versions", "Moor_boats", "--json", cwd=tmp_path)
    assert sum(each["current"] for each in json.loads(versions.stdout)) == 1
    (tmp_path / "c" / "runs").rename(tmp_path / "elsewhere")
    lost = periplus("refine", "Moor_boats", "d/runs", cwd=tmp_path)
    assert lost.returncode == 2
    assert "3 of them are not where they were" in lost.stderr


def test_an_agent_of_another_kind_is_driven_and_what_it_did_becomes_a_workflow(tmp_path):
    (tmp_path / "my_agents.py").write_text(AGENT)
    collect = ["collect", "Add a member", "--agent"]
    done = periplus(
        *collect, "my_agents:names", "--runs", "4", "--make", "name=name", "-i", "api_key=sesame-77", "--out", "c",
        "--synthesize", "Add a member", "--no-validate", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr  # one run failed
    assert "row 2: failed: RuntimeError: the model did not answer" in done.stdout
    assert "3 of 4 done" in done.stdout
    workflow = json.loads((tmp_path / "c/workflow/workflow.json").read_text())
    assert [spec["name"] for spec in workflow["io_spec"]["inputs"]] == ["name"]
    for file in (tmp_path / "c").rglob("*"):
        assert file.is_dir() or b"sesame-77" not in file.read_bytes(), file

    again = periplus(*collect, "my_agents:names", "--make", "name=name", "--out", "c", cwd=tmp_path)
    assert (again.returncode, "already contains a collection" in again.stderr) == (2, True)
    for reference in ("my_agents", "my_agents:nobody", "no_such:agent", "my_agents:no_coroutine"):
        refused = periplus(*collect, reference, cwd=tmp_path)
        assert refused.returncode == 2, reference
        assert "--agent" in refused.stderr


@pytest.mark.parametrize(
    "more",
    [
        ["--inputs", "x.csv", "--runs", "2"],
        ["--publish"],
        ["--synthesize", "x", "--json"],
        ["--make", "x=nothing"],
        ["--no-validate"],
        ["--rule", "no-errors"],
        ["--synthesize", "x", "--rule", "nothing"],
        ["--synthesize", "x", "--judge"],  # there is no model
    ],
)
def test_options_of_collect_that_contradict_each_other_are_an_error(tmp_path, more):
    refused = periplus("collect", "register_boat", *more, cwd=tmp_path)
    assert refused.returncode == 2, refused.stdout
    assert "->" in refused.stderr
