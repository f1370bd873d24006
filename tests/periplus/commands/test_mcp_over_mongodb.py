"""A running desk over MongoDB: it follows changes, outlives its store, and does without what is spoilt."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from itertools import count

import pymongo
import pytest
from mcp.client import Client

from kb_schema.observed_outcomes import Outcome
from kb_store import LoadConflict, StoreUnavailable, knowledge_loader, load_knowledge, open_stores
from kb_store.learned.learned_numbers import utc_now
from kb_store.mongodb import connection
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.server import create_server
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support.mongod import with_database

pytestmark = [pytest.mark.mongodb, pytest.mark.sampled(0.5)]

PATIENCE = 60
"""Seconds until something that is to happen is taken to never happen, on however busy a machine."""


class Told(StoreSource):
    """Tells when knowledge was read."""

    def __init__(self, stores):
        super().__init__(stores.documents, stores.graph)
        self.was_read = asyncio.Event()

    async def read(self, website_id):
        found = await super().read(website_id)
        self.was_read.set()
        return found


@pytest.fixture
def impatient(monkeypatch):
    """A store that is away is given up sooner, a lease that was left behind runs out sooner."""
    monkeypatch.setattr(connection, "SELECTION_SECONDS", 2.0)
    monkeypatch.setattr(connection, "OPERATION_SECONDS", 4.0)
    monkeypatch.setattr(knowledge_loader, "LEASE_SECONDS", 1.0)


@pytest.fixture
def waits(monkeypatch):
    """The seconds that each question to a store was given, in their order."""
    given, really = [], pymongo.timeout

    def timeout(seconds):
        given.append(seconds)
        return really(seconds)

    monkeypatch.setattr(pymongo, "timeout", timeout)
    return given


async def _text(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return result.content[0].text


@pytest.mark.parametrize("store", ["embedded", "mongodb"])
async def test_a_running_server_has_a_new_generation_without_being_asked(store, request, tmp_path):
    """How soon is measured by `benchmarks.bench_notice`."""
    url = request.getfixturevalue("mongodb_url") if store == "mongodb" else None
    async with (
        open_stores(tmp_path, mongodb_url=url) as loading,
        open_stores(tmp_path, mongodb_url=url) as mine,
    ):
        await load_knowledge(loading.documents, loading.graph, knowledge_of(version="old"))
        source = Told(mine)
        async with ViewCache(source).following() as views:
            old = (await views.current("shop")).view
            source.was_read.clear()
            report = await load_knowledge(loading.documents, loading.graph, knowledge_of(version="new"))
            await asyncio.wait_for(source.was_read.wait(), PATIENCE)
            new = (await views.current("shop")).view
            assert new.generation == str(report.generation)
            assert (old.website.name, new.website.name) == ("old", "new")


@pytest.mark.usefixtures("impatient")
async def test_a_server_outlives_its_store_says_so_and_recovers_by_itself(own_mongod, tmp_path, waits):
    url = with_database(own_mongod.url, "kb")
    async with open_stores(tmp_path, mongodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
        source = StoreSource(stores.documents, stores.graph)
        async with ViewCache(source).following() as views, Client(create_server(views)) as client:
            before = await _text(client, "get_screen", website_id="shop", screen_id="bare")
            own_mongod.stop()
            for _ in range(2):
                waits.clear()
                down = await _text(client, "get_screen", website_id="shop", screen_id="bare")
                assert before in down
                assert "from the copy of generation 1" in down
            assert set(waits) == {connection.PROBE_SECONDS}  # not the whole wait for a server each time
            with pytest.raises(StoreUnavailable, match="start MongoDB") as refused:
                await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
            assert refused.value.retriable
            own_mongod.start()
            began = time.monotonic()
            while "from the copy" in await _text(client, "get_screen", website_id="shop", screen_id="bare"):
                assert time.monotonic() - began < PATIENCE
            report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
            assert report.generation > 1
            assert (await views.current("shop")).view.website.name == "new"


@pytest.mark.usefixtures("impatient")
async def test_a_load_that_its_store_leaves_alone_can_simply_be_repeated(own_mongod, tmp_path):
    url = with_database(own_mongod.url, "kb")
    async with open_stores(tmp_path, mongodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))

        def stop(progress):
            if progress.stage == "edges":
                own_mongod.stop()

        with pytest.raises(StoreUnavailable) as refused:
            await load_knowledge(
                stores.documents, stores.graph, knowledge_of(version="new"), on_progress=stop
            )
        assert refused.value.retriable
        own_mongod.start()
        report = await _loaded_as_soon_as_the_lease_is_free(stores)
        assert report.replaced == 1
        assert await stores.documents.generations("shop") == {report.generation}
        assert await stores.graph.generations("shop") == {report.generation}


async def _loaded_as_soon_as_the_lease_is_free(stores):
    """The load that was cut off could not give its lease back."""
    until = time.monotonic() + 30
    while True:
        try:
            return await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
        except LoadConflict:
            assert time.monotonic() < until


def _outcome(number, about="t_0"):
    return {"outcome_id": f"o{number}", "transition_id": about, "succeeded": number % 3 != 0}


@pytest.mark.usefixtures("impatient")
async def test_an_outcome_told_while_the_store_is_away_is_refused_and_counts_once_when_told_again(
    own_mongod, tmp_path
):
    url = with_database(own_mongod.url, "kb")
    async with open_stores(tmp_path, mongodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
        source = StoreSource(stores.documents, stores.graph)
        async with (
            ViewCache(source).following() as views,
            Client(create_server(views, learned=stores.learned)) as client,
        ):
            await _text(client, "record_outcome", website_id="shop", outcome=_outcome(1))
            own_mongod.stop()
            refused = await client.call_tool("record_outcome", {"website_id": "shop", "outcome": _outcome(2)})
            assert refused.is_error
            assert "is not available" in refused.content[0].text
            assert "start MongoDB" in refused.content[0].text
            found = await _text(
                client, "find_path", website_id="shop", from_screen="screen_0", to_screen="screen_1"
            )
            assert "from the copy of generation 1" in found  # reads go on
            own_mongod.start()
            told, until = None, time.monotonic() + 30
            while told is None:
                assert time.monotonic() < until
                result = await client.call_tool(
                    "record_outcome", {"website_id": "shop", "outcome": _outcome(2)}
                )
                told = None if result.is_error else result.structured_content
            assert told["counted"]
            again = await client.call_tool("record_outcome", {"website_id": "shop", "outcome": _outcome(2)})
            assert not again.structured_content["counted"]
            assert (await stores.learned.transition_stats("shop"))["t_0"].seen == 2
            own_mongod.stop()  # a server can be ended while its store is away: else this never returns


@pytest.mark.usefixtures("impatient")
async def test_outcomes_sent_until_they_are_answered_count_once_each_though_their_mongod_is_killed(
    own_mongod, tmp_path
):
    """Whatever was on its way: counted or not when the answer was lost, in the end each counts once."""
    url = with_database(own_mongod.url, "kb")
    async with AsyncExitStack() as stack:
        writers = [await stack.enter_async_context(open_stores(tmp_path, mongodb_url=url)) for _ in range(4)]
        numbers, failed, sent = count(), 0, []
        some, lost, back = (asyncio.Event() for _ in range(3))

        async def send(number):
            nonlocal failed
            outcome = Outcome(website_id="shop", at=utc_now(), **_outcome(number, f"t_{number % 3}"))
            while True:
                try:
                    await writers[number % 4].learned.record([outcome])
                except StoreUnavailable as exc:
                    failed += exc.retriable
                    lost.set()
                    await back.wait()
                else:
                    return

        async def keep_sending():
            """Until one was lost: a mongod killed between two outcomes has lost none."""
            while not lost.is_set() or len(sent) < 100:
                sent.append(number := next(numbers))
                await send(number)
                if number >= 20:
                    some.set()

        sending = asyncio.gather(*(keep_sending() for _ in range(20)))
        await some.wait()
        own_mongod.stop()
        await lost.wait()
        await asyncio.to_thread(own_mongod.start)
        back.set()
        await sending
        assert failed > 0
        stats = (await writers[0].learned.transition_stats("shop")).values()
        assert sum(each.seen for each in stats) == len(sent)
        assert sum(each.failed for each in stats) == len([n for n in sent if n % 3 == 0])


async def test_a_server_names_what_is_spoilt_and_serves_the_rest(mongodb_url, tmp_path):
    async with (
        open_stores(tmp_path, mongodb_url=mongodb_url) as stores,
        pymongo.AsyncMongoClient(mongodb_url) as raw,
    ):
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
        await raw.get_default_database().screens.update_one(
            {"_id.local_id": "screen_1"}, {"$set": {"body.name": 7}}, bypass_document_validation=True
        )
        async with Client(create_server(StoreSource(stores.documents, stores.graph))) as client:
            text = await _text(client, "get_screen", website_id="shop", screen_id="screen_0")
            assert "screen/screen_1" in text
            assert "does without what is invalid" in text
            refused = await client.call_tool("get_screen", {"website_id": "shop", "screen_id": "screen_1"})
            assert refused.is_error
            await raw.get_default_database().screens.update_one(
                {"_id.local_id": "screen_1"}, {"$set": {"body.name": "mended"}}
            )
            await load_knowledge(stores.documents, stores.graph, knowledge_of())
            mended = await _text(client, "get_screen", website_id="shop", screen_id="screen_1")
            assert "does without" not in mended
