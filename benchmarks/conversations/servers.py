"""Starts the MCP servers of each arm over stdio, each with a browser of its own unless both share one."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

from tests.support.given_chrome import given_chrome
from tests.support.playwright_mcp import own_browser, playwright_mcp_command

__all__ = ["Knowledge", "beside", "in_front", "periplus", "playwright_mcp"]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What Periplus is started with."""

    folder: Path
    """A data directory with stores; it is changed."""
    base_urls: Mapping[str, str] = field(default_factory=dict)
    """Website -> where it is now."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Names of secrets -> values."""

    def server(self, *options: str) -> StdioServerParameters:
        """Return how `periplus mcp` is started with these options."""
        urls = [part for name, url in self.base_urls.items() for part in ("--base-url", f"{name}={url}")]
        environment = {**os.environ, "PERIPLUS_DATA_DIR": str(self.folder)}
        environment |= {f"PERIPLUS_SECRET_{name}": value for name, value in self.secrets.items()}
        command = ["-m", "periplus", "mcp", *options, *urls]
        return StdioServerParameters(command=sys.executable, args=command, env=environment)


@asynccontextmanager
async def playwright_mcp() -> AsyncIterator[Client]:
    """Playwright's MCP server, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with _connect(_playwright(folder, *own_browser(), "--isolated")) as client:
            yield client


@asynccontextmanager
async def periplus(knowledge: Knowledge) -> AsyncIterator[Client]:
    """`periplus mcp --browser`."""
    async with _connect(knowledge.server("--browser")) as client:
        yield client


@asynccontextmanager
async def in_front(knowledge: Knowledge) -> AsyncIterator[Client]:
    """`periplus mcp --wrap` in front of Playwright's MCP server."""
    command = shlex.join(playwright_mcp_command(*own_browser()))
    with tempfile.TemporaryDirectory() as folder:
        wrapping = knowledge.server("--wrap", command).model_copy(update={"cwd": folder})
        async with _connect(wrapping) as client:
            yield client


@asynccontextmanager
async def beside(knowledge: Knowledge) -> AsyncIterator[tuple[Client, Client]]:
    """Both servers in one running Chrome: Periplus' client, Playwright's client."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made,
        given_chrome(Path(made), ["about:blank"]) as chrome,
    ):
        async with (
            _connect(_playwright(made, "--cdp-endpoint", chrome.endpoint)) as theirs,
            _connect(knowledge.server("--cdp-endpoint", chrome.endpoint)) as ours,
        ):
            yield ours, theirs


def _playwright(folder: str, *options: str) -> StdioServerParameters:
    node, *words = playwright_mcp_command(*options)
    return StdioServerParameters(command=node, args=words, cwd=folder)


@asynccontextmanager
async def _connect(server: StdioServerParameters) -> AsyncIterator[Client]:
    async with Client(stdio_client(server)) as client:
        yield client
