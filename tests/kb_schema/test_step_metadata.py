"""One meaning for each key of a trace step: the schema of metadata, when it is written and when it is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from kb_schema.execution_traces import ELEMENT_ID
from kb_schema.run_records import TraceEntry
from kb_schema.session_reader import read_session
from kb_schema.session_writer import SessionWriter


def _entry(**metadata) -> TraceEntry:
    return TraceEntry(
        type="AgentActionResults", timestamp=datetime.now(UTC), action_type="click", metadata=metadata
    )


@pytest.fixture
def writer(tmp_path):
    made = SessionWriter(tmp_path / "session", session_id="s")
    made.begin_turn("task", "a task")
    return made


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("element_tag", {"tag": "button"}),
        ("answers", [{"method": "POST"}]),
        ("fingerprint", "button"),
        ("tab", -1),
        ("located_by", "page"),
    ],
)
def test_a_step_whose_metadata_break_the_schema_is_not_written(writer, key, value):
    with pytest.raises(ValueError, match=f"metadata.{key}"):
        writer.write(_entry(**{key: value}))


def test_a_key_that_breaks_the_schema_is_left_out_when_a_trace_is_read_and_told(writer):
    writer.write(_entry(said="button 'Save'"))
    writer.close(complete=True)
    log = writer.folder / "turn_001" / "session.jsonl"
    line = json.loads(log.read_text())
    line["metadata"] |= {"fingerprint": "button", "answers": [{"method": "POST"}]}
    log.write_text(json.dumps(line) + "\n")
    trace = read_session(writer.folder)
    assert trace.steps[0].metadata == {"said": "button 'Save'"}
    fingerprint, answers = sorted(trace.metadata["problems"], key=lambda each: "answers" in each)
    assert "session.jsonl:1: metadata.fingerprint" in fingerprint
    assert "metadata.answers.0.url: Field required; left out" in answers


def test_the_id_of_an_element_in_an_older_trace_is_read_as_one_and_not_as_its_tag(writer):
    writer.write(_entry(element="agents.open"))
    writer.close(complete=True)
    (step,) = read_session(writer.folder).steps
    assert step.metadata == {ELEMENT_ID: "agents.open"}
