"""Targets whose words hold a value of the description and a constant text beside it."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.graph.action_graph import ActionNode
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

URL = "http://t/quotes/4"
STATES = ("accepted", "declined", "archived")
LABEL = "Mark as {}"


def _page() -> str:
    buttons = "".join(f"<button>{LABEL.format(each.title())}</button>" for each in STATES)
    return f"<!doctype html><title>T</title><body><main>{buttons}<button>Print</button></main></body>"


def _press(words: str, place: int) -> TraceStep:
    ways = [
        {"type": "xpath-text", "value": f"//button[normalize-space()='{words}']"},
        {"type": "xpath-class", "value": f"//main/button[{place}]", "fallback": True},
    ]
    return TraceStep(
        action_type="click",
        target=Selector.model_validate({"strategies": ways}),
        html_before=_page(),
        source_url=URL,
    )


def _trace(number: int, state: str) -> ExecutionTrace:
    mark = _press(LABEL.format(state.title()), STATES.index(state) + 1)
    steps = (_press("Print", len(STATES) + 1), mark, _press("Print", len(STATES) + 1))
    return ExecutionTrace(
        trace_id=f"t{number}", task_description=f"Mark the open quote as {state}.", steps=steps
    )


@pytest.mark.parametrize("state", STATES)
def test_a_constant_text_beside_the_value_is_in_the_selector(state: str):
    result = asyncio.run(induce_workflow([_trace(*each) for each in enumerate(STATES[:2])], "mark", ""))
    assert result.graph is not None
    targets = [each.target for each in result.graph.nodes if isinstance(each, ActionNode)]
    (template,) = (
        each
        for target in targets
        if target
        for each in target.strategies
        if isinstance(each, TemplateStrategy)
    )
    (name,) = template.parameters
    page = StoredPage(PageSnapshot(url=URL, title="T", html=_page()))
    value = state.title() if name.endswith("_title") else state
    found = page.resolve_template(template.template, {name: value})
    assert [text_of(each) for each in found] == [LABEL.format(state.title())]
