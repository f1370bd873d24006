"""The text that a page shows, read to tell what changed: of the page as it is, and of one that was opened again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from agent.page.page_changes import wait_for_change, wait_for_timers
from kb_schema.sentence_plans import fold

SETTLED_S = 5.0
"""How long a page that is opened again may take to show all it shows."""
ASKED_S = 1.0
"""The longest time after the last key at which a script asks for suggestions."""
QUIET_LOOKS = 3
"""Looks at a page, each when it changes or a quarter of a second later, that find the same text: it shows all."""
_TEXT = "() => document.body ? document.body.innerText : ''"
_SENT_VALUES = Path(__file__).with_name("sent_values.js").read_text(encoding="utf-8")
"""What the application sent as the values of fields: not what was typed into them."""


async def read_page_text(page: Page) -> str:
    """Return the text that the page shows outside of fields, folded; empty if it does not answer."""
    with suppress(PlaywrightError):
        return fold(str(await page.evaluate(_TEXT)))
    return ""


async def read_shown(page: Page) -> str:
    """Return the page's text with the values that the application sent for its fields."""
    with suppress(PlaywrightError):
        return " ".join([await read_page_text(page), fold(str(await page.evaluate(_SENT_VALUES)))]).strip()
    return ""


async def wait_until_settled(page: Page) -> None:
    """Wait until an opened page has loaded what it shows, and has not changed for a while; at most so long."""
    until = time.monotonic() + SETTLED_S
    with suppress(PlaywrightError):
        await page.wait_for_load_state("networkidle", timeout=SETTLED_S * 1_000)
    text, same = "", 0
    while same < QUIET_LOOKS and (left := until - time.monotonic()) > 0:
        was, text = text, await read_page_text(page)
        same = same + 1 if text and text == was else 0
        await wait_for_change(page, left)


async def wait_for_suggestions(page: Page) -> None:
    """Wait until a page shows what it suggests for a text that was typed: scripts ask some time after the last key. Raises `PageGone`."""
    await wait_for_timers(page, ASKED_S)
    await wait_until_settled(page)


async def read_until(page: Page, held: Callable[[str], bool]) -> bool:
    """Read a page that was opened until its text holds, at most so long; return whether it does."""

    async def find(_: Page) -> bool:
        return held(await read_shown(page))

    return await find_until(page, find)


async def find_until(page: Page, find: Callable[[Page], Awaitable[object]]) -> bool:
    """Look at a page that was opened until something is found, at most so long; return whether it was."""
    until = time.monotonic() + SETTLED_S
    while not await find(page):
        if (left := until - time.monotonic()) <= 0:
            return False
        await wait_for_change(page, left)
    return True
