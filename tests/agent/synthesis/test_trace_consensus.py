"""A few slips do not spoil what the others agree on; what is told and nobody did is no slip."""

from __future__ import annotations

import asyncio

from agent.synthesis.synthesis_pipeline import MetaAgentPipeline
from agent.synthesis.trace_consensus import ConsensusResult, find_gap, synthesize_consensus
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from tests.agent.synthesis.synthesis_examples import by_id


def _trace(number: int, *names: str, task: str = "") -> ExecutionTrace:
    steps = tuple(TraceStep(action_type="click", target=by_id(name)) for name in names)
    return ExecutionTrace(trace_id=f"t{number}", task_description=task, steps=steps)


def _agreed(*traces: ExecutionTrace) -> ConsensusResult:
    return asyncio.run(synthesize_consensus(MetaAgentPipeline(), traces))


def test_the_one_that_slipped_is_left_out_and_named_with_what_it_left_open():
    rounds = [_trace(number, "open", "save") for number in range(4)]
    slipped = _trace(9, "open", *["turn"] * 3, "save")
    also = _trace(8, "open", "turn", "save")

    found = _agreed(*rounds, slipped, also)

    assert find_gap(found.result) is None
    assert found.left_out
    assert set(found.left_out) <= {"t8", "t9"}
    assert "loop" in found.reason


def test_where_most_disagree_nobody_is_left_out():
    differing = [_trace(number, "open", *["turn"] * (number + 1), "save") for number in range(5)]

    found = _agreed(*differing)

    assert found.left_out == ()
    assert "loop" in (find_gap(found.result) or "")


def test_what_sentences_say_and_nobody_does_is_not_hidden_by_leaving_traces_out():
    told = [_trace(at, "open", task=f"Open the {word} box") for at, word in enumerate(["red"] * 3 + ["blue"])]

    found = _agreed(*told)

    assert found.left_out == ()
    assert "no step depends on the words that the task descriptions have" in (find_gap(found.result) or "")


PAGE = f"<body><button id=calendar>Calendar</button>{''.join(f'<a>{day}</a>' for day in range(1, 32))}<button id=save>Save</button></body>"


def _dated(number: int, day: str, *, chosen: bool = True) -> ExecutionTrace:
    link = Selector.model_validate(
        {"strategies": [{"type": "xpath-text", "value": f"//a[normalize-space()='{day}']"}]}
    )
    targets = (by_id("calendar"), *((link,) if chosen else ()), by_id("save"))
    steps = tuple(TraceStep(action_type="click", target=each, html_before=PAGE) for each in targets)
    return ExecutionTrace(
        trace_id=f"t{number}", task_description=f"Choose the {day}th and save it", steps=steps
    )


def test_a_trace_without_the_step_for_a_word_of_its_sentence_is_left_out():
    days = [_dated(number, day) for number, day in enumerate(("12", "15", "28", "30"))]

    found = _agreed(*days, _dated(9, "17", chosen=False))

    assert find_gap(found.result) is None, find_gap(found.result)
    assert found.left_out == ("t9",)
