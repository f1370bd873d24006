"""Plain words: what counts as the same, and how they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.locating.index import RegionKind
from agent.locating.wanted import Wanted, readings
from agent.locating.words import Grade, grade, plain


@pytest.mark.parametrize(
    ("wanted", "said", "expected"),
    [
        ("User name", "User Name:", Grade.EXACT),
        ("username", "Username *", Grade.EXACT),
        ("LoginForm", "login-form", Grade.EXACT),
        ("E-mail address", "Email", Grade.EXACT),
        ("Log in", "Login", Grade.EXACT),
        ("Yes, I'm sure", "Yes, I\u2019m sure", Grade.EXACT),
        ("MM/DD/YYYY", "mm/dd/yyyy", Grade.EXACT),
        ("Tag", "Tags", Grade.PLURAL),
        ("Categories", "Category", Grade.PLURAL),
        ("Save", "Save changes", Grade.BEGINS),
        ("Publish", "Published", Grade.NOT),
        ("changes", "Save changes", Grade.NOT),
        ("Pass", "Passes", Grade.NOT),
        ("Sign in", "Sign up", Grade.NOT),
        (">", ">", Grade.EXACT),
        (">", "<", Grade.NOT),
        ("", "Save", Grade.NOT),
        ("Save", "", Grade.NOT),
        ("\ue900 Search", "search", Grade.EXACT),
    ],
)
def test_words_are_compared_as_people_do(wanted, said, expected):
    assert grade(wanted, said) is expected


@given(st.text(max_size=40))
def test_any_text_is_the_same_as_itself_in_capitals_marks_and_spaces(text):
    assert plain(plain(text)) == plain(text)
    if text.strip() and plain(text) != text.strip():
        assert (
            grade(text, f"  {plain(text).upper() if plain(text).upper().lower() == plain(text) else text} *:")
            is Grade.EXACT
        )


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_is_exactly_the_same_is_so_in_both_directions(one, other):
    assert (grade(one, other) is Grade.EXACT) == (grade(other, one) is Grade.EXACT)


def regions_of(words: str) -> list[tuple[str, str, frozenset[RegionKind] | None]]:
    return [(r.words, g.words, g.kinds) for r in readings(Wanted(words)) for g in r.regions]


def test_a_region_may_stand_behind_an_at_or_in_a_sentence():
    assert ("save", "login form", None) in regions_of("Save@LoginForm")
    assert ("save", "login", frozenset({RegionKind.FORM})) in regions_of("Save@LoginForm")
    assert any(
        words == ("save button") for words, *_ in regions_of("the Save button in the LoginForm region")
    )
    rows = frozenset({RegionKind.ROW, RegionKind.ITEM})
    assert ("delete", "bob", rows) in regions_of("Delete@row Bob")
    assert ("", "bob", rows) in regions_of("row Bob")


def test_words_with_an_at_are_first_read_as_they_are():
    first = next(iter(readings(Wanted("you@company.example"))))
    assert (first.words, first.regions) == ("you company example", ())


def test_a_last_word_may_say_the_role():
    read = [(r.words, r.roles) for r in readings(Wanted("Sign in button"))]
    assert read == [("sign in button", None), ("sign in", frozenset({"button"}))]


@given(st.text(max_size=60))
def test_any_words_can_be_read(words):
    assert list(readings(Wanted(words)))
