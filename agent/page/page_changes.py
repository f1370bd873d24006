"""Waits until the page changes in any way, for callers that evaluate a condition repeatedly.

For events that an action causes, use `armed_triggers`: they are armed before the action.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from playwright.async_api import Page

from agent.page import in_page_library
from agent.page.armed_triggers import arm_trigger
from agent.page.snapshot_capture import read_page_revision
from kb_schema.wait_triggers import ObservabilityTrigger

LONGEST_WAIT_S = 0.25
"""Longest wait, for changes that the observer does not report."""
SHORTEST_WAIT_S = 0.02
"""Shortest wait, for a page that never stops changing."""


async def wait_for_change(page: Page, timeout_s: float, since: str | None = None) -> None:
    """Return when the page changed or was replaced, or at the timeout. Raises `PageGone`.

    `since` is the revision at the last evaluation: a change between that and the start of watching counts.
    """
    limit = max(min(timeout_s, LONGEST_WAIT_S), SHORTEST_WAIT_S)
    replaced = asyncio.Event()

    def note(_: object) -> None:
        replaced.set()

    for event in ("framenavigated", "domcontentloaded", "load"):
        page.on(event, note)
    armed = await arm_trigger(page, ObservabilityTrigger(event="dom_mutation", timeout=limit), lambda _: None)
    if since is not None and await read_page_revision(page) != since:
        replaced.set()
    waits = [asyncio.create_task(armed.wait()), asyncio.create_task(replaced.wait())]
    try:
        await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(SHORTEST_WAIT_S)  # mutations come in bursts: one evaluation for the whole burst
    finally:
        for event in ("framenavigated", "domcontentloaded", "load"):
            page.remove_listener(event, note)
        for task in waits:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*waits, return_exceptions=True)


async def wait_for_timers(page: Page, timeout_s: float) -> bool:
    """Wait for the one-time timers of the page that are due within the timeout, and for those that these set.

    Return whether there were any. Raises `PageGone`.
    """
    return bool(await in_page_library.call(page, "afterTimers", timeout_s * 1000, waits_s=timeout_s))
