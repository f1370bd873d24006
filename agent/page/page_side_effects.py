"""Handles the side effects of actions: dialogs, downloads, new tabs, and file choosers.

Side effects that the action expects are accepted. Others are refused and recorded: a `confirm` or `prompt`
dialog is dismissed, a download is cancelled, a tab is closed. `alert` and `beforeunload` dialogs are
accepted, because they offer no choice that matters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from playwright.async_api import Dialog, Download, FileChooser, Frame, Page
from playwright.async_api import Error as DriverError

from agent import retry_limits
from agent.page.page_listeners import listen_once
from agent.page.page_watchdog import end_page
from kb_schema.action_calls import DialogAnswer

SideEffectKind = Literal["dialog", "download", "tab", "file"]

ADDRESS_MS = 1_000.0
"""How long a new tab may take to get an address before it is closed."""
SETTLE_S = 2.0
"""How long the handling of a side effect may take."""
_QUESTIONS = frozenset({"confirm", "prompt"})
LONGEST = 200
"""Characters of a dialog's text that are kept."""


@dataclass(frozen=True, slots=True)
class ExpectedSideEffects:
    """The side effects that an action may have."""

    dialog: DialogAnswer | None = None
    new_tab: Literal["follow", "close"] | None = None
    download: bool = False
    file: bool = False
    """The action itself provides a file."""


@dataclass(frozen=True, slots=True)
class RefusedSideEffect:
    """A side effect that was not expected: a description, and its URL."""

    kind: SideEffectKind
    what: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredDialog:
    """A dialog and its answer."""

    kind: str
    message: str
    accepted: bool


@dataclass
class PageSideEffects:
    """Handles the side effects of one page. Created by `watch_page`."""

    expected: ExpectedSideEffects = field(default_factory=ExpectedSideEffects)
    refused: list[RefusedSideEffect] = field(default_factory=list)
    object_to: Callable[[str], str | None] = lambda _text: None
    """Returns why a question of the page is not agreed to though the action expects it; None if it may be."""
    answered_dialogs: list[AnsweredDialog] = field(default_factory=list)
    tabs: list[Page] = field(default_factory=list)
    """Opened tabs that the session must follow."""
    downloads: list[Download] = field(default_factory=list)
    """Started downloads that must be kept."""
    _at_work: set[asyncio.Task[None]] = field(default_factory=set)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _moved: bool = False
    """The page navigated since the action began."""

    def expect(self, expected: ExpectedSideEffects) -> None:
        """Start a new action: forget the side effects of the one before."""
        self.expected = expected
        self.refused.clear()
        self.answered_dialogs.clear()
        self.tabs.clear()
        self.downloads.clear()
        self._came.clear()
        self._moved = False

    async def settled(self, grace_s: float = 0.0) -> None:
        """Wait at most `grace_s` for a side effect to begin, then until all of them are handled."""
        await self._until(self._began, grace_s)
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=SETTLE_S)

    def _began(self) -> bool:
        """Whether any side effect has begun."""
        return bool(self.refused or self._at_work or self._moved or self.tabs or self.downloads)

    async def tab(self, timeout_s: float) -> Page | None:
        """Return the tab to follow; None if none opens in time."""
        await self._until(lambda: bool(self.tabs), timeout_s)
        return self.tabs[-1] if self.tabs else None

    async def download(self, timeout_s: float) -> Download | None:
        """Return the download to keep; None if none begins in time."""
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

    # -- listeners: called by the driver, which does not wait for them

    def on_dialog(self, page: Page, dialog: Dialog) -> None:
        """Answer a dialog. A page that opens them without end is ended."""
        rule, kind = self.expected.dialog, dialog.type
        accepts = _accepts(kind, rule)
        objection = self.object_to(dialog.message) if accepts and kind in _QUESTIONS else None
        answered = AnsweredDialog(kind, dialog.message[:LONGEST], accepted=accepts and objection is None)
        self.answered_dialogs.append(answered)
        if len(self.answered_dialogs) > retry_limits.STEP_DIALOGS:
            reason = (
                f"the page opened more than {retry_limits.STEP_DIALOGS} dialogs in one step and was ended"
            )
            self._do(end_page(page, reason))
        if objection is not None or (rule is None and kind in _QUESTIONS):
            why = "" if objection is None else f": it {objection}"
            self.refused.append(
                RefusedSideEffect("dialog", f"asked {answered.message!r} ({kind}) and was answered no{why}")
            )
        self._do(_answer(dialog, accept=answered.accepted, text=None if rule is None else rule.text))

    def on_download(self, download: Download) -> None:
        """Keep or cancel a download."""
        if self.expected.download:
            self.downloads.append(download)
            self._came.set()
            return
        what = f"began to download {download.suggested_filename!r}, which was stopped"
        self.refused.append(RefusedSideEffect("download", what, download.url))
        self._do(download.cancel())
        self._came.set()

    def on_popup(self, page: Page) -> None:
        """Follow or close a new tab."""
        if self.expected.new_tab == "follow":
            self.tabs.append(page)
            self._came.set()
        else:
            self._do(self._closed(page))
            self._came.set()

    def on_file_chooser(self, _chooser: FileChooser) -> None:
        """Record a file chooser that the action does not expect."""
        if not self.expected.file:
            self.refused.append(RefusedSideEffect("file", "asked for a file, and was given none"))
            self._came.set()

    def on_navigated(self, frame: Frame) -> None:
        """Note that the main frame navigated."""
        if frame.parent_frame is None:
            self._moved = True
            self._came.set()

    async def _closed(self, page: Page) -> None:
        with suppress(DriverError):
            await page.wait_for_url(lambda url: url != "about:blank", timeout=ADDRESS_MS, wait_until="commit")
        url = page.url
        if self.expected.new_tab is None:
            where = "" if url == "about:blank" else f" at {url}"
            self.refused.append(RefusedSideEffect("tab", f"opened another tab{where}, which was closed", url))
        with suppress(DriverError):
            await page.close()

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(_suppress_driver_errors(work))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)


def watch_page(page: Page) -> PageSideEffects:
    """Return the handler of a page; always the same one for the same page."""
    return listen_once(
        page,
        PageSideEffects,
        lambda one: {
            "dialog": partial(one.on_dialog, page),
            "download": one.on_download,
            "popup": one.on_popup,
            "filechooser": one.on_file_chooser,
            "framenavigated": one.on_navigated,
        },
    )


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


async def _suppress_driver_errors(work: Coroutine[Any, Any, None]) -> None:
    with suppress(DriverError):  # the page is gone, and its side effects with it
        await work
