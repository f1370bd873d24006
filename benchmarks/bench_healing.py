"""What proving costs: a gated action with and without its identity check, and finding an element again."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from agent.browser.launch import launch
from agent.healing.fingerprint_search import SearchOutcome, find_fingerprint
from agent.healing.healer import Healer, IntendedElement
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page
from agent.page import in_page_library
from agent.page.action_requests import ActionRequest
from agent.page.page_actions import perform_action
from benchmarks.bench_locating import page_of
from benchmarks.timing import median_ms_async, row
from kb_schema.selectors import css

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

pytestmark = pytest.mark.bench

SIZES = (50, 500, 5_000)
ROUNDS = 15
TARGET = css("#b3")


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        context = await browser.new_context(viewport={"width": 1280, "height": 720})
        await in_page_library.install(context)
        yield await context.new_page()
        await browser.close()


@pytest.mark.parametrize("elements", SIZES)
async def test_the_identity_check_against_the_gated_action_alone(page: Page, elements: int) -> None:
    await page.set_content(page_of(elements))
    await page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
    healer = Healer(page, lambda _: None)

    click = ActionRequest("click")

    async def plain() -> None:
        await perform_action(page, "click", selector=TARGET)

    first = await healer.act(IntendedElement("it", TARGET), click)
    assert first.checked.fingerprint is not None
    meant = IntendedElement("it", TARGET, first.checked.fingerprint)

    async def proven() -> None:
        await healer.act(meant, click)

    proving, alone = [], []
    for _ in range(ROUNDS):  # in turns: a busy machine is busy for both
        for work, times in ((plain, alone), (proven, proving)):
            began = time.perf_counter()
            await work()
            times.append((time.perf_counter() - began) * 1_000)
    row(
        f"click, proven to be the one meant, {elements} elements", statistics.median(proving),
        "gated click alone", statistics.median(alone),
    )  # fmt: skip


@pytest.mark.parametrize("elements", SIZES)
async def test_finding_an_element_again_among_all_against_one_look(page: Page, elements: int) -> None:
    await page.set_content(page_of(elements))
    before = await scan_page(page)
    known = PageFingerprints(before).of(next(each.at for each in before.elements if each.id == "b3"))
    await page.evaluate("document.querySelectorAll('[id]').forEach((el) => { el.id = `n-${el.id}`; })")
    index = await scan_page(page)

    async def again() -> None:
        match = find_fingerprint(known, list(PageFingerprints(index).all()))
        assert match.outcome in (SearchOutcome.FOUND, SearchOutcome.AMBIGUOUS)

    async def look() -> None:
        await scan_page(page)

    rounds = 3 if elements > 1_000 else ROUNDS
    row(
        f"found again among {len(index.interactive)} by fingerprint", await median_ms_async(again, rounds),
        "one look", await median_ms_async(look, rounds),
    )  # fmt: skip
