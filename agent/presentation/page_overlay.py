"""Draws pointer, ring, caption and chapter title over the page, with `page_overlay.js`.

The overlay is decoration: its failures are ignored and never affect the actions. The module also forwards
captions to a listener besides the page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Frame, Page
from playwright.async_api import Error as PlaywrightError

from agent.events import EventBus
from agent.presentation.presentation_records import CaptionShown

_KEY = 'Symbol.for("periplus.stage.1")'
_CALL = f"([name, args]) => {{ const it = window[{_KEY}]; if (it) it[name](...args); return Boolean(it); }}"
DRAW_S = 1.0
"""Timeout in seconds for drawing on a page that is busy or navigating; then nothing is drawn."""
MOVE_MS = 350
"""Travel time of the pointer in milliseconds, at speed 1."""


@cache
def _source() -> str:
    return (Path(__file__).parent / "page_overlay.js").read_text(encoding="utf-8")


class PageOverlay:
    """Draws over one page, and restores caption and chapter title after a navigation."""

    def __init__(
        self, page: Page, *, speed: float = 1.0, captions: bool = True, chapters: bool = True
    ) -> None:
        """`captions`, `chapters`: whether they are drawn."""
        self._page, self._speed, self._captions, self._chapters = page, speed, captions, chapters
        self.on_point: Callable[[dict[str, float]], None] | None = None
        """Told each box that the pointer or the ring moves to, in CSS pixels."""
        self._caption = self._chapter = ""
        self._at: tuple[float, float, dict[str, float]] | None = None
        self._restoring: set[asyncio.Task[None]] = set()
        page.on("domcontentloaded", self._on_document)

    @staticmethod
    async def install(context: BrowserContext) -> None:
        """Install the script in a browser context. Call it once, before the context's first page."""
        await context.add_init_script(_source())

    async def caption(self, text: str) -> None:
        """Show the caption; "" hides it."""
        self._caption = text
        if self._captions:
            await self._call("caption", text)

    async def chapter(self, title: str) -> None:
        """Show the title of the current segment."""
        self._chapter = title
        if self._chapters:
            await self._call("chapter", title)

    async def point_to(self, box: dict[str, float], *, milliseconds: float | None = None) -> None:
        """Move the pointer to the middle of a box (CSS pixels) and return when it has arrived."""
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self._at = (x, y, box)
        self._tell(box)
        milliseconds = MOVE_MS / self._speed if milliseconds is None else milliseconds
        await self._call("move", x, y, milliseconds, box)
        await asyncio.sleep(milliseconds / 1000)  # time for the viewer's eye; nothing else is waited for

    async def press(self) -> None:
        """Draw a pulse at the pointer."""
        await self._call("pulse")

    async def ring(self, box: dict[str, float] | None) -> None:
        """Draw a ring around a box; None removes it."""
        self._tell(box)
        await self._call("ring", box)

    def _tell(self, box: dict[str, float] | None) -> None:
        if self.on_point is not None and box is not None:
            self.on_point(box)

    def follow(self, page: Page) -> None:
        """Draw over this page from now on, starting with the current caption and chapter title."""
        if page is not self._page:
            self.close()
            self._page = page
            page.on("domcontentloaded", self._on_document)
            self._on_document(page)

    def close(self) -> None:
        """Stop restoring the overlay after navigations."""
        self._page.remove_listener("domcontentloaded", self._on_document)

    def _on_document(self, _page: Page | Frame) -> None:
        task = asyncio.create_task(self._restore())
        self._restoring.add(task)
        task.add_done_callback(self._restoring.discard)

    async def _restore(self) -> None:
        if self._at is not None:
            x, y, box = self._at
            await self._call("move", x, y, 0, box)
        if self._captions and self._caption:
            await self._call("caption", self._caption)
        if self._chapters and self._chapter:
            await self._call("chapter", self._chapter)

    async def _call(self, name: str, *args: Any) -> None:
        try:
            async with asyncio.timeout(DRAW_S):
                if not await self._page.evaluate(_CALL, [name, list(args)]):
                    await self._page.evaluate(_source())
                    await self._page.evaluate(_CALL, [name, list(args)])
        except (PlaywrightError, TimeoutError):
            return  # the document is being replaced; `_restore` draws again in the new one


class CaptionPublisher:
    """Receives every caption from the narrator and shows it; "" removes the last one."""

    def __init__(self, bus: EventBus, overlay: PageOverlay | None) -> None:
        """`overlay` None: captions are not drawn."""
        self._bus, self._overlay = bus, overlay
        self._last = ""

    async def __call__(self, text: str) -> None:
        """Show the caption, unless it is shown already."""
        if text == self._last:
            return
        self._last = text
        self._bus.tell(CaptionShown(text))
        if self._overlay is not None:
            await self._overlay.caption(text)
