"""Which fields say that they search."""

from __future__ import annotations

import pytest

from kb_schema.search_fields import is_search_field

SEARCHING = "Search contacts...|Find a boat|Kunden suchen|Suche|Rechercher|Buscar clientes|Cerca|Zoek|Поиск|検索|Filter"
OTHERS = "Research area|Procurement officer|Infiltration rate|Subject|Such a name|Finding|Customer"


@pytest.mark.parametrize("label", SEARCHING.split("|"))
def test_a_field_searches_by_its_words_in_many_languages(label: str):
    assert is_search_field("textbox", "text", (label, None))


@pytest.mark.parametrize("label", OTHERS.split("|"))
def test_words_that_hold_such_a_word_are_other_words(label: str):
    assert not is_search_field("textbox", "text", (label, ""))


def test_a_role_or_a_type_is_enough():
    assert is_search_field("searchbox", "text", ("Boat",))
    assert is_search_field("textbox", "search", ("Boat",))
