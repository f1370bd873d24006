"""Sentences that do not tell what was done are set aside; the workflow is made of the steps alone, and says so."""

from __future__ import annotations

import asyncio

from agent.synthesis.synthesis_pipeline import PipelineResult, add_workflow_documents
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from periplus.synthesis.workflow_synthesis import induce_workflow

ROWS = ("Ferry", "Barge", "Tug")
PAGE = "<body><h1>Boats</h1><ul>{}</ul></body>".format(
    "".join(f"<li><b>{name}</b><button>Book</button></li>" for name in ROWS)
)


def _book(number: int, name: str, sentence: str) -> ExecutionTrace:
    button = Selector.model_validate(
        {"strategies": [{"type": "xpath-text", "value": f"//li[b='{name}']/button"}]}
    )
    step = TraceStep(action_type="click", target=button, html_before=PAGE, source_url="http://boats.test/")
    return ExecutionTrace(trace_id=f"t{number}", task_description=sentence, steps=(step,))


def _induce(*sentences: str) -> PipelineResult:
    traces = [_book(number, *each) for number, each in enumerate(zip(ROWS, sentences, strict=False))]
    return add_workflow_documents(asyncio.run(induce_workflow(traces, "book", "")))


def test_sentences_that_name_the_row_are_kept():
    made = _induce("Book the boat Ferry", "Book the boat Barge", "Book the boat Tug")
    assert made.lowered is not None
    assert made.unused_sentences == ""
    assert made.lowered.workflow.sentences == ("Book the boat {boat}",)
    assert made.lowered.notes == ()


def test_sentences_that_do_not_tell_the_row_are_set_aside_with_the_reason():
    made = _induce("Book a red boat", "Book a blue boat", "Book a green boat")
    assert made.lowered is not None
    workflow = made.lowered.workflow
    assert [each.name for each in workflow.io_spec.inputs] == ["row"]
    assert workflow.sentences == ()
    assert "agent" not in workflow.model_dump_json()
    (note,) = made.lowered.notes
    assert note.startswith("inputs are given by name, the task descriptions were not used: ")
    assert made.unused_sentences in note


def test_what_the_steps_alone_do_not_tell_either_keeps_the_sentences():
    one, other = _book(0, "Ferry", "Book a blue boat"), _book(1, "Ferry", "Book a red boat")
    hovers = other.steps[0].model_copy(update={"action_type": "hover"})
    traces = [
        one.model_copy(update={"steps": one.steps * 2}),
        other.model_copy(update={"steps": (*other.steps, hovers)}),
    ]
    made = add_workflow_documents(asyncio.run(induce_workflow(traces, "book", "")))
    assert made.unused_sentences == ""
    assert made.synthesis_report is not None
    assert made.synthesis_report.refusals


DAYS = (
    f"<body><h1>Calendar</h1>{''.join(f'<a>{day}</a>' for day in range(1, 32))}<button>Save</button></body>"
)


def _choose(number: int, date: str) -> ExecutionTrace:
    xpaths = (f"//a[normalize-space()='{int(date[3:5])}']", "//button")
    targets = [
        Selector.model_validate({"strategies": [{"type": "xpath-text", "value": each}]}) for each in xpaths
    ]
    steps = tuple(
        TraceStep(action_type="click", target=each, html_before=DAYS, source_url="http://boats.test/")
        for each in targets
    )
    return ExecutionTrace(trace_id=f"t{number}", task_description=f"Choose {date} now", steps=steps)


def test_sentences_whose_month_no_step_shows_are_not_set_aside():
    traces = [_choose(number, date) for number, date in enumerate(("02/21/2016", "02/19/2016", "03/02/2016"))]
    made = add_workflow_documents(asyncio.run(induce_workflow(traces, "choose", "")))
    assert made.unused_sentences == ""
    assert made.understanding is not None
    assert "no step depends on the month" in (made.understanding.refusal or "")
