"""What only the ArangoDB adapter must do: beyond the conformance suite, mostly when things go wrong.

Everything here runs against the loopback server of `tests/support/arango_loopback`; what does not
need faults also runs against a real one where `PERIPLUS_ARANGODB_URL` names it.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import traceback

import pytest

from kb_schema.edge_weights import edge_weights
from kb_schema.graph_documents import PRIORITY_OF_GROUP
from kb_store import StoreCorrupt, StoreUnavailable, load_knowledge, open_stores, read_knowledge
from kb_store.arangodb import ArangoAddress, ArangoGraphStore, aql
from kb_store.arangodb.database_schema import COLLECTIONS, GRAPHS
from kb_store.arangodb.document_keys import key_of, learned_key, local_id_of, sort_key
from kb_store.arangodb.record_codec import is_plain
from kb_store.knowledge_records import EdgeEnd, EdgeRecord, KnowledgeRecord
from tests.kb_store.sample_knowledge import documents_of, knowledge_of, version_of
from tests.support.arango_loopback import PASSWORD, USER, Loopback, engine, free_port, loopback
from tests.support.arango_stores import any_server

HOSTILE = (
    "O'Brien", '"; DROP', "{'$where': 'sleep(1)'}", "x RETURN y //", "@website", "../../etc/passwd", "a/b", "\u0000 \u0000",
    "\u2028", "🚀 é ﷽", "a" * 1_000_000, "%2F {x}", "\\", "\r\n", "", " ", "_key", "\ud800", "A", "a", "ä", "=",
)  # fmt: skip


@pytest.fixture(params=["loopback", pytest.param("real", marks=pytest.mark.arangodb)])
async def graph(request):
    with any_server(request.param) as url:
        store = ArangoGraphStore(url)
        await store.prepare()
        yield store
        await store.close()


@pytest.fixture
def server():
    with loopback() as running:
        yield running


@pytest.fixture
async def on_loopback(server):
    store = ArangoGraphStore(server.url())
    await store.prepare()
    yield store
    await store.close()


def transition(name="t", source="home", target="cart", **body):
    return EdgeRecord("transition", name, EdgeEnd("screen", source), EdgeEnd("screen", target), body)


async def rows_of(store, collection, generation=1):
    return await store.connection.query(
        aql.PAGE, c_collection=collection, website="shop", generation=generation, after="", page=500
    )


# -- what is created


async def test_everything_is_created_once_however_many_prepare_at_once(server):
    stores = [ArangoGraphStore(server.url()) for _ in range(8)]
    await asyncio.gather(*(store.prepare() for store in stores))
    await asyncio.gather(*(store.close() for store in stores))
    database = server.server.databases["periplus"]
    assert set(database.collections) == {each.name for each in COLLECTIONS}
    assert set(database.graphs) == {"navigation", "group_membership", "global_recovery", "task_composition"}
    for wanted in COLLECTIONS:
        made = database.collections[wanted.name]
        assert (made.edge, made.schema) == (wanted.edge, wanted.schema)
        assert set(made.indexes) == {index.name for index in wanted.indexes}
    assert {each.edges for each in GRAPHS} < set(database.collections)


async def test_an_older_validator_is_replaced(server, on_loopback):
    screens = server.server.databases["periplus"].collections["screens"]
    newest, screens.schema = screens.schema, {"rule": {}, "level": "none", "message": "old"}
    await on_loopback.prepare()
    assert screens.schema == newest


async def test_a_document_edited_by_hand_to_something_invalid_is_refused(graph):
    await graph.put_edges("shop", 1, [transition()])
    (row,) = await rows_of(graph, "transitions")
    bad = {name: value for name, value in row.items() if name not in {"_id", "_rev", "weight_balanced"}}

    def edit(db):
        db.collection("transitions").insert_many(
            [bad], overwrite_mode="replace", raise_on_document_error=True
        )

    with pytest.raises(StoreCorrupt, match="not a document that Periplus would write to transitions"):
        await graph.connection.run(edit)
    assert await rows_of(graph, "transitions") == [row]


async def test_a_document_of_another_hand_is_named(server, on_loopback):
    await on_loopback.put_vertices("shop", 1, [KnowledgeRecord("screen", "home", {})])
    rows = server.server.databases["periplus"].collections["screens"].rows
    del rows[key_of("shop", 1, "home")]["body"]
    with pytest.raises(StoreCorrupt, match="document screens/1:shop:home"):
        [vertex async for vertex in on_loopback.vertices("shop", 1)]


# -- what is kept


async def test_any_text_in_any_field_comes_back(graph):
    for generation, text in enumerate(HOSTILE, 1):
        await _assert_comes_back(graph, generation, text)


async def _assert_comes_back(graph, generation, text):
    body = {
        "text": text,
        text[:300]: [{text[:300]: text}],
        "n": 2**64 + 1,
        "f": -0.5,
        "deep": {"_from": text},
    }
    name = text[:200]
    vertices = [KnowledgeRecord("screen", name, body), KnowledgeRecord("screen", f"{name}.", {"plain": 1})]
    edges = [
        EdgeRecord("transition", name, EdgeEnd("screen", name), EdgeEnd("screen", f"{name}."), body),
        EdgeRecord("action_trigger", name, EdgeEnd("action", name), EdgeEnd("transition", name), body),
    ]
    # A website's id is no free text; where it cannot even be UTF-8 nothing can be asked about it.
    for website in ("shop",) if "\ud800" in name else ("shop", f"shop{name}"):
        await graph.put_vertices(website, generation, vertices)
        await graph.put_edges(website, generation, edges)
        assert [v async for v in graph.vertices(website, generation)] == vertices
        found = [e async for e in graph.edges(website, generation)]
        assert sorted(found, key=lambda e: e.kind) == sorted(edges, key=lambda e: e.kind)


async def test_records_come_in_the_order_of_python_however_many_there_are(graph):
    names = [f"s{number:04}" for number in range(1_203)] + ["Z", "a-b", "ab", "a_b", "B", "é", "z"]
    await graph.put_vertices("shop", 1, [KnowledgeRecord("screen", name, {}) for name in reversed(names)])
    assert [v.local_id async for v in graph.vertices("shop", 1)] == sorted(names)


def test_keys_are_allowed_and_never_the_same_for_two_records():
    names = [*HOSTILE, "a.b", "a:b", "a" * 200, "a" * 201, "=x"]
    keys = {
        key_of(website, generation, name) for website in names for generation in (1, 11) for name in names
    }
    assert len(keys) == 2 * len(names) ** 2
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@()+,=;$!*'%:")
    assert all(set(key) <= allowed and 1 <= len(key.encode()) <= 254 for key in keys)
    assert all(local_id_of(sort_key(name)) == name for name in names)
    assert learned_key("shop", "transition", "t") != learned_key("shop", "recovery", "t")


def test_what_the_server_would_change_is_not_called_plain():
    assert is_plain({"a": [1, -(2**63) + 1, 0.5, None, True, "é\n", {"b": {}}]})
    nested: object = 1
    for _ in range(100):
        nested = [nested]
    for value in ("\0", "\udfff", {"": 1}, {"a\0": 1}, {"a" * 300: 1}, 2**63, float("nan"), nested, object()):
        assert not is_plain(value), value


# -- numbers for the path search


@pytest.mark.parametrize("batch", [1, 500])
async def test_every_way_has_its_weights_whatever_order_it_is_written_in(graph, batch):
    way = {
        "type": "transition",
        "triggered_by": {"action_type": "click", "target": "go"},
        "reliability_score": 0.5,
    }
    back = {"type": "global_recovery", "triggered_by": {"action_type": "navigate", "url": "/"}}
    quick = back | {"cost": {"estimated_ms": 100}, "_from": "groups/low", "_to": "screen/home"}
    slow = back | {"cost": {"estimated_ms": 900}, "_from": "groups/high", "_to": "screen/home"}
    edges = [
        transition(
            "t", **way | {"_from": "screen/home", "_to": "screen/cart", "cost": {"estimated_ms": 200}}
        ),
        transition("u", "cart", "home", **way | {"_from": "screen/cart", "_to": "screen/home"}),
        EdgeRecord("group_membership", "m1", EdgeEnd("screen", "home"), EdgeEnd("screen_group", "low"), {}),
        EdgeRecord("group_membership", "m2", EdgeEnd("screen", "home"), EdgeEnd("screen_group", "high"), {}),
        EdgeRecord("global_recovery", "r1", EdgeEnd("screen_group", "low"), EdgeEnd("screen", "home"), quick),
        EdgeRecord("global_recovery", "r2", EdgeEnd("screen_group", "high"), EdgeEnd("screen", "home"), slow),
    ]
    groups = [
        KnowledgeRecord("screen_group", name, {"recovery_priority": name}) for name in PRIORITY_OF_GROUP
    ]
    for generation, order in ((1, edges), (2, edges[::-1])):
        await graph.put_vertices("shop", generation, groups)
        for start in range(0, len(order), batch):
            await graph.put_edges("shop", generation, order[start : start + batch])
    found = {
        (generation, row["local_id"]): row
        for generation in (1, 2)
        for row in await rows_of(graph, "transitions", generation)
    }
    for generation in (1, 2):
        assert found[generation, "t"]["weight_balanced"] == pytest.approx(
            edge_weights(200, 0.5, 900)["balanced"]
        )
        assert found[generation, "u"]["weight_balanced"] == pytest.approx(
            edge_weights(1_000, 0.5)["balanced"]
        )
    assert {row["local_id"]: row["recovery_priority"] for row in await rows_of(graph, "global_recovery")} == {
        "r1": 4, "r2": 1,
    }  # fmt: skip


# -- when things go wrong


async def test_a_batch_of_which_one_record_is_refused_leaves_nothing(server, on_loopback):
    good, bad = KnowledgeRecord("screen", "good", {}), KnowledgeRecord("screen", "bad", {})
    screens = server.server.databases["periplus"].collections["screens"]
    screens.schema = {**screens.schema, "rule": {"properties": {"local_id": {"enum": ["good"]}}}}
    with pytest.raises(StoreCorrupt, match="refused a document"):
        await on_loopback.put_vertices("shop", 1, [KnowledgeRecord("task", "first", {}), good, bad])
    assert await on_loopback.count("shop", 1) == ({}, {})
    assert {status for status, _ in server.server.transactions.values()} == {"aborted"}


@pytest.mark.parametrize(
    ("method", "path", "trouble"),
    [
        ("POST", "/_api/document/.*", "conflict"),
        ("POST", "/_api/document/.*", "conflict within"),
        ("POST", "/_api/cursor", "conflict"),
        ("PUT", r"/_api/transaction/\d+", "conflict"),
    ],
)
async def test_a_write_that_conflicts_is_sent_again_and_written_once(
    server, on_loopback, method, path, trouble
):
    fault = server.fail(trouble, method, path, times=3)
    await on_loopback.put_edges("shop", 1, [transition(), transition("u")])
    assert fault.struck == 3
    assert await on_loopback.count("shop", 1) == ({}, {"transition": 2})
    assert "running" not in {status for status, _ in server.server.transactions.values()}


async def test_a_write_that_always_conflicts_is_given_up_with_a_clear_error(server, on_loopback):
    server.fail("conflict", "POST", "/_api/document/screens", times=1_000)
    with pytest.raises(StoreUnavailable, match="other writers were faster") as caught:
        await on_loopback.put_vertices("shop", 1, [KnowledgeRecord("screen", "home", {})])
    assert caught.value.retriable
    assert await on_loopback.count("shop", 1) == ({}, {})


WRITES = ["/_api/transaction/begin", "/_api/document/.*", "/_api/cursor", r"/_api/transaction/\d+"]


@pytest.mark.parametrize("trouble", ["lost after", "lost before", "unavailable"])
@pytest.mark.parametrize("path", WRITES)
async def test_a_lost_answer_is_an_error_and_nothing_is_sent_twice(server, on_loopback, path, trouble):
    before = len(server.requests)
    fault = server.fail(trouble, "PUT" if path.endswith("d+") else "POST", path)
    with pytest.raises(StoreUnavailable) as caught:
        await on_loopback.put_edges("shop", 1, [transition()])
    assert fault.struck == 1
    asked = [(r.method, r.path, str(r.body)) for r in server.requests[before:]]
    assert len(asked) == len(set(asked)), "something was sent twice"
    assert caught.value.retriable
    assert "try again" in str(caught.value)
    await on_loopback.put_edges("shop", 1, [transition()])
    assert await on_loopback.count("shop", 1) == ({}, {"transition": 1})


async def test_a_dropped_generation_may_be_dropped_again_after_a_lost_answer(server, on_loopback):
    for generation in (1, 2):
        await on_loopback.put_edges("shop", generation, [transition()])
    server.fail_where("lost after", lambda asked: (asked.body or {}).get("query") == aql.DROP)
    with pytest.raises(StoreUnavailable):
        await on_loopback.drop("shop", [1])
    await on_loopback.drop("shop", [1])
    assert await on_loopback.generations("shop") == {2}


async def test_a_server_that_is_not_there_is_named_with_what_to_do():
    store = ArangoGraphStore(f"http://me:topsecret@127.0.0.1:{free_port()}/shop")
    with pytest.raises(StoreUnavailable, match="start ArangoDB there") as caught:
        await store.prepare()
    assert store.address in str(caught.value)
    health = await store.health()
    assert not health.ok
    assert "topsecret" not in "".join(traceback.format_exception(caught.value)) + health.detail
    await store.close()


async def test_credentials_are_never_told(server, on_loopback):
    told = [repr(on_loopback.connection.where), on_loopback.address, (await on_loopback.health()).detail]
    for url in (
        server.url(password="wrong/secret"),
        server.url(user="wrong/secret"),
        f"http://me:wrong/secret@127.0.0.1:{server.port}",
        "arango://me:wrong%2Fsecret@host/db",
        "http://me:wrong%2Fsecret@host:eighty/db",
    ):
        with pytest.raises(StoreUnavailable) as caught:
            await ArangoGraphStore(url).prepare()
        told += [*traceback.format_exception(caught.value), str(caught.value), repr(vars(caught.value))]
    server.fail("unavailable", "POST", ".*")
    with pytest.raises(StoreUnavailable) as caught:
        await on_loopback.put_vertices("shop", 1, [KnowledgeRecord("screen", "home", {})])
    told += [*traceback.format_exception(caught.value), str(caught.value)]
    text = "".join(told)
    assert "wrong/secret" not in text
    assert "wrong%2Fsecret" not in text.replace(inspect.getsource(test_credentials_are_never_told), "")
    assert PASSWORD not in text
    assert "127.0.0.1" in text


async def test_wrong_credentials_say_what_to_mend(server):
    store = ArangoGraphStore(server.url(password="wrong"))
    with pytest.raises(StoreUnavailable, match="refused the user or password -> mend PERIPLUS_ARANGODB_URL"):
        await store.prepare()
    await store.close()


async def test_a_database_that_was_never_set_up_says_so(server):
    store = ArangoGraphStore(server.url("nothing"))
    health = await store.health()
    assert not health.ok
    assert "periplus kb init" in health.detail
    with pytest.raises(StoreUnavailable, match="periplus kb init"):
        await store.count("shop", 1)
    await store.close()


async def test_the_store_recovers_by_itself_when_the_server_is_back(server, on_loopback):
    await on_loopback.put_vertices("shop", 1, [KnowledgeRecord("screen", "home", {})])
    server.fail("lost before", "POST", "/_api/cursor", times=2)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await on_loopback.count("shop", 1)
    assert await on_loopback.count("shop", 1) == ({"screen": 1}, {})


def test_a_url_is_taken_apart_and_put_together_without_credentials():
    address = ArangoAddress.of("https://a%40b:p%2Fw@db.example:1234/team")
    assert (address.host, address.database) == ("https://db.example:1234", "team")
    assert (address.user, address.password) == ("a@b", "p/w")
    assert str(address) == "https://db.example:1234/team"
    assert str(ArangoAddress.of("http://[::1]")) == "http://[::1]:8529/periplus"
    assert ArangoAddress.of("http://host").user == USER


# -- crashes


@pytest.mark.parametrize("shares", [10, pytest.param(10_000, marks=pytest.mark.nightly)], ids=["ten", "all"])
async def test_a_load_that_loses_the_server_at_any_request_leaves_whole_knowledge(tmp_path, server, shares):
    """From each of these requests on the server answers nothing, before or after having done it."""
    async with open_stores(tmp_path, arangodb_url=server.url()) as stores:

        async def load(version):
            return await load_knowledge(
                stores.documents, stores.graph, knowledge_of(version=version), batch=9
            )

        async def version_read():
            return version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0])

        await load("old")
        before = len(server.requests)
        await load("old")
        requests = len(server.requests) - before
        assert requests > 50
        for point in range(0, requests, max(1, requests // shares)):
            trouble = "lost after" if point % 2 else "lost before"
            server.fail_where(trouble, lambda _: True, after=point, times=10_000)
            with contextlib.suppress(StoreUnavailable):
                await load("new")
            server.heal()
            assert await version_read() in {"old", "new"}
            report = await load("old")
            assert await version_read() == "old"
            assert await stores.graph.generations("shop") == {report.generation}


# -- the texts


def test_every_text_is_a_constant_with_its_page_and_binds_every_value():
    source = inspect.getsource(aql)
    constants = {name: text for name, text in vars(aql).items() if name.isupper()}
    assert set(constants.values()) == engine.known_texts()
    assert len(set(constants.values())) == len(constants)
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, ast.JoinedStr | ast.BinOp | ast.Call), "a text put together"


@pytest.mark.arangodb
@pytest.mark.parametrize("name", sorted(name for name in vars(aql) if name.isupper()))
async def test_a_real_server_can_parse_every_text(name):
    with any_server("real") as url:
        store = ArangoGraphStore(url)
        await store.prepare()
        parsed = await store.connection.run(lambda db: db.aql.validate(getattr(aql, name)))
        assert parsed["parsed"]
        await store.close()


async def test_the_loopback_server_refuses_what_is_not_documented():
    with contextlib.closing(Loopback()) as running:
        store = ArangoGraphStore(running.url())
        try:
            await store.prepare()
            with pytest.raises(StoreCorrupt, match="does not have"):
                await store.connection.query("RETURN 1")
            with pytest.raises(StoreCorrupt, match="not declared"):
                await store.connection.query(aql.TICKETS, c_revisions="learned_revisions", key="a", surplus=1)
            with pytest.raises(StoreCorrupt, match="no value specified"):
                await store.connection.query(aql.TICKETS, c_revisions="learned_revisions")
            with pytest.raises(StoreCorrupt, match="no such endpoint"):
                await store.connection.run(lambda db: db.engine())
        finally:
            await store.close()
    assert len(running.server.violations) == 4


def test_the_sample_has_every_kind_of_edge():
    assert {"composes", "triggers", "global_recovery", "belongs_to", "transition"} < {
        document["type"] for document in documents_of()
    }
