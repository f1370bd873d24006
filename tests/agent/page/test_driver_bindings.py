"""A page cannot end the driver by the function that it has in the world of pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import quote

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


async def test_a_page_says_nothing_in_the_name_of_a_private_function_and_reads_nothing_of_it(chromium_path):
    heard = []
    page_script = f"""<button>B</button><script>
        read = []; const old = JSON.stringify; JSON.stringify = (...all) => {{ read.push(old(all)); return old(...all) }};
        Array.prototype.toJSON = function () {{ read.push(this.join()); return [...this] }};
        const forged = old({{name: 'tell', seq: 9, serializedArgs: [{{a: ['forged'], id: 1}}]}});
        const controller = __playwright__binding__controller__;
        for (const each of [() => {NAME}(forged), () => controller.callBinding('tell', ['forged']), () => tell(['forged'])]) try {{ each() }} catch {{}}
    </script>"""
    async with _own_context(chromium_path) as context:
        await context.expose_binding("tell", lambda _source, texts: heard.append(texts))
        await guard_driver_bindings(context, private="tell")
        taking = "const send = window.tell; delete window.tell; addEventListener('click', () => send(['clicked', '']))"
        await context.add_init_script(f"(() => {{ {taking} }})()")
        page = await context.new_page()
        await page.goto(f"data:text/html,{quote(page_script)}")
        await page.click("button")
        assert not any("clicked" in each for each in await page.evaluate("() => read.map(String)"))
    assert heard == [["clicked", ""]]


@asynccontextmanager
async def _own_context(chromium_path: str) -> AsyncIterator[BrowserContext]:
    """Yield a context of a driver of its own: a page would end that of all tests."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield await browser.new_context()
        await browser.close()
