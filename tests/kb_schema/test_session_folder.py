"""Sessions on disk: what is written is read again, and what is broken is told with its place."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema.execution_traces import ExecutionTrace, TraceActionResult, TraceStep, chain_pages
from kb_schema.session_reader import SessionUnreadable, read_session
from kb_schema.session_writer import PART_FROM_CHARS, write_session
from kb_schema.step_metadata import StepMetadata

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
STEPS = st.builds(
    TraceStep,
    action_type=st.sampled_from(["click", "fill", "navigate"]),
    target=st.none() | st.just({"strategies": [{"type": "css", "value": "#a"}]}) | TEXT.filter(bool),
    args=st.none() | st.dictionaries(TEXT, JSON, max_size=3),
    result=st.none()
    | st.builds(TraceActionResult, success=st.booleans(), value=JSON, error=st.none() | TEXT),
    timestamp=st.just(datetime(2026, 1, 2, tzinfo=UTC)),
    html_before=st.none() | TEXT | TEXT.map(lambda text: text + "x" * PART_FROM_CHARS),
    html_after=st.none() | TEXT | TEXT.map(lambda text: text + "y\r\n" * PART_FROM_CHARS),
    source_url=st.none() | TEXT,
    action_group_index=st.integers(0, 3),
    reasoning=st.none() | TEXT.filter(bool),
    metadata=st.dictionaries(TEXT.filter(lambda key: key not in StepMetadata.model_fields), JSON, max_size=2),
)


@settings(max_examples=40)
@given(st.lists(STEPS, max_size=4), st.none() | TEXT.filter(bool))
def test_a_trace_that_is_written_is_read_again_as_it_was(tmp_path_factory, steps, error):
    folder = tmp_path_factory.mktemp("session")
    trace = ExecutionTrace(
        trace_id="t", task_description="add it", steps=chain_pages(tuple(steps)), input_data={"a": 1},
        success=error is None, error=error,
    )  # fmt: skip
    write_session(trace, folder)
    again = read_session(folder)
    assert again.steps == trace.steps
    told = (again.trace_id, again.task_description, again.input_data, again.success, again.error)
    assert told == ("t", "add it", {"a": 1}, error is None, error)
    assert "problems" not in again.metadata


def test_what_is_broken_is_told_with_file_and_line_and_the_rest_is_read(tmp_path):
    step = TraceStep(action_type="click", html_before="<p>" * PART_FROM_CHARS, html_after="<b>")
    write_session(ExecutionTrace(trace_id="t", steps=(step, step)), tmp_path)
    log = tmp_path / "turn_001/session.jsonl"
    first, second = log.read_text().splitlines()
    bad = json.dumps(json.loads(second) | {"action_type": "fill", "metadata": 7})
    log.write_text(f"{first}\n{{cut off\n[1]\n{bad}\n{second}\n")
    (tmp_path / "turn_001/session.jsonl.parts/0001_html_before.html").unlink()

    trace = read_session(tmp_path)

    assert [each.action_type for each in trace.steps] == ["click", "click"]
    told = trace.metadata["problems"]
    assert [problem.split(": ")[0] for problem in told] == [
        f"turn_001/session.jsonl:{line}" for line in (1, 2, 3, 4)
    ]
    assert "cannot be read" in told[0]
    assert "metadata" in told[3]


def _session(folder, *turns):
    manifest = {
        "session_id": "s",
        "created_at": "2026-01-01T10:00:00Z",
        "ended_at": "2026-01-01T10:05:00Z",
        "turns": [{"turn": number} for number in range(1, len(turns) + 1)],
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for number, entries in enumerate(turns, 1):
        (folder / f"turn_{number:03d}").mkdir()
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        (folder / f"turn_{number:03d}" / "session.jsonl").write_text(lines)
    return folder


def _click(**more):
    return {"type": "AgentActionResults", "action_type": "click", "timestamp": "2026-01-01T10:00:01Z", **more}


def test_a_missing_page_before_a_step_is_the_page_after_the_step_before_it(tmp_path):
    _session(
        tmp_path,
        [
            _click(body_html_after_last_action="one"),
            _click(body_html_after_last_action="two"),
            _click(body_html_before_last_action="own", body_html_after_last_action="three"),
        ],
        [_click()],
    )
    pages = [step.html_before for step in read_session(tmp_path).steps]
    assert pages == [None, "one", "own", "three"]


def test_what_was_done_is_a_step_with_the_reasoning_of_its_plan_and_without_results_the_first_plan_is(
    tmp_path,
):
    plan = {
        "type": "AgentResponse",
        "timestamp": "2026-01-01T10:00:00Z",
        "reasoning": "it is the blue one",
        "next_actions": [
            [{"action_type": "fill", "target": "#a"}, {"action_type": "press"}],
            [{"type": "wait"}],
        ],
    }
    done = _click(target="#b", source_url="https://a.test/x", action_group_index=2, parallel_index=1)
    steps = read_session(_session(tmp_path, [plan, done, _click()], [plan])).steps
    assert [(step.action_type, step.target, step.reasoning) for step in steps] == [
        ("click", "#b", "it is the blue one"),
        ("click", None, None),
        ("fill", "#a", "it is the blue one"),
    ]
    assert (steps[0].source_url, steps[0].action_group_index, steps[0].parallel_index) == (
        "https://a.test/x",
        2,
        1,
    )


def test_a_trace_knows_its_folder_its_times_and_its_number_of_turns(tmp_path):
    trace = read_session(_session(tmp_path, [_click()], [], [_click()]))
    assert (trace.turn_count, trace.session_dir) == (3, str(tmp_path))
    assert (trace.start_time, trace.end_time) == (
        datetime(2026, 1, 1, 10, 0, tzinfo=UTC),
        datetime(2026, 1, 1, 10, 5, tzinfo=UTC),
    )


def test_a_part_outside_of_the_session_is_not_read(tmp_path):
    (tmp_path / "secret.txt").write_text("hunter2")
    folder = tmp_path / "session"
    write_session(ExecutionTrace(trace_id="t", steps=(TraceStep(action_type="click"),)), folder)
    log = folder / "turn_001/session.jsonl"
    entry = json.loads(log.read_text()) | {
        "body_html_after_last_action": {"__parts_file__": "../../secret.txt"}
    }
    log.write_text(json.dumps(entry))
    trace = read_session(folder)
    assert trace.steps[0].html_after is None
    assert "outside the session folder" in trace.metadata["problems"][0]


def test_a_session_that_was_cut_off_is_a_failed_trace(tmp_path):
    write_session(ExecutionTrace(trace_id="t", steps=(TraceStep(action_type="click"),)), tmp_path)
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    trace = read_session(tmp_path)
    assert (len(trace.steps), trace.success) == (1, False)
    assert trace.error == "the session did not end normally"


@pytest.mark.parametrize("status", ["failure", "partial", "degraded", "needs_person"])
def test_a_session_of_which_a_turn_did_not_do_everything_is_a_failed_trace(tmp_path, status):
    write_session(ExecutionTrace(trace_id="t", steps=(TraceStep(action_type="click"),)), tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    manifest["turns"][0]["status"] = status
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    trace = read_session(tmp_path)
    assert (trace.success, trace.error) == (False, f"turn 1 ended with {status}")


@pytest.mark.parametrize("text", [None, '{"session_id": "t", "tur', '{"turns": 3}'])
def test_without_its_manifest_what_is_there_is_read_as_a_trace_that_failed(tmp_path, text):
    write_session(ExecutionTrace(trace_id="t", steps=(TraceStep(action_type="click"),)), tmp_path)
    if text is None:
        (tmp_path / "manifest.json").unlink()
    else:
        (tmp_path / "manifest.json").write_text(text)
    trace = read_session(tmp_path)
    assert (len(trace.steps), trace.success) == (1, False)
    assert trace.metadata["problems"][0].startswith("manifest.json")


WORDS = st.sampled_from(
    ["AgentActionResults", "AgentResponse", "click", "../../x", "/etc/passwd", "a\0b", "x" * 300]
)
FIELDS = st.sampled_from([
    "type", "action_type", "target", "args", "result", "timestamp", "data", "next_actions", "metadata", "success",
    "__parts_file__", "body_html_before_last_action", "source_url", "reasoning", "action_group_index",
])  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=6),
    max_leaves=5,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ANYTHING | st.dictionaries(FIELDS, ANYTHING), max_size=4), st.none() | WORDS)
def test_whatever_stands_in_a_log_is_read_or_told(tmp_path_factory, lines, path):
    folder = tmp_path_factory.mktemp("session")
    (folder / "turn_001").mkdir()
    (folder / "manifest.json").write_text(json.dumps({"turns": [{"turn": 1, "path": path}]}))
    (folder / "turn_001/session.jsonl").write_text("\n".join(map(json.dumps, lines)))
    trace = read_session(folder)
    assert len(trace.steps) <= len(lines)
    if path is not None:
        assert (trace.steps, len(trace.metadata["problems"])) == ((), 1)


@pytest.mark.parametrize("text", [None, "{", '{"turns": 3}'])
def test_a_folder_without_a_readable_manifest_is_no_session(tmp_path, text):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(SessionUnreadable, match=r"manifest\.json"):
        read_session(tmp_path)
