"""The lists of targets in plain words, and the pages they are on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from playwright.async_api import Browser, BrowserContext, Locator, Page

from agent.page import in_page_library
from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD
from tests.support.foreign_sites import sign_in_to_admin

DATA = Path(__file__).parent / "data"
VIEWPORT = {"width": 1280, "height": 720}


@dataclass(frozen=True)
class Target:
    """Words for an element, and the element in Playwright's CSS; None where no single one is right."""

    site: str
    page: str
    action: str
    words: str
    truth: str | None

    def __str__(self) -> str:
        return f"{self.site}{self.page} {self.action} {self.words!r}"


@dataclass(frozen=True)
class TargetPage:
    """A page of a site with its targets."""

    site: str
    path: str
    signed_out: bool
    targets: tuple[Target, ...]


def target_pages(name: str) -> Iterator[TargetPage]:
    """The pages of one list."""
    data: dict[str, dict[str, dict[str, Any]]] = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    for site, pages in data.items():
        for path, said in pages.items():
            signed_out = bool(said.pop("signed_out", False))
            nothing = [Target(site, path, "click", words, None) for words in said.pop("nothing", [])]
            wanted = [
                Target(site, path, action, words, truth)
                for action, targets in said.items()
                for words, truth in targets.items()
            ]
            yield TargetPage(site, path, signed_out, (*wanted, *nothing))


def true_element(page: Page, truth: str) -> Locator:
    """Where the true element is; `FRAME >> CSS` is inside a frame."""
    frame, inside, css = truth.rpartition(" >> ")
    return page.frame_locator(frame).locator(css) if inside else page.locator(truth)


async def sign_in_with_banner(context: BrowserContext, base_url: str) -> None:
    """Give the context a session; nobody has answered the cookie banner yet."""
    page = await context.new_page()
    await page.goto(f"{base_url}/login")
    await page.fill("[name=email]", DEMO_EMAIL)
    await page.fill("[name=password]", DEMO_PASSWORD)
    await page.press("[name=password]", "Enter")
    await page.wait_for_url("**/dashboard")
    await page.close()


async def sign_in_to_spadeworks(context: BrowserContext, base_url: str) -> None:
    """Give the context a session, and no cookie banner."""
    await sign_in_with_banner(context, base_url)
    page = await context.new_page()
    await page.goto(f"{base_url}/dashboard")
    decline = page.locator("[data-consent=declined]")
    if await decline.count():
        await decline.click()
        await decline.wait_for(state="detached")
    await page.close()


SIGN_IN = {
    "spadeworks": sign_in_to_spadeworks,
    "spadeworks-2": sign_in_with_banner,
    "django": sign_in_to_admin,
}
SIGNED_OUT = {"/login", "/forgot-password"}


@asynccontextmanager
async def opened(
    browser: Browser, site: str, base_url: str, *, signed_out: bool = False
) -> AsyncIterator[Page]:
    """A page with the library in a context of its own, signed in to the site."""
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    try:
        if not signed_out:
            await SIGN_IN[site](context, base_url)
        await in_page_library.install(context)
        yield await context.new_page()
    finally:
        await context.close()
