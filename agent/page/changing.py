"""Waiting for the page to change in any way: what is looked at again and again is looked at then.

Beside `waiting.py`, whose triggers are armed before an action: here the question was asked just
now and the answer was not the one hoped for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from playwright.async_api import Page

from agent.page.snapshot import revision_of
from agent.page.waiting import arm
from kb_schema.triggers import ObservabilityTrigger

LONGEST_WAIT_S = 0.25
"""How late one looks again at a page whose changes were not heard."""
SHORTEST_WAIT_S = 0.02
"""A page that never stops changing is not looked at more often than this."""


async def wait_for_change(page: Page, timeout_s: float, since: str | None = None) -> None:
    """Return when the page changed, was replaced, or the time is over. Raises `PageGone`.

    `since` is its revision when it was looked at: a change between that look and the watching counts.
    """
    limit = max(min(timeout_s, LONGEST_WAIT_S), SHORTEST_WAIT_S)
    replaced = asyncio.Event()

    def note(_: object) -> None:
        replaced.set()

    for event in ("framenavigated", "domcontentloaded", "load"):
        page.on(event, note)
    armed = await arm(page, ObservabilityTrigger(event="dom_mutation", timeout=limit), lambda _: None)
    if since is not None and await revision_of(page) != since:
        replaced.set()
    waits = [asyncio.create_task(armed.wait()), asyncio.create_task(replaced.wait())]
    try:
        await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(SHORTEST_WAIT_S)  # mutations come in bursts: one look for the whole burst
    finally:
        for event in ("framenavigated", "domcontentloaded", "load"):
            page.remove_listener(event, note)
        for task in waits:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*waits, return_exceptions=True)
