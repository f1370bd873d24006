"""A LiveKit server, and a venue of the seed's site whose demos are told in its rooms."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import async_playwright

from agent.browser.launch import launch
from kb_store import Stores
from kb_store.store_factory import open_runs
from periplus.demos.demo_environment import DemoEnvironment
from tests.support.live_spadeworks import ACCOUNT, SEED, Controls, live, stores  # noqa: F401 - fixtures
from tests.support.livekit_server import LiveKitServer, livekit_running

if TYPE_CHECKING:
    from playwright.async_api import Browser

if importlib.util.find_spec("livekit") is None and not os.environ.get("CI"):
    collect_ignore_glob = ["test_*.py"]  # the extra `livekit` is not installed; `make setup` installs it


@pytest.fixture(scope="session")
def livekit_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveKitServer]:
    """One server per worker of pytest."""
    with livekit_running(tmp_path_factory.mktemp("livekit")) as server:
        yield server


@pytest.fixture(scope="module")
async def own_browser() -> AsyncIterator[Browser]:
    """A browser of the rooms' own: whatever is open in it is theirs."""
    async with async_playwright() as playwright:
        started = await launch(playwright)
        yield started
        await started.close()


@pytest.fixture(scope="module")
async def environment(
    own_browser: Browser,
    live: Controls,  # noqa: F811
    stores: Stores,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[DemoEnvironment]:
    """Spadeworks, in a browser of the rooms' own."""
    folder: Path = tmp_path_factory.mktemp("venue")
    values = {**ACCOUNT, "files": str(SEED / "files")}
    async with open_runs(folder) as runs:
        yield DemoEnvironment(
            "spadeworks", stores, own_browser, runs, folder, live.base, values, "spadeworks_tour"
        )
