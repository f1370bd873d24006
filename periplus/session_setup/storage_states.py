"""Storage states: cookies and local storage, from a file or from a given browser."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from playwright.async_api import Browser, BrowserContext, Route, StorageState
from playwright.async_api import Error as PlaywrightError

from agent.browser.storage_state import read_local_storage
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
    """Return the cookies and the local storage that a given browser has for these addresses, and nothing else of it.

    Session storage is not copied. Nothing is requested: the local storage is read in a tab with an empty page, which is
    closed. Raises `UserError` if the browser has no window or is gone.
    """
    wanted = list(dict.fromkeys(urls))
    if not browser.contexts:
        raise UserError("the given browser has no window", fix="open one")
    context = browser.contexts[0]
    try:
        cookies = await context.cookies(wanted)
        origins = [
            found
            for origin in dict.fromkeys(map(origin_of, wanted))
            if (found := await _read_origin(context, origin))["localStorage"]
        ]
    except PlaywrightError as exc:
        raise UserError(
            f"the session of the given browser cannot be read: {exc.message.splitlines()[0]}",
            fix="check that the browser is running",
        ) from exc
    return cast("StorageState", {"cookies": cookies, "origins": origins})


async def _read_origin(context: BrowserContext, origin: str) -> dict[str, Any]:
    page = await context.new_page()
    try:
        await page.route("**/*", _answer_with_nothing)
        await page.goto(f"{origin}/")
        return await read_local_storage(page)
    finally:
        await page.close()


async def _answer_with_nothing(route: Route) -> None:
    await route.fulfill(body=_EMPTY, content_type="text/html")
