"""Values that a person enters in each round of a loop over the rows of a page."""

from __future__ import annotations

import asyncio

from agent.synthesis.trace_consensus import find_gap
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.workflow_synthesis import induce_workflow

URL = "http://t/boat"
ROWS = ("Owner", "Phone", "Berth")
SHOWN = (("Ada", "555-0101", "North"), ("Grace", "555-0102", "South"), ("Edith", "555-0103", "Island"))


def _page() -> str:
    rows = "".join(
        f"<div class='line'><span>{each}</span><input type='text' class='field' id='of-{each.lower()}'></div>"
        for each in ROWS
    )
    return f"<!doctype html><title>T</title><body><main>{rows}<button>Save</button></main></body>"


def _step(action: str, ways: list[dict[str, str]], **args: str) -> TraceStep:
    return TraceStep(
        action_type=action,
        target=Selector.model_validate({"strategies": ways}),
        args=args or None,
        html_before=_page(),
        source_url=URL,
    )


def _trace(number: int, values: tuple[str, ...]) -> ExecutionTrace:
    steps = [
        _step("fill", [{"type": "id", "value": f"of-{row.lower()}"}], value=value)
        for row, value in zip(ROWS, values, strict=True)
    ]
    steps.append(_step("click", [{"type": "xpath-text", "value": "//button[normalize-space()='Save']"}]))
    said = f"Enter the owner '{values[0]}', the phone '{values[1]}' and the berth '{values[2]}'."
    return ExecutionTrace(trace_id=f"t{number}", task_description=said, steps=tuple(steps))


def test_rows_with_other_values_in_each_round_are_not_all_given_the_first() -> None:
    traces = [_trace(number, values) for number, values in enumerate(SHOWN)]
    result = build_documents(asyncio.run(induce_workflow(traces, "enter", "")))
    inputs = [] if result.lowered is None else [each.name for each in result.lowered.workflow.io_spec.inputs]
    assert find_gap(result) is not None or len(inputs) == len(ROWS)
