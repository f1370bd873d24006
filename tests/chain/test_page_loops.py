"""A loop over pages of which the control for the next page is made otherwise than when it was shown."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb_schema.run_records import RunStatus
from tests.support.small_sites import Answered, Asked, induced, ran, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Page

SHOWN = ({"pages": "2"}, {"pages": "3"}, {"pages": "1"})


class Orders:
    """Orders on several pages; those of a page are approved together."""

    def __init__(self) -> None:
        self.pages = 1
        self.markup, self.words = "id=next class=pager", "Next page of orders"
        self.approved: set[int] = set()

    def answer(self, asked: Asked) -> Answered:
        number = int(asked.query.get("page", "1"))
        if asked.method == "POST":
            self.approved.add(number)
            return Answered(location=f"/?page={number}")
        turn = f"<a {self.markup} href='/?page={number + 1}'>{self.words}</a>"
        state = "approved" if number in self.approved else "open"
        return Answered(
            f"<body><nav><a href='/help'>Help</a> <a href='/about'>About us</a></nav><h1>Orders</h1>"
            f"<p>Page {number}: {state}</p><form method=post action='/?page={number}'>"
            f"<button id=approve>Approve the page</button></form>{turn * (number < self.pages)}</body>"
        )


async def approves_all(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    for number in range(1, int(given["pages"]) + 1):
        await page.click("#approve")
        await page.wait_for_selector("text=approved")
        if number < int(given["pages"]):
            await page.click("#next")
            await page.wait_for_selector(f"text=Page {number + 1}")


async def test_the_next_page_is_found_by_what_it_is_like_where_they_and_its_id_changed(browser, tmp_path):
    orders = Orders()

    def prepare(number: int) -> None:
        orders.pages, orders.approved = int(SHOWN[number]["pages"]), set()

    with running_site(orders.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", approves_all, SHOWN, prepare=prepare)
        assert result.lowered is not None
        orders.pages, orders.approved, orders.words = 4, set(), "Next page of the orders"
        orders.markup = "id=p-forward class=turn"
        async with visiting(browser, site, tmp_path / "stores") as session:
            await session.page.goto(f"{site.base}/")
            done = await ran(session, result, {})
    assert orders.approved == {1, 2, 3, 4}, done.error
    assert done.status is not RunStatus.FAILURE
