"""A small shop in two versions, and a stranger's suite for it: page objects, helpers, frames, both APIs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from agent.optimization.suite_runner import PytestSuite
from tests.support.foreign_sites import plain_python

WORD = "open-sesame-of-the-shop"
FORM = """<!doctype html><title>Shop</title><header><a href="/about">About us</a></header><main><h1>Shop</h1>
<form id="sign-up" onsubmit="event.preventDefault(); said.textContent = 'Saved ' + this.elements[0].value">
<label for="email">Email</label><input id="email" name="email" type="email">
<label for="pw">Password</label><input id="pw" type="password">
<button type="submit" data-testid="save">Save</button><button type="button">Cancel</button></form>
<p id="said" role="status"></p><iframe src="/inner" title="Widget"></iframe></main>"""
INNER = """<!doctype html><h2>Basket</h2><button onclick="this.textContent = 'Done'">Add to basket</button>
<button>Help</button>"""
LATE = """<!doctype html><title>Late</title><h1>Late</h1><script>
setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<button>Pay</button>"), 1500)</script>"""
DRIFT = {
    'id="email" name="email"': 'id="mail" name="email"', 'for="email">Email': 'for="mail">Email address',
    'for="pw"': 'for="word"', 'id="pw"': 'id="word"', 'data-testid="save">Save': 'data-testid="store">Save changes',
    "Add to basket": "Add to the basket", '<p id="said" role="status">': '<p id="said" role="status" hidden>',
}  # fmt: skip
"""What the second version has instead. Its message no longer shows: that is a defect."""

PAGE_OBJECT = """from playwright.sync_api import Page


class SignUp:
    def __init__(self, page: Page):
        self.page = page
        self.email = page.get_by_label("Email", exact=True)
        self.form = page.locator("form#sign-up")

    def save(self):
        self.form.get_by_test_id("save").click()

    def sign_up(self, mail, password):
        self.email.fill(mail)
        self.page.fill("#pw", password)
        self.save()
"""
TESTS = """import os

import pytest
from pages.sign_up import SignUp
from playwright.sync_api import Error, expect


@pytest.fixture
def shop(page, base_url):
    page.goto(base_url + "/")
    return SignUp(page)


def test_signs_up(shop):
    shop.sign_up("ann@example.org", os.environ["SHOP_WORD"])
    expect(shop.email).to_have_value("ann@example.org", timeout=500)


def test_says_so(shop):
    shop.save()
    expect(shop.page.get_by_role("status")).to_have_text("Saved", timeout=500)


def test_adds_to_the_basket(shop):
    frame = shop.page.frame_locator("iframe")
    frame.get_by_role("button", name="Add to basket").click()
    expect(frame.get_by_role("button").first).to_have_text("Done")


def test_minds_nothing(shop):
    try:
        shop.page.get_by_role("button", name="Cancel all").click(timeout=200)
    except Error:
        pass
    expect(shop.page.get_by_text("Failed")).not_to_be_visible()
"""
ASYNC_TESTS = """import asyncio
import os

from playwright.async_api import async_playwright, expect


async def press(page, name):
    await page.get_by_role("button", name=name, exact=True).click()


async def main():
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch()
        page = await browser.new_page()
        page.set_default_timeout(700)
        await page.goto(os.environ["SHOP"])
        await page.locator("#email").fill("eve@example.org")
        await press(page, "Save")
        await expect(page.locator("#email")).to_have_value("eve@example.org", timeout=500)
        await browser.close()


def test_signs_up():
    asyncio.run(main())
"""
LATE_TEST = """def test_pays(page, base_url):
    page.goto(base_url + "/late")
    page.get_by_role("button", name="Pay").click(timeout=400)
"""


def suite_in(folder: Path, browser: str) -> PytestSuite:
    """The suite, as it is run with a Python that knows nothing of Periplus."""
    python = plain_python()
    write_suite(folder / "suite")
    return PytestSuite(
        root=folder / "suite", output=folder / "out", python=python, browser=Path(browser),
        env={"SHOP_WORD": WORD}, action_timeout_ms=700,
    )  # fmt: skip


def on(suite: PytestSuite, base: str, **changes: object) -> PytestSuite:
    """The suite against a site."""
    return replace(suite, **{"base_url": base, "env": {**suite.env, "SHOP": base}, **changes})


def write_suite(folder: Path) -> None:
    (folder / "pages").mkdir(parents=True)
    (folder / "pages/__init__.py").touch()
    (folder / "conftest.py").touch()
    (folder / "pages/sign_up.py").write_text(PAGE_OBJECT)
    (folder / "test_shop.py").write_text(TESTS)
    (folder / "test_async.py").write_text(ASYNC_TESTS)
    (folder / "test_late.py").write_text(LATE_TEST)


@contextmanager
def served(*, drifted: bool) -> Iterator[str]:
    """The shop's base URL."""
    pages = {"/": FORM, "/inner": INNER, "/late": LATE}
    if drifted:
        for old, new in DRIFT.items():
            pages = {path: text.replace(old, new) for path, text in pages.items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            text = pages.get(self.path)
            self.send_response(200 if text else 404)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write((text or "gone").encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
