"""WebSockets of a site that is only looked at: what the site sends comes, what the page sends stays here.

A page says things over a socket by itself (it is there, it wants news) as well as when a control is used. Both
stay here; only what it does not say by itself is told. Not here: sockets of workers, which no route sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.async_api import WebSocketRoute

ANY = re.compile("")
MOST_HABITS = 2_000
_CHANGING = re.compile(r"[0-9a-fA-F]{8,}|[0-9]+")
_LONGEST = 300


class Sockets:
    """Of one context."""

    def __init__(
        self,
        may_connect: Callable[[str], bool],
        passes: Callable[[], bool],
        using: Callable[[], bool],
        stop: Callable[[str], None],
    ) -> None:
        """`may_connect` judges an address, `passes` says whether what is sent now may be passed on, `using`
        whether a control is being used, `stop` hears of an address what was sent to it and was not passed on.
        """
        self._may_connect, self._passes, self._using, self._stop = may_connect, passes, using, stop
        self._habits: set[str] = set()

    async def connect(self, socket: WebSocketRoute) -> None:
        """A page opens a socket."""
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
    """What a message is like, without numbers and keys."""
    text = message if isinstance(message, str) else message.decode("latin-1")
    return _CHANGING.sub("0", text[:_LONGEST])
