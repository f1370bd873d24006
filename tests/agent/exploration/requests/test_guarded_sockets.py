"""Sockets of explored pages are as the browser's own, but ask before they connect and send."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page

from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.requests.websocket_guard import WebSocketGuard
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

REUSED = """() => new Promise((done) => {
  const socket = new WebSocket("/heard");
  socket.onmessage = (event) => done(JSON.parse(event.data));
  socket.onopen = () => {
    const bytes = new Uint8Array([48, 49, 50, 51]), whole = new Uint8Array([52, 53]), seen = new DataView(new ArrayBuffer(2));
    Object.defineProperty(bytes, "byteLength", {value: 1});
    seen.setInt8(0, 54), seen.setInt8(1, 55);
    socket.send(bytes.subarray(1)), socket.send(whole.buffer), socket.send(seen), socket.send(bytes);
    for (const each of [bytes, whole, new Uint8Array(seen.buffer)]) each.fill(65);
    socket.send(9), socket.send("end");
  };
})"""
CALLED = """(said) => new Promise((done) => {
  const socket = new WebSocket("/socket");
  socket.onopen = () => { socket.send({toString: () => said}); socket.send(new Blob([said])); socket.close(1000); };
  socket.onclose = () => done(socket.readyState);
})"""

BEHIND = """() => new Promise((done) => {
  const reached = [], socket = new WebSocket("/socket");
  const look = () => queueMicrotask(() => window.event && reached.push(Object.prototype.toString.call(window.event.target)));
  for (const kind of ["open", "message", "close"]) socket.addEventListener(kind, look);
  socket.addEventListener("open", () => socket.close(1000));
  socket.addEventListener("close", () => setTimeout(() => done(reached), 100));
})"""


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


async def test_no_event_leads_to_the_browsers_own_socket(page: Page) -> None:
    assert await page.evaluate(BEHIND) == []


async def test_a_page_that_floods_its_socket_is_answered_and_nothing_is_sent(
    page: Page, trap: TrapSite
) -> None:
    assert await page.evaluate(FLOOD) == 3
    assert trap.state()["changes"] == {}


async def test_a_message_is_sent_as_it_was_when_the_page_sent_it(browser: Browser, trap: TrapSite) -> None:
    """Pages fill one buffer again and again."""
    async with await browser.new_context() as context:
        await WebSocketGuard(lambda _: True, lambda: True, lambda: False, pytest.fail).install(context)
        page = await context.new_page()
        await page.goto(f"{trap.url}/hard/after")
        assert await page.evaluate(REUSED) == ["123", "45", "67", "0123", "9", "end"]


async def test_the_text_of_an_object_is_judged_as_text(browser: Browser, trap: TrapSite) -> None:
    using, told = False, list[str]()
    async with await browser.new_context() as context:
        await WebSocketGuard(lambda _: True, lambda: False, lambda: using, told.append).install(context)
        page = await context.new_page()
        await page.goto(f"{trap.url}/hard/after")
        for using, said in ((False, "here 1"), (True, "here 2"), (True, "remove")):  # noqa: B007 - read by the guard
            assert await page.evaluate(CALLED, said) == 3
    assert len(told) == 1
