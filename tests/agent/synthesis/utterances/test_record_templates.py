"""Tasks that are told as records: JSON, `key: value` lines and tables of two columns."""

from __future__ import annotations

import pytest

from agent.synthesis.utterances.record_templates import learn_record_template, read_record
from agent.synthesis.utterances.utterance_templates import UtteranceMismatch

SHOWN = ('{"City": "Rhodes", "Day": 3, "Kind": "return"}', "City: Kos\nDay: 12\nKind: return\nSeats: 2")


def test_all_notations_of_a_record_are_read_alike():
    expected = {"City": "Rhodes", "Day": "3"}
    for text in (
        '{"City": "Rhodes", "Day": 3}',
        "City: Rhodes\nDay: 3",
        "| City | Rhodes |\n|---|---|\n| Day | 3 |",
        "City\tRhodes\nDay\t3",
    ):
        assert read_record(text) == expected, text


@pytest.mark.parametrize(
    "text",
    [
        "Book a flight to: Rhodes",
        "Book a flight.",
        '{"City": "Rhodes"',
        "[1, 2]",
        '{"City": [{"name": "Rhodes"}], "Day": 3}',
        '{"a b": 1, "a_b": 2}',
        "City: Rhodes\nCity: Kos",
        '{"a":' * 2_000,
    ],
)
def test_what_is_no_record_is_none(text):
    assert read_record(text) is None


def test_keys_are_slots_and_those_that_not_all_recordings_had_may_be_missing():
    template = learn_record_template(SHOWN)
    assert template is not None
    assert str(template) == "City: {city}; Day: {day}; Kind: {kind}; Seats: {seats}?"
    assert template.parse(SHOWN[0]) == {"city": "Rhodes", "day": "3", "kind": "return", "seats": ""}
    kind = next(slot for slot in template.slots if slot.name == "kind")
    fixed = template.fixed(kind, "return")
    assert [slot.name for slot in fixed.slots] == ["city", "day", "seats"]
    assert str(fixed) == "City: {city}; Day: {day}; Kind: return; Seats: {seats}?"
    assert fixed.parse("City: Kos\nDay: 1\nKind: Return")["city"] == "Kos"


@pytest.mark.parametrize(
    "goal",
    [
        "City: Kos\nKind: return",
        "City: Kos\nDay: 1\nKind: one way",
        "City: Kos\nDay: 1\nKind: return\nMeal: none",
        "Fly me to Kos.",
    ],
)
def test_a_goal_that_nobody_showed_is_refused(goal):
    template = learn_record_template(SHOWN)
    assert template is not None
    fixed = template.fixed(next(slot for slot in template.slots if slot.name == "kind"), "return")
    with pytest.raises(UtteranceMismatch) as refused:
        fixed.parse(goal)
    assert refused.value.utterance == goal


def test_sentences_are_no_records():
    assert learn_record_template(["City: Rhodes\nDay: 3", "Fly me to Kos."]) is None
