"""Which pressed elements the words of a task name."""

from __future__ import annotations

import pytest

from agent.synthesis.traces.trace_pages import TracePages
from agent.synthesis.utterances.utterance_mentions import MENTION, analyze_mentions
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector

URL = "http://posts.test/"
OPTIONS = ("Everyone", "Friends", "Nobody")


def _press(tag: str, words: str, page: str) -> TraceStep:
    value = f"//{tag}[normalize-space()='{words}']"
    target = Selector.model_validate({"strategies": [{"type": "xpath-text", "value": value}]})
    return TraceStep(action_type="click", target=target, html_before=page, source_url=URL)


def _trace(number: int, shown: str, wanted: str) -> ExecutionTrace:
    """Open the list, which shows what is chosen, and choose."""
    closed = f"<body><span>{shown}</span></body>"
    opened = closed.replace("</body>", "".join(f"<div>{each}</div>" for each in OPTIONS) + "</body>")
    steps = (_press("span", shown, closed), _press("div", wanted, opened))
    return ExecutionTrace(
        trace_id=f"t{number}", task_description=f"Set the audience to '{wanted}'.", steps=steps
    )


@pytest.mark.parametrize("others", [("Friends", "Nobody"), ("Friends", "Friends")])
def test_a_closed_list_that_shows_what_is_wanted_by_chance_is_not_named_by_it(others):
    traces = [_trace(0, "Everyone", "Everyone")]
    traces += [_trace(number, "Everyone", each) for number, each in enumerate(others, 1)]
    found = analyze_mentions(traces, TracePages())
    assert [[MENTION in step.metadata for step in trace.steps] for trace in found.traces] == [
        [False, True]
    ] * 3


def test_what_only_the_words_of_its_own_trace_press_is_named_by_them():
    """Each trace opens a thing by its name and presses it again: no trace presses that of another one."""
    traces = [_trace(number, each, each) for number, each in enumerate(OPTIONS)]
    found = analyze_mentions(traces, TracePages())
    assert [[MENTION in step.metadata for step in trace.steps] for trace in found.traces] == [
        [True, True]
    ] * 3
