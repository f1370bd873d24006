"""Names on the console: a mapped website has several screens and tasks of one name."""

from __future__ import annotations

from periplus.console.display_names import tell_apart
from periplus.console.search_page import SearchHitView, _tell_apart


def test_names_that_several_have_come_with_their_ids():
    names = {
        "appointments": "Appointments",
        "appointments_2": "Appointments",
        "drafts": "Drafts",
        "start": "start",
    }
    assert tell_apart(names) == {
        "appointments": "Appointments (appointments)",
        "appointments_2": "Appointments (appointments_2)",
        "drafts": "Drafts",
        "start": "start",
    }


def test_results_of_one_kind_and_name_say_their_ids():
    hits = [
        SearchHitView("task", "Discard", "", "discard", None),
        SearchHitView("task", "Discard", "", "discard_2", None),
        SearchHitView("screen", "Discard", "", "discard", None),
    ]
    assert [each.excerpt for each in _tell_apart(hits)] == ["discard", "discard_2", ""]
