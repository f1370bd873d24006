"""Listening sockets, trusted proxies and `--base-url` options of the servers."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

from kb_schema.url_patterns import origin_of
from periplus.errors import UserError

BACKLOG = 128
"""The backlog of connections that wait to be accepted."""


def parse_base_urls(pairs: list[str]) -> dict[str, str]:
    """Parse `--base-url WEBSITE=URL` options. Raises `UserError`."""
    found: dict[str, str] = {}
    for pair in pairs:
        website, equals, url = pair.partition("=")
        if not (website and equals and origin_of(url).startswith(("http://", "https://"))):
            fix = "for example --base-url spadeworks=http://127.0.0.1:8080"
            raise UserError(f"--base-url: expected WEBSITE=URL, found {pair!r}", fix=fix)
        found[website] = url
    return found


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket, so that clients can connect before the server prints its address. Raises `UserError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio only disables Nagle's algorithm (40 ms per response) if the protocol is TCP explicitly.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        reason = exc.strerror or str(exc)
        raise UserError(
            f"cannot listen on {host}:{port}: {reason}", fix="choose another address with --host and --port"
        ) from exc
    return listener


def format_url_host(host: str) -> str:
    """Return a host for a URL; IPv6 addresses get brackets."""
    return f"[{host}]" if ":" in host else host


def proxy_options(trusted: Sequence[str]) -> dict[str, Any]:
    """Return uvicorn's options for proxies: only those named are believed about their client's address and scheme."""
    return {"proxy_headers": bool(trusted), "forwarded_allow_ips": list(trusted)}
