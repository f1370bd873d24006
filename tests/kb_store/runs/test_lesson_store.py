"""The memory of failures keeps the same promises in every store: counts, order, caps, time."""

from __future__ import annotations

import asyncio
import time

import pytest

from kb_schema.lessons import LESSON_TTL_S, MAX_LESSONS, LessonKey
from kb_store.mongodb.connection import MongoConnection
from kb_store.mongodb.run_store import MongoRunStore
from kb_store.sqlite.database import SqliteDatabase
from kb_store.sqlite.run_store import SqliteRunStore


class Clock:
    """Seconds that pass when told to. It begins at the real time: MongoDB deletes by its own."""

    def __init__(self):
        self.now = time.time()

    def __call__(self):
        self.now += 0.01
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def memory(request, clock, tmp_path):
    if request.param == "embedded":
        store = SqliteRunStore(SqliteDatabase(tmp_path / "knowledge.sqlite3"), now=clock)
    else:
        store = MongoRunStore(MongoConnection(request.getfixturevalue("emptied_mongodb_url")), now=clock)
    try:
        await store.prepare()
        yield store.memory
    finally:
        await store.close()


def key(approach="authored", **fields):
    known = {"website_id": "harbour", "screen_id": "quay", "task_id": "moor", "step_id": "go"}
    return LessonKey.model_validate({**known, "approach": approach, **fields})


async def test_what_worked_and_what_failed_is_counted_with_its_last_time(memory):
    for worked in (False, True, True):
        await memory.learn(key("other_path: a"), worked=worked, error=None if worked else "not_found")
    (lesson,) = await memory.lessons("harbour", "quay", "moor")
    assert (lesson.worked, lesson.failed, lesson.error, lesson.worked_last) == (2, 1, "not_found", True)
    await memory.learn(key("other_path: a"), worked=False, error="timeout")
    (lesson,) = await memory.lessons("harbour", "quay", "moor")
    assert (lesson.failed, lesson.error, lesson.worked_last) == (2, "timeout", False)


async def test_screens_tasks_and_sites_are_kept_apart_and_the_last_used_comes_first(memory):
    for each in (
        key("b"),
        key("a"),
        key("x", screen_id="-"),
        key("x", task_id="other"),
        key("x", website_id="w"),
    ):
        await memory.learn(each, worked=True)
    assert [each.approach for each in await memory.lessons("harbour", "quay", "moor")] == ["a", "b"]
    await memory.learn(key("b"), worked=False)
    assert [each.approach for each in await memory.lessons("harbour", "quay", "moor")] == ["b", "a"]


async def test_a_task_on_a_screen_has_no_more_lessons_than_the_cap(memory):
    for number in range(MAX_LESSONS + 5):
        await memory.learn(key(f"plan {number}"), worked=True)
    await memory.learn(key("elsewhere", screen_id="-"), worked=True)
    kept = [each.approach for each in await memory.lessons("harbour", "quay", "moor")]
    assert kept == [f"plan {number}" for number in range(MAX_LESSONS + 4, 4, -1)]


async def test_lessons_are_over_after_their_time_which_every_use_renews(memory, clock):
    await memory.learn(key("old"), worked=True)
    await memory.learn(key("used"), worked=True)
    clock.now += LESSON_TTL_S - 60
    await memory.learn(key("used"), worked=True)
    clock.now += 61
    assert [each.approach for each in await memory.lessons("harbour", "quay", "moor")] == ["used"]


async def test_no_count_is_lost_between_writers(memory):
    await asyncio.gather(*(memory.learn(key("same"), worked=number % 2 == 0) for number in range(20)))
    (lesson,) = await memory.lessons("harbour", "quay", "moor")
    assert (lesson.worked, lesson.failed) == (10, 10)
