"""Wiring the desk: a store as the server's source of knowledge, and a client in this process.

The client speaks MCP over the SDK's in-memory transport; whoever holds it cannot tell that the
server is not elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp import Client

from kb_schema import KnowledgeBase
from kb_store import NoSuchWebsite, StoreError, Stores, read_knowledge, revision
from mcp_server.errors import SourceDown
from mcp_server.server import create_server


class StoreSource:
    """Stores as `mcp_server.source.KnowledgeSource`: the generation is the revision."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    async def websites(self) -> list[str]:
        """Ids of every website in the store."""
        try:
            return sorted(generation.website_id for generation in await self._stores.documents.websites())
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc

    async def read(self, website_id: str) -> tuple[KnowledgeBase, str] | None:
        """The active generation, whole."""
        try:
            knowledge, generation = await read_knowledge(
                self._stores.documents, self._stores.graph, website_id
            )
        except NoSuchWebsite:
            return None
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        return knowledge, str(generation)

    async def revision(self, website_id: str) -> str | None:
        """The number of the active generation."""
        try:
            generation = await revision(self._stores.documents, website_id)
        except StoreError as exc:
            raise SourceDown(str(exc)) from exc
        return None if generation is None else str(generation)


@asynccontextmanager
async def desk_client(stores: Stores, base_urls: Mapping[str, str] | None = None) -> AsyncIterator[Client]:
    """A client of a desk over these stores, in this process. `base_urls`: website -> URL in force.

    What is raised while it is open arrives as it is, not wrapped into the group of the client's
    own tasks.
    """
    server = create_server(StoreSource(stores), base_urls=dict(base_urls or {}))
    try:
        async with Client(server) as client:
            yield client
    except BaseExceptionGroup as group:
        raise _single(group) from None


def _single(error: BaseException) -> BaseException:
    """The one exception inside a group of one, however deep; a real group stays a group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
