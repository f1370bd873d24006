"""Clicks through tabs until the named element is seen become one: on the tab that holds it."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.graph.action_graph import ActionNode, ConditionNode
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.templates import fill_selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

URL = "http://tabs.test/"
LINKS = {"alpha": 1, "beta": 1, "gamma": 2, "delta": 2, "epsilon": 3, "zeta": 3, "eta": 4, "theta": 4}


def _page(opened: int) -> str:
    tabs = "".join(
        f"<li role='tab' aria-controls='part-{n}'><a href='#part-{n}'>Tab {n}</a></li>" for n in range(1, 5)
    )
    parts = "".join(
        f"<div id='part-{n}'{'' if n == opened else ' style=display:none data-pp-hidden'}><p>"
        + "".join(
            f"<span class='link'{'' if n == opened else ' data-pp-hidden'}>{link}</span>"
            for link, part in LINKS.items()
            if part == n
        )
        + "</p></div>"
        for n in range(1, 5)
    )
    return f"<body><h1>Tabs</h1><ul role='tablist'>{tabs}</ul>{parts}</body>"


def _click(xpath: str, opened: int) -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": "xpath-text", "value": xpath}]})
    return TraceStep(action_type="click", target=target, html_before=_page(opened), source_url=URL)


def _trace(number: int, link: str, tabs: list[int]) -> ExecutionTrace:
    opened = [1, *tabs]
    steps = [
        _click(f"//a[normalize-space()='Tab {tab}']", before)
        for tab, before in zip(tabs, opened, strict=False)
    ]
    return ExecutionTrace(
        trace_id=f"t{number}",
        task_description=f'Find and click on the link "{link}".',
        steps=(*steps, _click(f"//span[normalize-space()='{link}']", opened[-1])),
    )


def _induce(*shown: tuple[str, list[int]]) -> PipelineResult:
    traces = [_trace(number, link, tabs) for number, (link, tabs) in enumerate(shown)]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "find", "")))


def _find_tab(result: PipelineResult, link: str) -> str | None:
    """Return the text of what the workflow presses first for a link that is hidden."""
    assert result.graph is not None
    first = result.graph.nodes[0]
    node = first.branches[0].nodes[0] if isinstance(first, ConditionNode) else first
    assert isinstance(node, ActionNode)
    assert isinstance(node.target, Selector)
    strategy = node.target.strategies[0]
    assert isinstance(strategy, TemplateStrategy)
    value = fill_selector(strategy.template, {"link": link}, "xpath")
    found = StoredPage(PageSnapshot(url=URL, html=_page(1))).resolve(
        Selector.model_validate({"strategies": [{"type": "xpath", "value": value}]})
    )
    return None if found.element is None else text_of(found.element)


SHOWN = (("alpha", []), ("gamma", [2]), ("epsilon", [2, 3]))


@pytest.mark.parametrize(("link", "tab"), [("delta", "Tab 2"), ("zeta", "Tab 3"), ("theta", "Tab 4")])
def test_the_tab_that_holds_the_link_is_pressed_also_one_that_nobody_opened(link, tab):
    result = _induce(*SHOWN)
    assert find_gap(result) is None
    assert _find_tab(result, link) == tab


def test_nothing_is_pressed_while_the_link_is_visible():
    result = _induce(*SHOWN)
    assert result.graph is not None
    first = result.graph.nodes[0]
    assert isinstance(first, ConditionNode)
    condition = first.branches[0].condition
    assert condition is not None
    assert condition.type == "none_of"  # that the link is visible


def test_one_part_alone_does_not_show_that_the_link_chooses_it():
    result = _induce(("alpha", []), ("gamma", [2]), ("delta", [2]))
    assert "aria-controls" not in (result.graph.model_dump_json() if result.graph else "")


def test_a_last_click_that_opened_another_part_contradicts_it():
    result = _induce(("alpha", []), ("gamma", [2]), ("epsilon", [3]), ("beta", [3, 4]))
    assert "aria-controls" not in (result.graph.model_dump_json() if result.graph else "")
