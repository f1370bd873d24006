"""What visitors say, against the tables of what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.presentation.visitor.languages import Language, list_languages, load_language
from agent.presentation.visitor.request_parser import asks_for_name, parse_request
from agent.presentation.visitor.visitor_requests import RequestKind

DATA = Path(__file__).parents[3] / "data" / "visitor"
LEAST = 0.97
"""Of the tables' rows, those that are understood as they are meant."""


def _rows(name: str) -> list[tuple[str, list[Any]]]:
    tables = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    return [(spoken, row) for spoken, rows in tables.items() for row in rows]


def _right(spoken: str, row: list[Any]) -> bool:
    text, kind, *about = row
    found = parse_request(text, spoken)
    said = found.name if found.kind is RequestKind.INTRODUCE else found.topic.casefold()
    return found.kind.value == kind and (not about or said == about[0])


@pytest.mark.parametrize("table", ["utterances.yaml", "utterances_later.yaml"])
def test_visitors_are_understood(table, capsys):
    rows = _rows(table)
    wrong = [(spoken, row[0]) for spoken, row in rows if not _right(spoken, row)]
    with capsys.disabled():
        print(f"\n{table}: {len(rows) - len(wrong)} of {len(rows)} understood; not: {wrong}")  # noqa: T201 - how well it does is to be seen
    assert len(rows) >= 100
    assert len(wrong) <= len(rows) * (1 - LEAST)


def test_nothing_that_leads_the_story_is_heard_where_nobody_said_so():
    """Rather a question too many than a demo that ends by itself."""
    leads = {RequestKind.BACK, RequestKind.SKIP, RequestKind.STOP, RequestKind.RESTART, RequestKind.JUMP}
    for spoken, (text, kind, *_) in [*_rows("utterances.yaml"), *_rows("utterances_later.yaml")]:
        found = parse_request(text, spoken).kind
        assert found not in leads or found.value == kind, text


@pytest.mark.parametrize(
    "written",
    ["{}", "{}!", " {} ", "please {}", "{} please", "ok, {}", "um {}", "Robin, {}", "could you {}?"],
)
@pytest.mark.parametrize(
    ("text", "kind"),
    [("go back", RequestKind.BACK), ("skip this part", RequestKind.SKIP), ("slow down", RequestKind.SLOWER)],
)
def test_politeness_and_addressing_change_nothing(written, text, kind):
    for said in (written.format(text), written.format(text).upper()):
        assert parse_request(said, presenter="Robin").kind is kind, said


@pytest.mark.parametrize("text", ["contineu", "langsammer", "repaet", "psuse", "slwoer", "nextt", "fatser"])
def test_slips_of_the_pen_are_mended(text):
    assert parse_request(text).kind in {
        RequestKind.GO_ON, RequestKind.SLOWER, RequestKind.REPEAT, RequestKind.PAUSE, RequestKind.SKIP, RequestKind.FASTER,
    }  # fmt: skip


def test_a_visitor_may_speak_another_language_than_the_show():
    assert parse_request("zeig mir die Kontakte", "en").kind is RequestKind.SHOW
    assert parse_request("show me the contacts", "de").topic == "contacts"
    assert parse_request("bitte langsamer", "en").language == "de"


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("Ada", RequestKind.INTRODUCE, "Ada"),
        ("ada lovelace", RequestKind.INTRODUCE, "Ada Lovelace"),
        ("i am ada", RequestKind.INTRODUCE, "Ada"),
        ("Ada, nice to meet you", RequestKind.INTRODUCE, "Ada"),
        ("skip", RequestKind.SKIP, ""),
        ("why do you ask", RequestKind.QUESTION, ""),
        ("no idea", RequestKind.UNKNOWN, ""),
        ("yes", RequestKind.YES, ""),
        ("not telling", RequestKind.UNKNOWN, ""),
        ("1234", RequestKind.UNKNOWN, ""),
    ],
)
def test_a_bare_name_is_one_only_where_it_was_asked_for(text, kind, name):
    asked = parse_request(text, name_asked=True)
    assert (asked.kind, asked.name) == (kind, name)
    assert parse_request("Ada").kind is RequestKind.UNKNOWN


def test_whoever_says_what_they_are_is_not_called_that():
    for text in ("I'm interested", "I am from Berlin", "I'm late", "this is too slow", "I am a developer"):
        assert parse_request(text).kind is not RequestKind.INTRODUCE, text
    for text in ("ich bin interessiert", "ich bin aus Berlin", "ich bin Entwickler", "ich bin nicht sicher"):
        assert parse_request(text, "de").kind is not RequestKind.INTRODUCE, text


@pytest.mark.parametrize(
    ("text", "first", "then"),
    [
        ("I'm Ada and I'd like to see the contacts", RequestKind.INTRODUCE, RequestKind.SHOW),
        ("slow down, and what is a campaign?", RequestKind.SLOWER, RequestKind.QUESTION),
        ("I am Ada. What is a campaign?", RequestKind.INTRODUCE, RequestKind.QUESTION),
    ],
)
def test_two_wishes_in_one_breath(text, first, then):
    request = parse_request(text)
    assert request.then is not None
    assert (request.kind, request.then.kind) == (first, then)


def test_stop_and_something_else_does_not_end_the_demo():
    request = parse_request("can you stop and show me the contacts?")
    assert (request.kind, request.topic, request.then) == (RequestKind.SHOW, "contacts", None)


@pytest.mark.parametrize("text", ["", "?", "...", " ", "\n", "!" * 2000, "a" * 5000, "\u202e\u0000"])
def test_nothing_is_understood_of_nothing(text):
    assert parse_request(text).kind is RequestKind.UNKNOWN


def test_who_asks_for_a_name():
    assert asks_for_name("Hi! I'm Robin. What's your name?")
    assert asks_for_name("Wie heißen Sie?", "de")
    assert not asks_for_name("Every agent has a name.")


def test_the_documentation_tells_every_request():
    text = (Path(__file__).parents[4] / "docs" / "visitors.md").read_text(encoding="utf-8")
    table = "".join(line for line in text.splitlines() if line.startswith("|"))
    assert [kind.value for kind in RequestKind if f"`{kind.value}`" not in table] == []


@pytest.mark.parametrize("name", list_languages())
def test_every_language_says_everything(name):
    english, other = load_language("en"), load_language(name)
    assert set(other.patterns) == set(RequestKind) - {RequestKind.QUESTION, RequestKind.UNKNOWN}
    assert set(other.told) == set(RequestKind)
    assert set(other.replies) == set(english.replies)
    assert set(other.facts) == set(english.facts)


@pytest.mark.parametrize("name", list_languages())
def test_every_reply_can_be_filled(name):
    words = dict.fromkeys(
        [
            "words",
            "place",
            "topic",
            "name",
            "first",
            "second",
            "site",
            "places",
            "answer",
            "task",
            "presenter",
            "language",
        ],
        "X",
    )
    known: Language = load_language(name)
    for ways in known.replies.values():
        for way in ways:
            assert "{" not in way.format(**words)
