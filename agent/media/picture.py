"""The live picture of a page: JPEG frames for any number of watchers, the slow ones losing some.

A page has one screencast; whoever wants to see it (a film, a room, a visitor's page) subscribes here. The
page is never held up by who watches. Sound, captions and chapters are elsewhere.
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

from agent.media.tools import MediaError

if TYPE_CHECKING:
    from playwright.async_api import Page, ScreencastFrame

JPEG_QUALITY = 80
FIRST_FRAME_TIMEOUT_S = 2.0
"""A page that paints nothing sends no frame: then a screenshot is the first."""

_SIZE_MARKERS = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG's start-of-frame markers, which carry the size; the others in the range are tables."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of the page."""

    jpeg: bytes
    at_s: float
    """By the picture's clock, when it came from the browser."""
    size: tuple[int, int]
    """Width and height in pixels; the page's shape is kept, so one may be less than was asked for."""


class Picture:
    """One page's picture at a time; `follow` changes the page, and watchers see the next one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, quality: int = JPEG_QUALITY) -> None:
        """`clock` gives the seconds of `Frame.at_s`; `quality` is JPEG's, 1 to 100."""
        self._clock, self._quality = clock, quality
        self._page: Page | None = None
        self._box = (1280, 720)
        self._gap_s = 0.0
        self._latest: Frame | None = None
        self._published_at = float("-inf")
        self._late: asyncio.TimerHandle | None = None
        self._arrived = asyncio.Event()
        self._watchers: set[asyncio.Event] = set()
        self._running = False

    async def start(self, page: Page, size: tuple[int, int] = (1280, 720), fps: int = 12) -> None:
        """Begin to watch `page`; returns when the first picture is there.

        Frames fit into `size` (pixels), and there are at most `fps` a second; the last of a burst always
        comes. Raises `MediaError` when it has been started already or the page has another picture.
        """
        if self._running:
            raise MediaError(
                "this picture has been started already; stop it first, or let it follow the page"
            )
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
        """Watch `page` from now on; the last frame of the one before stays the newest until it paints."""
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
            raise MediaError(f"this page cannot be watched: {exc.message.splitlines()[0]}") from exc
        self._page = page

    @property
    def latest(self) -> Frame | None:
        """The newest frame; None before the first."""
        return self._latest

    @property
    def running(self) -> bool:
        """Whether frames may still come."""
        return self._running

    async def frames(self, *, again_after_s: float | None = None) -> AsyncGenerator[Frame]:
        """The newest frame, then each newer one, until the picture is stopped; frames that come while one
        is being looked at are lost but for the newest.

        `again_after_s`: the newest is given again where nothing was painted for so long.
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
        """Watch no longer; `frames` of every watcher ends. May be called again."""
        self._running = False
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self._wake()
        await self._leave()

    def _note(self, frame: ScreencastFrame) -> None:
        """From the browser. Watchers are told now, or as soon as the frame rate lets them."""
        if not self._running:
            return
        jpeg = frame["data"]
        self._latest = Frame(jpeg, self._clock(), jpeg_size(jpeg))
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
            self._latest = Frame(jpeg, self._clock(), jpeg_size(jpeg))
            self._wake()

    async def _leave(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            with suppress(PlaywrightError):  # a page that is closed paints nothing anyway
                await page.screencast.stop()


def jpeg_size(jpeg: bytes) -> tuple[int, int]:
    """Width and height of a JPEG in pixels. Raises `MediaError` where it is none."""
    at = 2
    while jpeg[:2] == b"\xff\xd8" and at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker, length = struct.unpack_from(">BH", jpeg, at + 1)
        if marker in _SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", jpeg, at + 5)
            return width, height
        at += 2 + length
    raise MediaError("what the browser sent is no JPEG")
