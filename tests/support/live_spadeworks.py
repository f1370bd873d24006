"""Spadeworks with its faults, for tests of work done on it: the site, its controls, sessions."""

from __future__ import annotations

import json
import re
import shutil
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from agent.page import in_page_library
from agent.presentation.page_overlay import PageOverlay
from agent.session import Session
from kb_store import Stores, load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.session_setup import open_session
from tests.support.foreign_sites import spadeworks_site

SEED = Path(__file__).parents[2] / "seeds" / "spadeworks"
LONGEST_S = 4.0
"""How long the hasty wait at most for what the knowledge gives up to a quarter of a minute."""
ACCOUNT = {"email": "demo@spadeworks.example", "password": "spadeworks-demo"}


class Controls:
    """The site's test controls."""

    def __init__(self, base: str) -> None:
        self.base = base

    def ask(self, path: str, /, **body: Any) -> dict[str, Any]:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(
            f"{self.base}/__control/{path}", data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def clear(self) -> None:
        urllib.request.urlopen(
            urllib.request.Request(f"{self.base}/__control/faults", method="DELETE")
        ).close()

    def state(self) -> dict[str, Any]:
        return self.ask("state")


@pytest.fixture(scope="module")
def live() -> Iterator[Controls]:
    with spadeworks_site() as base:
        yield Controls(base)


@pytest.fixture(scope="module")
async def stores(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stores]:
    knowledge, _ = read_knowledge_folder(SEED / "kb")
    async with open_stores(tmp_path_factory.mktemp("stores")) as opened:
        await load_knowledge(opened.documents, opened.graph, knowledge)
        yield opened


@pytest.fixture(scope="module")
async def hasty_stores(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stores]:
    """As `stores`, for tests in which what is waited for does not come: it is given up after `LONGEST_S`."""
    folder = tmp_path_factory.mktemp("hasty")
    kb = shutil.copytree(SEED / "kb", folder / "kb")
    for file in kb.rglob("*.yaml"):
        file.write_text(
            re.sub(
                r"timeout: ([\d.]+)", lambda m: f"timeout: {min(float(m[1]), LONGEST_S)}", file.read_text()
            )
        )
    knowledge, _ = read_knowledge_folder(kb)
    async with open_stores(folder) as opened:
        await load_knowledge(opened.documents, opened.graph, knowledge)
        yield opened


@asynccontextmanager
async def visiting(live: Controls, stores: Stores, browser: Browser) -> AsyncIterator[Session]:
    """A session of a new visitor, whose workspace is as everybody's at first."""
    live.clear()
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        await in_page_library.install(context)
        await PageOverlay.install(context)
        async with open_session(stores, context, "spadeworks", base_url=live.base, values=ACCOUNT) as session:
            await session.page.goto(f"{live.base}/login")
            yield session
    finally:
        await context.close()
