"""Locating: one look and pure rankings, against the same strategies by sequential Playwright calls."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Locator, Page, async_playwright

from agent.browser.launch import launch
from agent.locators.element_descriptions import ElementDescription
from agent.locators.page_scan import scan_page
from agent.locators.role_hints import ROLE_HINTS
from agent.locators.target_discovery import DiscoveredElement, discover_elements
from agent.page import in_page_library

pytestmark = pytest.mark.bench

MANY_AT_500 = 40
"""Ten targets at 500 elements: at least so many times faster."""
ONE_AT_5000 = 5
ROUNDS = 7
WARMING = 10
"""Rounds before measuring: the browser compiles what runs often, Playwright's own scripts as well."""


def page_of(elements: int) -> str:
    """A form of labelled fields, buttons and links: so many elements in all, half of them operable."""
    fields = "".join(
        f"<p><label for=f{n}>Field number {n}</label><input id=f{n} placeholder='Hint {n}'></p>"
        f"<p><button id=b{n}>Press {n}</button> <a id=a{n} href='/go/{n}'>Go to {n}</a></p>"
        for n in range(elements // 6)
    )
    return f"<!doctype html><title>Many</title><main><h1>Many</h1><form>{fields}</form></main>"


@asynccontextmanager
async def showing(elements: int) -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        context = await browser.new_context(viewport={"width": 1280, "height": 720})
        await in_page_library.install(context)
        page = await context.new_page()
        await page.set_content(page_of(elements))
        yield page
        await browser.close()


def targets(elements: int, count: int) -> list[ElementDescription]:
    """Fields, buttons and links spread over the page; what is clicked is found by no label."""
    last = elements // 6 - 1
    places = [last * (n + 1) // count for n in range(count)]
    kinds = [("Go to {}", "click"), ("Field number {}", "fill"), ("Press {}", "click"), ("Hint {}", "fill")]
    return [ElementDescription(kinds[n % 4][0].format(at), kinds[n % 4][1]) for n, at in enumerate(places)]


# -- the same, by sequential calls, as PACTS 5 writes it down ------------------------------------------


async def selector_of(locator: Locator) -> str | None:
    """PACTS's way to write the first match down: id, name, aria-label."""
    for attribute in ("id", "name", "aria-label"):
        value = await locator.get_attribute(attribute)
        if value:
            return f'[{attribute}="{value}"]'
    return None


async def by_label(page: Page, name: re.Pattern[str]) -> bool:
    """The label with the text, then the field it is for (PACTS 5.2)."""
    label = page.get_by_text(name).locator("xpath=ancestor-or-self::label[1]")
    if not await label.count():
        return False
    target = await label.first.get_attribute("for")
    return target is not None and await page.locator(f"css=#{target}").count() == 1


async def by_placeholder(page: Page, name: re.Pattern[str]) -> bool:
    """The first fifty placeholders, one by one (PACTS 5.3)."""
    fields = page.locator("[placeholder]")
    for at in range(min(await fields.count(), 50)):
        said = await fields.nth(at).get_attribute("placeholder")
        if said and name.search(said):
            return await selector_of(fields.nth(at)) is not None
    return False


async def by_role(page: Page, name: re.Pattern[str], words: str) -> bool:
    """The role that the words hint at, else button, link and tab (PACTS 5.4)."""
    hinted = next((role for word, role in ROLE_HINTS.items() if word in words.lower()), "button")
    for role in dict.fromkeys([hinted, "button", "link", "tab"]):
        found = page.get_by_role(role, name=name)  # type: ignore[arg-type] # - a known role
        if await found.count():
            return await selector_of(found.first) is not None
    return False


async def by_relation(page: Page, name: re.Pattern[str]) -> bool:
    """Anything with the text within a form, a dialog or a region."""
    for region in ("form", "dialog", "region"):
        inside = page.get_by_role(region).get_by_text(name)  # type: ignore[arg-type] # - known roles
        if await inside.count():
            return await selector_of(inside.first) is not None
    return False


async def by_css(page: Page, words: str) -> bool:
    """Through shadow roots, then by what the author may have called it."""
    called = words.lower().replace(" ", "-")
    tries = [f"button:has-text({words!r})", f"a:has-text({words!r})"]
    tries += [f"[{name}='{called}']" for name in ("data-testid", "data-qa", "id", "name")]
    return any([await page.locator(f"css={css}").count() == 1 for css in tries])


async def by_calls(page: Page, wanted: ElementDescription, *, all_rungs: bool) -> bool:
    """PACTS's ladder as its document writes it, by sequential calls.

    With `all_rungs` every strategy is asked, as ours does to tell what is ambiguous; else the first
    match wins, as PACTS does.
    """
    name = re.compile(re.escape(wanted.words) + "$", re.IGNORECASE)
    rungs = (
        lambda: by_label(page, name),
        lambda: by_placeholder(page, name),
        lambda: by_role(page, name, wanted.words),
        lambda: by_relation(page, name),
        lambda: by_css(page, wanted.words),
    )
    found = False
    for rung in rungs:
        found = await rung() or found
        if found and not all_rungs:
            return True
    return found


async def median_ms(what: Callable[[], Awaitable[object]], rounds: int = ROUNDS) -> float:
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        await what()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


async def compare(elements: int, count: int) -> float:
    """How many times faster one look is than sequential calls, on the same page in the same run."""
    async with showing(elements) as page:
        wanted = targets(elements, count)
        for _ in range(WARMING):
            found = await discover_elements(page, wanted)
        assert all(isinstance(each, DiscoveredElement) for each in found), found

        async def calls(*, all_rungs: bool) -> None:
            for each in wanted:
                await by_calls(page, each, all_rungs=all_rungs)

        ours = await median_ms(lambda: discover_elements(page, wanted))
        theirs = await median_ms(lambda: calls(all_rungs=True), 3)
        first = await median_ms(lambda: calls(all_rungs=False), 3)
        print(
            f"\n{count} targets at {elements}: {ours:.1f} ms; the same strategies by calls {theirs:.0f} ms:"
            f" {theirs / ours:.1f} times; by calls, first match wins {first:.0f} ms: {first / ours:.1f} times"
        )
        return theirs / ours


def test_ten_targets_at_500_elements() -> None:
    assert asyncio.run(compare(500, 10)) >= MANY_AT_500


def test_one_target_at_5000_elements() -> None:
    assert asyncio.run(compare(5_000, 1)) >= ONE_AT_5000


def test_one_look() -> None:
    async def run() -> None:
        for elements in (50, 500, 5_000):
            async with showing(elements) as page:
                for _ in range(WARMING):
                    await scan_page(page)
                whole = await median_ms(lambda page=page: scan_page(page))  # type: ignore[misc]
                inside = await median_ms(
                    lambda page=page: page.evaluate(  # type: ignore[misc]
                        "window[Symbol.for('periplus.page.1')].index('{\"everything\": false}').length"
                    )
                )
                kept = len((await scan_page(page)).elements)
                print(
                    f"\none look at {elements}: {whole:.1f} ms, {inside:.1f} of it in the page, {kept} kept"
                )

    asyncio.run(run())
