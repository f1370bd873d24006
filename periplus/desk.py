"""Wiring the desk: a server over the stores, and a client of it in this process.

The client speaks MCP over the SDK's in-memory transport; whoever holds it cannot tell that the
server is not elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp import Client

from kb_store import Stores
from mcp_server.server import create_server
from mcp_server.store_source import StoreSource


@asynccontextmanager
async def desk_client(stores: Stores, base_urls: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    """A client of a desk over these stores, in this process. `base_urls`: website -> URL in force.

    What is raised while it is open arrives as it is, not wrapped into the group of the client's
    own tasks.
    """
    source = StoreSource(stores.documents, stores.graph)
    try:
        async with Client(
            create_server(
                source,
                base_urls=dict(base_urls or {}),
                learned=stores.learned,
                proposals=stores.proposals,
            )
        ) as client:
            yield client
    except BaseExceptionGroup as group:
        raise _single(group) from None


def _single(error: BaseException) -> BaseException:
    """The one exception inside a group of one, however deep; a real group stays a group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
