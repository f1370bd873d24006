"""When a value is taken for joined or computed of several inputs, and when it is not."""

from __future__ import annotations

import pytest

from agent.synthesis.patterns.combined_values import find_computed_value, find_joined_value
from kb_schema.transforms import Arithmetic, TransformError


def _rows(*values: str):
    return {(f"t{number}", ()): value for number, value in enumerate(values)}


PEOPLE = {"given": _rows("Ada", "Grace", "Alan"), "family": _rows("Lovelace", "Hopper", "Turing")}


@pytest.mark.parametrize(
    ("texts", "template"),
    [
        (("Ada Lovelace", "Grace Hopper", "Alan Turing"), "{given} {family}"),
        (("Lovelace, Ada", "Hopper, Grace", "Turing, Alan"), "{family}, {given}"),
        (("Dear Ada (Lovelace)", "Dear Grace (Hopper)", "Dear Alan (Turing)"), "Dear {given} ({family})"),
    ],
)
def test_texts_with_the_same_words_around_are_joined(texts, template):
    found = find_joined_value(_rows(*texts), PEOPLE)
    assert found is not None
    assert found.template == template


@pytest.mark.parametrize(
    "texts",
    [
        ("Ada Lovelace", "Hopper, Grace", "Alan Turing"),  # in another order
        ("Ada Lovelace", "Grace Hopper", "Alan Kay"),  # another name
        ("Ada Lovelace", "Mrs Grace Hopper", "Alan Turing"),  # something before it
    ],
)
def test_texts_that_contradict_each_other_are_not_joined(texts):
    assert find_joined_value(_rows(*texts), PEOPLE) is None


TWO = {"one": _rows("9", "20", "7"), "other": _rows("4", "5", "1")}


@pytest.mark.parametrize(
    ("texts", "template"),
    [
        (("13", "25", "8"), "{one} + {other}"),
        (("5", "15", "6"), "{one} - {other}"),
        (("36", "100", "7"), "{one} * {other}"),
        (("-5", "-15", "-6"), "{other} - {one}"),
    ],
)
def test_three_different_results_show_how_a_value_is_computed(texts, template):
    found = find_computed_value(_rows(*texts), TWO)
    assert found is not None
    assert found.template == template


def test_two_different_results_are_too_few():
    told = {"one": _rows("9", "20", "9"), "other": _rows("4", "5", "4")}
    assert find_computed_value(_rows("13", "25", "13"), told) is None


def test_two_ways_to_compute_a_value_are_none():
    told = {**TWO, "third": _rows("0", "0", "1"), "fourth": _rows("13", "25", "9")}
    assert find_computed_value(_rows("13", "25", "8"), told) is None


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("12 - 5", "7"),
        ("0.1 + 0.2", "0.3"),
        ("$1,000 + $5", "1005"),
        ("2026-03-01 - 2026-02-27", "2"),
        ("10 * 10", "100"),
    ],
)
def test_arithmetic_is_exact(text, result):
    assert Arithmetic(type="arithmetic").apply(text) == result


@pytest.mark.parametrize("text", ["12", "$5 - 3", "2026-03-01 + 2026-02-27", "a - b", "5 / 2", ""])
def test_arithmetic_refuses_what_is_no_pair_of_one_kind(text):
    with pytest.raises(TransformError):
        Arithmetic(type="arithmetic").apply(text)
