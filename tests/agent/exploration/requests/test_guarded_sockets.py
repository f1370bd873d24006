"""Sockets of explored pages are as the browser's own, but ask before they connect and send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page

from agent.exploration.requests.request_guard import RequestGuard
from tests.support.trap_site.running import TrapSite, trap_site

FLOOD = """() => new Promise((done) => {
  const socket = new WebSocket("/socket");
  socket.onopen = () => { for (let n = 0; n < 200000; n++) socket.send("x" + n); socket.close(1000); };
  socket.onclose = () => done(socket.readyState);
})"""
SEEN = """() => new Promise((done) => {
  const seen = [];
  const socket = new WebSocket("/socket");
  seen.push(socket.url.replace(/^ws:[/][/][^/]+/, ""), socket.readyState, WebSocket.OPEN, socket instanceof WebSocket, WebSocket.name);
  try { socket.send("x") } catch (error) { seen.push(error.name) }
  try { new WebSocket("ftp://x/") } catch (error) { seen.push(error.name) }
  socket.onclose = (event) => { seen.push(event.type, socket.readyState); done(seen) };
  socket.addEventListener("open", (event) => { seen.push(event.type, event.target === socket, socket.readyState); socket.close() });
})"""
INNER = """() => { const frame = document.createElement("iframe"); document.body.append(frame);
  return [WebSocket, frame.contentWindow.WebSocket].map((each) => String(each).includes("[native code]")); }"""


@pytest.fixture(scope="module")
def trap() -> Iterator[TrapSite]:
    with trap_site() as running:
        yield running


@pytest.fixture
async def page(browser: Browser, trap: TrapSite) -> AsyncIterator[Page]:
    trap.reset()
    context = await browser.new_context()
    guard = RequestGuard((trap.url,))
    await guard.install(context)
    page = await context.new_page()
    await guard.stand_before(page)
    await page.goto(f"{trap.url}/sockets")
    yield page
    await context.close()


async def test_a_socket_is_as_the_browsers_own(page: Page) -> None:
    assert await page.evaluate(SEEN) == [
        "/socket", 0, 1, True, "WebSocket", "InvalidStateError", "SyntaxError", "open", True, 1, "close", 3,
    ]  # fmt: skip


async def test_no_frame_of_a_page_has_a_socket_that_does_not_ask(page: Page) -> None:
    assert await page.evaluate(INNER) == [False, False]


async def test_a_page_that_floods_its_socket_is_answered_and_nothing_is_sent(
    page: Page, trap: TrapSite
) -> None:
    assert await page.evaluate(FLOOD) == 3
    assert trap.state()["changes"] == {}
