"""Tasks that depend on tasks: those run first, and a circle under a condition is a loop (KS 3, 10.1 option A)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent.execution import task_dependencies
from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.documents import Document
from kb_schema.resilience_policy import ResiliencePolicy
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping
from tests.support.lives import another_life, cut_off, kept_state
from tests.support.small_sites import WEBSITE, Answered, Asked, RunningSite, running_site, visiting

FIRST = {"type": "dom_element", "selector": "li"}
NONE = {"type": "none_of", "conditions": [FIRST]}


@dataclass
class Shelf:
    """A list with a form that adds, and a button that removes the first."""

    site: RunningSite
    items: list[str] = field(default_factory=list)

    @property
    def done(self) -> list[str]:
        return [f"{each.path[1:]} {each.form.get('name', '')}".strip() for each in self.site.writes]


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    items: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.path == "/add" and asked.method == "POST":
            items.append(asked.form["name"])
        elif asked.path == "/remove" and items:
            items.pop(0)
        if asked.method == "POST":
            return Answered(location="/")
        listed = "".join(f"<li>{each}</li>" for each in items)
        add = "<form method=post action=/add><input id=name name=name><button id=add>Add</button></form>"
        remove = "<form method=post action=/remove><button id=remove>Remove the first</button></form>"
        return Answered(f"<title>Shelf</title><h1>Shelf</h1><ul>{listed}</ul>{add}{remove}")

    with running_site(answer) as site:
        yield Shelf(site, items)


def _task(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    go = {"step_id": "go", "action": {"action_type": "navigate", "url": "/"}}
    return {"type": "task", "task_id": name, "name": name, "steps": [go, *steps], **more}


def _press(target: str) -> dict[str, Any]:
    return {
        "step_id": target, "action": {"action_type": "click", "target": f"#{target}"},
        "postconditions": [{"type": "url_matches", "pattern": "^/$"}],
    }  # fmt: skip


ADD = _task(
    "add",
    {"step_id": "name", "action": {"action_type": "fill", "target": "#name", "value": "{name}"}},
    _press("add"),
    io_spec={"inputs": [{"name": "name", "default": "Jar"}]},
)
REMOVE = _task("remove", _press("remove"))
LOST = _task("lost", {"step_id": "lost", "action": {"action_type": "click", "target": "#nowhere"}})


def _needs(task: str, first: str, condition: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    more |= {} if condition is None else {"condition": condition}
    return {"type": "depends_on", "_from": f"task/{task}", "_to": f"task/{first}", **more}


def _documents(*more: dict[str, Any]) -> list[Document]:
    screen = {
        "type": "screen", "screen_id": "shelf", "name": "Shelf", "url": "/", "url_patterns": ["^/$"],
        "state_signature": {"required_indicators": [{"type": "dom_element", "selector": "ul"}]},
    }  # fmt: skip
    return [parse_document({"website_id": WEBSITE, **each}) for each in (screen, ADD, REMOVE, LOST, *more)]


async def test_the_task_that_another_depends_on_is_carried_out_first_and_once_in_a_session(
    browser, shelf, tmp_path
):
    async with visiting(browser, shelf.site, tmp_path, *_documents(_needs("remove", "add"))) as session:
        runner = TaskRunner(session)
        first = await runner.run_task("remove", {"name": "Ink"})
        assert first.complete, first.error
        assert shelf.done == ["add Ink", "remove"]
        shelf.items.append("Pen")
        assert (await runner.run_task("remove")).complete
    assert shelf.done == ["add Ink", "remove", "remove"]


@pytest.mark.parametrize(
    ("items", "done"), [(["Pen"], ["remove"]), ([], ["add Jar", "remove"])], ids=["no", "yes"]
)
async def test_a_condition_decides_whether_it_comes_first(browser, shelf, tmp_path, items, done):
    shelf.items += items
    async with visiting(browser, shelf.site, tmp_path, *_documents(_needs("remove", "add", NONE))) as session:
        result = await TaskRunner(session).run_task("remove")
    assert result.complete, result.error
    assert shelf.done == done


async def test_a_task_of_which_the_page_shows_that_it_is_done_is_not_repeated(browser, shelf, tmp_path):
    shelf.items.append("Pen")
    done = ADD | {"already_done_when": [FIRST]}
    documents = [each for each in _documents(_needs("remove", "add")) if each.local_id != "add"]
    documents.append(parse_document({"website_id": WEBSITE, **done}))
    async with visiting(browser, shelf.site, tmp_path, *documents) as session:
        assert (await TaskRunner(session).run_task("remove")).complete
    assert shelf.done == ["remove"]


async def test_what_that_task_depends_on_comes_before_it_in_the_order_of_the_edges(browser, shelf, tmp_path):
    other = _task("other", *ADD["steps"][1:], io_spec={"inputs": [{"name": "name", "default": "Cup"}]})
    edges = [_needs("remove", "other", order=2), _needs("remove", "add", order=1), _needs("other", "add")]
    async with visiting(browser, shelf.site, tmp_path, *_documents(other, *edges)) as session:
        prerequisites = await task_dependencies.list_prerequisites(session.knowledge, "remove")
        assert [(edge.to_task, depth) for edge, depth in prerequisites] == [("add", 0), ("other", 0)]
        assert (await TaskRunner(session).run_task("remove")).complete
    assert shelf.done == ["add Jar", "add Cup", "remove"]


async def test_a_task_whose_prerequisite_fails_does_nothing_and_names_it(browser, shelf, tmp_path):
    shelf.items.append("Pen")
    async with visiting(browser, shelf.site, tmp_path, *_documents(_needs("remove", "lost"))) as session:
        session.resilience = ResiliencePolicy(enable_replanning=False, step_timeout_s=0.5)
        result = await TaskRunner(session).run_task("remove")
    assert not result.complete
    assert "task 'lost'" in (result.error or "")
    assert shelf.done == []


async def test_a_circle_under_a_condition_is_a_loop(browser, shelf, tmp_path):
    shelf.items += ["Pen", "Ink", "Jar"]
    async with visiting(
        browser, shelf.site, tmp_path, *_documents(_needs("remove", "remove", FIRST))
    ) as session:
        result = await TaskRunner(session).run_task("remove")
    assert result.complete, result.error
    assert shelf.items == []
    assert shelf.done == ["remove"] * 3


async def test_a_circle_of_two_tasks_runs_both_in_each_round(browser, shelf, tmp_path):
    """`halve` needs `add`, and both go on while one item is left."""
    shelf.items += ["Pen", "Ink"]
    one = {"type": "element_count", "selector": "ul li", "min": 1, "max": 1}
    halve = _task("halve", _press("remove"), _press("remove") | {"step_id": "again"})
    edges = [_needs("halve", "add"), _needs("add", "halve", one)]
    async with visiting(browser, shelf.site, tmp_path, *_documents(halve, *edges)) as session:
        result = await TaskRunner(session).run_task("halve")
    assert result.complete, result.error
    assert shelf.done == ["add Jar", "remove", "remove", "add Jar", "remove", "remove"]


async def test_a_circle_that_does_not_end_is_ended_with_what_holds(browser, shelf, tmp_path, monkeypatch):
    monkeypatch.setattr(task_dependencies, "MOST_ROUNDS", 2)
    always = {"type": "dom_element", "selector": "h1"}
    async with visiting(
        browser, shelf.site, tmp_path, *_documents(_needs("remove", "remove", always))
    ) as session:
        result = await TaskRunner(session).run_task("remove")
    assert not result.succeeded
    assert "repeated 2 times, and the condition of its circle still holds" in (result.error or "")
    assert shelf.done == ["remove"] * 3


async def test_the_order_of_a_workflow_is_not_repeated_by_edges_among_its_tasks(browser, shelf, tmp_path):
    nodes = [{"node_id": "a", "type": "task", "task_id": "add"}, {"node_id": "b", "type": "task", "task_id": "remove"},
             {"node_id": "c", "type": "task", "task_id": "remove"}]  # fmt: skip
    flow = {"type": "workflow", "workflow_id": "both", "name": "Both", "nodes": nodes, "unverified": True}
    edge = _needs("remove", "add")
    async with visiting(browser, shelf.site, tmp_path, *_documents(flow, edge)) as session:
        workflow = await session.knowledge.workflow("both")
        assert [each.to_task for each in await session.knowledge.dependencies("remove")] == ["add"]
        result = await run_workflow(TaskRunner(session), workflow, {})
    assert result.complete, result.error
    assert shelf.done == ["add Jar", "remove", "remove"]


@pytest.mark.parametrize("at", [4, 6, 7, 8])
async def test_a_run_that_is_resumed_carries_out_the_prerequisite_once(browser, shelf, tmp_path, at):
    """It is cut off in the prerequisite, at its end, and at the first step of the task itself."""
    async with (
        open_runs(tmp_path / "runs") as runs,
        visiting(browser, shelf.site, tmp_path, *_documents(_needs("remove", "add"))) as session,
    ):
        kept = RunStoreKeeping(runs)
        assert await cut_off(session, kept, "remove", {}, at)
        state = await kept_state(kept, session)
        async with another_life(session, browser, state) as again:
            result = await TaskRunner(again, keeping=kept, resume=state).run_task("remove")
    assert result.complete, result.error
    assert shelf.done == ["add Jar", "remove"]
