"""Blocks WebSocket messages of pages: messages from the server pass, messages from the page do not.

Pages send messages on their own (heartbeats, subscriptions) and when a control is used. Both are blocked, but only
the latter are reported. Routes do not see sockets of web workers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.async_api import WebSocketRoute

ANY = re.compile("")
MOST_HABITS = 2_000
_CHANGING = re.compile(r"[0-9a-fA-F]{8,}|[0-9]+")
_LONGEST = 300


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

    async def connect(self, socket: WebSocketRoute) -> None:
        """Handle a socket that a page opens."""
        if not self._may_connect(socket.url):
            await socket.close()
            return
        server = socket.connect_to_server()

        def said(message: str | bytes) -> None:
            if self._passes():
                server.send(message)
            elif self._using():
                if _shape(message) not in self._habits:
                    self._stop(socket.url)
            elif len(self._habits) < MOST_HABITS:
                self._habits.add(_shape(message))

        socket.on_message(said)


def _shape(message: str | bytes) -> str:
    """Return the structure of a message, without numbers and keys."""
    text = message if isinstance(message, str) else message.decode("latin-1")
    return _CHANGING.sub("0", text[:_LONGEST])
