"""Days and times to choose from are buttons that stand for data; the label above them names the input."""

from __future__ import annotations

import asyncio

from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.traces.list_rows import find_list_row
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector
from periplus.synthesis.workflow_synthesis import induce_workflow
from web_pages.stored_pages import StoredPage

URL = "http://appointments.test/new"
DAYS = ("Mar 11", "Mar 12", "Mar 17", "Mar 20")
TIMES = ("9:00 AM", "10:00 AM", "2:00 PM")


def _slots(kind: str, names: tuple[str, ...]) -> str:
    return "".join(f'<button class="{kind}-slot">{each}</button>' for each in names)


def _group(label: str, kind: str, names: tuple[str, ...]) -> str:
    return f'<div class="group"><label>{label} <b>*</b></label><div class="{kind}-grid">{_slots(kind, names)}</div></div>'


def _page(*groups: str) -> str:
    save = '<button id="save">Request</button>'
    return f'<body><h1>New appointment</h1><div class="fields">{"".join(groups)}</div>{save}</body>'


FIRST = _page(_group("Date", "date", DAYS))
SECOND = _page(_group("Date", "date", DAYS), _group("Time", "time", TIMES))


def _click(page: str, css: str) -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": "css", "value": css, "fallback": True}]})
    return TraceStep(action_type="click", target=target, html_before=page, source_url=URL)


def _induce(*choices: tuple[int, int]) -> PipelineResult:
    traces = [
        ExecutionTrace(
            trace_id=f"t{number}",
            steps=(
                _click(FIRST, f".date-grid > button:nth-of-type({day})"),
                _click(SECOND, f".time-grid > button:nth-of-type({hour})"),
                _click(SECOND, "#save"),
            ),
        )
        for number, (day, hour) in enumerate(choices)
    ]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "book", "")))


def test_a_day_and_a_time_at_the_same_places_are_two_inputs_and_no_loop():
    result = _induce((1, 1), (4, 3), (4, 1))
    assert result.lowered is not None
    assert result.synthesis_report is not None
    assert not result.synthesis_report.refusals
    assert result.synthesis_report.loop_count == 0
    inputs = {each.name: each.description for each in result.lowered.workflow.io_spec.inputs}
    assert inputs == {"date": "Date", "time": "Time"}


def test_buttons_of_a_toolbar_are_no_rows():
    html = _page(
        '<div class="bar"><button class="b">Bold</button><button class="b">Italic</button><button class="b">H1</button></div>'
    )
    page = StoredPage(PageSnapshot(url=URL, html=html))
    for button in (each for each in page.roots[0].elements if each.get("class") == "b"):
        assert find_list_row(button) is not button


def test_slots_are_rows():
    page = StoredPage(PageSnapshot(url=URL, html=SECOND))
    slots = [each for each in page.roots[0].elements if "slot" in (each.get("class") or "")]
    assert len(slots) == len(DAYS) + len(TIMES)
    assert all(find_list_row(each) is each for each in slots)
