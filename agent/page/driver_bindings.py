"""Keeps pages from the function by which they reach Playwright's driver (`driver_bindings.js`).

It is in the world of pages wherever a function is exposed (`record`) or web sockets are routed (`map`). One line of a page's script ended the
driver, and with it the recording and the map.
"""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from playwright.async_api import BrowserContext
from playwright.async_api import Error as DriverError


async def guard_driver_bindings(context: BrowserContext, *, private: str = "") -> None:
    """Guard the function in all documents of a context, after the first function was exposed or web sockets were routed.

    `private`: the name of an exposed function that takes a list of texts and that a script, which is added next, takes away from the page.
    """
    script = _script().replace('= "PRIVATE"', f"= {json.dumps(private)}", 1)
    await context.add_init_script(script)
    for frame in [frame for page in context.pages for frame in page.frames]:
        with suppress(DriverError):  # it is being closed
            await frame.evaluate(script)


@cache
def _script() -> str:
    return Path(__file__).with_name("driver_bindings.js").read_text(encoding="utf-8")
