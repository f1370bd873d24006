"""Keeps pages from beginning by themselves what no route sees: windows, downloads of links, and ways to send that nobody judges."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.async_api import BrowserContext

from agent.page.unrouted_requests import remove_unrouted


async def prevent_unseen(context: BrowserContext) -> None:
    """Prevent it in all documents that open from now on in a context, and take from pages what `remove_unrouted` takes."""
    await remove_unrouted(context)
    await context.add_init_script(_script())


@cache
def _script() -> str:
    return Path(__file__).with_name("unseen.js").read_text(encoding="utf-8")
