"""Streams the live picture of a page as JPEG frames to any number of watchers; slow ones miss frames.

A page has one screencast; every consumer (a film, a room, a visitor's page) subscribes to it. Watchers never
delay the page. Sound, captions and chapters are handled elsewhere.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playwright.async_api import Error as PlaywrightError

from agent.media.media_tools import MediaError

if TYPE_CHECKING:
    from playwright.async_api import Page, ScreencastFrame

JPEG_QUALITY = 80
FIRST_FRAME_TIMEOUT_S = 2.0
"""Seconds to wait for a first frame. A page that paints nothing sends none; then a screenshot is used."""

_SIZE_MARKERS = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG's start-of-frame markers, which contain the size; the other markers in the range are tables."""


@dataclass(frozen=True, slots=True)
class ScreencastImage:
    """One picture of the page."""

    jpeg: bytes
    at_s: float
    """When the browser sent it, by the picture's clock."""
    size: tuple[int, int]
    """Width and height in pixels. The page's aspect ratio is kept, so one may be less than requested."""


class Screencast:
    """The picture of one page at a time; `follow` changes the page, and watchers then see the next one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, quality: int = JPEG_QUALITY) -> None:
        """`clock` returns the seconds of `ScreencastImage.at_s`; `quality` is JPEG's, 1 to 100."""
        self._clock, self._quality = clock, quality
        self._page: Page | None = None
        self._box = (1280, 720)
        self._gap_s = 0.0
        self._latest: ScreencastImage | None = None
        self._published_at = float("-inf")
        self._late: asyncio.TimerHandle | None = None
        self._arrived = asyncio.Event()
        self._watchers: set[asyncio.Event] = set()
        self._running = False

    async def start(self, page: Page, size: tuple[int, int] = (1280, 720), fps: int = 12) -> None:
        """Start streaming `page`; returns when the first picture was received.

        Frames fit into `size` (pixels), at most `fps` per second; the last frame of a burst is always sent.
        Raises `MediaError` if it was started already or the page has another picture.
        """
        if self._running:
            raise MediaError("this picture was already started; stop it first, or call `follow`")
        self._box, self._gap_s, self._running = size, 1 / fps, True
        self._latest = None
        self._arrived.clear()
        try:
            await self.follow(page)
            await self._first_frame(page)
        except BaseException:
            await self.stop()
            raise

    async def follow(self, page: Page) -> None:
        """Stream `page` from now on; the last frame of the previous page stays the newest until the new one
        paints.
        """
        if not self._running:
            raise MediaError("start the picture before it can follow a page")
        if page is self._page:
            return
        await self._leave()
        width, height = self._box
        try:
            await page.screencast.start(
                on_frame=self._note, size={"width": width, "height": height}, quality=self._quality
            )
        except PlaywrightError as exc:
            raise MediaError(f"cannot stream this page: {exc.message.splitlines()[0]}") from exc
        self._page = page

    @property
    def latest(self) -> ScreencastImage | None:
        """The newest frame; None before the first."""
        return self._latest

    @property
    def running(self) -> bool:
        """Whether more frames may come."""
        return self._running

    async def frames(self, *, again_after_s: float | None = None) -> AsyncGenerator[ScreencastImage]:
        """Yield the newest frame, then each newer one, until the picture is stopped. Frames that arrive while
        one is processed are dropped, except the newest.

        `again_after_s`: seconds without a new frame after which the newest one is yielded again.
        """
        told = asyncio.Event()
        if self._latest is not None:
            told.set()
        self._watchers.add(told)
        try:
            while self._running:
                with suppress(TimeoutError):
                    async with asyncio.timeout(again_after_s):
                        await told.wait()
                told.clear()
                latest = self._latest if self.running else None
                if latest is not None:
                    yield latest
        finally:
            self._watchers.discard(told)

    async def stop(self) -> None:
        """Stop streaming; `frames` of every watcher ends. May be called again."""
        self._running = False
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self._wake()
        await self._leave()

    def _note(self, frame: ScreencastFrame) -> None:
        """Receive a frame from the browser. Watchers get it at once, or when the frame rate allows."""
        if not self._running:
            return
        jpeg = frame["data"]
        self._latest = ScreencastImage(jpeg, self._clock(), jpeg_size(jpeg))
        if self._late is not None:
            return
        loop = asyncio.get_running_loop()
        wait = self._published_at + self._gap_s - loop.time()
        if wait > 0:
            self._late = loop.call_later(wait, self._publish)
        else:
            self._publish()

    def _publish(self) -> None:
        self._late = None
        self._published_at = asyncio.get_running_loop().time()
        self._wake()

    def _wake(self) -> None:
        self._arrived.set()
        for told in self._watchers:
            told.set()

    async def _first_frame(self, page: Page) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), FIRST_FRAME_TIMEOUT_S)
        if self._latest is None:
            jpeg = await page.screenshot(type="jpeg", quality=self._quality, scale="css")
            self._latest = ScreencastImage(jpeg, self._clock(), jpeg_size(jpeg))
            self._wake()

    async def _leave(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            with suppress(PlaywrightError):  # a closed page paints nothing
                await page.screencast.stop()


def jpeg_size(jpeg: bytes) -> tuple[int, int]:
    """Return width and height of a JPEG in pixels. Raises `MediaError` if it is none."""
    at = 2
    while jpeg[:2] == b"\xff\xd8" and at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker, length = struct.unpack_from(">BH", jpeg, at + 1)
        if marker in _SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", jpeg, at + 5)
            return width, height
        at += 2 + length
    raise MediaError("expected a JPEG from the browser, found other data")
