"""Every exit code of the table in docs/exit-codes.md, by the command itself in a browser on a site of a few pages."""

from __future__ import annotations

import json
import re
import signal
import threading
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.small_sites import Answered, Asked, running_site

pytestmark = pytest.mark.sampled(0.3)

TABLE = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
DOCS = Path(__file__).parents[2] / "docs/exit-codes.md"
FORM = (
    "<h1>New</h1><form method=post><label>Name <input id=name name=name></label><button id=save>Save</button>"
    "</form><button id=ask onclick=\"confirm('Really?')\">Ask</button>"
)
CLOSED = "Closed"
"""The name of an entry after which the site does not answer any more."""


def _css(value):
    return {"strategies": [{"type": "css", "value": value}]}


def _screen(screen_id, path, heading):
    sign = {"type": "dom_contains", "value": heading, "selector": "h1"}
    return {
        "type": "screen", "screen_id": screen_id, "name": heading, "url": path, "url_patterns": [f"^{path}$"],
        "state_signature": {"required_indicators": [sign]},
    }  # fmt: skip


OPEN = {
    "step_id": "open",
    "action": {"action_type": "navigate", "target_screen": "new", "method": "direct_url"},
}
FILL = {"step_id": "fill", "action": {"action_type": "type_text", "target": _css("#name"), "text": "{name}"}}
SAVE = {"step_id": "save", "action": {"action_type": "click", "target": _css("#save")}}
ASK = {"step_id": "ask", "action": {"action_type": "click", "target": _css("#ask")}}
WAIT = {"step_id": "wait", "action": {"action_type": "navigate", "url": "/slow"}}
MISSING = {
    "step_id": "missing",
    "critical": False,
    "action": {"action_type": "click", "target": _css("#no-such-thing")},
}


def _task(task_id, *steps, shown="{name}"):
    criteria = [] if shown is None else [{"type": "dom_contains", "value": shown, "selector": "li"}]
    return {
        "type": "task", "task_id": task_id, "name": task_id, "io_spec": {"inputs": [{"name": "name"}]},
        "steps": list(steps), "success_criteria": criteria,
    }  # fmt: skip


EACH = {
    "type": "workflow", "workflow_id": "each", "name": "Each",
    "io_spec": {"inputs": [{"name": "names", "type": "array", "required": False,
                            "default": [{"name": CLOSED}, {"name": "Late"}]}]},
    "success_criteria": [{"type": "dom_contains", "value": "Late", "selector": "li"}],
    "nodes": [{
        "type": "group", "node_id": "all",
        "iterator_spec": {"type": "list_processing", "items": "{names}", "item_action": {"runs_nodes": True}},
        "nodes": [{"type": "task", "node_id": "one", "task_id": "add",
                   "inputs": {"name": {"source": "context", "key": "item.name"}}}],
    }],
}  # fmt: skip
EVERY = {
    **EACH, "workflow_id": "every",
    "nodes": [{
        "type": "task", "node_id": "all", "task_id": "add",
        "iterator_spec": {"type": "list_processing", "items": "{names}",
                          "item_action": {"task_id": "add", "inputs": {"name": "{item.name}"}}},
    }],
}  # fmt: skip
NESTED = _task(
    "nested",
    {
        "step_id": "inner",
        "action": {"action_type": "run_task", "task_id": "twice", "inputs": {"name": "{name}"}},
    },
)
DOCUMENTS = (
    _screen("all", "/", "All"),
    _screen("new", "/new", "New"),
    _task("add", OPEN, FILL, SAVE),
    _task("wrong", OPEN, FILL, SAVE, shown="Somebody else"),
    _task("unstated", OPEN, FILL, SAVE, shown=None),
    _task("partly", OPEN, FILL, SAVE, MISSING),
    _task("asking", OPEN, ASK),
    _task("slow", OPEN, WAIT),
    EACH,
    EVERY,
    _task("twice", OPEN, FILL, SAVE, {**OPEN, "step_id": "again"}),
    NESTED,
)


@pytest.fixture
def site(tmp_path):
    """A site with a list and a form, and its knowledge in the data folder of the commands."""
    names, over = [], threading.Event()

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            names.append(asked.form["name"])
            return Answered(location="/")
        if asked.path == "/slow":
            over.wait(60)
        if CLOSED in names and asked.path == "/new":
            return Answered(status=204)
        listed = "".join(f"<li>{name}</li>" for name in names)
        return Answered(FORM if asked.path == "/new" else f"<h1>All</h1><ul>{listed}</ul>")

    with running_site(answer) as running:
        website = {"type": "website", "website_id": "small", "name": "Small", "base_url": running.base}
        folder = tmp_path / "kb"
        folder.mkdir()
        for number, document in enumerate((website, *DOCUMENTS)):
            (folder / f"{number}.json").write_text(json.dumps(document))
        loaded = warm.run("periplus", "kb", "load", str(folder), cwd=tmp_path)
        assert loaded.returncode == 0, loaded.stderr
        yield running
        over.set()


def _meaning(code):
    return {int(number): meaning for number, meaning, _ in TABLE.findall(DOCS.read_text(encoding="utf-8"))}[
        code
    ]


CASES = {
    "0": (["add", "-i", "name=Tern"], 0, "success", "(`success`)"),
    "1": (["wrong", "-i", "name=Tern"], 1, "failure", "(`failure`)"),
    "4 in a loop over nodes": (["each"], 4, "degraded", "`degraded`"),
    "1 in a sub-task": (["nested", "-i", f"name={CLOSED}"], 1, "failure", "(`failure`)"),
    "4 in a loop over a task": (["every"], 4, "degraded", "`degraded`"),
    "2": (["ad", "-i", "name=Tern"], 2, None, "Nothing was done"),
    "2 without input": (["add"], 2, None, "an input that is missing"),
    "3": (["asking", "-i", "name=Tern"], 3, "needs_person", "(`needs_person`)"),
    "4": (["partly", "-i", "name=Tern"], 4, "degraded", "`degraded`"),
    "5": (["unstated", "-i", "name=Tern"], 5, "unverified", "(`unverified`)"),
    "5 allowed": (["unstated", "-i", "name=Tern", "--allow-unverified"], 0, "unverified", "done"),
}


@pytest.mark.parametrize(("arguments", "code", "status", "meant"), CASES.values(), ids=CASES)
def test_a_run_ends_with_the_exit_code_of_the_table(site, tmp_path, arguments, code, status, meant):
    done = warm.run("periplus", "run", *arguments, "--headless", "--out", "o", cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert meant in _meaning(code)
    result = tmp_path / "o" / "result.json"
    assert (json.loads(result.read_text())["status"] if result.exists() else None) == status
    if "Nothing was done" in _meaning(code):
        assert site.writes == []
    elif arguments[0] in ("each", "every", "nested"):
        assert [each.form["name"] for each in site.writes] == [CLOSED]


def test_a_run_that_is_interrupted_ends_with_the_exit_code_of_the_table(site, tmp_path):
    process = warm.start(
        "periplus", "run", "slow", "-i", "name=Tern", "--headless", cwd=tmp_path, streamed=True
    )
    for line in process.stdout:
        if "+ slow.open" in line:
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "interrupted" in _meaning(130)


def test_every_exit_code_of_the_table_is_produced_here():
    told = {int(code) for code, _, _ in TABLE.findall(DOCS.read_text(encoding="utf-8"))}
    assert {code for _, code, _, _ in CASES.values()} | {130} == told
