"""Who is asking, and whether they may change anything.

Whoever comes over HTTP with a token has its scopes. Whoever comes without one has come over stdio,
in memory, or to a door that asks for none: they may do everything.
"""

from __future__ import annotations

from typing import Literal

from mcp.server.auth.middleware.auth_context import get_access_token

from mcp_server.errors import Forbidden

AccessScope = Literal["read", "review", "write"]
"""`read` asks, `write` also changes what the desk knows; `review` asks here, and decides on proposals in
the console (`periplus.service.sessions`)."""
READ: AccessScope = "read"
REVIEW: AccessScope = "review"
WRITE: AccessScope = "write"
SCOPES = (READ, WRITE)
"""Those of the tools."""

LOCAL = "local"
"""The client that has no name of its own."""


def require(scope: AccessScope) -> None:
    """Raises `Forbidden` where whoever asks has a token without that scope."""
    token = get_access_token()
    if token is not None and scope not in token.scopes:
        raise Forbidden(scope)


def caller(address: str | None = None) -> str:
    """A name for whoever asks: the token's client, else the address, else `LOCAL`."""
    token = get_access_token()
    if token is not None:
        return f"token {token.client_id}"
    return address or LOCAL
