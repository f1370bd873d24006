"""Opens the knowledge server on the stores, with a client in the same process.

The client uses the in-memory transport of the MCP SDK, and is used like a client of a remote server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from mcp import Client
from mcp.types import CallToolResult
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from kb_store import Stores
from mcp_server.failures.failed_runs import RunReader
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.path_engines import MOST_COMPILED, PathEngineMode, PathEngines
from mcp_server.server import create_server
from periplus.errors import UserError
from periplus.settings import read_settings


class PathSearchSettings(BaseSettings):
    """The environment's settings for path search."""

    model_config = SettingsConfigDict(
        env_prefix="PERIPLUS_", env_ignore_empty=True, frozen=True, extra="ignore"
    )

    paths: PathEngineMode = "auto"
    """Where paths are searched: in memory, in the store, or (auto) in the store for large websites only."""
    paths_limit: int = Field(default=MOST_COMPILED, ge=0)
    """The number of transitions above which `auto` searches in the store, if the store supports it."""


@asynccontextmanager
async def connect_knowledge_client(
    stores: Stores, base_urls: Mapping[str, str] | None = None, *, runs: RunReader | None = None
) -> AsyncIterator[Client]:
    """Open a client of a knowledge server on these stores, in this process.

    `base_urls`: website id -> current base URL. `runs`: the run store, to explain failed runs. Errors raised while
    the client is open are not wrapped in an exception group.
    """
    engines = choose_path_engines(stores)
    try:
        async with Client(
            create_server(
                _share_views(stores, engines),
                base_urls=dict(base_urls or {}),
                learned=stores.learned,
                proposals=stores.proposals,
                runs=runs,
                engines=engines,
            )
        ) as client:
            client.session.validate_tool_result = _accept  # type: ignore[method-assign, assignment]
            yield client
    except BaseExceptionGroup as group:
        raise _single(group) from None


async def _accept(_name: str, _result: CallToolResult) -> None:
    """Check no result by its schema: the server made it from models in this process, and its readers make models of it again."""


def _share_views(stores: Stores, engines: PathEngines) -> ViewCache:
    """Return the compiled views of these stores: sessions one after the other, and at once, need not each compile the same."""
    which = (ViewCache, engines.mode, engines.most_compiled)
    found = stores.shared.get(which)
    if not isinstance(found, ViewCache):
        source = StoreSource(stores.documents, stores.graph, stores.views_folder)
        found = stores.shared[which] = ViewCache(source, engines.compiled)
    return found


def choose_path_engines(stores: Stores, mode: str | None = None) -> PathEngines:
    """Return the engines for path search; `mode` overrides the environment. Raises `UserError`."""
    settings = read_settings(PathSearchSettings, {"paths": mode})
    if settings.paths == "store" and stores.queries is None:
        raise UserError(
            "--paths store: the graph store cannot search paths",
            fix="store the graph in ArangoDB (PERIPLUS_ARANGODB_URL), or use --paths auto",
        )
    return PathEngines(settings.paths, settings.paths_limit, stores.queries)


def _single(error: BaseException) -> BaseException:
    """Return the only exception in nested groups of one; a group of several is returned unchanged."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
