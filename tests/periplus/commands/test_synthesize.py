"""`periplus synthesize` with knowledge: which screens the steps are on, and new ones for pages of none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kb_schema.execution_traces import ExecutionTrace
from kb_schema.session_writer import write_session
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
