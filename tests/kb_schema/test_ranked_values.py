"""Values by which texts are ranked, and the words that say which of them is meant."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import ValidationError

from kb_schema.io_specs import RankedExtraction
from kb_schema.ranked_values import Ranking, find_extreme, read_ranked_value, read_ranking


@pytest.mark.parametrize(
    ("text", "measure", "value", "unit"),
    [
        ("$1,945", "money", "1945", "$"),
        ("Book for $67.50", "money", "67.50", "$"),
        ("60 EUR", "money", "60", "EUR"),
        ("27h 38m", "duration", "1658", ""),
        ("Duration: 3 hours and 5 minutes", "duration", "185", ""),
        ("2 days 1 h", "duration", "2940", ""),
        ("12:23 PM", "time", "743", ""),
        ("00:05", "time", "5", ""),
        ("2016-12-28", "date", "736326", ""),
        ("Wed Dec 28 2016", "date", "736326", ""),
        ("4.5", "number", "4.5", ""),
        ("1,200 reviews", "number", "1200", ""),
        ("80%", "number", "80", ""),
    ],
)
def test_a_text_has_one_value(text, measure, value, unit):
    found = read_ranked_value(text)
    assert found is not None
    assert (found.measure, found.value, found.unit) == (measure, Decimal(value), unit)


@pytest.mark.parametrize("text", ["", "Ann", "3 of 5", "$10 to $20", "on request", "13:75", "M8 x 40"])
def test_a_text_without_a_plain_value_has_none(text):
    assert read_ranked_value(text) is None


@pytest.mark.parametrize(
    ("words", "order", "measures"),
    [
        ("cheapest cost", "least", {"money"}),
        ("most expensive", "greatest", {"money"}),
        ("least expensive", "least", {"money"}),
        ("longest duration", "greatest", {"duration"}),
        ("lowest rating", "least", set()),
        ("most recent", "greatest", {"date"}),
    ],
)
def test_words_say_which_value_is_meant(words, order, measures):
    assert read_ranking(words) == Ranking(order, frozenset(measures))


@pytest.mark.parametrize("words", ["red", "", "the newest of the oldest"])
def test_words_without_one_order_say_none(words):
    assert read_ranking(words) is None


LEAST = Ranking("least", frozenset())


def test_values_are_compared_as_values_and_not_as_texts():
    assert find_extreme(["$99", "$1,000", "$250"], LEAST) == 0
    assert find_extreme(["9h 5m", "10h", "2 days"], LEAST) == 0


@pytest.mark.parametrize(
    "texts",
    [
        ["$5", "$5", "$9"],  # two are the cheapest
        ["$5", "on request", "$9"],  # one is not known
        ["$5", "\u20ac4"],  # other units
        ["$5", "4 h"],  # other measures
        [],
    ],
)
def test_there_is_no_extreme_where_values_do_not_compare(texts):
    assert find_extreme(texts, LEAST) is None


def test_an_extraction_that_says_no_order_is_refused():
    columns = {"money": {"selector": "td"}}
    with pytest.raises(ValidationError, match="does not say which is meant"):
        RankedExtraction(method="ranked_extraction", selector="tr", columns=columns, order="red")
    RankedExtraction(method="ranked_extraction", selector="tr", columns=columns, order="{which}")
