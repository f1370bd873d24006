"""Blocks WebSocket messages of pages: messages from the server pass, messages from the page do not.

Pages send messages on their own (heartbeats, subscriptions) and when a control is used. Both are blocked, but only
the latter are reported. Pages have sockets of ours (`guarded_sockets.js`), which ask before they connect and before they send: a route
of the driver would put its binding into every page (`page_channel`). Sockets of web workers are not seen.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from functools import cache
from pathlib import Path

from playwright.async_api import BrowserContext, Page

from agent.page.page_channel import Answer, PageChannel

MOST_HABITS = 2_000
LONGEST_TOLD = 4_000
"""Characters of a message that pages tell before they send it; of a `Blob` they tell none."""
_LONGEST_SHAPE = 300
_CHANGING = re.compile(r"[0-9a-fA-F]{8,}|[0-9]+")


@cache
def _sockets() -> str:
    """Return the script that gives a page sockets which ask."""
    return (Path(__file__).parent / "guarded_sockets.js").read_text(encoding="utf-8")


class AskingSockets:
    """Gives the documents of one context sockets that ask."""

    def __init__(self, may_connect: Callable[[str], bool], may_send: Callable[[str, str], bool]) -> None:
        """`may_connect` judges an address, `may_send` the address and the first `LONGEST_TOLD` characters of a message."""
        self._may_connect, self._may_send = may_connect, may_send
        self._answers: set[asyncio.Task[None]] = set()

    async def install(self, context: BrowserContext) -> None:
        """Give them to every document that the context will open; call it once per context."""
        channel = PageChannel(self._hear)
        await channel.open(context)
        await context.add_init_script(channel.fill(_sockets()))

    def _hear(self, _page: Page, text: str, answer: Answer) -> None:
        asked = json.loads(text)
        if asked["kind"] == "connect":
            may = self._may_connect(asked["url"])
        else:
            may = self._may_send(asked["url"], asked["text"])
        self._do(answer(json.dumps({"at": asked["at"], "may": may})))

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)


class WebSocketGuard:
    """Guards the WebSockets of one context."""

    def __init__(
        self,
        may_connect: Callable[[str], bool],
        passes: Callable[[], bool],
        using: Callable[[], bool],
        stop: Callable[[str], None],
    ) -> None:
        """`may_connect` judges an address. `passes` returns whether messages may be sent now, and `using` whether a
        control is being used. `stop` receives the address of a blocked message.
        """
        self._may_connect, self._passes, self._using, self._stop = may_connect, passes, using, stop
        self._habits: set[str] = set()

    async def install(self, context: BrowserContext) -> None:
        """Guard the sockets of every document that the context will open; call it once per context."""
        await AskingSockets(self._may_connect, self._may_send).install(context)

    def _may_send(self, url: str, beginning: str) -> bool:
        """Return whether a message is sent; report it otherwise, if a control sends it."""
        if self._passes():
            return True
        if self._using():
            if _shape(beginning) not in self._habits:
                self._stop(url)
        elif len(self._habits) < MOST_HABITS:
            self._habits.add(_shape(beginning))
        return False


def _shape(beginning: str) -> str:
    """Return the structure of a message, without numbers and keys."""
    return _CHANGING.sub("0", beginning[:_LONGEST_SHAPE])
