"""Steps without fingerprints get those that their stored pages tell."""

from __future__ import annotations

from agent.synthesis.traces.element_fingerprints import FINGERPRINT, merge_step_fingerprints
from agent.synthesis.traces.stored_fingerprints import add_stored_fingerprints
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from tests.agent.synthesis.synthesis_examples import by_id

FORM = (
    '<html><head></head><body><label for="name">Agent name</label>'
    '<input id="name" value="{value}" data-pp-value="{value}" data-kind="short">'
    '<button id="save" type="submit">Save agent</button></body></html>'
)


def _traces(values, target="name", **metadata):
    return add_stored_fingerprints(
        [
            ExecutionTrace(
                trace_id=value,
                steps=(
                    TraceStep(
                        action_type="fill",
                        target=by_id(target),
                        html_before=FORM.format(value=value),
                        source_url="http://app.test/new",
                        metadata=metadata,
                    ),
                ),
            )
            for value in values
        ],
        TracePages(),
    )


def test_an_imported_step_has_the_fingerprint_that_its_stored_page_tells():
    known = merge_step_fingerprints([trace.steps[0] for trace in _traces(["Ada", "Bob"])])
    assert known is not None
    assert (known.role, known.name, known.label) == ("textbox", "Agent name", "Agent name")
    assert known.attributes == {"id": "name", "data-kind": "short"}


def test_what_was_entered_is_no_part_of_it():
    (trace,) = _traces(["hunter2"])
    assert "hunter2" not in str(trace.steps[0].metadata)


def test_a_button_is_known_by_its_words():
    (trace,) = _traces(["Ada"], target="save")
    told = trace.steps[0].metadata[FINGERPRINT]
    assert (told["role"], told["name"], told["text"]) == ("button", "Save agent", "Save agent")


def test_a_recorded_fingerprint_is_kept_and_an_element_that_is_not_there_gives_none():
    (recorded,) = _traces(["Ada"], fingerprint={"role": "textbox", "before": "As printed"})
    assert recorded.steps[0].metadata[FINGERPRINT]["before"] == "As printed"
    (missing,) = _traces(["Ada"], target="nowhere")
    assert FINGERPRINT not in missing.steps[0].metadata


def test_texts_and_attributes_without_end_are_left_out():
    """A link around a whole card, with an address that carries a state: no fingerprint may be that long."""
    html = f'<a id="card" href="/?state={"x" * 2_000}" title="Card">{"many words " * 200}</a>'
    step = TraceStep(
        action_type="click", target=by_id("card"), html_before=html, source_url="http://app.test/"
    )
    (trace,) = add_stored_fingerprints([ExecutionTrace(trace_id="one", steps=(step,))], TracePages())
    told = trace.steps[0].metadata[FINGERPRINT]
    assert told["attributes"] == {"id": "card", "title": "Card"}
    assert "text" not in told
