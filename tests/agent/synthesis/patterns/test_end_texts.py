"""Texts at the ends of traces: which of them a run must show."""

from __future__ import annotations

import pytest

from agent.synthesis.patterns.end_places import find_place_texts
from agent.synthesis.patterns.end_texts import find_message_texts
from agent.synthesis.patterns.trace_ends import TraceEnd
from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.probes import ProbeFacts
from tests.support.pages import NamedElements
from web_pages.stored_pages import evaluate

PAGES = TracePages()


def _page(body: str, url: str):
    page = PAGES.get(f"<!doctype html><title>T</title>{body}", url)
    assert page is not None
    return page


def _end(number: int, message: str, note: str) -> TraceEnd:
    return TraceEnd(
        f"trace-{number}",
        _page(f'<p class="ok-message">{message}</p>', f"http://t/issue{number}"),
        f"http://t/issue{number}",
        (_page("<form><input></form>", "http://t/new"),),
        {"note": note},
        {"note": note},
        frozenset({"note"}),
    )


def _holds(message: str, note: str, *, other_evidence: bool = True) -> bool:
    """Whether a run with this message and this note shows what three traces had in common."""
    ends = [
        _end(number, f"msg {number} created<br>issue {number + 20} created", f"Note {number}")
        for number in (1, 2, 3)
    ]
    conditions = find_message_texts(ends, other_evidence=other_evidence)
    assert conditions
    page = _page(f'<p class="ok-message">{message}</p>', "http://t/issue30")
    facts = ProbeFacts(context={"note": note})
    return all(each.held for each in evaluate(page.stored, conditions, NamedElements(), facts))


def test_a_message_with_all_its_parts_is_evidence():
    assert _holds("msg 7 created<br>issue 27 created", "Note 7")


def test_a_part_that_is_about_an_empty_field_is_not_asked_for():
    assert _holds("issue 27 created", "")


def test_a_part_is_asked_for_where_every_field_is_filled_in():
    assert not _holds("issue 27 created", "Note 7")


def test_a_part_is_asked_for_where_nothing_else_is_evidence():
    assert not _holds("issue 27 created", "", other_evidence=False)


@pytest.mark.parametrize(
    "said",
    ["The record was saved. <button>Dismiss</button>", "<a href='#'>put away</a> The record was saved."],
)
def test_a_message_is_compared_without_what_closes_it_and_without_its_end_mark(said):
    """In another release a full stop is missing, and what closes the message is called otherwise."""
    conditions = find_message_texts([_end(number, said, f"Note {number}") for number in (1, 2, 3)])
    assert conditions
    for end in ("<a>Close</a> x", "", "!"):
        page = _page(f'<p class="ok-message">The record was saved{end}</p>', "http://t/issue30")
        assert all(each.held for each in evaluate(page.stored, conditions, NamedElements(), ProbeFacts()))


def test_a_message_that_only_closes_is_none():
    ends = [_end(number, "Dismiss x", f"Note {number}") for number in (1, 2, 3)]
    assert not find_message_texts(ends)


def test_the_word_that_closes_a_message_is_no_evidence():
    said = {word: f"<p class=told><span class=word>{word}</span></p>" for word in ("Close", "Approved")}
    found = {
        word: list(find_place_texts([_end(number, each, f"Note {number}") for number in (1, 2, 3)]))
        for word, each in said.items()
    }
    assert (len(found["Close"]), len(found["Approved"])) == (0, 1)


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        ("1 flow run deleted", True),
        ("7 flow runs deleted", True),
        ("1 flow run paused", False),
        ("0 flow", False),
    ],
)
def test_what_a_message_counts_may_be_one_thing_in_a_run(said, holds):
    conditions = find_message_texts(
        [_end(number, f"{number} flow runs deleted", f"Note {number}") for number in (2, 3, 4)]
    )
    page = _page(f'<p class="ok-message">{said}</p>', "http://t/issue30")
    verdicts = evaluate(page.stored, conditions, NamedElements(), ProbeFacts())
    assert conditions
    assert all(each.held for each in verdicts) is holds
