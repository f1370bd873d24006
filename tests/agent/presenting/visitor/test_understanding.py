"""What visitors say, against the tables of what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.presenting.visitor.languages import Language, language, languages
from agent.presenting.visitor.requests import Kind
from agent.presenting.visitor.understanding import asks_for_name, understand

DATA = Path(__file__).parents[3] / "data" / "visitor"
LEAST = 0.97
"""Of the tables' rows, those that are understood as they are meant."""


def _rows(name: str) -> list[tuple[str, list[Any]]]:
    tables = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    return [(spoken, row) for spoken, rows in tables.items() for row in rows]


def _right(spoken: str, row: list[Any]) -> bool:
    text, kind, *about = row
    found = understand(text, spoken)
    said = found.name if found.kind is Kind.INTRODUCE else found.topic.casefold()
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
    leads = {Kind.BACK, Kind.SKIP, Kind.STOP, Kind.RESTART, Kind.JUMP}
    for spoken, (text, kind, *_) in [*_rows("utterances.yaml"), *_rows("utterances_later.yaml")]:
        found = understand(text, spoken).kind
        assert found not in leads or found.value == kind, text


@pytest.mark.parametrize(
    "written",
    ["{}", "{}!", " {} ", "please {}", "{} please", "ok, {}", "um {}", "Robin, {}", "could you {}?"],
)
@pytest.mark.parametrize(
    ("text", "kind"), [("go back", Kind.BACK), ("skip this part", Kind.SKIP), ("slow down", Kind.SLOWER)]
)
def test_politeness_and_addressing_change_nothing(written, text, kind):
    for said in (written.format(text), written.format(text).upper()):
        assert understand(said, presenter="Robin").kind is kind, said


@pytest.mark.parametrize("text", ["contineu", "langsammer", "repaet", "psuse", "slwoer", "nextt", "fatser"])
def test_slips_of_the_pen_are_mended(text):
    assert understand(text).kind in {
        Kind.GO_ON, Kind.SLOWER, Kind.REPEAT, Kind.PAUSE, Kind.SKIP, Kind.FASTER,
    }  # fmt: skip


def test_a_visitor_may_speak_another_language_than_the_show():
    assert understand("zeig mir die Kontakte", "en").kind is Kind.SHOW
    assert understand("show me the contacts", "de").topic == "contacts"
    assert understand("bitte langsamer", "en").language == "de"


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("Ada", Kind.INTRODUCE, "Ada"),
        ("ada lovelace", Kind.INTRODUCE, "Ada Lovelace"),
        ("i am ada", Kind.INTRODUCE, "Ada"),
        ("Ada, nice to meet you", Kind.INTRODUCE, "Ada"),
        ("skip", Kind.SKIP, ""),
        ("why do you ask", Kind.QUESTION, ""),
        ("no idea", Kind.UNKNOWN, ""),
        ("yes", Kind.YES, ""),
        ("not telling", Kind.UNKNOWN, ""),
        ("1234", Kind.UNKNOWN, ""),
    ],
)
def test_a_bare_name_is_one_only_where_it_was_asked_for(text, kind, name):
    asked = understand(text, name_asked=True)
    assert (asked.kind, asked.name) == (kind, name)
    assert understand("Ada").kind is Kind.UNKNOWN


def test_whoever_says_what_they_are_is_not_called_that():
    for text in ("I'm interested", "I am from Berlin", "I'm late", "this is too slow", "I am a developer"):
        assert understand(text).kind is not Kind.INTRODUCE, text
    for text in ("ich bin interessiert", "ich bin aus Berlin", "ich bin Entwickler", "ich bin nicht sicher"):
        assert understand(text, "de").kind is not Kind.INTRODUCE, text


@pytest.mark.parametrize(
    ("text", "first", "then"),
    [
        ("I'm Ada and I'd like to see the contacts", Kind.INTRODUCE, Kind.SHOW),
        ("slow down, and what is a campaign?", Kind.SLOWER, Kind.QUESTION),
        ("I am Ada. What is a campaign?", Kind.INTRODUCE, Kind.QUESTION),
    ],
)
def test_two_wishes_in_one_breath(text, first, then):
    request = understand(text)
    assert request.then is not None
    assert (request.kind, request.then.kind) == (first, then)


def test_stop_and_something_else_does_not_end_the_demo():
    request = understand("can you stop and show me the contacts?")
    assert (request.kind, request.topic, request.then) == (Kind.SHOW, "contacts", None)


@pytest.mark.parametrize("text", ["", "?", "...", " ", "\n", "!" * 2000, "a" * 5000, "\u202e\u0000"])
def test_nothing_is_understood_of_nothing(text):
    assert understand(text).kind is Kind.UNKNOWN


def test_who_asks_for_a_name():
    assert asks_for_name("Hi! I'm Robin. What's your name?")
    assert asks_for_name("Wie heißen Sie?", "de")
    assert not asks_for_name("Every agent has a name.")


def test_the_documentation_tells_every_request():
    text = (Path(__file__).parents[4] / "docs" / "visitors.md").read_text(encoding="utf-8")
    table = "".join(line for line in text.splitlines() if line.startswith("|"))
    assert [kind.value for kind in Kind if f"`{kind.value}`" not in table] == []


@pytest.mark.parametrize("name", languages())
def test_every_language_says_everything(name):
    english, other = language("en"), language(name)
    assert set(other.patterns) == set(Kind) - {Kind.QUESTION, Kind.UNKNOWN}
    assert set(other.told) == set(Kind)
    assert set(other.replies) == set(english.replies)
    assert set(other.facts) == set(english.facts)


@pytest.mark.parametrize("name", languages())
def test_every_reply_can_be_filled(name):
    words = dict.fromkeys(
        ["words", "place", "topic", "name", "first", "second", "site", "places", "answer"], "X"
    )
    known: Language = language(name)
    for ways in known.replies.values():
        for way in ways:
            assert "{" not in way.format(**words)
