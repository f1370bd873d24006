"""Pages of traces: what is kept of them, and that an element stays the same one."""

from __future__ import annotations

import gc

from agent.synthesis.traces.trace_pages import MOST_KEPT, TracePages
from agent.synthesis.utterances.utterance_mentions import NAME, analyze_mentions
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector

URL = "http://t/berths"
NAMES = ("North", "South", "Middle", "Island")


def _page(number: int) -> str:
    buttons = "".join(f"<button data-name='{each}'>{each}</button>" for each in NAMES)
    return f"<!doctype html><title>{number}</title><body><main><p>Page {number}</p><div class='berths'>{buttons}</div><button>Next</button></main></body>"


def _press(number: int, value: str, kind: str = "xpath-text", **more: bool) -> TraceStep:
    target = Selector.model_validate({"strategies": [{"type": kind, "value": value, **more}]})
    return TraceStep(action_type="click", target=target, html_before=_page(number), source_url=URL)


def _trace(number: int, name: str) -> ExecutionTrace:
    """Return a trace with as many pages as are kept, which ends with a press that only its place tells."""
    first = number * (MOST_KEPT + 1)
    steps = [_press(first + each, "//button[normalize-space()='Next']") for each in range(MOST_KEPT)]
    steps.append(
        _press(
            first + MOST_KEPT,
            f"//div[@class='berths']/button[{NAMES.index(name) + 1}]",
            "xpath-class",
            fallback=True,
        )
    )
    return ExecutionTrace(
        trace_id=f"t{number}", task_description=f"Go to the berth '{name}' please.", steps=tuple(steps)
    )


def test_an_element_is_the_same_one_when_its_page_is_asked_for_again() -> None:
    pages = TracePages(most=1)
    step = _press(0, "//button[normalize-space()='South']")
    found = pages.find_target(step)
    assert found is not None
    element = found[1]
    del found
    pages.get(_page(1), URL)
    again = pages.find_target(step)
    assert again is not None
    assert again[1] is element


def test_a_page_of_which_nobody_has_an_element_is_not_kept() -> None:
    pages = TracePages(most=1)
    pages.get(_page(0), URL)
    pages.get(_page(1), URL)
    gc.collect()
    assert len(pages._alive) == 1


def test_a_sentence_names_an_element_of_a_recording_with_more_pages_than_are_kept() -> None:
    traces = [_trace(number, name) for number, name in enumerate(NAMES[:3])]
    told = analyze_mentions(traces, TracePages())
    assert [trace.steps[-1].metadata.get(NAME) for trace in told.traces] == list(NAMES[:3])
