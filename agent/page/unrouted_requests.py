"""Takes from pages by what they send requests that Playwright's routes do not see: shared workers, `fetchLater`, `WebSocketStream`, `WebTransport`,
worklets, rules that load links ahead of time, and what is sent while a page is being left (beacons).

Pages do without them: Chrome on Android has no shared workers, other browsers have no `WebSocketStream`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.async_api import BrowserContext, Page


async def remove_unrouted(where: BrowserContext | Page) -> None:
    """Remove them from all documents that open from now on in a context, or in a page."""
    await where.add_init_script(_script())


@cache
def _script() -> str:
    return Path(__file__).with_name("unrouted.js").read_text(encoding="utf-8")
