"""Stores whose graph is in ArangoDB: the loopback one always, a real one where it is named.

With `PERIPLUS_ARANGODB_URL` set, every opening gets a database of its own on that server, dropped
at the end; the database in the URL is not touched. The user must be allowed to create databases.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from kb_store import Stores, open_stores
from kb_store.arangodb import ArangoAddress, ArangoGraphStore
from kb_store.arangodb.connection import ArangoConnection
from tests.support.arango_loopback import loopback

VARIABLE = "PERIPLUS_ARANGODB_URL"
WHY_SKIPPED = f"{VARIABLE} is not set: not run against a real ArangoDB"


@contextmanager
def real_server() -> Iterator[str]:
    """The URL of a database of the test's own on a real server; skips where there is none."""
    url = os.environ.get(VARIABLE)
    if not url:
        pytest.skip(WHY_SKIPPED)
    name = f"periplus_test_{secrets.token_hex(8)}"
    system = ArangoConnection(ArangoAddress.of(url)).system()
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        system.delete_database(name, ignore_missing=True)


@contextmanager
def any_server(which: str) -> Iterator[str]:
    """The URL of an empty database on the `loopback` server or the `real` one."""
    if which == "real":
        with real_server() as url:
            yield url
    else:
        with loopback() as server:
            yield server.url()


@pytest.fixture(params=["loopback", pytest.param("real", marks=pytest.mark.arangodb)], scope="module")
async def graph(request: pytest.FixtureRequest) -> AsyncIterator[ArangoGraphStore]:
    """A prepared graph store, one for all tests of a module: they tell theirs apart by generation."""
    with any_server(request.param) as url:
        store = ArangoGraphStore(url)
        await store.prepare()
        yield store
        await store.close()


@asynccontextmanager
async def on_loopback(_: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Stores]:
    """Documents in a file, the graph in the loopback server."""
    with any_server("loopback") as url:
        async with open_stores(folder, arangodb_url=url) as stores:
            yield stores


@asynccontextmanager
async def on_real_server(_: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Stores]:
    """Documents in a file, the graph in a real ArangoDB."""
    with any_server("real") as url:
        async with open_stores(folder, arangodb_url=url) as stores:
            yield stores
