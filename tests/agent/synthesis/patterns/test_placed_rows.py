"""Loops over the first row of a list whose rows have their text beside the button, in no element of its own."""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.synthesis_pipeline import PipelineResult
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.iterators import CollectionIterator
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, css
from kb_schema.workflows import TaskNode
from tests.agent.synthesis.synthesis_examples import induce
from web_pages.stored_pages import StoredPage

URL = "http://mail.test/"
LISTS = (["Anna", "Boris"], ["Carl", "Dora", "Emil"], ["Fritz", "Gina", "Hugo"])


def _page(names: Sequence[str], some: str = "") -> str:
    rows = "".join(f"<li>{name} {some if 'r' in name else ''}<button>Delete</button></li>" for name in names)
    return f"<!doctype html><h1>Messages</h1><main>{f'<ul>{rows}</ul>' if names else '<p>No messages</p>'}</main>"


def _induce(some: str = "") -> PipelineResult:
    """Return what is synthesized of traces that delete the first row until there is none."""
    traces = []
    for number, names in enumerate(LISTS):
        steps = [
            TraceStep(
                action_type="click",
                target=css(
                    f"li:nth-of-type(1) > button:nth-of-type({2 if some and 'r' in names[at] else 1})"
                ),
                html_before=_page(names[at:], some),
                html_after=_page(names[at + 1 :], some),
                source_url=URL,
            )
            for at in range(len(names))
        ]
        traces.append(ExecutionTrace(trace_id=f"t{number}", steps=tuple(steps)))
    return induce(traces)


def test_each_round_takes_the_first_row_whatever_its_text():
    result = _induce()
    assert result.lowered is not None
    assert result.lowered.workflow.io_spec.inputs == ()
    (node,) = result.lowered.workflow.nodes
    assert isinstance(node, TaskNode)
    assert isinstance(node.iterator_spec, CollectionIterator)
    target = result.lowered.tasks[0].steps[0].action.target
    assert isinstance(target, Selector)
    page = StoredPage(PageSnapshot(url=URL, html=_page(["Ida", "Jon", "Kim"])))
    (button,) = page.resolve(target).found
    assert button.parent is not None
    assert str(button.parent.children[0]).strip() == "Ida"


def test_rows_without_a_common_place_are_not_asked_for_with_one_input():
    result = _induce("<button>Reply</button> ")
    assert result.synthesis_report is not None
    assert "nothing tells which one is next" in " ".join(result.synthesis_report.refusals)
    assert result.lowered is not None
    assert "row" not in [each.name for each in result.lowered.workflow.io_spec.inputs]
