"""`periplus collect`, then `periplus synthesize`: the traces of a task's runs become a workflow that is tried on the site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support import warm

pytestmark = pytest.mark.sampled(0.3)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"


def periplus(*arguments: str, cwd: Path):
    return warm.run("periplus", *arguments, cwd=cwd, env={"COLUMNS": "200"}, timeout=110)


def test_the_runs_of_a_task_become_a_workflow_that_is_published_only_if_it_works_on_the_site(site, tmp_path):
    loaded = periplus("kb", "load", str(HARBOUR / "kb"), cwd=tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    (tmp_path / "rows.csv").write_text("boat_name,length\nTern,6\nSkua,9\nGannet,12\n")
    base = ["--base-url", site.url]
    rows = ["--inputs", "rows.csv", "--workers", "1", "--out", "c"]
    collected = periplus("collect", "register_boat", *base, *rows, cwd=tmp_path)
    assert collected.returncode == 1  # no boat has a length of 9
    assert "2 of 3 done" in collected.stdout
    assert len(list((tmp_path / "c").rglob("manifest.json"))) == 3

    made = ["synthesize", "c/runs", "--name", "Moor boats", *base, "--validate", "1", "--publish"]
    failed = periplus(*made, "-i", "boat_name=Auk", "-i", "length=9", "--out", "f", cwd=tmp_path)
    assert failed.returncode == 1
    assert "3 traces read, 2 used" in failed.stdout
    assert "validation: 0 of 1 runs did what their trace shows" in failed.stdout
    assert "not published: validation failed" in failed.stdout
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern", "Gannet"]

    passed = periplus(*made, "-i", "boat_name=Auk", "--out", "p", cwd=tmp_path)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "0 agent steps" in passed.stdout
    assert "validation: 1 of 1 runs did what their trace shows" in passed.stdout
    assert "periplus run Moor_boats --input boat_name=VALUE --input length=VALUE" in passed.stdout
    assert site.state()["boats"][2:] == [
        {"name": "Auk", "length": "6"}
    ]  # the length is that of the first run
    report = json.loads((tmp_path / "p" / "report.json").read_text())
    assert (report["deterministic_count"], report["parameterizable_count"]) == (3, 2)


def test_runs_of_a_workflow_whose_end_shows_that_it_did_not_work_are_not_made_into_a_workflow(site, tmp_path):
    """Every node of it is done: only the criteria of the whole say that it failed."""
    kb = tmp_path / "kb"
    shutil.copytree(HARBOUR / "kb", kb)
    workflow = {
        "type": "workflow", "workflow_id": "moor", "name": "Moor", "website_id": "harbour",
        "nodes": [{"type": "task", "node_id": "one", "task_id": "register_boat"}],
        "success_criteria": [{"type": "dom_contains", "value": "The harbour is full", "timeout": 0.5}],
        "io_spec": {"inputs": [{"name": "boat_name", "source": "user_input"}]},
    }  # fmt: skip
    (kb / "workflows").mkdir()
    (kb / "workflows" / "moor.json").write_text(json.dumps(workflow))
    assert periplus("kb", "load", str(kb), cwd=tmp_path).returncode == 0
    (tmp_path / "rows.csv").write_text("boat_name\nTern\nGannet\n")
    collected = periplus(
        "collect", "moor", "--base-url", site.url, "--inputs", "rows.csv", "--workers", "1", "--out", "c",
        "--synthesize", "Learned", "--no-validate", "--publish", cwd=tmp_path,
    )  # fmt: skip
    assert len(site.state()["boats"]) == 2
    assert collected.returncode == 2, collected.stdout
    assert "0/2 passed evaluation" in collected.stderr
    assert "the run ended with" in collected.stderr
    listed = periplus("workflows", "list", "--json", cwd=tmp_path)
    assert [each["workflow_id"] for each in json.loads(listed.stdout)] == ["moor"]
