"""Texts of our own scripts reach Python, and pages reach neither them nor a binding of the driver."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, Page, async_playwright

from agent.browser import browser_life
from agent.browser.browser_life import close_browser, has_driver_ended, hear_driver_end, is_alive
from agent.browser.launch import launch
from agent.page.page_channel import Answer, PageChannel
from tests.agent.exploration.small_site import SmallSite, html, small_site

TELLING = """(() => {
  const channel = "PAGE_CHANNEL";
  channel.hear((text) => document.documentElement.setAttribute("data-heard", text));
  window.say = () => channel.tell(channel.write({ where: document.URL, list: ["a"] }));
  window.say();
})();"""
NAMES = "(w) => Object.getOwnPropertyNames(w || window).filter((n) => /playwright|__pw|periplus/i.test(n))"


@dataclass
class Told:
    """What a channel told, and how it is waited for."""

    texts: list[str] = field(default_factory=list)
    come: asyncio.Event = field(default_factory=asyncio.Event)

    def hear(self, _page: Page, text: str, answer: Answer) -> None:
        self.texts.append(text)
        self.come.set()
        self.answering = asyncio.ensure_future(answer("yes"))

    async def until(self, part: str) -> str:
        async with asyncio.timeout(20):
            while not (found := [each for each in self.texts if part in each]):
                self.come.clear()
                await self.come.wait()
        return found[-1]


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    with small_site({"*": html("Any", "any")}) as running:
        yield running


@asynccontextmanager
async def _telling(browser: Browser) -> AsyncIterator[tuple[Page, Told]]:
    told = Told()
    context = await browser.new_context()
    channel = PageChannel(told.hear)
    await channel.open(context)
    await context.add_init_script(channel.fill(TELLING))
    try:
        yield await context.new_page(), told
    finally:
        await context.close()


async def test_what_documents_tell_is_heard_and_answered(browser: Browser, site: SmallSite) -> None:
    other = site.url.replace("127.0.0.1", "localhost")
    async with _telling(browser) as (page, told):
        await page.goto(f"{site.url}/one")
        await told.until("/one")
        await page.wait_for_selector("html[data-heard=yes]")
        await page.evaluate("(url) => document.body.append(Object.assign(document.createElement('iframe'), {src: url}))", f"{other}/frame")  # fmt: skip
        await told.until("localhost")
        await page.goto(f"{other}/two")
        await told.until("/two")
        await page.evaluate("document.open(); document.write('<p>new</p>'); document.close()")
        told.texts.clear()
        await page.evaluate("say()")
        await told.until("/two")
        async with page.expect_popup() as opened:
            await page.evaluate("void window.open('/popup')")
        popup = await opened.value
        await popup.wait_for_url("**/popup")
        await popup.evaluate("say()")
        await told.until("/popup")


async def test_a_page_has_no_binding_and_so_has_no_new_frame(browser: Browser, site: SmallSite) -> None:
    frame = f"""() => {{
      const frame = document.createElement("iframe"); document.body.append(frame);
      return ({NAMES})(frame.contentWindow);
    }}"""
    async with _telling(browser) as (page, told):
        await page.goto(f"{site.url}/one")
        await told.until("/one")
        assert await page.evaluate(NAMES) == []
        assert await page.evaluate(frame) == []


HOSTILE = """
const got = window.got = [];
const keep = (of, name) => { const own = of[name]; of[name] = function (...given) { try { got.push([name, ...given].map((each) => each && each.type ? each.type + each.detail : String(each)).join(" ")) } catch {} return own.apply(this, given) } };
keep(EventTarget.prototype, "dispatchEvent"); keep(EventTarget.prototype, "addEventListener"); keep(JSON, "stringify"); keep(Function.prototype, "call");
Object.prototype.toJSON = Array.prototype.toJSON = () => "forged";
window.CustomEvent = class { constructor(...given) { got.push(given.join(" ")) } };
for (const name of ["tell", "ready", "ask", "answer"]) performance.addEventListener(name, (event) => got.push(event.detail));
"""


async def test_a_page_that_replaces_what_it_shares_with_the_script_neither_reads_nor_changes_a_text(
    browser: Browser, site: SmallSite
) -> None:
    async with _telling(browser) as (page, told):
        await page.goto(f"{site.url}/one")
        await told.until("/one")
        await page.add_script_tag(content=HOSTILE)
        told.texts.clear()
        await page.evaluate("say()")
        assert await told.until("/one") == f'{{"where":"{site.url}/one","list":["a"]}}'
        taken = await page.evaluate("window.got")
        assert taken, "it does hear what Playwright calls"
        assert [each for each in taken if "where" in each or re.search("[0-9a-f]{32}", each)] == []


NAME = "__playwright__binding__"
FORGED = '{"name":"periplusTell","seq":9,"serializedArgs":[{"a":["forged"],"id":1}]}'
ATTACKS = (
    f"{NAME}('x')",
    f"{NAME}('null')",
    f"{NAME}('{FORGED}')",
    f"{NAME}controller__.callBinding('periplusTell', ['forged'])",
    "periplusTell('forged')",
    "periplusAnswer('forged')",
    f"document.body.append(Object.assign(document.createElement('iframe'), {{id: 'f'}})); f.contentWindow.{NAME}('x')",
    "f.contentWindow.periplusTell('forged')",
    f"delete window.{NAME}; window.{NAME}('x')",
    "for (const name of ['tell', 'periplusTell', 'CHANNEL_NAME-tell', '-tell']) performance.dispatchEvent(new CustomEvent(name, {detail: 'forged'}))",
)


async def test_a_page_ends_and_forges_nothing_by_names_that_it_guesses(site: SmallSite) -> None:
    async with async_playwright() as playwright:  # of its own: a page would end that of all tests
        browser = await launch(playwright)
        async with _telling(browser) as (page, told):
            await page.goto(f"{site.url}/one")
            await told.until("/one")
            for attack in ATTACKS:
                await page.evaluate(f"() => {{ try {{ {attack} }} catch {{}} }}")
            await page.evaluate(
                f"() => {{ const f = document.createElement('iframe'); f.srcdoc = `<script>{NAME}('x')</script>`; document.body.append(f) }}"
            )
            await told.until("about:srcdoc")
            assert [each for each in told.texts if "forged" in each] == []
            told.texts.clear()
            await page.evaluate("say()")
            await told.until("/one")
        assert not has_driver_ended(browser)
        await close_browser(browser)


async def test_the_end_of_the_driver_is_told_at_once() -> None:
    ended = asyncio.Event()
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        hear_driver_end(browser, ended.set)
        assert not has_driver_ended(browser)
        os.kill(browser_life._WATCHED[browser].processes.driver, signal.SIGKILL)
        async with asyncio.timeout(20):
            await ended.wait()
        assert has_driver_ended(browser)
        assert not is_alive(browser)
        await close_browser(browser)
