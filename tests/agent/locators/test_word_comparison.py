"""Plain words: what counts as the same, and how they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.locators.element_descriptions import ElementDescription, list_readings
from agent.locators.page_index import RegionKind
from agent.locators.word_comparison import WordFit, compare_words, normalize_words


@pytest.mark.parametrize(
    ("wanted", "said", "expected"),
    [
        ("User name", "User Name:", WordFit.EXACT),
        ("username", "Username *", WordFit.EXACT),
        ("LoginForm", "login-form", WordFit.EXACT),
        ("E-mail address", "Email", WordFit.EXACT),
        ("Log in", "Login", WordFit.EXACT),
        ("Yes, I'm sure", "Yes, I\u2019m sure", WordFit.EXACT),
        ("MM/DD/YYYY", "mm/dd/yyyy", WordFit.EXACT),
        ("Tag", "Tags", WordFit.PLURAL),
        ("Categories", "Category", WordFit.PLURAL),
        ("Save", "Save changes", WordFit.BEGINS),
        ("Publish", "Published", WordFit.NOT),
        ("changes", "Save changes", WordFit.NOT),
        ("Pass", "Passes", WordFit.NOT),
        ("Sign in", "Sign up", WordFit.NOT),
        (">", ">", WordFit.EXACT),
        (">", "<", WordFit.NOT),
        ("", "Save", WordFit.NOT),
        ("Save", "", WordFit.NOT),
        ("\ue900 Search", "search", WordFit.EXACT),
    ],
)
def test_words_are_compared_as_people_do(wanted, said, expected):
    assert compare_words(wanted, said) is expected


@given(st.text(max_size=40))
def test_any_text_is_the_same_as_itself_in_capitals_marks_and_spaces(text):
    assert normalize_words(normalize_words(text)) == normalize_words(text)
    if text.strip() and normalize_words(text) != text.strip():
        assert (
            compare_words(
                text,
                f"  {normalize_words(text).upper() if normalize_words(text).upper().lower() == normalize_words(text) else text} *:",
            )
            is WordFit.EXACT
        )


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_is_exactly_the_same_is_so_in_both_directions(one, other):
    assert (compare_words(one, other) is WordFit.EXACT) == (compare_words(other, one) is WordFit.EXACT)


def regions_of(words: str) -> list[tuple[str, str, frozenset[RegionKind] | None]]:
    return [(r.words, g.words, g.kinds) for r in list_readings(ElementDescription(words)) for g in r.regions]


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
    first = next(iter(list_readings(ElementDescription("you@company.example"))))
    assert (first.words, first.regions) == ("you company example", ())


def test_a_last_word_may_say_the_role():
    read = [(r.words, r.roles) for r in list_readings(ElementDescription("Sign in button"))]
    assert read == [("sign in button", None), ("sign in", frozenset({"button"}))]


@given(st.text(max_size=60))
def test_any_words_can_be_read(words):
    assert list(list_readings(ElementDescription(words)))
