"""What several recordings have in common about an element."""

from __future__ import annotations

from agent.redaction import REDACTED
from agent.synthesis.graph.action_graph import ActionNode
from agent.synthesis.traces.element_fingerprints import merge_step_fingerprints
from agent.synthesis.traces.field_words import FIELD_WORDS
from agent.synthesis.workflows.workflow_tasks import TaskWriter
from kb_schema import parse_document
from kb_schema.execution_traces import TraceStep
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import css

SAVE = {
    "role": "button",
    "name": "Save",
    "tag": "button",
    "attributes": {"id": "save", "class": "wide"},
    "neighbours": ["Cancel", "Name"],
    "place": 0,
    "twins": 0,
    "box": [1, 2, 3, 4],
}


def _step(metadata=None, **fields):
    return TraceStep(action_type="click", metadata={"fingerprint": {**SAVE, **fields}, **(metadata or {})})


def test_what_varies_between_recordings_is_not_part_of_the_fingerprint():
    other = _step(
        heading="Edit Bo", neighbours=["Bo", "Cancel"], attributes={"id": "save", "class": "wide on"}
    )
    merged = merge_step_fingerprints([_step(heading="Edit Ann"), other])
    assert merged == Fingerprint(
        role="button",
        name="Save",
        tag="button",
        attributes={"id": "save"},
        neighbours=("Cancel",),
        place=0,
        twins=0,
    )


def test_that_there_are_equal_elements_is_kept_if_only_one_recording_shows_them():
    merged = merge_step_fingerprints([_step(), _step(twins=2, place=3, key=["Ann"])])
    assert merged is not None
    assert (merged.twins, merged.place, merged.key) == (2, 0, ())


def test_parameters_secrets_and_texts_that_look_like_templates_are_left_out():
    step = _step(name="Delete Ann", text="Delete", heading="Hello {name}", before=f"Key {REDACTED}")
    merged = merge_step_fingerprints([step], ["ann"])
    assert merged is not None
    assert (merged.name, merged.text, merged.heading, merged.before) == (None, "Delete", None, None)


def test_without_a_fingerprint_of_every_recording_there_is_none():
    assert merge_step_fingerprints([_step(), TraceStep(action_type="click")]) is None
    assert merge_step_fingerprints([]) is None


def test_the_words_beside_a_field_are_its_label_if_it_has_no_other_words():
    steps = [_step({FIELD_WORDS: "Owner"}, name=None, role="textbox", tag="input") for _ in range(2)]
    merged = merge_step_fingerprints(steps)
    assert merged is not None
    assert merged.label == "Owner"


def test_a_task_that_several_steps_share_knows_what_their_elements_have_in_common():
    writer = TaskWriter("w", {})
    for heading in ("One", "Two"):
        known = Fingerprint(name="Save", heading=heading)
        node = ActionNode(action_type="click", target=css("#save"), fingerprint=known)
        written = writer.write([node])
    (task,) = writer.tasks
    assert written.task == task
    assert task.steps[0].action.fingerprint == Fingerprint(name="Save")
    assert parse_document(task.to_json()) == task
