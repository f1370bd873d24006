"""Every store implementation under one fixture. A new one joins by one line in `STORES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kb_store import Stores, open_stores
from tests.support import arango_stores
from tests.support.arango_stores import graph  # noqa: F401 - fixture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    Opener = Callable[[pytest.FixtureRequest, Path], AbstractAsyncContextManager[Stores]]

STORES: dict[str, Opener] = {
    "arangodb": arango_stores.on_real_server,
    "arangodb-loopback": arango_stores.on_loopback,
    "embedded": lambda _, folder: open_stores(folder),
    "mongodb": lambda request, folder: open_stores(
        folder, mongodb_url=request.getfixturevalue("emptied_mongodb_url")
    ),
}
"""Name -> what opens an empty pair of stores, given the test's request and a folder of its own."""

NEEDS = {"arangodb": pytest.mark.arangodb, "mongodb": pytest.mark.mongodb}


@pytest.fixture(params=[pytest.param(name, marks=NEEDS.get(name, ())) for name in sorted(STORES)])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Empty stores of each implementation in turn."""
    async with STORES[request.param](request, tmp_path) as opened:
        yield opened
