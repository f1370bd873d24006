"""What counts as the text of a sentence on a page."""

from __future__ import annotations

import pytest

from agent.sentence_runs.change_evidence import ChangeEvidence
from agent.sentence_runs.text_counts import count_enumerations, count_text
from kb_schema.sentence_plans import SentencePlan


@pytest.mark.parametrize(
    ("said", "text", "times"),
    [
        ("12", "limit: 12", 1),
        ("12 m", "skua12 m", 1),
        ("12", "112 boats", 0),
        ("12", "since 2012", 0),
        ("12", "12,500 and 12.5", 0),
        ("12", "12, 12. (12)", 3),
        ("agt-12", "agt-120", 0),
        ("ada", "adafollow", 1),
        ("", "anything", 0),
    ],
)
def test_a_number_counts_only_as_a_whole(said: str, text: str, times: int) -> None:
    assert count_text(said, text) == times


@pytest.mark.parametrize(
    ("said", "text", "times"),
    [
        ("crime, coast", "coast, crime, sea", 1),
        ("crime, coast", "coast crime", 0),
        ("crime, coast", "coast, coast", 0),
        ("march 3, 2026", "2026, march 3", 0),
        ("ada, ada", "ada, ada", 1),
    ],
)
def test_the_items_of_an_enumeration_count_in_any_order(said: str, text: str, times: int) -> None:
    assert count_enumerations(said, text) == times


def test_another_number_that_has_its_digits_is_no_evidence() -> None:
    evidence = ChangeEvidence(SentencePlan(shown_when_done=["12"]), "Set the limit to 12")
    assert evidence.shows("limit: 12", ("limit: 10",))
    assert not evidence.shows("112 boats", ("111 boats",))
