"""A tab beside the page: opened ahead, emptied after each look, closed with the run."""

from __future__ import annotations

import pytest

from agent.execution.effects.spare_tab import SpareTab


@pytest.fixture
def spare(page):
    return SpareTab(lambda: page.context)


async def test_within_a_run_one_tab_is_lent_again_and_nothing_of_its_page_goes_on(page, spare):
    async with spare.kept():
        spare.ahead()
        spare.ahead()
        async with spare.lent() as first:
            await first.goto("data:text/html,<title>Quay</title>")
        async with spare.lent() as second:
            assert second is first
            assert second.url == "about:blank"
            assert await second.title() == ""
        assert len(page.context.pages) == 2
    assert page.context.pages == [page]


async def test_who_looks_while_it_is_lent_gets_another_one(page, spare):
    async with spare.kept(), spare.lent() as first, spare.lent() as second:
        assert first is not second
    assert page.context.pages == [page]


async def test_a_tab_that_was_closed_meanwhile_is_replaced(page, spare):
    async with spare.kept():
        async with spare.lent() as first:
            await first.close()
        async with spare.lent() as second:
            assert not second.is_closed()
    assert page.context.pages == [page]


async def test_one_that_nobody_asked_for_in_the_end_is_closed(page, spare):
    async with spare.kept():
        spare.ahead()
    assert page.context.pages == [page]


async def test_without_a_run_it_is_closed_at_once_and_not_opened_ahead(page, spare):
    spare.ahead()
    assert page.context.pages == [page]
    async with spare.lent() as tab:
        assert not tab.is_closed()
    assert page.context.pages == [page]
