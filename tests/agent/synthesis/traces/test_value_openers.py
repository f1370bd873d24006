"""A home-made select box shows its value as its words: it is one control; buttons with other words are several."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from periplus.synthesis.workflow_synthesis import induce_workflow

URL = "http://plants.test/edit"
KINDS = ("Fern", "Herb", "Palm")


def _page(shown: str, control: str, *, opened: bool) -> str:
    entries = "".join(f'<div class="entry" role="option">{each}</div>' for each in KINDS) if opened else ""
    return (
        f"<body><h1>Plant</h1><form><div class=field><label>kind</label>{control.format(shown)}{entries}</div></form>"
        "<button id=save>Save</button></body>"
    )


def _click(page: str, xpath: str, fingerprint: dict[str, str] | None = None) -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": "xpath-class", "value": xpath}]})
    metadata = {} if fingerprint is None else {"fingerprint": fingerprint}
    return TraceStep(action_type="click", target=target, html_before=page, source_url=URL, metadata=metadata)


def _induce(control: str) -> PipelineResult:
    traces = []
    for number, (shown, wanted) in enumerate((("Fern", "Palm"), ("Herb", "Fern"), ("Palm", "Herb"))):
        pressed = {"role": "button", "name": shown, "tag": "div", "text": shown}
        steps = (
            _click(_page(shown, control, opened=False), "//div[@class='box']", pressed),
            _click(
                _page(shown, control, opened=True), f"//div[@class='entry'][normalize-space()='{wanted}']"
            ),
            _click(_page(wanted, control, opened=False), "//*[@id='save']"),
        )
        traces.append(ExecutionTrace(trace_id=f"t{number}", steps=steps))
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "edit", "")))


@pytest.mark.parametrize("opens", ['aria-expanded="false"', 'aria-haspopup="listbox"'])
def test_a_box_that_shows_its_value_is_one_control(opens):
    result = _induce(f'<div class="box" role="button" {opens}>{{}}</div>')
    assert result.synthesis_report is not None
    assert result.lowered is not None
    assert not result.synthesis_report.refusals
    assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["kind"]


def test_what_does_not_say_that_it_opens_something_is_another_button_under_other_words():
    result = _induce('<div class="box" role="button">{}</div>')
    assert result.synthesis_report is not None
    assert result.synthesis_report.refusals
