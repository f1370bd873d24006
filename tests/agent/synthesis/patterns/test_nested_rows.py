"""A row that several parts of a page have alike is told by the part, if an earlier choice names it."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from kb_schema.templates import fill_selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.stored_pages import StoredPage

URL = "http://settings.test/"
CHANNELS = ("Desktop", "Mobile", "Email")
KINDS = ("Mentions", "Cycle updates", "Project updates")


def _row(channel: str, kind: str) -> str:
    return f'<div class="kind-row"><span class="kind">{kind}</span><div class="switch" data-id="{channel}-{kind}"></div></div>'


def _channel(name: str) -> str:
    rows = "".join(_row(name, kind) for kind in KINDS)
    return f'<div class="channel"><div class="head"><span class="name">{name}</span></div><div class="rows">{rows}</div></div>'


PAGE = f"<body><h1>Notifications</h1><main>{''.join(map(_channel, CHANNELS))}</main></body>"


def _click(xpath: str, kind: str = "xpath-text") -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": kind, "value": xpath}]})
    return TraceStep(action_type="click", target=target, html_before=PAGE, source_url=URL)


def _induce(*choices: tuple[str, str]) -> PipelineResult:
    traces = [
        ExecutionTrace(
            trace_id=f"t{number}",
            steps=(
                _click(f"//span[normalize-space()='{channel}']"),
                _click(f"//div[@data-id='{channel}-{kind}']", "xpath-class"),
            ),
        )
        for number, (channel, kind) in enumerate(choices)
    ]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "switch", "")))


def _find_pressed(result: PipelineResult, values: dict[str, str]) -> str | None:
    """Return the `data-id` of the switch that the workflow presses with these inputs; None if it is not one element."""
    assert result.lowered is not None
    target = result.lowered.tasks[-1].steps[-1].action.target
    assert isinstance(target, Selector)
    page = StoredPage(PageSnapshot(url=URL, html=PAGE))
    for strategy in target.strategies:
        assert isinstance(strategy, TemplateStrategy)
        xpath = fill_selector(strategy.template, values, "xpath")
        found = page.resolve(Selector.model_validate({"strategies": [{"type": "xpath", "value": xpath}]}))
        return found.element.get("data-id") if found.element is not None else None
    return None


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_both_the_part_and_the_row_are_inputs(channel, kind):
    result = _induce(("Desktop", "Mentions"), ("Mobile", "Cycle updates"), ("Email", "Project updates"))
    assert result.synthesis_report is not None
    assert not result.synthesis_report.refusals
    assert _find_pressed(result, {"row": channel, "row_2": kind}) == f"{channel}-{kind}"


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_same_row_of_each_part_is_told_by_the_part_alone(channel):
    result = _induce(("Desktop", "Mentions"), ("Mobile", "Mentions"))
    assert result.lowered is not None
    assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["row"]
    assert _find_pressed(result, {"row": channel}) == f"{channel}-Mentions"


def test_a_part_that_is_not_there_leads_to_nothing():
    result = _induce(("Desktop", "Mentions"), ("Mobile", "Cycle updates"))
    assert _find_pressed(result, {"row": "Pager", "row_2": "Mentions"}) is None
    assert _find_pressed(result, {"row": "Desktop", "row_2": "Meetings"}) is None
