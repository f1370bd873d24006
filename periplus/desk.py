"""Wiring the desk: a server over the stores, and a client of it in this process.

The client speaks MCP over the SDK's in-memory transport; whoever holds it cannot tell that the
server is not elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp import Client
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from kb_store import Stores
from mcp_server.engines import MOST_COMPILED, Mode, PathEngines
from mcp_server.failures.runs import RunReader
from mcp_server.server import create_server
from mcp_server.store_source import StoreSource
from periplus.errors import UserError
from periplus.settings import read_settings


class PathSettings(BaseSettings):
    """What the environment may set about searching paths."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    paths: Mode = "auto"
    """Where paths are searched: in memory, in the store, or (auto) there for the largest websites only."""
    paths_limit: int = Field(default=MOST_COMPILED, ge=0)
    """Transitions of a website beyond which a store that can search paths is asked for them."""


@asynccontextmanager
async def desk_client(
    stores: Stores, base_urls: Mapping[str, str] | None = None, *, runs: RunReader | None = None
) -> AsyncIterator[Client]:
    """A client of a desk over these stores, in this process. `base_urls`: website -> URL in force;
    `runs`: recorded runs, so that a failed one can be explained.

    What is raised while it is open arrives as it is, not wrapped into the group of the client's
    own tasks.
    """
    source = StoreSource(stores.documents, stores.graph)
    engines = path_engines(stores)
    try:
        async with Client(
            create_server(
                source,
                base_urls=dict(base_urls or {}),
                learned=stores.learned,
                proposals=stores.proposals,
                runs=runs,
                engines=engines,
            )
        ) as client:
            yield client
    except BaseExceptionGroup as group:
        raise _single(group) from None


def path_engines(stores: Stores, mode: str | None = None) -> PathEngines:
    """What searches paths: by `mode` where that is given, else by the environment. Raises `UserError`."""
    settings = read_settings(PathSettings, {"paths": mode})
    if settings.paths == "store" and stores.queries is None:
        raise UserError(
            "--paths store: no store here can search paths",
            fix="keep the graph in an ArangoDB (PERIPLUS_ARANGODB_URL), or use --paths auto",
        )
    return PathEngines(settings.paths, settings.paths_limit, stores.queries)


def _single(error: BaseException) -> BaseException:
    """The one exception inside a group of one, however deep; a real group stays a group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
