"""Which addresses are one place."""

from __future__ import annotations

import pytest

from agent.exploration.pages.page_addresses import (
    build_address_kind,
    build_place,
    goes_back,
    is_same_document,
    looks_random,
    names_one_of_many,
    normalize_address,
)

BASE = "https://shop.example"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/list?sid=9f8a7b6c5d4e3f2a1b0c", "/list"),
        ("/list?x=9f8a7b6c5d4e3f2a1b0c&page=2", "/list?page=2"),
        ("/list;jsessionid=A1B2C3?page=2", "/list?page=2"),
        ("/(S(abc123def456))/list", "/list"),
        ("/list?_=1718000000000", "/list"),
        ("/list?utm_source=mail", "/list"),
        ("/list#top", "/list"),
        ("/list?b=2&a=1", "/list?a=1&b=2"),
        ("", "/"),
    ],
)
def test_what_changes_from_visit_to_visit_tells_no_addresses_apart(one: str, other: str) -> None:
    assert normalize_address(BASE + one) == normalize_address(BASE + other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a", "/b"),
        ("/list?page=1", "/list?page=2"),
        ("/#/users", "/#/groups"),
        ("/item/1", "/item/2"),
        ("/?s=red", "/"),
    ],
)
def test_what_a_page_is_about_tells_addresses_apart(one: str, other: str) -> None:
    assert normalize_address(BASE + one) != normalize_address(BASE + other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/item/1", "/item/2"),
        ("/item/3f2504e0-4f89-41d3-9a0c-0305e82c3301", "/item/17"),
        ("/calendar/2026-11", "/calendar/2031-02"),
        ("/calendar?month=2026-11", "/calendar?month=2031-02"),
        ("/#/item/1", "/#/item/2"),
        ("/catalogue/the-bean-book_7/", "/catalogue/hand-trowel_12/"),
    ],
)
def test_one_of_many_things_is_in_one_place_with_the_others(one: str, other: str) -> None:
    assert build_place(BASE + one) == build_place(BASE + other)
    assert names_one_of_many(BASE + one)


def test_paths_that_go_round_ever_deeper_are_one_place() -> None:
    round_ = build_place(f"{BASE}/deep/again/deep/again/")
    assert build_place(f"{BASE}/deep/again/again/deep/deep/again") == round_
    assert build_place(f"{BASE}/deep/again/again") != round_ != build_place(f"{BASE}/deep/again")
    assert build_place(f"{BASE}/users/1/users/2/groups/3") == f"{BASE}/users/*/users/*/groups/*"


@pytest.mark.parametrize("path", ["/wizard/step-2", "/hand-trowel", "/v1-2"])
def test_a_word_with_a_number_is_a_place_of_its_own(path: str) -> None:
    assert not names_one_of_many(BASE + path)


def test_words_in_a_query_are_places_and_their_kind_is_one() -> None:
    assert build_place(f"{BASE}/list?tab=open") != build_place(f"{BASE}/list?tab=closed")
    assert (
        build_address_kind(f"{BASE}/list?tab=open")
        == build_address_kind(f"{BASE}/list?tab=closed")
        != build_address_kind(f"{BASE}/list")
    )


def test_an_anchor_is_the_same_document_and_a_route_is_not() -> None:
    assert is_same_document(f"{BASE}/list#row", f"{BASE}/list")
    assert not is_same_document(f"{BASE}/list#/row", f"{BASE}/list")
    assert not is_same_document(f"{BASE}/other#row", f"{BASE}/list")


@pytest.mark.parametrize(
    "url", ["http://[", "javascript:void(0)", "", "https://shop.example/%zz?%=%", "a" * 9_000]
)
def test_no_address_is_too_odd(url: str) -> None:
    assert isinstance(build_place(url), str)


def test_words_are_not_random() -> None:
    assert not looks_random("how-to-write-a-book-in-an-afternoon")
    assert looks_random("c2Vzc2lvbjo0MmFi")


@pytest.mark.parametrize(
    ("href", "arrived", "page"),
    [
        ("/tickets/4/?take", "/tickets/4/", "/tickets"),
        ("/tickets/4/close", "/tickets/4", "/tickets"),
        ("/tickets/4/close/", "/tickets/4/", "/tickets/4/"),
        ("/list?lang=de", "/list", "/list"),
        ("/watch/all", "/watch", "/watch"),
    ],
)
def test_an_application_goes_back_when_it_has_done_something(href: str, arrived: str, page: str) -> None:
    assert goes_back(f"{BASE}{href}", f"{BASE}{arrived}", f"{BASE}{page}")


@pytest.mark.parametrize(
    ("href", "arrived", "page"),
    [
        ("/tickets/4", "/tickets/4/", "/tickets"),
        ("/tickets/4/", "/tickets/4/change", "/tickets"),
        ("/docs/latest", "/docs", "/"),
        ("/", "/dashboard", "/dashboard"),
        ("/list?page=1", "/list", "/list?page=2"),
        ("/tickets/4/edit", "/sign-in?next=/tickets/4/edit", "/tickets"),
        ("/tickets/4#notes", "/tickets/4", "/tickets"),
    ],
)
def test_another_answer_is_no_way_back(href: str, arrived: str, page: str) -> None:
    assert not goes_back(f"{BASE}{href}", f"{BASE}{arrived}", f"{BASE}{page}")
