"""Installs the in-page library in pages and calls it.

The files in `js/`, in the order of their names, are one program. It is wrapped into one function and stored
under one non-enumerable symbol of `window`. Every call is one round trip with JSON strings in both directions.
"""

from __future__ import annotations

import asyncio
import json
import time
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, ElementHandle, Frame, Page
from playwright.async_api import Error as DriverError

from agent.page.errors import PageError, PageGone, ScriptFailed
from agent.page.page_watchdog import answer_deadline, read_end_reason
from kb_schema.secret_fields import AUTOCOMPLETE

_KEY = 'Symbol.for("periplus.page.1")'
_CALL = f"([name, args]) => {{ const it = window[{_KEY}]; return it ? it[name](...args) : null; }}"
_TAKE = f"(token) => window[{_KEY}].take(token)"
PICK = f"([token, at]) => window[{_KEY}].pick(token, at)"
"""Script that returns the element at a position of a page index (`js/9_index.js`)."""

# Messages of Playwright and Chromium for a document that is replaced during an evaluation.
_REPLACED = (
    "Execution context was destroyed",
    "Cannot find context with specified id",
    "Frame was detached",
    "frame got detached",
    "Execution context is not available",
    "Inspected target navigated",
)
_GONE = ("Target page, context or browser has been closed", "Target crashed", "Page crashed", "Page closed")

RACE_DEADLINE_S = 10.0
"""Seconds during which a call is repeated because its document was replaced."""


@cache
def library_source() -> str:
    """Return the whole in-page library as one script; running it twice has no effect."""
    folder = Path(__file__).parent / "js"
    files = sorted(folder.glob("*.js"))
    parts = [f"// {file.name}\n{file.read_text(encoding='utf-8')}" for file in files]
    body = "\n".join(parts).replace('"SECRET_AUTOCOMPLETE"', json.dumps(" ".join(AUTOCOMPLETE)), 1)
    return f'(() => {{\n"use strict";\nconst KEY = {_KEY};\nif (window[KEY]) return;\n{body}\n}})();'


async def install(context: BrowserContext) -> None:
    """Install the library in every document that the context will open; call it once per context."""
    await context.add_init_script(library_source())


async def call(
    page: Page, name: str, *args: Any, deadline_s: float = RACE_DEADLINE_S, waits_s: float = 0.0
) -> Any:
    """Call a function of the library and return its JSON answer as data.

    Installs the library where it is missing, and repeats the call when the document is replaced during it.
    `waits_s`: how long the function itself may wait, in seconds; it has `PAGE_CALL_S` more to answer, then the page is ended.
    Raises `PageGone` if the page is closed or ended or documents keep being replaced for `deadline_s` seconds.
    """
    until = time.monotonic() + deadline_s
    while True:
        try:
            answer = await _evaluate(page, _CALL, [name, list(args)], waits_s)
            if answer is None:
                await _evaluate(page, library_source())
                answer = await _evaluate(page, _CALL, [name, list(args)], waits_s)
            if answer is not None:
                return json.loads(answer)
        except DriverError as error:
            if not document_replaced(error):
                raise translate_error(page, error) from error
        if time.monotonic() >= until:
            raise PageGone(page.url, f"documents kept replacing each other for {deadline_s:.0f} s")
        await document_ready(page, until - time.monotonic())


async def take_element(page: Page, token: str) -> ElementHandle | None:
    """Return the element the page stores under a token; None when its document is gone. Raises `PageGone`."""
    try:
        async with answer_deadline(page):
            return (await page.evaluate_handle(_TAKE, token)).as_element()
    except DriverError as error:
        if page.is_closed():
            raise translate_error(page, error) from error
        return None


async def call_on(page: Page, name: str, element: ElementHandle | None, *args: Any) -> Any:
    """Call a function of the library whose first argument is an element (None: the page)."""
    answer = await _evaluate(page, _CALL, [name, [element, *args]])
    return None if answer is None else json.loads(answer)


async def call_in_frame(page: Page, frame: Frame, name: str, *args: Any) -> Any:
    """Call a function of the library in a frame of the page, also of another origin. Raises `DriverError`, `PageGone`."""
    async with answer_deadline(page):
        answer = await frame.evaluate(_CALL, [name, list(args)])
        if answer is None:
            await frame.evaluate(library_source())
            answer = await frame.evaluate(_CALL, [name, list(args)])
    return None if answer is None else json.loads(answer)


async def _evaluate(page: Page, script: str, arg: Any = None, waits_s: float = 0.0) -> Any:
    """Evaluate a script. A page that answers the watchdog but not this is ended. Raises `PageGone`."""
    async with answer_deadline(page, waits_s=waits_s):
        return await page.evaluate(script, arg)


async def document_ready(page: Page, timeout_s: float) -> None:
    """Return once the page has a parsed document, or at the timeout."""
    try:
        await page.wait_for_load_state("domcontentloaded", timeout=max(1.0, timeout_s * 1000))
    except DriverError as error:
        if page.is_closed():
            raise translate_error(page, error) from error
    await asyncio.sleep(0)  # the event that replaced the document is handled before the next try


def document_replaced(error: DriverError) -> bool:
    """Whether an evaluation failed only because its document was replaced."""
    return any(words in error.message for words in _REPLACED)


def translate_error(page: Page, error: DriverError) -> PageError:
    """Return the driver's error as `PageGone` for a closed or crashed page, else as `ScriptFailed`."""
    reason = read_end_reason(page) or error.message.splitlines()[0]
    if page.is_closed() or any(words in error.message for words in _GONE):
        return PageGone(page.url, reason)
    return ScriptFailed(page.url, reason)
