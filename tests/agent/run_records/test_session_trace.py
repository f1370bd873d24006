"""The trace of a session on disk."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from agent.events import ActionDone
from agent.run_context import RunContext
from agent.run_records.session_trace import SessionTrace
from kb_schema.session_reader import read_session


@pytest.mark.parametrize("complete", [True, False])
def test_a_session_is_complete_only_when_it_ended_by_itself(tmp_path, complete):
    trace = SessionTrace(tmp_path, website_id="w", context=RunContext())
    assert not json.loads((tmp_path / "manifest.json").read_text())["complete"]
    trace.close(complete=complete)
    assert json.loads((tmp_path / "manifest.json").read_text())["complete"] is complete


def test_a_folder_takes_one_session(tmp_path):
    SessionTrace(tmp_path, website_id="first", context=RunContext())
    before = (tmp_path / "manifest.json").read_text()
    with pytest.raises(FileExistsError):
        SessionTrace(tmp_path, website_id="second", context=RunContext())
    assert (tmp_path / "manifest.json").read_text() == before


def test_the_time_of_a_step_is_that_at_which_it_began(tmp_path):
    trace = SessionTrace(tmp_path, website_id="w", context=RunContext())
    before = datetime.now(UTC)
    trace(ActionDone("click", None, {}, "http://a.test/", "http://a.test/", None, None, 90_000.0))
    after = datetime.now(UTC)
    trace.close(complete=True)
    (step,) = read_session(tmp_path).steps
    lasted = timedelta(seconds=90)
    assert before - lasted <= step.timestamp <= after - lasted
