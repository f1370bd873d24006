"""Scopes: who calls, and whether they may change anything.

A caller with a token over HTTP has the token's scopes. A caller without a token came over stdio, in memory, or to an
HTTP app that requires none; it may do everything.
"""

from __future__ import annotations

from typing import Literal

from mcp.server.auth.middleware.auth_context import get_access_token

from mcp_server.errors import MissingScope

AccessScope = Literal["read", "review", "write"]
"""`read` allows queries. `write` also allows changes. `review` allows queries here, and decisions on proposals in
the console (`periplus.service.console_sessions`)."""
READ: AccessScope = "read"
REVIEW: AccessScope = "review"
WRITE: AccessScope = "write"
SCOPES = (READ, WRITE)
"""Those of the tools."""

LOCAL = "local"
"""The client that has no name of its own."""


def require_scope(scope: AccessScope) -> None:
    """Check the caller's scope. Raises `MissingScope` if the caller has a token without it."""
    token = get_access_token()
    if token is not None and scope not in token.scopes:
        raise MissingScope(scope)


def caller(address: str | None = None) -> str:
    """Return a name for the caller: the token's client, else the address, else `LOCAL`."""
    token = get_access_token()
    if token is not None:
        return f"token {token.client_id}"
    return address or LOCAL
