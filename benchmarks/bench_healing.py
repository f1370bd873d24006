"""What proving costs: a gated action with and without its identity check, and finding an element again."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from agent.browser.launch import launch
from agent.healing.healer import Healer, Meant
from agent.healing.matching import Outcome, find_again
from agent.locating.fingerprints import Fingerprints
from agent.locating.looking import look_around
from agent.page import library
from agent.page.acting import Performed, perform
from benchmarks.bench_locating import page_of
from benchmarks.timing import median_ms_async, row
from kb_schema.selectors import css

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Page

    from agent.page.acting import Inspect
    from kb_schema.selectors import Selector

pytestmark = pytest.mark.bench

SIZES = (50, 500, 5_000)
ROUNDS = 15
TARGET = css("#b3")


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        context = await browser.new_context(viewport={"width": 1280, "height": 720})
        await library.install(context)
        yield await context.new_page()
        await browser.close()


@pytest.mark.parametrize("elements", SIZES)
async def test_the_identity_check_against_the_gated_action_alone(page: Page, elements: int) -> None:
    await page.set_content(page_of(elements))
    await page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
    healer = Healer(page, lambda _: None)

    async def act(selector: Selector, inspect: Inspect | None, gate_s: float) -> Performed:
        return await perform(page, "click", selector=selector, timeout_s=gate_s, inspect=inspect)

    async def plain() -> None:
        await act(TARGET, None, 5.0)

    first = await healer.act(Meant("it", TARGET), act)
    assert first.sighting is not None
    meant = Meant("it", TARGET, first.sighting.fingerprint)

    async def proven() -> None:
        await healer.act(meant, act)

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
    before = await look_around(page)
    known = Fingerprints(before).of(next(each.at for each in before.elements if each.id == "b3"))
    await page.evaluate("document.querySelectorAll('[id]').forEach((el) => { el.id = `n-${el.id}`; })")
    index = await look_around(page)

    async def again() -> None:
        match = find_again(known, list(Fingerprints(index).all()))
        assert match.outcome in (Outcome.FOUND, Outcome.AMBIGUOUS)

    async def look() -> None:
        await look_around(page)

    rounds = 3 if elements > 1_000 else ROUNDS
    row(
        f"found again among {len(index.interactive)} by fingerprint", await median_ms_async(again, rounds),
        "one look", await median_ms_async(look, rounds),
    )  # fmt: skip
