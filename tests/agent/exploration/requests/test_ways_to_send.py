"""A page of a map has only those ways to send that are judged: the list of what this Chromium gives a page is kept beside this test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from agent.exploration.requests.request_guard import RequestGuard
from tests.support.trap_site.running import trap_site

KNOWN = {kind: Path(__file__).with_name(f"known_globals_of_{kind}.txt") for kind in ("page", "worker")}
NAMES = (
    "[...Object.getOwnPropertyNames(self),"
    " ...Object.getOwnPropertyNames(Object.getPrototypeOf(navigator)).map((name) => `navigator.${name}`)].sort()"
)
IN_WORKER = "(code) => new Promise((done) => { new Worker(URL.createObjectURL(new Blob([`postMessage(${code})`]))).onmessage = (event) => done(event.data) })"
IN_FRAME = "() => { const frame = document.createElement('iframe'); document.body.append(frame); return Object.getOwnPropertyNames(frame.contentWindow) }"
NOT_JUDGED = {
    "FencedFrameConfig", "HTMLFencedFrameElement", "IdentityCredential", "PaymentRequest", "RTCPeerConnection", "SharedWorker",
    "WebSocketStream", "WebTransport", "fetchLater", "navigator.joinAdInterestGroup", "navigator.runAdAuction", "webkitRTCPeerConnection",
}  # fmt: skip
STREAM = """(async () => { const { writable } = await new WebSocketStream(`ws://${location.host}/socket`).opened;
  await writable.getWriter().write('{"kind": "remove"}'); })().catch(() => 0).then(() => 'done')"""


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    with trap_site() as trap:
        async with await browser.new_context() as context:
            guard = RequestGuard((trap.url,))
            await guard.install(context)
            opened = await context.new_page()
            await guard.stand_before(opened)
            await guard.begin(allowing=False)
            await opened.goto(f"{trap.url}/hard/after")
            yield opened
        assert trap.state()["changes"] == {}


@pytest.mark.parametrize("kind", KNOWN)
async def test_what_chromium_gives_a_page_of_a_map_is_known(page: Page, kind: str) -> None:
    given = await page.evaluate(IN_WORKER, NAMES) if kind == "worker" else await page.evaluate(NAMES)
    known = set(KNOWN[kind].read_text(encoding="utf-8").split())
    assert sorted(set(given) - known) == [], (
        f"This Chromium gives a {kind} something new. Look whether it can send. If no guard judges what it sends, take it away: in workers, too, by "
        "UNJUDGED_FLAG of agent/browser/launch.py, else in agent/exploration/requests/unseen.js, and name it in NOT_JUDGED. "
        f"Otherwise add it to {KNOWN[kind].name}."
    )


async def test_what_no_guard_judges_is_not_there(page: Page) -> None:
    assert NOT_JUDGED & set(await page.evaluate(NAMES)) == set()
    assert NOT_JUDGED & set(await page.evaluate(IN_FRAME)) == set()
    assert NOT_JUDGED & set(await page.evaluate(IN_WORKER, NAMES)) <= {"WebTransport"}, (
        "of a worker it cannot be taken away"
    )


@pytest.mark.parametrize("where", ["page", "worker"])
async def test_no_stream_over_a_socket_sends(page: Page, where: str) -> None:
    code = STREAM.replace("${location.host}", await page.evaluate("location.host"))
    if where == "page":
        await page.evaluate(code)
    else:
        worker = "(code) => new Promise((done) => { new Worker(URL.createObjectURL(new Blob([`${code}.then(postMessage)`]))).onmessage = done })"
        await page.evaluate(worker, code)
    await asyncio.sleep(0.3)
