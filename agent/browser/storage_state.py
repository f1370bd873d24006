"""Reads the storage state of a browser context, in the format of Playwright's `new_context(storage_state=...)`.

A session is saved whole: cookies, local storage and IndexedDB. The checkpoint of a step has cookies and the local storage of the
open page alone: Playwright's own `context.storage_state()` opens a page for every origin, which would take longer than a step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from playwright.async_api import BrowserContext, Page, StorageState
from playwright.async_api import Error as PlaywrightError

INDEXED_DB_S = 20.0
"""So many seconds reading IndexedDB may take: it may hold all data of an application."""

_LOCAL_STORAGE = """() => ({
  origin: location.origin,
  localStorage: Object.keys(localStorage).map((name) => ({ name, value: localStorage.getItem(name) })),
})"""


async def save_session(context: BrowserContext) -> StorageState:
    """Return the session of a context, to open another one with: cookies, local storage and IndexedDB of all origins it visited.

    Without IndexedDB if that cannot be read. Raises the driver's error if the context has closed.
    """
    return await save_whole_session(context) or await context.storage_state()


async def save_whole_session(context: BrowserContext) -> StorageState | None:
    """Return the session with IndexedDB; None if that cannot be read, or not within `INDEXED_DB_S`."""
    try:
        async with asyncio.timeout(INDEXED_DB_S):
            return await context.storage_state(indexed_db=True)
    except (
        TimeoutError,
        PlaywrightError,
    ):  # it may hold what cannot be copied, as keys of the Web Crypto API
        return None


async def read_storage_state(page: Page) -> dict[str, Any]:
    """Return the `storage_state` of the page's context, without the parts that cannot be read."""
    origins: list[dict[str, Any]] = []
    cookies: list[Any] = []
    try:
        cookies = [dict(cookie) for cookie in await page.context.cookies()]
        if page.url.startswith(("http://", "https://")):
            origin = await read_local_storage(page)
            if origin["localStorage"]:
                origins.append(origin)
    except PlaywrightError:
        pass  # the page is closing or navigating; the next step reads the state again
    return {"cookies": cookies, "origins": origins}


async def read_local_storage(page: Page) -> dict[str, Any]:
    """Return the origin of the page with its local storage, as in a storage state. Raises the driver's error."""
    found: dict[str, Any] = await page.evaluate(_LOCAL_STORAGE)
    return found


def remove_secret_from_storage(storage: dict[str, Any], redact: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the `storage_state` without cookies and entries that contain a secret.

    They are removed as a whole: a partly redacted cookie is useless to the website.
    """
    origins = [
        {**origin, "localStorage": [each for each in origin["localStorage"] if redact(each) == each]}
        for origin in storage["origins"]
    ]
    return {
        "cookies": [each for each in storage["cookies"] if redact(each) == each],
        "origins": [origin for origin in origins if origin["localStorage"]],
    }
