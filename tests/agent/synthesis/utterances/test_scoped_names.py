"""Names of several parts, which a sentence writes with marks and a page draws beside each other."""

from __future__ import annotations

import asyncio

import pytest

from agent.synthesis.trace_consensus import find_gap
from agent.synthesis.utterances.value_forms import list_forms
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector
from periplus.synthesis.shown_sentences import build_documents
from periplus.synthesis.workflow_synthesis import induce_workflow

URL = "http://t/boats/new"
TAGS = ("hull::steel", "blue", "berth::north", "rig::sloop")
SHOWN = (("blue", "hull::steel"), ("berth::north", "blue"), ("hull::steel", "rig::sloop"))


def _draw(tag: str) -> str:
    """Return a tag as the page draws it: its parts as two, without a mark between them."""
    return "".join(f"<span>{part}</span>" for part in tag.split("::"))


def _page() -> str:
    boxes = "".join(
        f'<div><label class="tag"><input type="checkbox" value="{number}"> {_draw(tag)}</label></div>'
        for number, tag in enumerate(TAGS)
    )
    return f"<!doctype html><title>T</title><body><main>{boxes}<button>Save</button></main></body>"


def _step(action: str, *ways: tuple[str, str]) -> TraceStep:
    told = [{"type": kind, "value": value} for kind, value in ways]
    return TraceStep(
        action_type=action,
        target=Selector.model_validate({"strategies": told}),
        html_before=_page(),
        source_url=URL,
    )


def _tick(tag: str) -> TraceStep:
    words = f"//label[normalize-space()='{tag.replace('::', '')}']//input"
    return _step("check", ("xpath-text", words), ("css", f'input[value="{TAGS.index(tag)}"]'))


def _trace(number: int, first: str, second: str) -> ExecutionTrace:
    steps = (
        _tick(first),
        _tick(second),
        _step("click", ("xpath-text", "//button[normalize-space()='Save']")),
    )
    said = f"Give the boat the tags '{first}' and '{second}' and save it."
    return ExecutionTrace(trace_id=f"t{number}", task_description=said, steps=steps)


def test_a_box_is_found_by_a_name_whose_parts_stand_beside_each_other() -> None:
    traces = [_trace(number, *tags) for number, tags in enumerate(SHOWN)]
    result = build_documents(asyncio.run(induce_workflow(traces, "tag_boat", "")))
    assert find_gap(result) is None
    assert result.lowered is not None
    assert result.lowered.workflow.sentences == (
        'Give the boat the tags "{tags}" and "{tags_2}" and save it.',
    )
    assert {spec.name for spec in result.lowered.workflow.io_spec.inputs} == {"tags_joined", "tags_2_joined"}


@pytest.mark.parametrize(
    ("said", "joined", "spaced"),
    [
        ("type::bug", "typebug", "type bug"),
        ("Europe > Spain", "EuropeSpain", "Europe Spain"),
        ("Sales \u203a EMEA", "SalesEMEA", "Sales EMEA"),
        ("CI/CD at 10:30", "CI/CD at 10:30", "CI/CD at 10:30"),
        ("files > 50MB", "files50MB", "files 50MB"),
        ("12/05/2016", "12/05/2016", "12/05/2016"),
    ],
)
def test_marks_between_the_parts_of_a_name_are_left_out(said: str, joined: str, spaced: str) -> None:
    forms = list_forms(said, also_plain=True)
    assert (forms["joined"], forms["spaced"]) == (joined, spaced)
