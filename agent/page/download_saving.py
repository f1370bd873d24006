"""Keeps a download under a harmless name, and stops it when it is larger than its limit."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Download, Page
from playwright.async_api import Error as DriverError

MB = 2**20
_LONGEST_NAME = 150
"""Bytes of a name; file systems take 255, and a number may follow."""


class DownloadTooLarge(Exception):
    """A download was stopped because it was larger than its limit. `most_mb`."""

    def __init__(self, most_mb: int) -> None:
        self.most_mb = most_mb
        super().__init__(f"it was larger than {most_mb} MB and was stopped")


class DownloadGuard:
    """Keeps the download that a page is about to begin. `start` it before: the browser tells the progress only of downloads
    that begin afterwards, and only Chromium does.
    """

    def __init__(self, page: Page, most_mb: int) -> None:
        self._page, self._most_mb = page, most_mb
        self._starting: asyncio.Task[None] | None = None
        self._session: CDPSession | None = None
        self._too_large = asyncio.Event()

    def start(self) -> None:
        """Begin to watch, in the background."""
        self._starting = asyncio.ensure_future(self._start())

    async def save(self, download: Download, folder: Path) -> Path:
        """Wait for a download and return its file: beside those that are there, under its own name or what is harmless of it.

        Raises `DownloadTooLarge`, the driver's error if it fails, and `OSError` if it cannot be written.
        """
        path = await asyncio.to_thread(_choose_path, folder, download.suggested_filename)
        stopping = asyncio.ensure_future(self._stop(download))
        try:
            await download.save_as(path)
        except DriverError as exc:
            if self._too_large.is_set():
                raise DownloadTooLarge(self._most_mb) from exc
            raise
        finally:
            stopping.cancel()
        with suppress(DriverError):
            await download.delete()  # the driver's own copy
        return path

    async def close(self) -> None:
        """Watch no more."""
        if self._starting is not None:
            await self._starting
        if self._session is not None:
            with suppress(DriverError):  # the page is gone
                await self._session.detach()

    async def _start(self) -> None:
        with suppress(DriverError):  # another engine
            self._session = await self._page.context.new_cdp_session(self._page)
            self._session.on("Page.downloadProgress", self._note)
            await self._session.send("Page.enable")

    def _note(self, progress: dict[str, Any]) -> None:
        if progress["receivedBytes"] > self._most_mb * MB:
            self._too_large.set()

    async def _stop(self, download: Download) -> None:
        await self._too_large.wait()
        with suppress(DriverError):
            await download.cancel()


def _choose_path(folder: Path, suggested: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.\- ]", "_", Path(suggested).name).strip(". ") or "download"
    stem, suffix = _cut(Path(name).stem, _LONGEST_NAME), _cut(Path(name).suffix, 20)
    path, number = folder / f"{stem}{suffix}", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}{suffix}"
    return path


def _cut(text: str, most: int) -> str:
    """Return the beginning of a text that has at most so many bytes."""
    return text.encode()[:most].decode(errors="ignore")
