"""Whether a page is about the thing whose address was opened."""

from __future__ import annotations

import pytest

from agent.execution.asked_addresses import read_asked_address

FORM = "/harbors/{harbor}/boats/new"


@pytest.mark.parametrize(
    ("template", "url"),
    [
        (FORM, "http://t/harbors/kiel/boats/new"),
        (FORM, "http://t/harbors/Kiel/boats/new/"),
        (FORM, "http://t/harbors/7-kiel/boats/new"),
        (FORM, "http://t/sign-in?next=/harbors/kiel/boats/new"),  # another page: others judge
        (FORM, "http://t/harbors/bremen/boats"),
        ("/boats/new?harbor={harbor}", "http://t/boats/new?harbor=kiel&tab=1"),
        ("/boats/new?harbor={harbor}", "http://t/boats/new"),
        ("/#/harbors/{harbor}/add", "http://t/#/harbors/kiel/add"),
    ],
)
def test_the_same_thing_or_another_page_is_no_other_thing(template, url):
    asked = read_asked_address(template, {"harbor": "kiel"})
    assert asked is not None
    assert asked.find_other_thing(url) is None


@pytest.mark.parametrize(
    ("template", "url"),
    [
        (FORM, "http://t/harbors/bremen/boats/new"),
        ("http://t/harbors/{harbor}/boats/new", "http://t/harbors/bremen/boats/new?from=x"),
        ("/boats/new?harbor={harbor}", "http://t/boats/new?harbor=bremen"),
        ("/#/harbors/{harbor}/add", "http://t/#/harbors/bremen/add"),
    ],
)
def test_another_value_in_its_place_is_another_thing(template, url):
    asked = read_asked_address(template, {"harbor": "kiel"})
    assert asked is not None
    assert asked.find_other_thing(url) == ("kiel", "bremen")


@pytest.mark.parametrize(
    ("asked", "shown", "one"),
    [
        ("7", "7-heron", True),
        ("7", "heron-7", True),
        ("heron", "7-heron", True),
        ("St. Peter", "st-peter", True),
        ("kiel", "kiel-north", False),
        ("kiel", "north-kiel", False),
        ("kiel", "kiel-2", False),
        ("7", "17", False),
    ],
)
def test_a_number_before_a_name_is_no_other_thing_and_further_words_are(asked, shown, one):
    address = read_asked_address("/harbors/{harbor}/add", {"harbor": asked})
    assert address is not None
    assert (address.find_other_thing(f"http://t/harbors/{shown}/add") is None) is one


@pytest.mark.parametrize(
    ("template", "url", "other"),
    [
        (FORM, "http://t/harbors/bremen/boats", True),
        (FORM, "http://t/harbors/bremen/boats/7", True),
        (FORM, "http://t/harbors/kiel/boats", False),
        (FORM, "http://t/boats", False),
        ("/boats/{harbor}/edit", "http://t/boats/save", False),
        ("/boats/{harbor}", "http://t/boats/bremen", True),
        ("/#/harbors/{harbor}/add", "http://t/api/boats", False),
    ],
)
def test_what_is_sent_goes_to_the_thing_that_was_asked_for(template, url, other):
    asked = read_asked_address(template, {"harbor": "kiel"})
    assert asked is not None
    assert (asked.find_other_thing(url, sent=True) is not None) is other


def test_an_address_without_inputs_asks_for_no_thing():
    assert read_asked_address("/boats/new", {"harbor": "kiel"}) is None
    assert read_asked_address(None, {}) is None


def test_the_values_of_an_address_stand_in_another_one_or_in_the_page():
    asked = read_asked_address(FORM, {"harbor": "St. Peter"})
    assert asked is not None
    assert asked.names_all("http://t/harbors/st-peter/add", ())
    assert asked.names_all("http://t/add", ["Welcome", "New boat in St. Peter"])
    assert asked.names_all("http://t/add", ["New boat"], ["Welcome", "Harbor: St. Peter"])
    assert not asked.names_all("http://peter/add", ["New boat in Bremen"])
    assert not asked.names_all("http://t/add", ["New boat"], ["Ferries to St. Peter"])
