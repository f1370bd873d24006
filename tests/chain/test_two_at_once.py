"""One run and several processes that want it: one carries it out, the others are told who does."""

from __future__ import annotations

import asyncio
import urllib.request
from dataclasses import replace

import pytest

from kb_schema import parse_document
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from tests.chain.conftest import HARBOUR
from tests.support import warm
from tests.support.harbour import moors_a_boat


@pytest.fixture
async def data_dir(tmp_path):
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    tasks = {**knowledge.by_kind["task"], "register": parse_document(moors_a_boat("register"))}
    async with open_stores(tmp_path) as stores:
        knowledge = replace(knowledge, by_kind={**knowledge.by_kind, "task": tasks})
        await load_knowledge(stores.documents, stores.graph, knowledge)
    return tmp_path


async def ask(url):
    await asyncio.to_thread(lambda: urllib.request.urlopen(url).close())


async def test_a_second_process_is_told_who_is_at_it_and_a_dead_ones_run_is_taken_over_by_one(site, data_dir):
    def periplus(*arguments):
        env = {"PERIPLUS_DATA_DIR": str(data_dir), "COLUMNS": "200"}
        return warm.start("periplus", "run", *arguments, cwd=data_dir, env=env)

    await ask(f"{site.url}/gate/close")
    try:
        first = periplus("register", "--base-url", site.url, "-i", "boat_name=Petrel", "--out", "first")
        await ask(f"{site.url}/gate/wait")  # it has acted, and no answer came
        told = periplus("--resume", "last", "--out", "second")
        assert await told.ended() == 2, told.communicate()
        assert f"is being executed by process {first.pid} on" in told.communicate()[1]
        first.kill()
        await first.ended()
    finally:
        await ask(f"{site.url}/gate/open")
    both = [periplus("--resume", "last", "--out", name) for name in ("third", "fourth")]
    codes = [await each.ended() for each in both]
    said = [each.communicate() for each in both]
    assert sorted(codes) == [0, 2], said
    refused = said[codes.index(2)][1]
    assert "is being executed by process" in refused or "has already ended" in refused
    assert [boat["name"] for boat in site.state()["boats"]] == ["Petrel"]
