"""Finds the WebSocket address of a given browser on this machine, and refuses one that is elsewhere.

A debugging endpoint answers `json/version/` with the address to connect to. A program that only looks like a browser may
name another machine there, to which the session would then go.
"""

from __future__ import annotations

import asyncio
import json
from http.client import HTTPException
from urllib.parse import urlsplit

from kb_schema.url_patterns import LOOPBACK
from mcp_server.security.http_openers import build_opener
from periplus.errors import UserError

ANSWER_S = 10.0
"""How long an endpoint may take to answer."""
LONGEST = 65_536
"""Bytes of its answer that are read."""


_OPENER = build_opener(proxies=False)


async def find_debugger_address(endpoint: str, *, allow_remote: bool) -> str:
    """Return the address to connect to: of a `http:` endpoint on this machine what it names itself.

    Raises `UserError` if the endpoint does not answer, or names another machine without `allow_remote`.
    """
    parts = urlsplit(endpoint)
    if allow_remote or parts.scheme not in ("http", "https"):
        return endpoint
    version = parts._replace(path=f"{parts.path.rstrip('/')}/json/version/", fragment="").geturl()
    try:
        async with asyncio.timeout(ANSWER_S):
            said = json.loads(await asyncio.to_thread(_fetch, version))
    except TimeoutError as exc:
        raise _no_browser(endpoint, f"no answer within {ANSWER_S:.0f} s") from exc
    except (OSError, HTTPException) as exc:
        raise _no_browser(endpoint, str(getattr(exc, "reason", exc))) from exc
    except ValueError as exc:
        raise _no_browser(endpoint, "the answer is not JSON") from exc
    address = said.get("webSocketDebuggerUrl") if isinstance(said, dict) else None
    try:
        host = urlsplit(address).hostname if isinstance(address, str) else None
    except ValueError:
        host = None
    if not isinstance(address, str) or host is None or not address.startswith(("ws://", "wss://")):
        raise _no_browser(endpoint, "the answer names no WebSocket address")
    if host not in LOOPBACK:
        raise UserError(
            f"--cdp-endpoint: {endpoint} leads to {host}, which is another machine; what goes there is not protected",
            fix="add --allow-remote-cdp if you trust the way to it",
        )
    return address


def _fetch(address: str) -> bytes:
    with _OPENER.open(address, timeout=ANSWER_S) as answer:
        return bytes(answer.read(LONGEST))


def _no_browser(endpoint: str, why: str) -> UserError:
    return UserError(
        f"no browser answers at {endpoint}: {why}",
        fix="start Chrome with --remote-debugging-port=9222 and a profile of its own (--user-data-dir)",
    )
