"""Texts that our own scripts in pages send to Python, and answers to them, without a binding in the world of the pages.

A binding of the driver (`expose_binding`, and also `route_web_socket`) stands in the world of every page, and a page that calls it
with a text that is no JSON ends the driver. Here the binding is one of our own session, in a world of its own that no script of a page
reaches. Our script in the page hands it texts by events whose name is a secret of the context. What is told before the session
is there waits in the page. Chromium only.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

from playwright.async_api import BrowserContext, CDPSession, Frame, Page
from playwright.async_api import Error as DriverError

Answer = Callable[[str], Coroutine[None, None, None]]
"""Sends a text to the document that told one; nothing is sent to a document that is gone."""
Hear = Callable[[Page, str, Answer], None]
HearLate = Callable[[Page, str, bool], None]
"""Hears what a document told in which scripts of the page ran first, and whether a person pressed something for it there."""

_BINDING = "periplusTell"
_PLACE = '"PAGE_CHANNEL"'
_NAME = "CHANNEL_NAME"
_LATE_NAME = "CHANNEL_LATE"
PRESSED_S = 5.0
"""Seconds after a press within which it may be told."""
TOLD_BY_PRESS = 2
"""A press may be a click and a tick."""
MOST_PRESSES = 4


@runtime_checkable
class LateScripts(Protocol):
    """A context whose scripts may run in a document only after those of the page: in a browser that is given."""

    async def add_late_script(self, script: str, late: str) -> None:
        """Run a script in every document before those of the page, and `late` in one that has begun."""


@cache
def _source(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8").strip().removesuffix(";")


class PageChannel:
    """The channel of one browser context."""

    def __init__(self, hear: Hear, hear_late: HearLate = lambda _page, _text, _pressed: None) -> None:
        """`hear` gets the page, the text, and what answers it. `hear_late`: what a document told that may have learned its name."""
        self._hear, self._hear_late = hear, hear_late
        self._name, self._late = secrets.token_hex(16), secrets.token_hex(16)
        self._begun: set[tuple[CDPSession, int]] = set()
        """Documents that told something under the name that no page knows: our script was there first."""
        self._presses: dict[tuple[CDPSession, int], list[float]] = {}
        """When a person pressed something in a document, and nothing told it yet."""
        self._sessions: WeakKeyDictionary[Page | Frame, CDPSession] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def fill(self, script: str) -> str:
        """Return a script for pages with its `"PAGE_CHANNEL"` replaced by the channel's end (`page_channel.js`)."""
        return script.replace(_PLACE, _source("page_channel.js").replace(_NAME, self._name), 1)

    async def add_script(self, context: BrowserContext, script: str) -> None:
        """Run a script with the channel's end in every document. One that has begun gets another name: its scripts could learn it."""
        if isinstance(context, LateScripts):
            late = script.replace(_PLACE, _source("page_channel.js").replace(_NAME, self._late), 1)
            await context.add_late_script(self.fill(script), late)
        else:
            await context.add_init_script(self.fill(script))

    async def open(self, context: BrowserContext) -> None:
        """Connect the pages of a context that are open, and those that open later."""
        context.on("page", self._opened)
        for page in context.pages:
            self._follow(page)
            await self._connect(page, page)

    def _opened(self, page: Page) -> None:
        self._follow(page)
        self._do(self._connect(page, page))

    def _follow(self, page: Page) -> None:
        def moved(frame: Frame) -> None:
            if frame != page.main_frame:
                self._do(self._connect(page, frame))

        page.on("framenavigated", moved)

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, page: Page, target: Page | Frame) -> None:
        """Put the other end into the documents of a page, or of a frame that has a session of its own (another origin)."""
        if target in self._sessions:
            return
        with suppress(DriverError):  # it is gone, or a frame in the session of its page
            session = await page.context.new_cdp_session(target)
            if target in self._sessions:
                await session.detach()
                return
            self._sessions[target] = session
            session.on("close", partial(self._forget, target))
            session.on("Runtime.bindingCalled", partial(self._called, page, session))
            await session.send(
                "Runtime.enable"
            )  # else the binding is in no world of a document that opens later
            await session.send("Runtime.addBinding", {"name": _BINDING, "executionContextName": self._name})
            await session.send("Page.enable")
            relay = (
                _source("page_channel_relay.js").replace(_NAME, self._name).replace(_LATE_NAME, self._late)
            )
            await session.send(
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": relay, "worldName": self._name, "runImmediately": True},
            )

    def _forget(self, target: Page | Frame, _session: CDPSession) -> None:
        closed = self._sessions.pop(target, None)
        self._begun = {each for each in self._begun if each[0] is not closed}
        self._presses = {each: at for each, at in self._presses.items() if each[0] is not closed}

    def _called(self, page: Page, session: CDPSession, event: dict[str, Any]) -> None:
        if event.get("name") != _BINDING:
            return
        kind, text = event["payload"][:1], event["payload"][1:]
        document = (session, event["executionContextId"])
        if kind == "t":
            self._begun.add(document)
            self._hear(page, text, partial(self._answer, *document))
        elif kind == "p":
            now = [time.monotonic()] * TOLD_BY_PRESS
            self._presses[document] = [*self._presses.get(document, ()), *now][-MOST_PRESSES:]
        elif document not in self._begun:
            self._hear_late(page, text, self._take_press(document))

    def _take_press(self, document: tuple[CDPSession, int]) -> bool:
        """Whether a person pressed something in a document just now that was not told; it is told now."""
        fresh = [each for each in self._presses.get(document, ()) if time.monotonic() - each < PRESSED_S]
        self._presses[document] = fresh[1:]
        return bool(fresh)

    async def _answer(self, session: CDPSession, world: int, text: str) -> None:
        with suppress(DriverError):  # the document is gone
            await session.send(
                "Runtime.evaluate",
                {"expression": f"periplusAnswer({json.dumps(text)})", "contextId": world},
            )
