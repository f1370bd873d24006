"""What only the MongoDB stores have: validators, a server that goes away, credentials, big documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pymongo
import pytest
from bson import BSON
from hypothesis import given
from hypothesis import strategies as st
from pymongo.errors import OperationFailure, WriteError

from kb_schema import MODELS
from kb_schema.rules import secret_placeholders
from kb_store import (
    StoreError,
    Stores,
    StoreUnavailable,
    load_knowledge,
    open_stores,
    read_knowledge,
    store_status,
)
from kb_store.generation_watch import watch_changes
from kb_store.knowledge_loader import collect
from kb_store.knowledge_reader import salvage_knowledge
from kb_store.knowledge_records import KnowledgeRecord
from kb_store.lease_owners import this_process
from kb_store.mongodb.connection import MongoConnection, parse_url
from kb_store.mongodb.database_schema import DOCUMENTS, EDGES, GENERATIONS, PINS, VERTICES
from kb_store.mongodb.record_codec import MAX_BYTES, RecordTooLarge, decode_body, encode_body
from kb_store.mongodb.validators import document_validator, edge_validator
from kb_store.store_factory import choose_stores
from kb_store.store_setup import initialise
from tests.kb_store.sample_knowledge import knowledge_of, version_of

pytestmark = pytest.mark.mongodb
_SCREEN = {"type": "screen", "schema_version": 2, "website_id": "shop", "screen_id": "bare"}
_ESCAPED_SECRET = json.dumps({**_SCREEN, "name": "{secret:PIN}"}).replace("{secret", "\\u007bsecret")


@pytest.fixture
async def stores(emptied_mongodb_url, tmp_path) -> AsyncIterator[Stores]:
    async with open_stores(tmp_path, mongodb_url=emptied_mongodb_url) as opened:
        yield opened


@pytest.fixture
async def raw(emptied_mongodb_url):
    """The database, as somebody with a shell sees it."""
    async with pymongo.AsyncMongoClient(emptied_mongodb_url) as client:
        yield client.get_default_database()


# -- validators


def _wrong_edits() -> dict[str, tuple[str, dict[str, object]]]:
    return {
        "a wrong type": ("screens", {"$set": {"body.name": 7}}),
        "an unknown field": ("screens", {"$set": {"body.nmae": "typo"}}),
        "a missing id": ("screens", {"$unset": {"body.screen_id": ""}}),
        "an unknown field inside": ("screens", {"$set": {"body.ui_elements.0.selectr": {}}}),
        "an end of an edge that is gone": ("transitions", {"$unset": {"body._from": ""}}),
        "a field beside the body": ("tasks", {"$set": {"note": "mine"}}),
        "no body at all": ("tasks", {"$unset": {"body": ""}}),
    }


@pytest.mark.parametrize("case", _wrong_edits())
async def test_a_hand_that_edits_a_document_to_something_invalid_is_refused(stores, raw, case):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    collection, edit = _wrong_edits()[case]
    document = await raw[collection].find_one({"_id.local_id": {"$ne": "bare"}})
    with pytest.raises(WriteError) as refused:
        await raw[collection].update_one({"_id": document["_id"]}, edit)
    assert refused.value.code == 121


async def test_a_hand_may_edit_a_document_to_something_valid(stores, raw):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    await raw.screens.update_one({"_id.local_id": "bare"}, {"$set": {"body.name": "Renamed"}})
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert knowledge.screens["bare"].name == "Renamed"


@pytest.mark.parametrize(
    "field",
    [{"body": {**_SCREEN, "name": "{secret:PIN}"}}, {"text": _ESCAPED_SECRET}],
    ids=["native", "text"],
)
async def test_a_secret_that_a_hand_wrote_into_a_document_is_found(stores, raw, field):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    found = await raw.screens.find_one({"_id.local_id": "bare"})
    await raw.screens.replace_one({"_id": found["_id"]}, {"_id": found["_id"], **field})
    with pytest.raises(StoreError) as refused:
        await read_knowledge(stores.documents, stores.graph, "shop")
    assert [each.rule for each in refused.value.problems] == ["secret-placeholders"]


async def test_for_secrets_a_read_looks_at_stored_records_and_writes_no_document_as_text(stores, monkeypatch):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())

    def written(document):
        raise AssertionError(document)

    monkeypatch.setattr(secret_placeholders, "may_mention_secret", written)
    knowledge, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert version_of(knowledge)


async def test_all_kinds_are_stored_as_documents_that_can_be_queried(stores, raw):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    for name in (*DOCUMENTS.values(), *VERTICES.values(), *EDGES.values()):
        assert await raw[name].count_documents({"text": {"$exists": True}}) == 0, name
        assert await raw[name].count_documents({"body": {"$exists": True}}) > 0, name
    found = await raw.screens.find_one({"_id.website_id": "shop", "body.url_patterns": "^/screen_1$"})
    assert found["body"]["screen_id"] == "screen_1"


def test_every_kind_has_a_validator_in_mongodbs_dialect():
    kept_out = {"$ref", "$defs", "default", "format", "const", "pattern", "type", "discriminator"}

    def keywords(schema):
        for key, value in schema.items():
            yield key
            if key == "properties":
                for inner in value.values():
                    yield from keywords(inner)
            elif isinstance(value, dict):
                yield from keywords(value)

    for kind in MODELS:
        validator = (edge_validator if kind in EDGES else document_validator)(kind)["$jsonSchema"]
        assert not kept_out & set(keywords(validator)), kind
        assert validator["properties"]["body"]["additionalProperties"] is False, kind


# -- what got in anyway


async def test_what_got_in_past_the_validator_is_named_and_the_rest_is_served(stores, raw):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    unvalidated = raw.screens
    await unvalidated.update_one(
        {"_id.local_id": "screen_1"}, {"$set": {"body.name": 7}}, bypass_document_validation=True
    )
    with pytest.raises(StoreError, match="screen/screen_1"):
        await read_knowledge(stores.documents, stores.graph, "shop")
    found = await salvage_knowledge(stores.documents, stores.graph, "shop")
    assert "screen_1" not in found.knowledge.screens
    assert {"screen_0", "screen_2", "screen_3", "bare"} == set(found.knowledge.screens)
    assert {"t_2", "t_3"} == set(found.knowledge.transitions)
    assert any(problem.source == "screen/screen_1" for problem in found.problems)


@pytest.mark.parametrize(
    "document",
    [
        {"body": None}, {"body": [1]}, {"text": "{"}, {"text": 7}, {}, {"body": {"type": "screen"}},
        {"body": {"type": "task", "task_id": "x", "steps": []}}, {"body": {"metadata": {"at": b"\x00"}}},
    ],
    ids=str,
)  # fmt: skip
async def test_whatever_a_hand_leaves_in_a_document_costs_that_document_only(stores, raw, document):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    for name in ("screens", "transitions"):
        await raw.command("collMod", name, validator={})
    for name, local_id in (("screens", "bare"), ("transitions", "t_0")):
        key = (await raw[name].find_one({"_id.local_id": local_id}))["_id"]
        await raw[name].replace_one({"_id": key}, document)
    found = await salvage_knowledge(stores.documents, stores.graph, "shop")
    assert "bare" not in found.knowledge.screens
    assert "t_0" not in found.knowledge.transitions
    assert "screen_0" in found.knowledge.screens
    assert {"screen/bare", "transition/t_0"} <= {problem.source for problem in found.problems}


async def test_a_website_document_that_was_spoilt_loses_the_spoilt_field_only(stores, raw):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    await raw.websites.update_one({}, {"$set": {"body.metadata": 7}}, bypass_document_validation=True)
    found = await salvage_knowledge(stores.documents, stores.graph, "shop")
    assert found.knowledge.website.name == "old"
    assert len(found.knowledge.screens) == 5
    assert "website/shop" in {problem.source for problem in found.problems}


async def test_documents_that_were_deleted_by_hand_are_told_and_the_rest_is_served(stores, raw):
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    await raw.screens.delete_one({"_id.local_id": "bare"})
    found = await salvage_knowledge(stores.documents, stores.graph, "shop")
    assert "4 of 5 screen" in found.problems[0].message
    assert len(found.knowledge.screens) == 4


# -- making and finding


async def test_initialising_says_what_it_made_and_then_that_it_found_it(mongodb_url, tmp_path):
    stores = choose_stores(tmp_path, mongodb_url=mongodb_url)
    made = [*await initialise(stores.documents), *await initialise(stores.graph)]
    assert {each.outcome for each in made} == {"made"}
    expected = {*DOCUMENTS.values(), *VERTICES.values(), *EDGES.values(), GENERATIONS, PINS}
    async with pymongo.AsyncMongoClient(mongodb_url) as client:
        there = set(await client.get_default_database().list_collection_names())
    assert {each.name for each in made} == expected == there
    again = [*await initialise(stores.documents), *await initialise(stores.graph)]
    assert {each.outcome for each in again} == {"found"}
    await stores.close()


async def test_initialising_mends_validators_and_indexes_that_were_changed(stores, raw):
    await raw.command("collMod", "screens", validator={}, validationAction="warn")
    await raw.tasks.drop_index("record")
    status = await store_status(stores.documents, stores.graph)
    assert "indexes missing: tasks.record" in status.documents.detail
    assert "kb init" in status.documents.detail
    mended = {each.name for each in await initialise(stores.documents) if each.outcome == "mended"}
    assert mended == {"screens", "tasks"}
    assert "indexes complete" in (await store_status(stores.documents, stores.graph)).documents.detail


async def test_records_are_indexed_by_website_and_id_and_screens_by_address(stores, raw):
    await initialise(stores.documents)
    for name in DOCUMENTS.values():
        keys = [
            [field for field, _ in each["key"]] for each in (await raw[name].index_information()).values()
        ]
        assert ["_id.website_id", "_id.generation", "_id.local_id"] in keys, name
        assert (["_id.website_id", "_id.generation", "body.url_patterns"] in keys) is (name == "screens")


async def test_many_processes_may_prepare_at_the_same_time(mongodb_url, tmp_path):
    async def opened() -> None:
        async with open_stores(tmp_path, mongodb_url=mongodb_url):
            pass

    await asyncio.gather(*(opened() for _ in range(5)))


async def test_pins_that_ran_out_are_deleted_by_the_server(stores, raw):
    indexes = await raw[PINS].index_information()
    assert indexes["expires"]["expireAfterSeconds"] == 60
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    pin = await stores.documents.pin("shop", ttl=-1)
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
    assert pin.generation not in await stores.documents.in_use("shop")


async def test_a_lease_that_ran_out_is_free_by_the_servers_clock(stores):
    late = await stores.documents.begin("shop", this_process(), ttl=-1)
    assert await stores.documents.holder("shop") is None
    quick = await stores.documents.begin("shop", this_process(), ttl=30)
    assert quick.generation > late.generation


async def test_collecting_leaves_nothing_of_what_nobody_uses(stores, raw):
    lease = await stores.documents.begin("shop", this_process(), ttl=30)
    await stores.documents.put(
        lease, [KnowledgeRecord("screen", "lost", {"name": "lost", "screen_id": "lost"})]
    )
    await stores.documents.release(lease)
    assert await collect(stores.documents, stores.graph, "shop") == (lease.generation,)
    for name in (*DOCUMENTS.values(), *VERTICES.values(), *EDGES.values(), PINS):
        assert await raw[name].count_documents({}) == 0, name


# -- bodies

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=20,
)


@given(
    st.dictionaries(
        st.text(max_size=5) | st.sampled_from(["$ref", "$where", "a.b", "_id", "\0"]), _JSON, max_size=4
    )
)
def test_any_json_survives_being_stored(body):
    stored = BSON.encode({"_id": 1, **encode_body(body)}).decode()
    assert decode_body(stored) == body


@pytest.mark.parametrize(
    "metadata",
    [{"$where": "sleep(1)"}, {"a.b": 1}, {"$ref": "x", "$id": 1}, {"\0": 1}, {"n": 2**64}, {"": {"$gt": ""}}],
    ids=str,
)
async def test_hostile_keys_in_knowledge_are_stored_and_returned_as_they_are(stores, metadata):
    body = {"type": "screen", "screen_id": "x", "name": "X", "metadata": metadata}
    lease = await stores.documents.begin("shop", this_process(), ttl=30)
    await stores.documents.put(lease, [KnowledgeRecord("screen", "x", body)])
    (found,) = [record async for record in stores.documents.records("shop", lease.generation)]
    assert found.body == body


@pytest.mark.parametrize("website_id", ["$where", "$$NOW", "a.b", "{'$ne': 1}", "\0", "é", "x" * 10_000])
async def test_hostile_names_of_websites_mean_nothing_to_the_server(stores, website_id):
    lease = await stores.documents.begin(website_id, this_process(), ttl=30)
    await stores.documents.put(lease, [KnowledgeRecord("screen", website_id, {"a": website_id})])
    holder = await stores.documents.holder(website_id)
    assert holder.token == lease.token
    assert await stores.documents.generations(website_id) == {lease.generation}
    assert await stores.documents.generations("shop") == frozenset()


async def test_a_document_beyond_mongodbs_limit_is_refused_by_name(stores):
    lease = await stores.documents.begin("shop", this_process(), ttl=30)
    with pytest.raises(RecordTooLarge, match=r"screen/huge has 17\.\d MB") as refused:
        await stores.documents.put(lease, [KnowledgeRecord("screen", "huge", {"text": "x" * 17_000_000})])
    assert refused.value.size > MAX_BYTES
    assert await stores.documents.count("shop", lease.generation) == {}


# -- addresses


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mongodb://h", "mongodb://h/periplus"),
        ("mongodb://u:hunter2@h:1,g:2/kb?replicaSet=rs0", "mongodb://h:1,g:2/kb"),
        ("mongodb+srv://u:hunter2@c.example.net/?w=majority", "mongodb+srv://c.example.net/periplus"),
        ("mongodb://u:hunter2@[::1]:27017/kb", "mongodb://[::1]:27017/kb"),
    ],
)
def test_addresses_have_no_credentials(url, address):
    assert parse_url(url)[0] == address
    assert "hunter2" not in repr(MongoConnection(url))


@pytest.mark.parametrize(
    "url",
    [
        "hunter2",
        "mongodb://u:hun/ter2@h/kb",
        "mongodb://u:p@hunter2@h",
        "mongodb://u:a?hunter2@h",
        "http://hunter2",
    ],
)
def test_a_url_that_cannot_be_read_is_not_shown(url):
    with pytest.raises(StoreUnavailable, match="percent-encoded") as refused:
        parse_url(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("url", ["mongodb://u:hunter2@h:99999/kb", "mongodb://u:hunter2@h/kb?w=hunter2&x"])
async def test_what_the_driver_says_about_a_url_is_not_passed_on(url, tmp_path):
    with pytest.raises(StoreError) as refused:
        async with open_stores(tmp_path, mongodb_url=url):
            pass
    assert "hunter2" not in f"{refused.value!r} {refused.value} {refused.value.__cause__}"


async def test_a_server_that_is_not_there_is_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("kb_store.mongodb.connection.SELECTION_SECONDS", 0.1)
    with pytest.raises(StoreUnavailable, match="start MongoDB or correct PERIPLUS_MONGODB_URL") as caught:
        async with open_stores(tmp_path, mongodb_url="mongodb://u:hunter2@127.0.0.1:1/kb"):
            pass
    assert caught.value.address == "mongodb://127.0.0.1:1/kb"
    assert caught.value.retriable
    assert "hunter2" not in str(caught.value)
    stores = choose_stores(tmp_path, mongodb_url="mongodb://u:hunter2@127.0.0.1:1/kb")
    status = await store_status(stores.documents, stores.graph)
    assert not status.healthy
    assert "hunter2" not in repr(status)
    await stores.close()


async def test_a_server_without_a_replica_set_is_told_how_to_get_one(stores, monkeypatch):
    async def refused(*_args, **_options):
        raise OperationFailure("Transaction numbers are only allowed on a replica set member or mongos", 20)

    monkeypatch.setattr("pymongo.asynchronous.collection.AsyncCollection.insert_many", refused)
    with pytest.raises(StoreUnavailable, match="--replSet") as caught:
        await load_knowledge(stores.documents, stores.graph, knowledge_of())
    assert not caught.value.retriable


# -- changes

PATIENCE = 60
"""Seconds until what is to be told is taken to be never told, on however busy a machine."""


async def test_a_commit_is_told_by_the_change_stream(stores):
    """How soon is measured by `benchmarks.bench_notice`."""
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    told = watch_changes(stores.documents)
    assert await asyncio.wait_for(anext(told), PATIENCE) == "shop"
    for website_id in ("other", "shop"):
        following = asyncio.create_task(anext(told))
        report = load_knowledge(stores.documents, stores.graph, knowledge_of(website_id, version="new"))
        await report
        assert await asyncio.wait_for(following, PATIENCE) == website_id
    await told.aclose()


async def test_readers_see_what_another_client_loaded_at_once(emptied_mongodb_url, tmp_path, stores):
    async with open_stores(tmp_path, mongodb_url=emptied_mongodb_url) as theirs:
        for version in ("old", "new"):
            await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version))
            assert version_of((await read_knowledge(theirs.documents, theirs.graph, "shop"))[0]) == version
