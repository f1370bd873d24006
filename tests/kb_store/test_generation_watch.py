"""Noticing changes by looking: how often is looked, and that nothing that happens in between is lost.

How soon a change is noticed is measured by `benchmarks.bench_notice`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from kb_store import Stores, load_knowledge, open_stores
from kb_store import generation_watch as module
from kb_store.errors import StoreUnavailable
from kb_store.generation_watch import watch_changes
from kb_store.ports import Generation
from tests.kb_store.sample_knowledge import knowledge_of


class Looked:
    """A document store that is looked at: generations by website, or an error, one look after the other."""

    def __init__(self, *looks):
        self.looks = list(looks)

    async def websites(self):
        if not self.looks:
            raise asyncio.CancelledError
        look = self.looks.pop(0)
        if isinstance(look, Exception):
            raise look
        return [Generation(name, number, datetime.now(UTC), 1) for name, number in look.items()]


@pytest.fixture
def pauses(monkeypatch):
    """The seconds between looks, none of which is slept."""
    slept, really = [], asyncio.sleep

    async def sleep(seconds):
        slept.append(seconds)
        await really(0)

    monkeypatch.setattr(
        module, "asyncio", SimpleNamespace(sleep=sleep)
    )  # of this module, not of other tests' tasks
    return slept


async def told_by(store):
    told, following = [], watch_changes(store)
    with suppress(asyncio.CancelledError):
        while True:
            told.append(await anext(following))
    return told


async def test_a_store_is_looked_at_so_often_that_a_second_is_enough(pauses):
    assert await told_by(Looked(*({"shop": 1},) * 5)) == ["shop"]
    assert len(pauses) == 5
    assert max(pauses) <= 0.5, "the other half is for the look itself on a busy machine"


async def test_what_begins_changes_and_goes_is_told_once_each(pauses):
    looks = {}, {"shop": 1}, {"shop": 1}, {"shop": 3, "bakery": 1}, {"bakery": 1}
    assert await told_by(Looked(*looks)) == ["shop", "bakery", "shop", "shop"]
    assert len(pauses) == len(looks)


async def test_what_changes_while_the_store_is_away_is_told_when_it_is_back(pauses):
    away = StoreUnavailable("somewhere", "it is away", fix="wait")
    assert await told_by(Looked({"shop": 1}, away, away, {"shop": 2})) == ["shop", "shop"]
    assert len(pauses) == 4


@pytest.mark.parametrize("loads", [1, 3])
async def test_a_change_of_another_process_is_seen_in_a_file(tmp_path, pauses, loads):
    async with open_stores(tmp_path) as theirs, open_stores(tmp_path) as mine:
        told = watch_changes(mine.documents)
        await _load(theirs, "first")
        assert await anext(told) == "shop"
        for number in range(loads):
            await _load(theirs, f"v{number}")
        assert await anext(told) == "shop"
        assert pauses
        await told.aclose()


async def _load(stores: Stores, version: str) -> None:
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version))
