"""Storage states: cookies and local storage, from a file or from a given browser."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from playwright.async_api import Browser, BrowserContext, Page, Route, StorageState
from playwright.async_api import Error as PlaywrightError

from agent.browser.storage_state import read_local_storage, save_whole_session
from kb_schema.url_patterns import origin_of
from periplus.errors import UserError

_EMPTY = "<!doctype html><title>Periplus reads the session</title>"


def read_storage_state_file(file: Path) -> StorageState:
    """Return a Playwright storage state. Raises `UserError` if the file is invalid."""
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise UserError(
            f"{file} cannot be read: {exc}", fix="use a storage state file of Playwright"
        ) from exc
    if not isinstance(state, dict) or not isinstance(state.get("cookies", []), list):
        raise UserError(f"{file} is not a storage state", fix="use a storage state file of Playwright")
    # Playwright requires both parts.
    return {"cookies": state.get("cookies", []), "origins": state.get("origins", [])}


async def copy_session(browser: Browser, urls: Iterable[str]) -> StorageState:
    """Return the cookies, local storage and IndexedDB that a given browser has for these addresses, and nothing else of it.

    Session storage is not copied. Nothing is requested: the storage is read in tabs with an empty page, which are
    closed. Raises `UserError` if the browser has no window or is gone.
    """
    wanted = list(dict.fromkeys(urls))
    if not browser.contexts:
        raise UserError("the given browser has no window", fix="open one")
    context = browser.contexts[0]
    try:
        cookies = await context.cookies(wanted)
        origins = await _read_origins(context, list(dict.fromkeys(map(origin_of, wanted))))
    except PlaywrightError as exc:
        raise UserError(
            f"the session of the given browser cannot be read: {exc.message.splitlines()[0]}",
            fix="check that the browser is running",
        ) from exc
    return cast("StorageState", {"cookies": cookies, "origins": origins})


async def _read_origins(context: BrowserContext, origins: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the context has of these origins; without IndexedDB if that cannot be read."""
    pages: list[Page] = []
    try:
        for origin in origins:
            pages.append(await context.new_page())
            await pages[-1].route("**/*", _answer_with_nothing)
            await pages[-1].goto(f"{origin}/")
        # The driver reads the origins that were opened since it was connected: of the person's tabs, none else.
        whole = await save_whole_session(context)
        if whole is None:
            found = [await read_local_storage(page) for page in pages]
        else:
            found = [dict(each) for each in whole.get("origins", []) if each.get("origin") in origins]
        return [each for each in found if each["localStorage"] or each.get("indexedDB")]
    finally:
        for page in pages:
            await page.close()


async def _answer_with_nothing(route: Route) -> None:
    await route.fulfill(body=_EMPTY, content_type="text/html")
