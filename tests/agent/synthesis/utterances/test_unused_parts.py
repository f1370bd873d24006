"""A date of which only the day is chosen: its month must not differ, and a goal with another month is no such goal."""

from __future__ import annotations

import pytest

from agent.synthesis.utterances.record_templates import learn_record_template
from agent.synthesis.utterances.utterance_mentions import MentionAnalysis, drop_unused_slots
from agent.synthesis.utterances.utterance_templates import UtteranceMismatch, learn_template
from agent.synthesis.utterances.value_forms import list_untold_parts
from agent.synthesis.utterances.written_templates import write_template
from kb_schema.execution_traces import ExecutionTrace

FEBRUARY = ("Book 02/21/2016 now", "Book 02/19/2016 now")
TWO_MONTHS = (*FEBRUARY, "Book 03/02/2016 now")
RECORDS = ("Room: 4\nDay: 02/21/2016", "Room: 7\nDay: 02/19/2016")


def _told(sentences, template=None) -> MentionAnalysis:
    traces = [
        ExecutionTrace(trace_id=f"t{number}", task_description=each) for number, each in enumerate(sentences)
    ]
    nothing = [set() for _ in sentences]
    return MentionAnalysis(traces, template or learn_template(sentences, nothing, nothing))


@pytest.mark.parametrize(
    ("forms", "untold"),
    [
        ({"day"}, {"month": "2", "year": "2016"}),
        ({"day", "month_name"}, {"year": "2016"}),
        ({"day_of_two_digits", "month_and_year"}, {}),
        ({"iso"}, {}),
        ({"day", "lower"}, {}),
    ],
)
def test_what_forms_of_a_date_leave_out(forms, untold):
    assert list_untold_parts("02/21/2016", forms) == untold
    assert list_untold_parts("two rooms", forms) == {}


def test_a_month_that_differs_and_that_no_step_depends_on_is_refused():
    told = drop_unused_slots(_told(TWO_MONTHS), ["book_day"])
    assert told.contradicted
    assert told.refusal == "no step depends on the month that the task descriptions have for book ('2', '3')"


def test_a_month_that_all_share_is_asked_of_every_goal():
    told = drop_unused_slots(_told(FEBRUARY), ["book_day"])
    assert told.refusal is None
    assert told.template is not None
    assert told.template.parse("Book 02/03/2016 now") == {"book": "02/03/2016"}
    for other in ("Book 03/03/2016 now", "Book 02/03/2017 now", "Book something now"):
        with pytest.raises(UtteranceMismatch):
            told.template.parse(other)
    assert write_template(told.template, FEBRUARY, ["book_day"]) is None


def test_so_is_that_of_a_record():
    told = drop_unused_slots(_told(RECORDS, learn_record_template(RECORDS)), ["room", "day_day"])
    assert told.template is not None
    assert told.template.parse("Room: 1\nDay: 02/03/2016")["day"] == "02/03/2016"
    with pytest.raises(UtteranceMismatch):
        told.template.parse("Room: 1\nDay: 05/03/2016")


def test_a_date_that_is_used_whole_may_be_any():
    for used in (["book"], ["book_iso"], ["book_day", "book_month_name", "book_year"]):
        told = drop_unused_slots(_told(TWO_MONTHS), used)
        assert told.refusal is None
        assert told.template is not None
        assert told.template.parse("Book 07/30/2019 now") == {"book": "07/30/2019"}
