"""Wiring the agent's server: a workshop in the data directory, open as long as the server is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from kb_store import Stores
from kb_store.runs import RunStore
from mcp_server.offering import OfferingServer
from mcp_server.security.limits import CallLimits
from mcp_server.views import Views
from periplus.agent_server.server import create_agent_server
from periplus.agent_server.workshop import Workshop, WorkshopLimits
from periplus.settings import load_settings
from periplus.voyage import started_browser

RUNS = "runs"
"""In the data directory: a folder for each run, with its result and its trace."""
FILES = "files"
"""In the data directory: what may be given to pages, unless `files` says where else that is."""


@asynccontextmanager
async def agent_server(
    stores: Stores,
    runs: RunStore,
    views: Views,
    *,
    base_urls: Mapping[str, str] | None = None,
    read_only: bool = False,
    limits: CallLimits | None = None,
    headed: bool = False,
    files: Path | None = None,
    runs_at_once: int = WorkshopLimits().runs_at_once,
) -> AsyncIterator[OfferingServer]:
    """The server, and what it works in; what still runs at the end is stopped and can be carried on."""
    settings = load_settings()
    uploads = files or settings.data_dir / FILES
    bounds = WorkshopLimits(runs_at_once=runs_at_once)
    browser = partial(started_browser, headed=headed)
    folder = settings.data_dir / RUNS
    async with Workshop(stores, runs, folder, uploads=uploads, limits=bounds, browser=browser) as workshop:
        yield create_agent_server(workshop, views, base_urls=base_urls, read_only=read_only, limits=limits)
