"""What a page offers to an exploration, and what is nothing to it."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from agent.exploration.pages.page_observation import list_offers, observe_page
from kb_schema.explorations import Offer
from tests.support.pages import show


async def offered(page: Page, html: str) -> dict[str, Offer]:
    """The offers of a page, by name."""
    await show(page, html)
    offers = await list_offers(
        page, await observe_page(page), most=60, origins=("https://site.example",), allowed=()
    )
    return {each.name: each for each in offers}


SEEN = {
    "plain": "<a href='https://site.example/x'>Go</a>",
    "shown by a hand": "<style>.r a{opacity:0} .r:hover a{opacity:1}</style><div class=r>Row <a href='https://site.example/x'>Go</a></div>",
    "fading in": "<a style='opacity:0;transition:opacity 1s' href='https://site.example/x'>Go</a>",
    "stretched over its card": "<style>.c{position:relative;height:90px}.c a{display:block;height:1px}.c a::after{content:'';position:absolute;inset:0}"
    "</style><div class=c><a href='https://site.example/x' aria-label=Go></a></div>",
    "around a picture": "<a href='https://site.example/x' style='display:block;height:1px'><img alt=Go width=40 height=40></a>",
    "to a spot of the page": "<a style='position:absolute;left:-9999px' href='#main'>Go</a><main id=main>x</main>",
}
UNSEEN = {
    "faint": "<a style='opacity:0' href='https://site.example/x'>Go</a>",
    "in what is faint": "<div style='opacity:0.01'><p><a href='https://site.example/x'>Go</a></div>",
    "far off": "<a style='position:absolute;left:-9999px' href='https://site.example/x'>Go</a>",
    "a dot": "<a style='position:absolute;width:1px;height:1px;overflow:hidden' href='https://site.example/x'>Go</a>",
}


@pytest.mark.parametrize("case", [*SEEN, *UNSEEN])
async def test_a_link_that_no_person_can_see_is_no_offer(page: Page, case: str) -> None:
    found = await offered(page, (SEEN | UNSEEN)[case])
    assert ("Go" in found) is (case in SEEN)


async def test_a_faint_field_is_an_offer_for_its_label_stands_for_it(page: Page) -> None:
    found = await offered(
        page, "<label><input type=checkbox style='opacity:0;position:absolute'> News</label>"
    )
    assert found["News"].action_type == "check"


async def test_a_control_in_a_list_of_its_own_inside_a_row_stands_in_that_row(page: Page) -> None:
    rows = "".join(
        f"<tr><td>{who}</td><td><ul><li><button aria-label=\"More for '{who}'\">...</button></ul></td></tr>"
        for who in ("Ada", "Bea", "Cleo", "Dora", "Eve")
    )
    found = await offered(page, f"<table><tr><th>Name<th>More</tr>{rows}</table>")
    assert len(found) == 3, "of rows the first two and one other are kept"
    assert all(each.in_row for each in found.values())


async def test_a_label_without_a_control_is_an_offer_if_it_shows_the_hand(page: Page) -> None:
    found = await offered(
        page,
        "<label style='cursor:pointer'><div class=custom-checkbox></div><span>Full-time</span></label>"
        "<label style='cursor:pointer'><input type=checkbox> News</label><label>Only words</label>",
    )
    assert set(found) == {"Full-time", "News"}


async def test_controls_that_rows_call_by_their_data_stand_in_rows_and_few_of_many_are_kept(
    page: Page,
) -> None:
    def table(names: list[str]) -> str:
        rows = "".join(
            f"<tr><td><a class=open style='cursor:pointer'>{name}</a></td><td>{name.lower()}@quay.example</td></tr>"
            for name in names
        )
        return f"<table><tr><th>Name<th>Mail</tr>{rows}</table>"

    names = [
        f"{first} {last}" for first in ("Ada", "Bea", "Cleo") for last in ("North", "South", "East", "West")
    ]
    found = await offered(page, table(names))
    assert len(found) == 3
    assert all(each.in_row for each in found.values())
    few = await offered(page, table(names[:5]))
    assert set(few) == set(names[:5]), "they may be different things"
    assert all(each.in_row for each in few.values())
