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
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from playwright.async_api import BrowserContext, CDPSession, Frame, Page
from playwright.async_api import Error as DriverError

Answer = Callable[[str], Coroutine[None, None, None]]
"""Sends a text to the document that told one; nothing is sent to a document that is gone."""
Hear = Callable[[Page, str, Answer], None]

_BINDING = "periplusTell"
_PLACE = '"PAGE_CHANNEL"'
_NAME = "CHANNEL_NAME"


@cache
def _source(file: str) -> str:
    return Path(__file__).with_name(file).read_text(encoding="utf-8").strip().removesuffix(";")


class PageChannel:
    """The channel of one browser context."""

    def __init__(self, hear: Hear) -> None:
        """`hear` gets the page, the text, and what answers it."""
        self._hear = hear
        self._name = secrets.token_hex(16)
        self._sessions: WeakKeyDictionary[Page | Frame, CDPSession] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()

    def fill(self, script: str) -> str:
        """Return a script for pages with its `"PAGE_CHANNEL"` replaced by the channel's end (`page_channel.js`)."""
        return script.replace(_PLACE, _source("page_channel.js").replace(_NAME, self._name), 1)

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
            relay = _source("page_channel_relay.js").replace(_NAME, self._name)
            await session.send(
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": relay, "worldName": self._name, "runImmediately": True},
            )

    def _forget(self, target: Page | Frame, _session: CDPSession) -> None:
        self._sessions.pop(target, None)

    def _called(self, page: Page, session: CDPSession, event: dict[str, Any]) -> None:
        if event.get("name") == _BINDING:
            self._hear(page, event["payload"], partial(self._answer, session, event["executionContextId"]))

    async def _answer(self, session: CDPSession, world: int, text: str) -> None:
        with suppress(DriverError):  # the document is gone
            await session.send(
                "Runtime.evaluate",
                {"expression": f"periplusAnswer({json.dumps(text)})", "contextId": world},
            )
