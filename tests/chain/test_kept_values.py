"""Outputs of global scope outlive the process, per website and person, with their age; secrets never (KS 9.1, 9.12)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.documents import Document
from kb_schema.run_records import RunResult
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import record_run
from periplus.session_setup import open_fresh_context, open_session
from tests.support.small_sites import (
    WEBSITE,
    Answered,
    Asked,
    RunningSite,
    opened_stores,
    running_site,
)

PAGE = "<title>Desk</title><h1>Desk</h1><p id=berth>B7</p><p id=pin>4711-hidden</p><p id=empty></p>"


@pytest.fixture
def site() -> Iterator[RunningSite]:
    def answer(_asked: Asked) -> Answered:
        return Answered(PAGE)

    with running_site(answer) as found:
        yield found


def _output(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "extraction": {"method": "dom_extraction", "selector": f"#{name}"}, **more}


def _task(name: str, **io_spec: Any) -> dict[str, Any]:
    go = {"step_id": "go", "action": {"action_type": "navigate", "url": "/"}}
    return {"type": "task", "task_id": name, "name": name, "steps": [go], "io_spec": io_spec}


def _documents(scope: str, **more: Any) -> list[Document]:
    """`read` reads three values, `use` takes one of them, `sign_in` says who a person is."""
    screen = {
        "type": "screen", "screen_id": "desk", "name": "Desk", "url": "/", "url_patterns": ["^/$"],
        "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "h1"}]},
    }  # fmt: skip
    read = _task(
        "read",
        context_persistence=scope,
        outputs=[_output("berth"), _output("pin", secret=True), _output("empty")],
        **more,
    )
    fresh = {"name": "berth", "volatility": "medium", "ttl_seconds": 3600, "required": False}
    use = _task("use", inputs=[{"name": "berth", "required": False}, {"name": "pin", "required": False}])
    soon = _task("soon", inputs=[fresh])
    login = _task("sign_in", inputs=[{"name": "email"}, {"name": "password", "secret": True}])
    return [parse_document({"website_id": WEBSITE, **each}) for each in (screen, read, use, soon, login)]


@asynccontextmanager
async def _process(browser: Any, site: RunningSite, folder: Path, documents: list[Document], values: Mapping[str, str],
                   login: str | None) -> AsyncIterator[tuple[TaskRunner, RunStore]]:  # fmt: skip
    """A session with nothing but the stores, as a new process has it."""
    async with (
        open_runs(folder) as runs,
        opened_stores(site, folder, *documents) as stores,
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=site.base, values=values) as session,
    ):
        session.website = session.website.model_copy(update={"login_task_id": login})
        async with record_run(nullcontext(runs), session, kind="task", subject="t"):
            yield TaskRunner(session), runs


async def _used(runner: TaskRunner, task_id: str = "use") -> dict[str, Any]:
    """The inputs with which a task runs now."""
    seen: dict[str, Any] = {}
    outer = runner.values.resolve

    async def resolve(run: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        seen.update(await outer(run, given))
        return dict(seen)

    runner.values.resolve = resolve  # type: ignore[method-assign]  # a spy
    result: RunResult = await runner.run_task(task_id)
    assert result.complete, result.error
    return {name: seen[name] for name in ("berth", "pin") if name in seen}


@pytest.mark.parametrize(
    ("scope", "more", "kept"),
    [
        ("global", {}, "B7"),
        ("session", {}, ""),
        ("global", {"variable_resolution": {"runtime_context_store": False}}, ""),
    ],
    ids=["global", "session", "the task keeps no values"],
)
async def test_an_output_of_global_scope_is_there_in_the_next_process(
    browser, site, tmp_path, scope, more, kept
):
    documents = _documents(scope, **more)
    async with _process(browser, site, tmp_path, documents, {}, None) as (runner, runs):
        result = await runner.run_task("read")
        assert result.complete, result.error
        stored = await runs.kept_values.kept(WEBSITE, "")
        assert [each.name for each in stored] == (["berth"] if kept else [])
        assert "4711" not in str(stored)
    async with _process(browser, site, tmp_path, documents, {}, None) as (runner, _):
        assert await _used(runner) == {"berth": kept, "pin": ""}


async def test_it_is_that_of_the_person_who_is_signed_in_and_values_of_the_run_go_first(
    browser, site, tmp_path
):
    documents, ada = _documents("global"), {"email": "ada@example.com", "password": "secret-word"}
    async with _process(browser, site, tmp_path, documents, ada, "sign_in") as (runner, _):
        assert (await runner.run_task("read")).complete
    for values, berth in (
        (ada, "B7"),
        ({**ada, "password": "another-word"}, "B7"),
        ({**ada, "email": "bob@example.com"}, ""),
        ({"password": "secret-word"}, ""),
        ({**ada, "berth": "C1"}, "C1"),
    ):
        async with _process(browser, site, tmp_path, documents, values, "sign_in") as (runner, _):
            assert (await _used(runner))["berth"] == berth, values


@pytest.mark.parametrize(("hours", "berth"), [(0.9, "B7"), (1.1, "")])
async def test_it_is_as_old_in_the_next_process_as_it_is(browser, site, tmp_path, hours, berth):
    documents = _documents("global")
    async with _process(browser, site, tmp_path, documents, {}, None) as (runner, runs):
        assert (await runner.run_task("read")).complete
        (stored,) = await runs.kept_values.kept(WEBSITE, "")
        earlier = stored.model_copy(update={"kept_at": stored.kept_at - timedelta(hours=hours)})
        await runs.kept_values.keep([earlier], keep_s=86_400)
    async with _process(browser, site, tmp_path, documents, {}, None) as (runner, _):
        assert (await _used(runner, "soon"))["berth"] == berth
