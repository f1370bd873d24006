"""A page cannot end the driver by the function that it has in the world of pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from playwright.async_api import BrowserContext, async_playwright
from playwright.async_api import Error as DriverError

from agent.page.driver_bindings import guard_driver_bindings

NAME = "__playwright__binding__"
ATTACKS = {
    "no JSON": f"{NAME}('x')",
    "no object": f"{NAME}('null')",
    "no text": f"{NAME}({{toString: () => 'x'}})",
    "a frame": f"document.body.append(Object.assign(document.createElement('iframe'), {{id: 'f'}})); f.contentWindow.{NAME}('x')",
    "deleted": f"delete window.{NAME}; window.{NAME}('x')",
    "a frame's document": f"f = document.createElement('iframe'); f.srcdoc = \"<script>{NAME}('x')</script>\"; document.body.append(f)",
}


@pytest.mark.parametrize("late", [False, True])
async def test_a_page_that_calls_the_drivers_function_is_ignored(chromium_path, late):
    heard = []
    async with _own_context(chromium_path) as context:
        page = await context.new_page()
        await context.expose_binding("tell", lambda _source, said: heard.append(said))
        if not late:
            await guard_driver_bindings(context)
        await page.goto("data:text/html,<p>Opened")
        if late:
            await guard_driver_bindings(context)
        for name, attack in ATTACKS.items():
            with suppress(DriverError):  # it is no function there
                await page.evaluate(f"() => {{ {attack} }}")
            await page.evaluate("said => tell(said)", name)
    assert heard == [*ATTACKS]


async def test_a_page_cannot_replace_the_drivers_function(chromium_path):
    async with _own_context(chromium_path) as context:
        await context.expose_binding("tell", lambda _source, _said: None)
        await guard_driver_bindings(context)
        page = await context.new_page()
        await page.goto(
            f"data:text/html,<script>read = []; o = {NAME}; {NAME} = (t) => {{ read.push(t); o(t) }}</script>"
        )
        await page.evaluate("() => tell('said')")
        assert await page.evaluate("() => read") == []


@asynccontextmanager
async def _own_context(chromium_path: str) -> AsyncIterator[BrowserContext]:
    """Yield a context of a driver of its own: a page would end that of all tests."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield await browser.new_context()
        await browser.close()
