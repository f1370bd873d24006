"""What a page does beside what it shows: dialogs, downloads, other tabs, and asking for files.

Each is handled as the action that led to it was told to expect, else refused: a question is answered
with no, a download is stopped, a tab is closed. What was refused is kept for whoever acted to tell.
An alert has nothing to refuse, and whoever leaves a page knows that it forgets: both are agreed to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

from playwright.async_api import Dialog, Download, FileChooser, Frame, Page
from playwright.async_api import Error as DriverError

from kb_schema.calls import DialogAnswer

Kind = Literal["dialog", "download", "tab", "file"]

ADDRESS_MS = 1_000.0
"""How long a new tab may take to say where it leads before it is closed."""
SETTLE_S = 2.0
"""How long what has begun may take to be dealt with."""
LONGEST = 200
"""Characters of a dialog's text that are told."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What an action may lead to."""

    dialog: DialogAnswer | None = None
    new_tab: Literal["follow", "close"] | None = None
    download: bool = False
    file: bool = False
    """It gives a file itself."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One thing that nobody expected, in words, and where it leads."""

    kind: Kind
    what: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A dialog and what it was answered."""

    kind: str
    message: str
    accepted: bool


@dataclass
class Happenings:
    """Listens to one page. `watch` makes it."""

    expected: Expected = field(default_factory=Expected)
    refused: list[Refused] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    tabs: list[Page] = field(default_factory=list)
    """Opened and to be followed."""
    downloads: list[Download] = field(default_factory=list)
    """Begun and to be kept."""
    _at_work: set[asyncio.Task[None]] = field(default_factory=set)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _moved: bool = False
    """It went to another address since the action began."""

    def expect(self, expected: Expected) -> None:
        """Of the action that begins; what was refused before is to be told before that."""
        self.expected = expected
        self.refused.clear()
        self.said.clear()
        self.tabs.clear()
        self.downloads.clear()
        self._came.clear()
        self._moved = False

    async def settled(self, grace_s: float = 0.0) -> None:
        """What has begun is dealt with; what nobody heard of yet has so long to begin."""
        await self._until(self._began, grace_s)
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=SETTLE_S)

    def _began(self) -> bool:
        """Whether anything of what an action may lead to has begun."""
        return bool(self.refused or self._at_work or self._moved or self.tabs or self.downloads)

    async def tab(self, timeout_s: float) -> Page | None:
        """The tab that is to be followed; None where none opens in time."""
        await self._until(lambda: bool(self.tabs), timeout_s)
        return self.tabs[-1] if self.tabs else None

    async def download(self, timeout_s: float) -> Download | None:
        """The download that is to be kept; None where none begins in time."""
        await self._until(lambda: bool(self.downloads), timeout_s)
        return self.downloads[-1] if self.downloads else None

    async def _until(self, done: Any, timeout_s: float) -> None:
        if timeout_s <= 0:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not done():
                    self._came.clear()
                    await self._came.wait()

    # -- listeners: the driver calls them, and does not wait

    def on_dialog(self, dialog: Dialog) -> None:
        """The page waits for an answer."""
        rule, kind = self.expected.dialog, dialog.type
        told = Said(kind, dialog.message[:LONGEST], accepted=_accepts(kind, rule))
        self.said.append(told)
        if rule is None and kind in ("confirm", "prompt"):
            self.refused.append(Refused("dialog", f"asked {told.message!r} ({kind}) and was answered no"))
        self._do(_answer(dialog, accept=told.accepted, text=None if rule is None else rule.text))

    def on_download(self, download: Download) -> None:
        """A file comes."""
        if self.expected.download:
            self.downloads.append(download)
            self._came.set()
            return
        what = f"began to download {download.suggested_filename!r}, which was stopped"
        self.refused.append(Refused("download", what, download.url))
        self._do(download.cancel())
        self._came.set()

    def on_popup(self, page: Page) -> None:
        """Another tab opens."""
        if self.expected.new_tab == "follow":
            self.tabs.append(page)
            self._came.set()
        else:
            self._do(self._closed(page))
            self._came.set()

    def on_file_chooser(self, _chooser: FileChooser) -> None:
        """The page wants a file."""
        if not self.expected.file:
            self.refused.append(Refused("file", "asked for a file, and was given none"))
            self._came.set()

    def on_navigated(self, frame: Frame) -> None:
        """A frame shows another document."""
        if frame.parent_frame is None:
            self._moved = True
            self._came.set()

    async def _closed(self, page: Page) -> None:
        with suppress(DriverError):
            await page.wait_for_url(lambda url: url != "about:blank", timeout=ADDRESS_MS, wait_until="commit")
        url = page.url
        if self.expected.new_tab is None:
            where = "" if url == "about:blank" else f" at {url}"
            self.refused.append(Refused("tab", f"opened another tab{where}, which was closed", url))
        with suppress(DriverError):
            await page.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(_quietly(work))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)


_WATCHED: WeakKeyDictionary[Page, Happenings] = WeakKeyDictionary()


def watch(page: Page) -> Happenings:
    """What happens on a page; always the same for the same page."""
    found = _WATCHED.get(page)
    if found is None:
        found = _WATCHED[page] = Happenings()
        page.on("dialog", found.on_dialog)
        page.on("download", found.on_download)
        page.on("popup", found.on_popup)
        page.on("filechooser", found.on_file_chooser)
        page.on("framenavigated", found.on_navigated)
    return found


def _accepts(kind: str, rule: DialogAnswer | None) -> bool:
    if rule is not None:
        return rule.accept
    return kind in ("alert", "beforeunload")


async def _answer(dialog: Dialog, *, accept: bool, text: str | None) -> None:
    if not accept:
        await dialog.dismiss()
    elif text is not None and dialog.type == "prompt":
        await dialog.accept(text)
    else:
        await dialog.accept()


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(DriverError):  # its page has gone, and with it what was to be dealt with
        await work
