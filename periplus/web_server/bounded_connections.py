"""An HTTP protocol for uvicorn that limits connections, and the time in which a request must arrive.

uvicorn waits without end for the rest of a request's headers, and accepts as many connections as the process has file
descriptors: a few hundred half-sent requests would silence the service.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from kb_schema.operating_system import count_file_descriptors

HEADERS_S = 10.0
"""Seconds within which the headers of a request must arrive."""
CLOSE = (b"connection", b"close")
MOST_CONNECTIONS = 1_000
SPARE_DESCRIPTORS = 128
"""File descriptors left to stores, browsers and files."""


def count_permitted_connections() -> int:
    """Return how many connections the process may hold open at once."""
    return max(16, min(MOST_CONNECTIONS, (count_file_descriptors() - SPARE_DESCRIPTORS) // 2))


def make_bounded_protocol(*, most: int | None = None, headers_s: float = HEADERS_S) -> type[asyncio.Protocol]:
    """Return the protocol class. One address gets half of the connections (`most`) at most."""
    limit = count_permitted_connections() if most is None else most
    held: Counter[str] = Counter()

    class BoundedProtocol(H11Protocol):
        """HTTP/1.1 with the limits above."""

        _address = ""
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """Accept a connection, or close it if there are too many."""
            super().connection_made(transport)
            peer = transport.get_extra_info("peername")
            self._address = str(peer[0]) if isinstance(peer, tuple) and peer else "socket"
            held[self._address] += 1
            if held.total() > limit or held[self._address] > limit // 2 + 1:
                transport.abort()
                return
            self._expect_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            """Forget the connection."""
            self._cancel_timer()
            held[self._address] -= 1
            if held[self._address] <= 0:
                del held[self._address]
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Receive bytes; the headers of a begun request must be complete in time."""
            super().data_received(data)
            self._end_after_two_lengths()
            if not self._waits():
                self._cancel_timer()
            elif self._timer is None:
                self._expect_headers()

        def _end_after_two_lengths(self) -> None:
            """Let the answer to a request with two lengths close the connection (RFC 9112, 6.3): a proxy may take the rest of its body
            for another request.
            """
            headers: list[tuple[bytes, bytes]] | None = (
                self.headers
            )  # those of the scope; none before the first request
            names = {name for name, _ in headers or ()}
            if (
                {b"content-length", b"transfer-encoding"} <= names
                and headers is not None
                and CLOSE not in headers
            ):
                headers.append(CLOSE)

        def _waits(self) -> bool:
            """Whether no request is being answered, so that headers are expected."""
            cycle: RequestResponseCycle | None = self.cycle
            return cycle is None or cycle.response_complete

        def _expect_headers(self) -> None:
            self._timer = self.loop.call_later(headers_s, self._headers_missing)

        def _headers_missing(self) -> None:
            self._timer = None
            if self._waits() and not self.transport.is_closing():
                self.transport.abort()

        def _cancel_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return BoundedProtocol
