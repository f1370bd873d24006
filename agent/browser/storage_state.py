"""Reads the storage state of a browser context, in the format of Playwright's `new_context(storage_state=...)`, and opens another with it.

A session is saved whole: cookies, local storage, IndexedDB, and the session storage of the open pages, in which many applications keep
their token. Playwright's format has no place for that: it is beside the local storage of its origin (`sessionStorage`). The checkpoint of a step has cookies and the local storage of the
open page alone: Playwright's own `context.storage_state()` opens a page for every origin, which would take longer than a step.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from playwright.async_api import Browser, BrowserContext, Page, StorageState
from playwright.async_api import Error as PlaywrightError

INDEXED_DB_S = 20.0
"""So many seconds reading IndexedDB may take: it may hold all data of an application."""

_LOCAL_STORAGE = """() => ({
  origin: location.origin,
  localStorage: Object.keys(localStorage).map((name) => ({ name, value: localStorage.getItem(name) })),
})"""


_TAB_STORAGE = """() => ({
  origin: location.origin,
  sessionStorage: Object.keys(sessionStorage).map((name) => ({ name, value: sessionStorage.getItem(name) })),
})"""
_FILL_TAB_STORAGE = """(() => {
  const kept = KEPT[location.origin];
  try {
    if (kept && sessionStorage.length === 0) for (const { name, value } of kept) sessionStorage.setItem(name, value);
  } catch {}
})()"""
"""A page whose storage is blocked throws."""


async def save_session(context: BrowserContext) -> StorageState:
    """Return the session of a context, to open another one with: cookies, local storage and IndexedDB of all origins it visited, and
    the session storage of its open pages. `open_with_session` takes it.

    Without IndexedDB if that cannot be read. Raises the driver's error if the context has closed.
    """
    state = await save_whole_session(context) or await context.storage_state()
    for page in context.pages:
        with suppress(PlaywrightError):  # an empty page, or one whose storage is blocked
            tab: dict[str, Any] = await page.evaluate(_TAB_STORAGE)
            if tab["sessionStorage"]:
                _add_tab_storage(state, tab)
    return state


def _add_tab_storage(state: StorageState, tab: dict[str, Any]) -> None:
    origins = cast("list[dict[str, Any]]", state.setdefault("origins", []))
    known = next((each for each in origins if each["origin"] == tab["origin"]), None)
    if known is None:
        known = {"origin": tab["origin"], "localStorage": []}
        origins.append(known)
    known.setdefault("sessionStorage", tab["sessionStorage"])


async def open_with_session(
    browser: Browser, storage: StorageState | str | Path | None, **options: Any
) -> BrowserContext:
    """Open a context with a session that `save_session` returned, or one in Playwright's format; `options` as of `new_context`.

    Each new tab begins with the session storage that was saved.
    """
    state, tabs = _split_tab_storage(storage) if isinstance(storage, dict) else (storage, {})
    context = await browser.new_context(**options, storage_state=state)
    if tabs:
        await context.add_init_script(_FILL_TAB_STORAGE.replace("KEPT", json.dumps(tabs)))
    return context


def _split_tab_storage(storage: StorageState) -> tuple[StorageState, dict[str, Any]]:
    """Return a session in Playwright's format, and the session storage by its origin."""
    origins = cast("list[dict[str, Any]]", storage.get("origins", []))
    tabs = {each["origin"]: each["sessionStorage"] for each in origins if each.get("sessionStorage")}
    plain = [{name: kept for name, kept in each.items() if name != "sessionStorage"} for each in origins]
    return cast("StorageState", {**storage, "origins": plain}), tabs


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
