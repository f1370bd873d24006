"""Leaves a page before it is closed: what it was still loading would go out past the guard when it closes."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from playwright.async_api import Error as DriverError
from playwright.async_api import Page

EMPTYING_S = 3.0
"""A page that hangs is closed as it is: it asks for nothing any more."""


async def leave(page: Page) -> None:
    """Empty a page, while the guard still stands before it; closed pages stay as they are."""
    if page.is_closed():
        return
    with suppress(DriverError, TimeoutError):
        async with asyncio.timeout(EMPTYING_S):
            await page.goto("about:blank", wait_until="commit")
