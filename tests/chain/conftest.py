"""The whole chain on the harbour: a tiny site of the tests' own, its knowledge, a desk, a session."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
import urllib.request
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent import guide
from agent.execution import step_runner
from agent.execution.loops import iterators
from agent.execution.results import outcome_checks
from agent.page import in_page_library
from agent.presentation.page_overlay import PageOverlay
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import open_session
from tests.support.live_spadeworks import hasty_stores, live, stores  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from playwright.async_api import Browser

    from agent.session import Session

HARBOUR = Path(__file__).parent.parent / "data" / "harbour"


@dataclass
class Site:
    """The running harbour."""

    url: str

    def state(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/state") as answer:
            return json.load(answer)

    def moor(self, *names: str) -> None:
        for name in names:
            data = urllib.parse.urlencode({"name": name, "length": "6"}).encode()
            urllib.request.urlopen(f"{self.url}/boats/new", data).close()

    def clear(self) -> None:
        while self.state()["boats"]:
            urllib.request.urlopen(f"{self.url}/boats/0/remove", b"").close()


@pytest.fixture(scope="session")
async def harbour_url() -> AsyncIterator[str]:
    """One harbour per worker."""
    async with start_seed_site(find_seed(str(HARBOUR))) as url:
        yield url


@pytest.fixture
def site(harbour_url: str) -> Site:
    """An empty harbour."""
    harbour = Site(harbour_url)
    harbour.clear()
    return harbour


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which what must hold never will: it is given up sooner."""
    monkeypatch.setattr(step_runner, "CONFIRM_S", 1.5)
    monkeypatch.setattr(outcome_checks, "EVIDENCE_S", 1.0)
    monkeypatch.setattr(iterators, "PROGRESS_S", 2.0)
    monkeypatch.setattr(guide, "SETTLE_S", 2.0)


@pytest.fixture
async def session(site: Site, browser: Browser, tmp_path: Path) -> AsyncIterator[Session]:
    """A session on a fresh page, its knowledge from a store of the test's own over MCP."""
    # The MCP client's task group must be left by the task that entered it, and pytest-asyncio
    # sets fixtures up and down in different ones: a task of its own does both.
    opened: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        try:
            async with _open(site, browser, tmp_path) as session:
                opened.set_result(session)
                await over.wait()
        except BaseException as exc:
            if opened.done():
                raise
            opened.set_exception(exc)

    holder = asyncio.create_task(hold())
    yield await opened
    over.set()
    await holder


@asynccontextmanager
async def _open(site: Site, browser: Browser, tmp_path: Path) -> AsyncIterator[Session]:
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(open_stores(tmp_path))
        await load_knowledge(stores.documents, stores.graph, knowledge)
        context = await browser.new_context(viewport={"width": 1280, "height": 720})
        stack.push_async_callback(context.close)
        await in_page_library.install(context)
        await PageOverlay.install(context)
        yield await stack.enter_async_context(open_session(stores, context, "harbour", base_url=site.url))
