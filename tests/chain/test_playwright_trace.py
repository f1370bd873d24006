"""`run --trace`: a trace for Playwright's viewer, in which no secret can be found, nor what was typed of one."""

from __future__ import annotations

import base64
import json
import zipfile
from functools import partial
from urllib.parse import quote

import pytest

from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders import read_knowledge_folder
from periplus.runs.task_runs import TaskRunRequest, TaskRunResources, execute_task_run
from periplus.session_setup import open_fresh_context
from tests.support import warm
from tests.support.small_sites import Answered, running_site

SECRET = "Zy7%kw~Qp/4 blue&sea"
FORM = """<!doctype html><title>Sign in</title><h1>Sign in</h1>
<form method=post action=/in><label>Name <input id=name name=name></label>
<label>Code <input id=code name=code></label><button id=go>Go</button></form>"""
TASK = {
    "type": "task", "task_id": "sign_in", "website_id": "works",
    "io_spec": {"inputs": [
        {"name": "name", "source": "user_input"}, {"name": "code", "source": "user_input", "secret": True},
    ]},
    "steps": [
        {"step_id": "open", "action": {"action_type": "navigate", "url": "/"}},
        {"step_id": "name", "action": {"action_type": "fill", "target": "#name", "value": "{name}"}},
        {"step_id": "code", "action": {"action_type": "type", "target": "#code", "value": "{code}"}},
        {"step_id": "go", "action": {"action_type": "click", "target": "#go"}},
    ],
}  # fmt: skip


@pytest.fixture
def kb(tmp_path):
    folder = tmp_path / "kb"
    folder.mkdir()
    website = {"type": "website", "website_id": "works", "name": "W", "base_url": "https://works.example"}
    (folder / "website.json").write_text(json.dumps(website))
    (folder / "task.json").write_text(json.dumps(TASK))
    return folder


async def test_a_trace_shows_what_was_done_and_no_secret_in_any_spelling(tmp_path, kb, browser):
    got = []

    def answer(asked):
        if asked.method == "POST":
            got.append(dict(asked.form))
            return Answered(f"<h1>Welcome</h1><p>Your code is {SECRET.replace('&', '&amp;')}</p>")
        return Answered(FORM)

    folder = tmp_path / "run"
    folder.mkdir()
    with running_site(answer) as site:
        async with open_stores(tmp_path) as stores, open_runs(tmp_path) as runs:
            await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(kb)[0])
            wanted = TaskRunRequest(
                "works", "sign_in", base_url=site.base, values={"name": "Ada Lovelace", "code": SECRET}
            )
            browsers = partial(open_fresh_context, browser)
            resources = TaskRunResources(stores, runs, browsers, folder, pictures=True, playwright_trace=True)
            result = await execute_task_run(wanted, resources)
            names = {each.name for each in await runs.artifacts(result.run_id)}
    assert result.complete, result.error
    assert got == [{"name": "Ada Lovelace", "code": SECRET}]
    assert {"trace.zip", "steps.jsonl"} <= names
    assert not (folder / ".trace.zip").exists()
    with zipfile.ZipFile(folder / "trace.zip") as trace:
        texts = {name: trace.read(name).decode("latin-1") for name in trace.namelist()}
    assert any("Ada Lovelace" in text for text in texts.values())  # it is a trace of this run
    assert any(name.endswith(".trace") for name in texts)
    assert any(name.endswith((".jpeg", ".jpg", ".png")) for name in texts)
    spellings = {
        SECRET, quote(SECRET), quote(SECRET, safe=""), SECRET.replace("&", "&amp;"), SECRET.replace(" ", "+"),
        base64.b64encode(SECRET.encode()).decode(), SECRET[:8], SECRET[:-1], json.dumps(SECRET)[1:-1],
    }  # fmt: skip
    found = [(name, each) for name, text in texts.items() for each in spellings if each in text]
    assert found == []
    # Each key of it was typed by a call of its own: none of these says which.
    for name, text in texts.items():
        if name.endswith(".trace"):
            for line in filter(None, text.splitlines()):
                params = json.loads(line).get("params") or {}
                for key in ("text", "key", "value"):
                    value = params.get(key)
                    assert not (isinstance(value, str) and value and value in SECRET), line[:200]


def test_a_trace_of_somebodys_own_browser_is_refused(tmp_path):
    said = warm.run(
        "periplus", "run", "x", "--trace", "--cdp-endpoint", "http://127.0.0.1:9222", cwd=tmp_path
    )
    assert said.returncode == 2
    assert "cannot be combined" in said.stderr + said.stdout
