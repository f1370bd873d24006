"""Entries of a list that happens to be open are no neighbours of what stands beside it."""

from __future__ import annotations

from agent.synthesis.traces.element_fingerprints import FINGERPRINT
from agent.synthesis.traces.passing_neighbours import remove_passing_neighbours
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from tests.agent.synthesis.synthesis_examples import by_id

LIST = '<a title="add tag">jetty</a><a title="add tag">loft</a>'


def page(shown):
    return (
        f'<html><head></head><body><button id="save">Save</button><input id="tag" placeholder="tag">{shown}'
        "<button>Bold</button></body></html>"
    )


def kept(*steps):
    """Return the neighbours of the last step; `steps` are (target, what the page shows, neighbours, address)."""
    trace = ExecutionTrace(
        trace_id="one",
        steps=tuple(
            TraceStep(action_type="click", target=by_id(target), html_before=page(shown), source_url=url,
                      metadata={FINGERPRINT: {"name": target, "neighbours": neighbours}})
            for target, shown, neighbours, url in steps
        ),
    )  # fmt: skip
    (told,) = remove_passing_neighbours([trace], TracePages())
    return told.steps[-1].metadata[FINGERPRINT]["neighbours"]


NEW, EDIT = "http://app.test/new", "http://app.test/edit"
TYPED = ("tag", "", ["Save", "Bold"], NEW)


def test_entries_that_opened_since_are_no_neighbours():
    assert kept(TYPED, ("save", LIST, ["add tag", "Bold"], NEW)) == ["Bold"]


def test_what_was_there_before_or_was_never_compared_is_a_neighbour():
    assert kept(("tag", LIST, [], NEW), ("save", LIST, ["add tag", "Bold"], NEW)) == ["add tag", "Bold"]
    assert kept(("tag", "", [], EDIT), ("save", LIST, ["add tag", "Bold"], NEW)) == ["add tag", "Bold"]
    assert kept(("save", LIST, ["add tag"], NEW)) == ["add tag"]


def test_a_name_that_the_stored_page_of_the_step_does_not_have_is_kept():
    assert kept(TYPED, ("save", "", ["drawn by a script", "Bold"], NEW)) == ["drawn by a script", "Bold"]


def test_the_same_element_elsewhere_tells_nothing():
    gone = ("tag", "", ["Bold"], NEW)
    assert kept(gone, ("tag", LIST, [], EDIT), ("save", LIST, ["add tag"], EDIT)) == ["add tag"]
