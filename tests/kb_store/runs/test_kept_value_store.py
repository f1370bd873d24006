"""Values of global scope keep the same promises in every store: one of a name, per person, capped, for a time."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from kb_schema.kept_values import KeptValue
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.kept_value_store import MongoKeptValueStore
from kb_store.mongodb.run_store import MongoRunStore
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.kept_value_store import SqliteKeptValueStore
from kb_store.sqlite.run_store import SqliteRunStore


@pytest.fixture
def clock():
    return [time.time()]


@pytest.fixture(params=["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def kept(request, clock, tmp_path):
    """A store that keeps three values of a person."""
    if request.param == "embedded":
        database = SqliteDatabase(tmp_path / "knowledge.sqlite3")
        store, values = SqliteRunStore(database), SqliteKeptValueStore(database, lambda: clock[0], most=3)
    else:
        connection = MongoConnection(request.getfixturevalue("emptied_mongodb_url"))
        store, values = MongoRunStore(connection), MongoKeptValueStore(connection, lambda: clock[0], most=3)
    try:
        await store.prepare()
        yield values
    finally:
        await store.close()


BEGAN = datetime(2026, 3, 1, tzinfo=UTC)


def _value(name, value, *, person="ada", minutes=0):
    at = BEGAN + timedelta(minutes=minutes)
    return KeptValue(website_id="harbour", person=person, name=name, value=value, task_id="moor", kept_at=at)


async def test_the_last_value_of_a_name_is_kept_per_person_with_its_time(kept):
    hard = {"$set": {"a.b": [1, None, "\u0000"]}, "": True}
    await kept.keep([_value("berth", 3), _value("other", hard)], keep_s=60)
    await kept.keep([_value("berth", 4, minutes=1), _value("berth", 9, person="bob")], keep_s=60)
    assert await kept.kept("harbour", "ada") == [_value("berth", 4, minutes=1), _value("other", hard)]
    assert [each.value for each in await kept.kept("harbour", "bob")] == [9]
    assert await kept.kept("harbour", "") == []
    assert await kept.kept("elsewhere", "ada") == []


async def test_those_kept_longest_ago_are_dropped_beyond_the_cap(kept):
    await kept.keep([_value(name, 1, minutes=at) for at, name in enumerate("abcd")], keep_s=60)
    await kept.keep([_value("b", 2, minutes=9), _value("e", 1, minutes=8)], keep_s=60)
    assert [each.name for each in await kept.kept("harbour", "ada")] == ["b", "d", "e"]


async def test_they_are_over_after_their_time(kept, clock):
    await kept.keep([_value("short", 1)], keep_s=60)
    await kept.keep([_value("long", 1)], keep_s=600)
    clock[0] += 61
    assert [each.name for each in await kept.kept("harbour", "ada")] == ["long"]


async def test_many_at_once_leave_one_of_a_name(kept):
    await asyncio.gather(*(kept.keep([_value("x", number)], keep_s=60) for number in range(10)))
    (found,) = await kept.kept("harbour", "ada")
    assert found.value in range(10)
