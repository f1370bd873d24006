"""Small pages for tests: served under a name of their own, without a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.async_api import Error as DriverError

from agent.page import in_page_library
from kb_schema.selectors import Selector, css

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser, BrowserContext, Page, Route

SITE = "http://app.test"


@pytest.fixture(scope="session")
async def equipped(browser: Browser) -> AsyncIterator[BrowserContext]:
    """One context per worker that carries the in-page library, as the agent opens them."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    await in_page_library.install(context)
    yield context
    await context.close()


@pytest.fixture
async def equipped_page(equipped: BrowserContext) -> AsyncIterator[Page]:
    """A blank page of that context. A context of its own would cost a test more than its work does."""
    yield await equipped.new_page()
    for opened in equipped.pages:
        await opened.close()
    await equipped.clear_cookies()


@pytest.fixture
async def blank_page(equipped: BrowserContext) -> AsyncIterator[Page]:
    """A blank page of that context, the same one for every test that leaves it open: a new one would take
    longer than most of them.
    """
    page = equipped.pages[0] if equipped.pages else await equipped.new_page()
    yield page
    for opened in equipped.pages:
        if opened != page:
            await opened.close()
    if not page.is_closed():
        await page.unroute_all(behavior="ignoreErrors")
        try:
            await page.goto("about:blank")
        except DriverError:  # it is still on its way elsewhere
            await page.close()
    await equipped.clear_cookies()


async def show(page: Page, html: str, path: str = "/", *, pages: dict[str, str] | None = None) -> None:
    """Open `html` at a path of `SITE`; `pages` are further paths. `/never` never answers."""
    site = {path: html, **(pages or {})}

    async def answer(route: Route) -> None:
        asked = route.request.url.removeprefix(SITE)
        if asked.startswith("/never"):
            return
        known = asked in site
        await route.fulfill(
            status=200 if known else 404, content_type="text/html; charset=utf-8", body=site.get(asked, "")
        )

    await page.route(f"{SITE}/**", answer)
    await page.goto(SITE + path, wait_until="domcontentloaded" if "/never" in html else "load")


class NamedElements:
    """A scope of elements by id; whatever is no id is CSS."""

    def __init__(
        self, elements: dict[str, Selector] | None = None, signed_in_when: tuple[Any, ...] = ()
    ) -> None:
        self.elements, self._signed_in_when = elements or {}, signed_in_when

    def element(self, reference: str | Selector) -> Selector | None:
        if isinstance(reference, Selector):
            return reference
        return self.elements.get(reference) or css(reference)

    @property
    def signed_in_when(self) -> tuple[Any, ...]:
        return self._signed_in_when
