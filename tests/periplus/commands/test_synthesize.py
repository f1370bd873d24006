"""`periplus synthesize` with knowledge: which screens the steps are on, and new ones for pages of none."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent.synthesis.graph.action_graph import ActionGraph
from agent.synthesis.graph.synthesis_report import SynthesisReport
from kb_schema.execution_traces import ExecutionTrace
from kb_schema.session_writer import write_session
from periplus.website_selection import suggest_website_id
from tests.agent.synthesis import sample_pages
from tests.support import warm

WEBSITE = {"type": "website", "website_id": "fleet", "name": "Fleet", "base_url": sample_pages.BASE}
KNOWN = {
    "type": "screen", "website_id": "fleet", "screen_id": "agents", "name": "Agents", "url_patterns": ["^/agents$"],
    "state_signature": {"primary_indicators": [{"type": "dom_contains", "value": "Agents", "selector": "h1"}]},
}  # fmt: skip


@pytest.fixture
def shelves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory that knows one screen of the website."""
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    for name, document in (("website", WEBSITE), ("agents", KNOWN)):
        (tmp_path / "kb").mkdir(exist_ok=True)
        (tmp_path / "kb" / f"{name}.json").write_text(json.dumps(document))
    loaded = warm.run("periplus", "kb", "load", str(tmp_path / "kb"))
    assert loaded.returncode == 0, loaded.stderr
    return tmp_path


def _made(shelves: Path, traces: list[ExecutionTrace], *more: str) -> str:
    for trace in traces:
        if not (shelves / "traces" / trace.trace_id).exists():
            write_session(trace, shelves / "traces" / trace.trace_id)
    made = warm.run(
        "periplus", "synthesize", str(shelves / "traces"), "--name", "Add an agent", "--website", "fleet",
        "--out", str(shelves / "made"), *more,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return " ".join(made.stdout.split())


def test_new_screens_are_shown_published_with_the_workflow_and_known_from_then_on(shelves: Path):
    traces = [sample_pages.create_agent(number) for number in range(3)]
    said = _made(shelves, traces, "--publish")
    assert "screens: 1 known, 1 new, 0 not derived" in said
    assert "new new_agent (New agent), step 3, 4, 5: right about 3 pages of 3 runs and 3 others" in said
    assert "published with 1 new screen: periplus run Add_an_agent" in said

    screen = json.loads((shelves / "made/screens/new_agent.json").read_text())
    assert screen["url_patterns"] == ["^/agents/new/?(?:[?#].*)?$"]
    label = {"type": "label", "name": "Agent name", "exact": True}
    assert {"type": "element_visible", "element": {"strategies": [label]}} in (
        screen["state_signature"]["primary_indicators"]
    )
    report = (shelves / "made/report.html").read_text()
    assert "New agent (new)" in report
    assert "each held back once" in report
    tasks = [json.loads(file.read_text()) for file in sorted((shelves / "made/tasks").iterdir())]
    on = [c["screen_id"] for task in tasks for step in task["steps"] for c in step.get("preconditions", ())]
    assert on == ["agents", "new_agent", "new_agent"]  # a step that is done once has its own

    again = _made(shelves, traces, "--publish")
    assert "screens: 2 known, 0 new, 0 not derived" in again


def test_pages_for_which_nothing_can_be_learned_are_named_with_the_reason(shelves: Path):
    said = _made(shelves, [sample_pages.create_agent(0)])
    assert "screens: 1 known, 0 new, 1 not derived" in said
    assert "no screen for New agent, step 3, 4, 5: seen in 1 run only" in said
    assert "not proposed: seen in 1 run only" in (shelves / "made/report.html").read_text()
    assert not (shelves / "made/screens").exists()


def _write_traces(folder: Path) -> str:
    for number in range(3):
        trace = sample_pages.create_agent(number)
        write_session(trace, folder / "traces" / trace.trace_id)
    return str(folder / "traces")


def _synthesize(folder: Path, *more: str):
    made = str(folder / "made")
    command = ("periplus", "synthesize", str(folder / "traces"), "--name", "Add an agent", "--out", made)
    return warm.run(*command, *more)


def test_a_website_that_the_store_does_not_have_is_added_with_the_address_of_the_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    _write_traces(tmp_path)
    made = _synthesize(tmp_path, "--publish")
    assert made.returncode == 0, made.stderr
    said = " ".join(made.stdout.split())
    website = suggest_website_id(sample_pages.BASE)
    assert f"added the website {website} to the knowledge base" in said
    assert "published" in said
    known = warm.run("periplus", "kb", "status", "--json")
    assert [each["website_id"] for each in json.loads(known.stdout)["websites"]] == [website]
    assert warm.run("periplus", "workflows", "versions", "Add_an_agent").returncode == 0


def test_a_workflow_is_published_to_the_website_at_the_address_of_its_traces(shelves: Path):
    other = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example.com"}
    (shelves / "shop").mkdir()
    (shelves / "shop" / "website.json").write_text(json.dumps(other))
    assert warm.run("periplus", "kb", "load", str(shelves / "shop")).returncode == 0
    _write_traces(shelves)
    made = _synthesize(shelves, "--publish")
    assert made.returncode == 0, made.stderr
    said = " ".join(made.stdout.split())
    assert "added" not in said
    assert "--website fleet" in said  # the command that runs it names the website


def test_traces_of_no_website_of_the_store_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    other = {"type": "website", "website_id": "shop", "name": "Shop", "base_url": "https://shop.example.com"}
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "website.json").write_text(json.dumps(other))
    assert warm.run("periplus", "kb", "load", str(tmp_path / "shop")).returncode == 0
    _write_traces(tmp_path)
    made = _synthesize(tmp_path, "--publish")
    assert made.returncode == 2
    said = " ".join(made.stderr.split())
    assert f"the store has no website at {sample_pages.BASE}" in said
    assert "--website shop" in said
    assert not (tmp_path / "made").exists()
    named = _synthesize(tmp_path, "--publish", "--website", "fleet")
    assert named.returncode == 0, named.stderr
    assert "added the website fleet" in " ".join(named.stdout.split())


def test_the_graph_its_report_and_its_script_are_written_and_agree(tmp_path: Path):
    _write_traces(tmp_path)
    made = _synthesize(tmp_path)
    assert made.returncode == 0, made.stderr
    graph = ActionGraph.from_json_text((tmp_path / "made/graph.json").read_text())
    scope: dict[str, Any] = {}
    exec(compile((tmp_path / "made/workflow.py").read_text(), "workflow.py", "exec"), scope)
    assert scope["build"]() == graph
    told = json.loads((tmp_path / "made/report.json").read_text())
    assert told.keys() == SynthesisReport.model_fields.keys()
    assert told["synthesis_strategy"] == "rule_based"
    strategies = [each.type for node in graph.actions() if node.target for each in node.target.strategies]
    assert told["target_strategy_coverage"] == Counter(strategies)
    assert told["total_steps"] == len(list(graph.actions()))
    assert told["template_variables"] == [each.name for each in graph.parameters] != []


@pytest.mark.parametrize("asks", [("--strategy", "llm"), ("--strategy", "hybrid"), ("--judge",)])
def test_a_model_that_nobody_named_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: tuple[str, ...]
):
    monkeypatch.delenv("PERIPLUS_MODEL", raising=False)
    _write_traces(tmp_path)
    made = _synthesize(tmp_path, *asks)
    assert made.returncode == 2
    assert "set --model or PERIPLUS_MODEL" in " ".join(made.stderr.split())


def test_too_few_usable_traces_are_refused_with_both_numbers(tmp_path: Path):
    _write_traces(tmp_path)
    manifest = tmp_path / "traces" / sample_pages.create_agent(0).trace_id / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "complete": False}))
    made = _synthesize(tmp_path, "--min-traces", "3")
    assert made.returncode == 2
    assert "2/3 passed evaluation, but 3 required" in " ".join(made.stderr.split())
    assert "3 traces read, 2 used" in " ".join(_synthesize(tmp_path, "--min-traces", "2").stdout.split())
