"""Traces that the executor writes: what they say of an element is read as what it is."""

from __future__ import annotations

import pytest

from agent.events import ActionDone, TaskEnded, TaskStarted
from agent.run_context import RunContext
from agent.run_records.session_trace import SessionTrace
from agent.synthesis.graph.action_graph import ActionNode
from kb_schema.execution_traces import ELEMENT_ID, element_id_of
from kb_schema.session_reader import read_session
from tests.agent.synthesis import sample_pages, synthesis_examples

NAMES = ("Ann", "Bob", "Cid")
CARDS = "".join(
    f'<div class="card"><span>{name}</span><button aria-label="Open {name}">Open</button></div>'
    for name in NAMES
)


@pytest.fixture
def traces(tmp_path):
    """Three runs of one task, each with another agent, as the executor's listener writes them."""
    return [_run(tmp_path / name, name) for name in NAMES]


def _run(folder, name):
    trace = SessionTrace(folder, website_id="fleet", context=RunContext())
    trace(TaskStarted("open_agent", "open an agent", depth=0))
    trace(
        ActionDone(
            "click",
            {"strategies": [{"type": "aria", "value": f"Open {name}"}]},
            {},
            sample_pages.BASE + "/agents",
            sample_pages.BASE + "/agents/1",
            sample_pages.page("Agents", CARDS),
            None,
            12.0,
            metadata={ELEMENT_ID: "agents.open"},
        )
    )
    trace(TaskEnded("open_agent", "success", depth=0))
    trace.close(sample_pages.page("Agent", f"<p>{name}</p>"), complete=True)
    return read_session(folder).model_copy(update={"input_data": {"name": name}})


def test_three_elements_of_one_id_are_not_one_element_with_fallbacks(traces):
    assert {element_id_of(trace.steps[0].metadata) for trace in traces} == {"agents.open"}
    result = synthesis_examples.induce(traces, name="open_agent")
    strategies = [
        strategy.value
        for node in result.graph.nodes
        if isinstance(node, ActionNode) and node.action_type == "click"
        for strategy in node.target.strategies
        if strategy.type == "aria"
    ]
    assert len(strategies) <= 1, strategies


def test_the_element_of_an_older_trace_is_still_known():
    assert element_id_of({"element": "agents.open"}) == "agents.open"
    assert element_id_of({}) is None
    assert element_id_of(None) is None
