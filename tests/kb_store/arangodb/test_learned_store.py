"""Learned numbers in ArangoDB: as every other store keeps them, and in the weights paths are sorted by."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client

from kb_schema.edge_weights import edge_weights
from kb_schema.observed_outcomes import ElementUse, Outcome
from kb_store import StoreUnavailable, load_knowledge, open_stores
from kb_store.arangodb import ArangoGraphStore, ArangoLearnedStore, aql
from kb_store.arangodb.connection import CONFLICT
from kb_store.knowledge_records import EdgeEnd, EdgeRecord, KnowledgeRecord
from kb_store.learned.learned_numbers import LearnedSubject, expected_ms, posterior
from kb_store.learned.memory_learned_store import MemoryLearnedStore
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.server import create_server
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support.arango_loopback import loopback
from tests.support.arango_stores import any_server

WAY = {"type": "transition", "_from": "screen/home", "_to": "screen/cart", "reliability_score": 0.5,
       "cost": {"estimated_ms": 200}, "triggered_by": {"action_type": "click", "target": "#go"}}  # fmt: skip
BACK = {"type": "global_recovery", "_from": "groups/all", "_to": "screen/home", "reliability_score": 0.8,
        "cost": {"estimated_ms": 900}, "triggered_by": {"action_type": "navigate", "url": "/"}}  # fmt: skip


def outcome(number, *, website="shop", about="t", kind="transition", ok=True, ms=None, days=0.0):
    subject = {
        "transition": {"transition_id": about},
        "recovery": {"recovery_id": about},
        "element": {"element": ElementUse(screen_id="home", element_id=about, strategy="css")},
    }[kind]
    return Outcome(
        outcome_id=f"o{number}", website_id=website, succeeded=ok, duration_ms=ms,
        at=datetime.now(UTC) - timedelta(days=days), **subject,
    )  # fmt: skip


async def put_site(graph, generation=1):
    await graph.put_vertices(
        "shop", generation, [KnowledgeRecord("screen_group", "all", {"recovery_priority": "high"})]
    )
    await graph.put_edges(
        "shop", generation,
        [
            EdgeRecord("transition", "t", EdgeEnd("screen", "home"), EdgeEnd("screen", "cart"), WAY),
            EdgeRecord("group_membership", "m", EdgeEnd("screen", "home"), EdgeEnd("screen_group", "all"), {}),
            EdgeRecord("global_recovery", "r", EdgeEnd("screen_group", "all"), EdgeEnd("screen", "home"), BACK),
        ],
    )  # fmt: skip


async def edge_of(graph, collection, generation=1):
    (row,) = await graph.connection.query(
        aql.PAGE, c_collection=collection, website="shop", generation=generation, after="", page=500
    )
    return row


@pytest.fixture(params=["loopback", pytest.param("real", marks=pytest.mark.arangodb)])
def url(request):
    with any_server(request.param) as given_url:
        yield given_url


@pytest.fixture
async def graph(url):
    store = ArangoGraphStore(url)
    await store.prepare()
    yield store
    await store.close()


@pytest.fixture
def server():
    with loopback() as running:
        yield running


@pytest.fixture
async def learned(server):
    store = ArangoGraphStore(server.url())
    await store.prepare()
    yield ArangoLearnedStore(store.connection)
    await store.close()


async def test_a_hundred_writers_over_several_clients_lose_no_count(graph, url):
    stores = [ArangoGraphStore(url) for _ in range(5)]
    writers = [ArangoLearnedStore(each.connection) for each in stores]
    await put_site(graph)
    told = await asyncio.gather(
        *(writers[n % 5].record([outcome(n, ok=n % 4 != 0, ms=100)]) for n in range(100))
    )
    assert all(len(each.counted) == 1 for each in told)
    stats = (await writers[0].transition_stats("shop"))["t"]
    assert (stats.succeeded, stats.failed, stats.seen, stats.timed) == (75, 25, 100, 75)
    assert (await edge_of(graph, "transitions"))["reliability"] == pytest.approx((5 + 75) / 110)
    for store in stores:
        await store.close()


async def test_writers_who_keep_conflicting_lose_no_count(server, learned):
    fault = server.fail("conflict", "PUT", r"/_api/transaction/\d+", times=60)
    await asyncio.gather(*(learned.record([outcome(n)]) for n in range(30)))
    assert fault.struck == 60
    assert (await learned.transition_stats("shop"))["t"].seen == 30


async def test_writers_conflict_by_themselves_and_the_loser_tries_again(server, learned):
    """Without injected faults: the loopback server lets the second of two transactions fail as RocksDB does."""
    await asyncio.gather(*(learned.record([outcome(n)]) for n in range(20)))
    assert (await learned.transition_stats("shop"))["t"].seen == 20
    assert any(status == "aborted" for status, _ in server.server.transactions.values())
    assert CONFLICT == 1200


async def test_an_outcome_sent_twice_or_by_many_at_once_counts_once(graph):
    learned = ArangoLearnedStore(graph.connection)
    assert (await learned.record([outcome(1), outcome(1)])).repeated == ("o1",)
    told = await asyncio.gather(*(learned.record([outcome(2)]) for _ in range(20)))
    assert sum(len(each.counted) for each in told) == 1
    assert (await learned.transition_stats("shop"))["t"].seen == 2
    assert (await learned.record([outcome(1, website="other")])).counted == ("o1",)


@pytest.mark.parametrize("text", [aql.BEGIN_LEARNING, aql.COUNT_OUTCOME, aql.WEIGH_TRANSITIONS, "the commit"])
@pytest.mark.parametrize("trouble", ["lost before", "lost after", "unavailable"])
async def test_an_outcome_whose_answer_was_lost_may_be_sent_again(server, learned, text, trouble):
    graph = ArangoGraphStore(server.url())
    await put_site(graph)
    fault = server.fail_where(
        trouble,
        lambda asked: (
            asked.method == "PUT" if text == "the commit" else (asked.body or {}).get("query") == text
        ),
    )
    with pytest.raises(StoreUnavailable):
        await learned.record([outcome(1)])
    await learned.record([outcome(1)])
    assert fault.struck == 1
    assert (await learned.transition_stats("shop"))["t"].seen == 1
    assert (await edge_of(graph, "transitions"))["reliability"] == pytest.approx(6 / 11)
    await graph.close()


async def test_weights_follow_what_was_observed_and_survive_a_reload(graph):
    learned = ArangoLearnedStore(graph.connection)
    await put_site(graph)
    await learned.record([outcome(n, ok=n < 7, ms=120 + n) for n in range(10)])
    await learned.record([outcome(100 + n, kind="recovery", about="r", ok=False) for n in range(5)])
    await learned.record([outcome(200 + n, kind="recovery", about="r", ms=300) for n in range(6)])
    ways, backs = await learned.transition_stats("shop"), await learned.recovery_stats("shop")
    ms, reliability = expected_ms(200, ways["t"]), posterior(0.5, ways["t"])
    back_ms, back_reliability = expected_ms(900, backs["r"]), posterior(0.8, backs["r"])
    assert (ms, back_ms) == (123, 300)
    await put_site(graph, generation=2)
    for generation in (1, 2):
        edge, back = (
            await edge_of(graph, "transitions", generation),
            await edge_of(graph, "global_recovery", generation),
        )
        assert (edge["expected_ms"], edge["reliability"]) == (pytest.approx(ms), pytest.approx(reliability))
        assert (back["expected_ms"], back["reliability"]) == (
            pytest.approx(back_ms), pytest.approx(back_reliability),
        )  # fmt: skip
        for objective, weight in edge_weights(ms, reliability, back_ms).items():
            assert edge[f"weight_{objective}"] == pytest.approx(weight)


async def test_a_configured_arangodb_learns_beside_its_edges(tmp_path, url):
    """DESIGN 4: what a server of these stores is told is in the weights ArangoDB's paths are sorted by."""
    async with open_stores(tmp_path, arangodb_url=url) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
        async with Client(
            create_server(StoreSource(stores.documents, stores.graph), learned=stores.learned)
        ) as client:
            for number in range(10):
                report = {"outcome_id": f"o{number}", "transition_id": "t_0", "succeeded": number < 1}
                await client.call_tool("record_outcome", {"website_id": "shop", "outcome": report})
        generation = (await stores.documents.active("shop")).generation
        rows = await stores.graph.connection.query(
            aql.PAGE, c_collection="transitions", website="shop", generation=generation, after="", page=500
        )
        (edge,) = (row for row in rows if row["local_id"] == "t_0")
        believed = posterior(0.9, (await stores.learned.transition_stats("shop"))["t_0"])
        assert edge["reliability"] == pytest.approx(believed) == pytest.approx((9 + 1) / 20)
        back = next(iter(knowledge_of().recoveries.values())).expected_ms
        weights = edge_weights(edge["expected_ms"], believed, back)
        assert {name: edge[f"weight_{name}"] for name in weights} == pytest.approx(weights)


async def test_what_was_learned_is_forgotten_only_when_somebody_asks(graph):
    learned = ArangoLearnedStore(graph.connection)
    await put_site(graph)
    before = await learned.revision("shop")
    await learned.record([outcome(1), outcome(2, about="u")])
    after = await learned.revision("shop")
    assert before != after == await learned.revision("shop")
    await graph.drop("shop", [1])
    assert set(await learned.transition_stats("shop")) == {"t", "u"}
    await put_site(graph, generation=2)
    await learned.forget("shop", [LearnedSubject("transition", "t")])
    assert set(await learned.transition_stats("shop")) == {"u"}
    assert (await edge_of(graph, "transitions", 2))["reliability"] == 0.5
    assert await learned.revision("shop") not in {before, after}


_websites = itertools.count()
OUTCOMES = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from(["transition", "recovery", "element"]),
        st.sampled_from(["a", "b"]),
        st.booleans(),
        st.none() | st.floats(0, 86_400_000),
        st.sampled_from([0, 1, 3, 10, 29, 40]),
    ),
    max_size=20,
)


@settings(
    deadline=None, max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(sent=OUTCOMES)
async def test_it_keeps_the_same_numbers_as_the_other_stores(graph, sent):
    website = f"w{next(_websites)}"
    outcomes = [
        outcome(n, website=website, kind=kind, about=about, ok=ok, ms=ms, days=days)
        for n, kind, about, ok, ms, days in sent
    ]
    learned, memory = ArangoLearnedStore(graph.connection), MemoryLearnedStore()
    assert await learned.record(outcomes) == await memory.record(outcomes)
    for ours, theirs in (
        (await learned.transition_stats(website), await memory.transition_stats(website)),
        (await learned.recovery_stats(website), await memory.recovery_stats(website)),
        (await learned.element_stats(website), await memory.element_stats(website)),
    ):
        assert ours.keys() == theirs.keys()
        for name, numbers in ours.items():
            same = theirs[name].model_dump()
            assert {
                field: value if isinstance(value, dict | str) else pytest.approx(value)
                for field, value in numbers.model_dump().items()
            } == same
