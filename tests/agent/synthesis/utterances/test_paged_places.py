"""A place in a list over several pages: its page's number is pressed, then the element at the place that is left there."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.graph.action_graph import ActionNode
from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.templates import fill_selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.page_texts import text_of
from web_pages.stored_pages import StoredPage

URL = "http://berths.test/"
BERTHS = ("Alma", "Brio", "Cleo", "Dora", "Enna", "Faro", "Gala", "Hebe", "Iris", "Jade", "Kaia")
LENGTH = 4
ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}


def _page(page: int, berths: tuple[str, ...] = BERTHS, length: int = LENGTH) -> str:
    rows = "".join(
        f"<div class='hit'><a href='#' class='berth'>{each}</a><p>Berth of {each}</p></div>"
        for each in berths[(page - 1) * length : page * length]
    )
    pages = range(1, -(-len(berths) // length) + 1)
    links = "".join(
        f"<li class='page{' active' if each == page else ''}'><a href='#'>{each}</a></li>"
        for each in ("<", *pages, ">")
    )
    return f"<body><h1>Berths</h1><div id='hits'>{rows}</div><ul id='pager'>{links}</ul></body>"


def _click(text: str, page: int, length: int = LENGTH) -> TraceStep:
    value = f"//a[normalize-space()='{text}']"
    target = Selector.model_validate({"strategies": [{"type": "xpath-text", "value": value}]})
    return TraceStep(
        action_type="click", target=target, html_before=_page(page, length=length), source_url=URL
    )


def _trace(place: int, turns: str, pressed: str | None = None, length: int = LENGTH) -> ExecutionTrace:
    """Return a trace that presses `turns`, one after another, and then the berth at the place."""
    steps, page = [], 1
    for turn in turns:
        steps.append(_click(turn, page, length))
        page = page + 1 if turn == ">" else page - 1 if turn == "<" else int(turn)
    steps.append(_click(pressed or BERTHS[place - 1], page, length))
    return ExecutionTrace(
        trace_id=f"t{place}{turns}",
        task_description=f"Open the {ORDINALS.get(place, f'{place}th')} berth.",
        steps=tuple(steps),
    )


def _induce(*traces: ExecutionTrace) -> PipelineResult:
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "open", "")))


def _find(result: PipelineResult, place: int) -> list[str]:
    """Return the texts of what the workflow presses for a place, the second on the page that the first opened."""
    assert result.graph is not None
    pressed: list[str] = []
    for node in result.graph.nodes:
        assert isinstance(node, ActionNode)
        assert isinstance(node.target, Selector)
        strategy = node.target.strategies[0]
        assert isinstance(strategy, TemplateStrategy)
        value = fill_selector(strategy.template, {strategy.parameters[0]: str(place)}, "xpath")
        selector = Selector.model_validate({"strategies": [{"type": "xpath", "value": value}]})
        page = int(pressed[0]) if pressed else 1
        found = StoredPage(PageSnapshot(url=URL, html=_page(page))).resolve(selector)
        assert found.element is not None
        pressed.append(text_of(found.element))
    return pressed


SHOWN = (_trace(2, ""), _trace(7, "2"), _trace(8, ">"), _trace(9, ">>"))


@pytest.mark.parametrize(
    ("place", "pressed"),
    [(1, ["1", "Alma"]), (4, ["1", "Dora"]), (5, ["2", "Enna"]), (11, ["3", "Kaia"])],
)
def test_a_place_that_nobody_chose_is_found_on_its_page_whatever_way_the_pages_were_turned(place, pressed):
    result = _induce(*SHOWN)
    assert find_gap(result) is None
    assert _find(result, place) == pressed


def test_nothing_is_pressed_while_another_page_is_shown_than_that_of_the_place():
    result = _induce(*SHOWN)
    assert result.graph is not None
    node = result.graph.nodes[-1]
    assert isinstance(node, ActionNode)
    assert isinstance(node.target, Selector)
    strategy = node.target.strategies[0]
    assert isinstance(strategy, TemplateStrategy)
    value = fill_selector(strategy.template, {strategy.parameters[0]: "10"}, "xpath")
    selector = Selector.model_validate({"strategies": [{"type": "xpath", "value": value}]})
    found = {
        page: StoredPage(PageSnapshot(url=URL, html=_page(page))).resolve(selector).element
        for page in (1, 2, 3)
    }
    assert {page: each and text_of(each) for page, each in found.items()} == {1: None, 2: None, 3: "Jade"}


def _uses_places(result: PipelineResult) -> bool:
    return result.graph is not None and " mod " in result.graph.model_dump_json()


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param((*SHOWN[:3], _trace(9, ">>", "Jade")), id="an element at another place of its page"),
        pytest.param((*SHOWN[:3], _trace(9, "2", length=5)), id="pages of another length"),
        pytest.param((_trace(5, "2"), _trace(7, "2"), _trace(8, "2")), id="one page alone"),
        pytest.param((_trace(2, ""), _trace(6, "2"), _trace(10, "3")), id="one place of each page alone"),
        pytest.param((*SHOWN[:3], _trace(6, ">><")), id="a page that was turned back"),
    ],
)
def test_what_does_not_show_the_length_of_pages_is_no_place_of_a_list(shown):
    assert _uses_places(_induce(*SHOWN))
    assert not _uses_places(_induce(*shown))
