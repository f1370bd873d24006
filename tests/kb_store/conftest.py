"""Every store implementation under one fixture. A new one joins by one line in `STORES`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kb_store import Stores, open_stores

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

STORES: dict[str, Callable[[Path], AbstractAsyncContextManager[Stores]]] = {
    "embedded": open_stores,
}
"""Name -> what opens an empty pair of stores, given a folder of the test's own."""


@pytest.fixture(params=sorted(STORES))
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Empty stores of each implementation in turn."""
    async with STORES[request.param](tmp_path) as opened:
        yield opened
