"""What servers of ours share: a socket that listens already, and where websites run."""

from __future__ import annotations

import socket

from kb_schema.urls import origin_of
from periplus.errors import UserError

BACKLOG = 128
"""Connections that wait to be accepted."""


def base_urls_of(pairs: list[str]) -> dict[str, str]:
    """Website -> URL, of `--base-url WEBSITE=URL`. Raises `UserError`."""
    found: dict[str, str] = {}
    for pair in pairs:
        website, equals, url = pair.partition("=")
        if not (website and equals and origin_of(url).startswith(("http://", "https://"))):
            fix = "write it like --base-url spadeworks=http://127.0.0.1:8080"
            raise UserError(f"--base-url {pair!r} is not WEBSITE=URL", fix=fix)
        found[website] = url
    return found


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens already: whoever reads the line that says so may connect. Raises `UserError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on: 40 ms for every answer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as exc:
        listener.close()
        reason = exc.strerror or str(exc)
        raise UserError(
            f"cannot listen on {host}:{port}: {reason}", fix="choose others with --host and --port"
        ) from exc
    return listener


def bracketed(host: str) -> str:
    """As it stands in a URL."""
    return f"[{host}]" if ":" in host else host
