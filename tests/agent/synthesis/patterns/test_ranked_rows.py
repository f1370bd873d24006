"""The row with the least or greatest value of a column, by words of the task or by what all demonstrations chose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from agent.synthesis.trace_consensus import find_gap
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.io_specs import RankedExtraction
from kb_schema.selectors import Selector
from periplus.synthesis.workflow_synthesis import induce_workflow

URL = "http://flights.test/"
Row = tuple[str, str, str]
LISTS: tuple[tuple[Row, ...], ...] = (
    (("Blue", "9h 5m", "$1,200"), ("Red", "10h", "$90"), ("Green", "2h 30m", "$800")),
    (("Amber", "1h", "$75"), ("Grey", "30m", "$400"), ("White", "12h", "$1,000")),
    (("Pink", "3h", "$20"), ("Teal", "11h", "$19"), ("Lime", "2h", "$300")),
    (("Rose", "8h", "$500"), ("Sand", "7h", "$600"), ("Mint", "9h", "$100")),
)


def _page(rows: Sequence[Row]) -> str:
    cards = "".join(
        f"<div class='flight'><b class='name'>{name}</b><p>Duration: <span class='time'>{time}</span></p>"
        f"<button class='book'>Book for {price}</button></div>"
        for name, time, price in rows
    )
    return f"<body><h1>Flights</h1><div id='area'>{cards}</div></body>"


def _trace(number: int, sentence: str, name: str) -> ExecutionTrace:
    rows = LISTS[number % len(LISTS)]
    at = [row[0] for row in rows].index(name) + 1
    target = Selector.model_validate(
        {"strategies": [{"type": "xpath", "value": f"//div[@id='area']/div[{at}]/button"}]}
    )
    step = TraceStep(action_type="click", target=target, html_before=_page(rows), source_url=URL)
    return ExecutionTrace(trace_id=f"t{number}", task_description=sentence, steps=(step,))


def _induce(*shown: tuple[str, str]) -> PipelineResult:
    traces = [_trace(number, sentence, name) for number, (sentence, name) in enumerate(shown)]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "book", "")))


def _find_reading(result: PipelineResult) -> RankedExtraction:
    assert result.lowered is not None
    (output,) = result.lowered.tasks[-1].io_spec.outputs
    assert isinstance(output.extraction, RankedExtraction)
    return output.extraction


def test_words_of_the_task_choose_the_column_and_the_order():
    result = _induce(
        ("Book the cheapest flight.", "Red"),
        ("Book the longest flight.", "White"),
        ("Book the cheapest flight.", "Teal"),
        ("Book the shortest flight.", "Sand"),
    )
    assert find_gap(result) is None
    reading = _find_reading(result)
    assert set(reading.columns) == {"money", "duration"}
    assert reading.order == "{book}"
    assert result.lowered is not None
    assert [each.name for each in result.lowered.workflow.io_spec.inputs] == ["book"]


def test_the_same_words_everywhere_fix_the_order():
    result = _induce(*(("Book the cheapest flight.", name) for name in ("Red", "Amber", "Teal")))
    assert find_gap(result) is None
    reading = _find_reading(result)
    assert (set(reading.columns), reading.order) == ({"money"}, "least")


def test_without_words_three_demonstrations_must_agree_on_one_column():
    assert _find_reading(_induce(("", "Red"), ("", "Amber"), ("", "Teal"))).order == "least"


@pytest.mark.parametrize(
    "shown",
    [
        [
            ("Book the cheapest flight.", "Red"),
            ("Book the cheapest flight.", "Grey"),
            ("Book the longest flight.", "Teal"),
        ],
        [
            ("Book the cheapest flight.", "Green"),
            ("Book the longest flight.", "Amber"),
            ("Book the shortest flight.", "Pink"),
        ],
    ],
)
def test_demonstrations_that_contradict_their_words_are_no_ranking(shown):
    result = _induce(*shown)
    assert result.unused_sentences  # the row's name is asked for instead
    assert result.lowered is not None
    assert not any(task.io_spec.outputs for task in result.lowered.tasks)


def test_two_demonstrations_are_too_few():
    result = _induce(("", "Red"), ("", "Amber"))
    assert result.lowered is None or not any(task.io_spec.outputs for task in result.lowered.tasks)
