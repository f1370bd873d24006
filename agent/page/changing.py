"""Waiting for the page to change in any way: what is looked at again and again is looked at then.

Beside `waiting.py`, whose triggers are armed before an action: here the question was asked just
now and the answer was not the one hoped for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from playwright.async_api import Page

from agent.page.waiting import arm
from kb_schema.triggers import ObservabilityTrigger

LONGEST_WAIT_S = 0.25
"""A change between the look and the watching is missed; then this is how late one looks again."""
SHORTEST_WAIT_S = 0.02
"""A page that never stops changing is not looked at more often than this."""


async def wait_for_change(page: Page, timeout_s: float) -> None:
    """Return when the page changed, was replaced, or the time is over. Raises `PageGone`."""
    limit = max(min(timeout_s, LONGEST_WAIT_S), SHORTEST_WAIT_S)
    replaced = asyncio.Event()

    def note(_: object) -> None:
        replaced.set()

    for event in ("framenavigated", "domcontentloaded", "load"):
        page.on(event, note)
    armed = await arm(page, ObservabilityTrigger(event="dom_mutation", timeout=limit), lambda _: None)
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
