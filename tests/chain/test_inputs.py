"""Inputs on a live page: what is read off it is data, and fresh where it has to be."""

from __future__ import annotations

from agent.events import InputResolved, StepEnded
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document

HOSTILE = "{length} {{name}} '] , #home, tr[data-boat='0"
FORM = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "boat_new"}}
MOOR = {
    "step_id": "moor", "action": {"action_type": "click", "target": "moor"},
    "postconditions": [{"type": "on_screen", "screen_id": "quay"}],
}  # fmt: skip


def _knows(session, *documents):
    for data in documents:
        session.knowledge.know(parse_document(data))


def _fill(value):
    return {"step_id": "fill", "action": {"action_type": "fill", "target": "name_field", "value": value}}


async def test_what_changes_all_the_time_is_read_once_more_when_it_is_used(session, site):
    count = {
        "name": "count", "source": "scraped", "screen_id": "quay", "type": "integer", "volatility": "high",
        "extraction": {"method": "dom_extraction", "selector": "p:last-child", "pattern": r"(\d+) boats"},
        "transforms": [{"type": "calculate", "expression": "value + 1"}],
    }  # fmt: skip
    steady = {**count, "name": "steady", "volatility": "low"}
    _knows(
        session,
        {"type": "task", "task_id": "next", "name": "N", "io_spec": {"inputs": [count, steady]},
         "steps": [FORM, _fill("{count} of {steady}"), MOOR]},
    )  # fmt: skip
    sources = []
    session.bus.listen(lambda e: sources.append((e.name, e.source)) if isinstance(e, InputResolved) else None)
    session.bus.listen(
        lambda e: site.moor("Tern") if isinstance(e, StepEnded) and e.step_id == "go" else None
    )
    result = await TaskRunner(session).run_task("next")
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern", "2 of 1"]
    assert sources == [("count", "scraped"), ("steady", "scraped")]


async def test_what_a_page_says_is_typed_looked_for_and_handed_on_as_data(session, site):
    site.moor("Safe", HOSTILE)
    said = {
        "name": "said", "source": "scraped", "screen_id": "quay",
        "extraction": {"method": "dom_extraction", "selector": "tr:last-child td.name"},
    }  # fmt: skip
    inner = {
        "step_id": "inner",
        "action": {"action_type": "run_task", "task_id": "inner", "inputs": {"boat": "{said}"}},
    }
    rows = {"method": "table_extraction", "selector": "tr:has-text('{boat}')", "columns": {"name": "td.name"}}
    _knows(
        session,
        {"type": "task", "task_id": "outer", "name": "O", "io_spec": {"inputs": [said]}, "steps": [inner]},
        {"type": "task", "task_id": "inner", "name": "I",
         "io_spec": {"inputs": [{"name": "boat"}, {"name": "length", "required": False, "default": "9"}],
                     "outputs": [{"name": "rows", "type": "array", "extraction": rows}]},
         "steps": [FORM, _fill("{boat}"), MOOR],
         "success_criteria": [{"type": "dom_contains", "value": "{boat}", "selector": "td.name"},
                              {"type": "element_count", "element": "tr:has-text('{boat}')", "min": 2, "max": 2}]},
    )  # fmt: skip
    result = await TaskRunner(session).run_task("outer")
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Safe", HOSTILE, HOSTILE]
    assert session.context.outputs["inner"]["rows"] == [{"name": HOSTILE}] * 2


async def test_what_a_page_says_cannot_choose_what_is_clicked(session, site):
    site.moor("Keep", "tr[data-boat='0'] button")
    said = {
        "name": "said", "source": "scraped", "screen_id": "quay",
        "extraction": {"method": "dom_extraction", "selector": "tr:last-child td.name"},
    }  # fmt: skip
    click = {"step_id": "click", "action": {"action_type": "click", "target": "{said}"}}
    quay = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}}
    _knows(
        session,
        {"type": "task", "task_id": "t", "name": "T", "io_spec": {"inputs": [said]}, "steps": [quay, click],
         "resilience": {"enable_replanning": False}},
    )  # fmt: skip
    result = await TaskRunner(session).run_task("t")
    assert not result.succeeded
    assert "expected an element id" in (result.error or "")
    assert len(site.state()["boats"]) == 2
