"""The picture around the page: pointer, ring, caption and chapter, drawn by `stage.js`.

Only for eyes: whatever fails here is left out, and never touches the work itself.
"""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Frame, Page
from playwright.async_api import Error as PlaywrightError

_KEY = 'Symbol.for("periplus.stage.1")'
_CALL = f"([name, args]) => {{ const it = window[{_KEY}]; if (it) it[name](...args); return Boolean(it); }}"
DRAW_S = 1.0
"""A page that takes longer, since it is leaving or busy, goes without."""
MOVE_MS = 350
"""How long the pointer travels at speed 1."""


@cache
def _source() -> str:
    return (Path(__file__).parent / "stage.js").read_text(encoding="utf-8")


class Stage:
    """Draws over one page and puts caption and chapter back after a navigation."""

    def __init__(self, page: Page, *, speed: float = 1.0, captions: bool = True) -> None:
        self._page, self._speed, self._captions = page, speed, captions
        self._caption = self._chapter = ""
        self._at: tuple[float, float] | None = None
        self._restoring: set[asyncio.Task[None]] = set()
        page.on("domcontentloaded", self._on_document)

    @staticmethod
    async def install(context: BrowserContext) -> None:
        """Once per context, before its first page."""
        await context.add_init_script(_source())

    async def caption(self, text: str) -> None:
        """Show what is being said; empty to hide it."""
        self._caption = text
        if self._captions:
            await self._call("caption", text)

    async def chapter(self, title: str) -> None:
        """Show which part of the story this is."""
        self._chapter = title
        await self._call("chapter", title)

    async def point_to(self, box: dict[str, float], *, milliseconds: float | None = None) -> None:
        """Move the pointer to the middle of a box (CSS pixels) and wait until it is there."""
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self._at = (x, y)
        milliseconds = MOVE_MS / self._speed if milliseconds is None else milliseconds
        await self._call("move", x, y, milliseconds)
        await asyncio.sleep(milliseconds / 1000)  # the eye follows; nothing else is waited for

    async def press(self) -> None:
        """A pulse where the pointer is."""
        await self._call("pulse")

    async def ring(self, box: dict[str, float] | None) -> None:
        """A ring around a box; None takes it away."""
        await self._call("ring", box)

    def follow(self, page: Page) -> None:
        """Draw over that page from now on; what is shown is put there, too."""
        if page is not self._page:
            self.close()
            self._page = page
            page.on("domcontentloaded", self._on_document)
            self._on_document(page)

    def close(self) -> None:
        """Stop putting things back."""
        self._page.remove_listener("domcontentloaded", self._on_document)

    def _on_document(self, _page: Page | Frame) -> None:
        task = asyncio.create_task(self._restore())
        self._restoring.add(task)
        task.add_done_callback(self._restoring.discard)

    async def _restore(self) -> None:
        if self._at is not None:
            await self._call("move", *self._at, 0)
        if self._captions and self._caption:
            await self._call("caption", self._caption)
        if self._chapter:
            await self._call("chapter", self._chapter)

    async def _call(self, name: str, *args: Any) -> None:
        try:
            async with asyncio.timeout(DRAW_S):
                if not await self._page.evaluate(_CALL, [name, list(args)]):
                    await self._page.evaluate(_source())
                    await self._page.evaluate(_CALL, [name, list(args)])
        except (PlaywrightError, TimeoutError):
            return  # the document is being replaced: `_restore` draws again in the new one
