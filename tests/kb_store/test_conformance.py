"""What every implementation of the two store ports must do. Run once for each of them."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest

from kb_store import (
    LeaseLost,
    LoadConflict,
    NoSuchWebsite,
    StoreCorrupt,
    Stores,
    load_knowledge,
    read_knowledge,
    revision,
    store_status,
)
from kb_store.knowledge_loader import collect
from kb_store.knowledge_records import EdgeEnd, EdgeRecord, KnowledgeRecord
from kb_store.lease_owners import this_process
from kb_store.ports import Generation, LoadLease
from kb_store.record_changes import ChangeableStore, RecordChanges
from kb_store.stored_contents import read_contents
from tests.kb_store.sample_knowledge import knowledge_of, version_of

HOSTILE = (
    "O'Brien", '"; DROP TABLE documents; --', "{'$where': 'sleep(1)'}", "FOR x IN y REMOVE x", "../../etc/passwd",
    "\u0000 in the middle \u0000", "\u2028\u2029", "🚀 é ﷽", "a" * 1_000_000, "%s {} {{x}} $[0]", "\\", "\r\n\t", "",
)  # fmt: skip

ME = this_process()
ALIVE = dataclasses.replace(ME, place="elsewhere", host="elsewhere")


def _generation(lease: LoadLease, **counts: Any) -> Generation:
    return Generation(lease.website_id, lease.generation, datetime.now(UTC), 1, **counts)


async def _loaded(stores: Stores, *records: KnowledgeRecord, website_id: str = "shop") -> int:
    lease = await stores.documents.begin(website_id, ME, ttl=60)
    await stores.documents.put(lease, records)
    await stores.documents.commit(lease, _generation(lease))
    return lease.generation


async def _records(stores: Stores, generation: int, website_id: str = "shop") -> list[KnowledgeRecord]:
    return [record async for record in stores.documents.records(website_id, generation)]


# -- the document store


async def test_a_new_store_knows_no_website(stores):
    assert list(await stores.documents.websites()) == []
    assert await stores.documents.active("shop") is None
    assert await stores.documents.pin("shop", ttl=60) is None
    assert await stores.documents.holder("shop") is None
    assert await stores.documents.generations("shop") == frozenset()


async def test_preparing_and_closing_may_be_repeated(stores):
    for _ in range(2):
        await stores.documents.prepare()
        await stores.graph.prepare()
    for _ in range(2):
        await stores.close()
    assert (await stores.documents.health()).ok
    assert (await stores.graph.health()).ok


async def test_what_is_written_is_not_active_before_the_commit(stores):
    lease = await stores.documents.begin("shop", ME, ttl=60)
    await stores.documents.put(lease, [KnowledgeRecord("screen", "home", {"a": 1})])
    assert await stores.documents.active("shop") is None
    assert await stores.documents.commit(lease, _generation(lease, documents={"screen": 1})) is None
    active = await stores.documents.active("shop")
    assert active is not None
    assert (active.generation, active.documents) == (lease.generation, {"screen": 1})
    assert [g.website_id for g in await stores.documents.websites()] == ["shop"]


async def test_a_commit_tells_which_generation_it_replaced_and_gives_the_lease_back(stores):
    first = await _loaded(stores)
    lease = await stores.documents.begin("shop", ME, ttl=60)
    assert await stores.documents.commit(lease, _generation(lease)) == first
    assert await stores.documents.holder("shop") is None


async def test_every_lease_has_a_generation_never_used_before(stores):
    seen = set()
    for _ in range(3):
        lease = await stores.documents.begin("shop", ME, ttl=60)
        seen.add(lease.generation)
        await stores.documents.release(lease)
    assert len(seen) == 3


async def test_any_text_comes_back_as_it_was_put(stores):
    for text in HOSTILE:
        await _assert_comes_back(stores, text)


async def _assert_comes_back(stores, text):
    body = {"text": text, text or "empty": [text, {"deep": text}], "n": 2**53 + 1, "f": 0.1, "none": None}
    generation = await _loaded(stores, KnowledgeRecord("screen", "home", body))
    assert await _records(stores, generation) == [KnowledgeRecord("screen", "home", body)]
    await stores.graph.put_vertices("shop", generation, [KnowledgeRecord("screen", "home", body)])
    assert [v async for v in stores.graph.vertices("shop", generation)] == [
        KnowledgeRecord("screen", "home", body)
    ]
    edge = EdgeRecord("transition", f"t{text[:50]}", EdgeEnd("screen", "a"), EdgeEnd("screen", "b"), body)
    await stores.graph.put_edges("shop", generation, [edge])
    assert [e async for e in stores.graph.edges("shop", generation)] == [edge]


async def test_a_batch_sent_again_replaces_itself(stores):
    lease = await stores.documents.begin("shop", ME, ttl=60)
    for value in (1, 2):
        await stores.documents.put(lease, [KnowledgeRecord("screen", "home", {"value": value})])
        await stores.graph.put_vertices(
            "shop", lease.generation, [KnowledgeRecord("screen", "home", {"value": value})]
        )
    assert await _records(stores, lease.generation) == [KnowledgeRecord("screen", "home", {"value": 2})]
    assert await stores.graph.count("shop", lease.generation) == ({"screen": 1}, {})


async def test_records_come_by_kind_and_id_however_many_there_are(stores):
    records = [KnowledgeRecord("screen", f"s{n:05}", {}) for n in range(1_203)] + [
        KnowledgeRecord("task", "t", {})
    ]
    lease = await stores.documents.begin("shop", ME, ttl=60)
    await stores.documents.put(lease, list(reversed(records)))
    assert await _records(stores, lease.generation) == records
    assert await stores.documents.count("shop", lease.generation) == {"screen": 1_203, "task": 1}


async def test_a_second_loader_is_told_who_holds_the_lease(stores):
    await stores.documents.begin("shop", ALIVE, ttl=60)
    with pytest.raises(LoadConflict) as caught:
        await stores.documents.begin("shop", ME, ttl=60)
    assert caught.value.website_id == "shop"
    assert f"process {ALIVE.pid} on elsewhere" in str(caught.value)
    assert 0 < caught.value.free_in <= 60
    assert (await stores.documents.begin("other", ME, ttl=60)).website_id == "other"


async def test_whoever_was_taken_over_from_can_change_nothing(stores):
    lost = await stores.documents.begin("shop", ME, ttl=60)
    await stores.documents.put(lost, [KnowledgeRecord("screen", "lost", {})])
    taken = await stores.documents.begin("shop", ME, ttl=60, instead_of=lost.token)
    assert taken.generation != lost.generation
    with pytest.raises(LeaseLost):
        await stores.documents.put(lost, [KnowledgeRecord("screen", "late", {})])
    with pytest.raises(LeaseLost):
        await stores.documents.renew(lost, ttl=60)
    with pytest.raises(LeaseLost):
        await stores.documents.commit(lost, _generation(lost))
    await stores.documents.release(lost)
    holder = await stores.documents.holder("shop")
    assert holder is not None
    assert holder.token == taken.token
    assert await stores.documents.active("shop") is None
    assert [r.local_id for r in await _records(stores, lost.generation)] == ["lost"]


async def test_a_lease_can_only_be_taken_over_by_naming_the_one_that_is_held(stores):
    await stores.documents.begin("shop", ME, ttl=60)
    with pytest.raises(LoadConflict):
        await stores.documents.begin("shop", ME, ttl=60, instead_of="another token")


async def test_active_pinned_and_leased_generations_are_in_use(stores):
    old = await _loaded(stores, KnowledgeRecord("screen", "home", {}))
    pin = await stores.documents.pin("shop", ttl=60)
    assert pin is not None
    assert pin.generation == old
    new = await _loaded(stores, KnowledgeRecord("screen", "home", {}))
    lease = await stores.documents.begin("shop", ME, ttl=60)
    assert await stores.documents.in_use("shop") == {old, new, lease.generation}
    for _ in range(2):
        await stores.documents.unpin(pin)
    await stores.documents.release(lease)
    assert await stores.documents.in_use("shop") == {new}
    assert await stores.documents.generations("shop") == {old, new}


async def test_dropping_deletes_the_named_generations_of_the_named_website_only(stores):
    mine = [await _loaded(stores, KnowledgeRecord("screen", "home", {})) for _ in range(3)]
    theirs = await _loaded(stores, KnowledgeRecord("screen", "home", {}), website_id="other")
    for generation in mine:
        await stores.graph.put_vertices("shop", generation, [KnowledgeRecord("screen", "home", {})])
        edge = EdgeRecord("transition", "t", EdgeEnd("screen", "home"), EdgeEnd("screen", "home"), {})
        await stores.graph.put_edges("shop", generation, [edge])
    for store in (stores.documents, stores.graph):
        await store.drop("shop", [])
        for _ in range(2):
            await store.drop("shop", mine[:2])
        assert await store.generations("shop") == {mine[2]}
    assert await stores.documents.generations("other") == {theirs}
    assert await stores.graph.count("shop", mine[0]) == ({}, {})


async def test_two_websites_may_use_the_same_ids(stores):
    first = await _loaded(stores, KnowledgeRecord("screen", "dashboard", {"of": "shop"}))
    second = await _loaded(
        stores, KnowledgeRecord("screen", "dashboard", {"of": "other"}), website_id="other"
    )
    assert [r.body["of"] for r in await _records(stores, first)] == ["shop"]
    assert [r.body["of"] for r in await _records(stores, second, "other")] == ["other"]


# -- loading and reading over both


async def test_a_knowledge_base_is_read_as_it_was_loaded(stores):
    knowledge = knowledge_of()
    report = await load_knowledge(stores.documents, stores.graph, knowledge)
    assert report.replaced is None
    assert report.counts["screen"] == 5
    read, generation = await read_knowledge(stores.documents, stores.graph, "shop")
    assert generation == report.generation
    assert read.by_kind == knowledge.by_kind


async def test_every_kind_has_a_home(stores):
    knowledge = knowledge_of()
    report = await load_knowledge(stores.documents, stores.graph, knowledge)
    assert dict(report.counts) == {kind: len(found) for kind, found in knowledge.by_kind.items()}


@pytest.mark.parametrize("batch", [1, 7, 500])
async def test_the_size_of_batches_does_not_show(stores, batch):
    await load_knowledge(stores.documents, stores.graph, knowledge_of(), batch=batch)
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == "old"


async def test_a_load_replaces_and_collects_the_one_before(stores):
    first = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old", screens=6))
    second = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
    assert (second.replaced, second.collected) == (first.generation, (first.generation,))
    read, _ = await read_knowledge(stores.documents, stores.graph, "shop")
    assert version_of(read) == "new"
    assert await stores.documents.generations("shop") == {second.generation}
    assert await stores.graph.generations("shop") == {second.generation}


async def test_a_reader_keeps_what_it_pinned_until_it_lets_go(stores):
    old = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
    pin = await stores.documents.pin("shop", ttl=60)
    assert pin is not None
    new = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
    assert new.collected == ()
    assert await stores.documents.count("shop", old.generation) == {
        kind: n
        for kind, n in old.counts.items()
        if kind in await stores.documents.count("shop", new.generation)
    }
    await stores.documents.unpin(pin)
    assert await collect(stores.documents, stores.graph, "shop") == (old.generation,)


async def test_the_revision_changes_exactly_when_a_load_is_committed(stores):
    assert await revision(stores.documents, "shop") is None
    seen = []
    for version in ("old", "new"):
        report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version=version))
        seen.append(report.generation)
        assert await revision(stores.documents, "shop") == report.generation
    assert seen[0] != seen[1]


async def test_reading_an_unknown_website_names_the_known_ones(stores):
    await load_knowledge(stores.documents, stores.graph, knowledge_of("shop"))
    with pytest.raises(NoSuchWebsite, match='did you mean "shop"') as caught:
        await read_knowledge(stores.documents, stores.graph, "shp")
    assert caught.value.known == ("shop",)


async def test_loading_while_another_loader_lives_changes_nothing(stores):
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))
    await stores.documents.begin("shop", ALIVE, ttl=60)
    with pytest.raises(LoadConflict):
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == "old"
    status = await store_status(stores.documents, stores.graph)
    assert status.websites[0].loading is not None


async def test_the_lease_of_a_dead_loader_is_taken_over_at_once(stores):
    dead = dataclasses.replace(ME, started="long ago")
    left = await stores.documents.begin("shop", dead, ttl=3_600)
    await stores.documents.put(left, [KnowledgeRecord("screen", "half", {})])
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of())
    assert left.generation in report.collected


async def test_a_load_that_fails_gives_the_lease_back_and_keeps_the_old_knowledge(stores):
    await load_knowledge(stores.documents, stores.graph, knowledge_of(version="old"))

    def stop(progress):
        if progress.stage == "edges":
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"), on_progress=stop)
    assert version_of((await read_knowledge(stores.documents, stores.graph, "shop"))[0]) == "old"
    assert await stores.documents.holder("shop") is None
    (website,) = (await store_status(stores.documents, stores.graph)).websites
    assert len(website.leftovers) == 1
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of(version="new"))
    assert set(website.leftovers) < set(report.collected)


async def test_records_that_went_missing_are_noticed_and_named(stores):
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of())
    await stores.graph.drop("shop", [report.generation])
    with pytest.raises(StoreCorrupt, match=r"0 of 5 screen"):
        await read_knowledge(stores.documents, stores.graph, "shop")
    status = await store_status(stores.documents, stores.graph)
    assert not status.healthy
    assert "screen" in status.websites[0].problem


async def test_a_record_that_says_nonsense_is_named(stores):
    lease = await stores.documents.begin("shop", ME, ttl=60)
    await stores.documents.put(
        lease, [KnowledgeRecord("screen", "home", {"type": "screen", "screen_id": "home"})]
    )
    await stores.documents.commit(lease, _generation(lease, documents={"screen": 1}))
    with pytest.raises(StoreCorrupt) as caught:
        await read_knowledge(stores.documents, stores.graph, "shop")
    (problem,) = caught.value.problems
    assert (problem.source, problem.path) == ("screen/home", "$.name")


async def test_the_status_says_what_is_there(stores):
    await load_knowledge(stores.documents, stores.graph, knowledge_of("other"))
    report = await load_knowledge(stores.documents, stores.graph, knowledge_of("shop"))
    status = await store_status(stores.documents, stores.graph)
    assert status.healthy
    assert [w.active.website_id for w in status.websites] == ["other", "shop"]
    shop = status.websites[1]
    assert (shop.active.generation, shop.whole, shop.leftovers, shop.pinned) == (
        report.generation,
        True,
        (),
        (),
    )
    assert shop.active.edges["transition"] == 4
    assert (datetime.now(UTC) - shop.active.loaded_at).total_seconds() < 60


# -- changing records in place


async def _change(
    stores: Stores, base: Generation, changes: RecordChanges, counted: Generation | None = None
) -> bool:
    assert isinstance(stores.documents, ChangeableStore)
    lease = await stores.documents.begin("shop", ME, ttl=60)
    new = dataclasses.replace(counted or base, generation=lease.generation, records_under=base.stored)
    done = await stores.documents.change(lease, base, changes, new)
    if not done:
        await stores.documents.release(lease)
    return done


@pytest.fixture
async def changeable(stores):
    """Stores whose documents and graph change in one transaction, with a website that is loaded."""
    if not isinstance(stores.documents, ChangeableStore) or not stores.documents.keeps_graph(stores.graph):
        pytest.skip("its graph is in another database")
    await load_knowledge(stores.documents, stores.graph, knowledge_of())
    return stores


_EDGE = EdgeRecord(
    "transition", "t_0", EdgeEnd("screen", "a"), EdgeEnd("screen", "b"), {"type": "transition"}
)
_CHANGES = RecordChanges(
    documents=[KnowledgeRecord("screen", "bare", {"type": "screen", "screen_id": "bare"})],
    vertices=[KnowledgeRecord("screen", "bare", {"name": "x"})],
    edges=[_EDGE],
    gone=[("action", "buy"), ("transition", "t_1")],
)


async def test_a_change_in_place_is_a_generation_with_the_other_records_of_the_one_before(changeable):
    base = await changeable.documents.active("shop")
    assert await _change(changeable, base, _CHANGES)
    active = await changeable.documents.active("shop")
    assert active.generation > base.generation
    assert active.stored == base.stored
    found = {(r.kind, r.local_id): r.body async for r in changeable.documents.records("shop", active.stored)}
    assert found["screen", "bare"] == {"type": "screen", "screen_id": "bare"}
    assert ("action", "buy") not in found
    assert len(found) == sum(base.documents.values()) - 1
    edges = {edge.local_id: edge async for edge in changeable.graph.edges("shop", active.stored)}
    assert edges["t_0"] == _EDGE
    assert "t_1" not in edges
    keys = {("screen", "bare"), ("transition", "t_0"), ("transition", "t_1"), ("screen_group", "all")}
    whole = await changeable.documents.find_records("shop", active.stored, keys)
    assert {(r.kind, r.local_id) for r in whole} == keys - {("transition", "t_1")}


async def test_nothing_that_a_changed_generation_uses_is_collected(changeable):
    base = await changeable.documents.active("shop")
    assert await _change(changeable, base, _CHANGES)
    assert await collect(changeable.documents, changeable.graph, "shop") == ()
    pin = await changeable.documents.pin("shop", ttl=60)
    assert pin.stored == base.stored
    await load_knowledge(changeable.documents, changeable.graph, knowledge_of(version="new"))
    assert base.stored in await changeable.documents.generations("shop")
    assert await changeable.documents.holds(pin)
    await changeable.documents.unpin(pin)
    assert await collect(changeable.documents, changeable.graph, "shop") == (base.stored,)


async def test_a_pin_does_not_hold_once_its_records_were_changed(changeable):
    before = await changeable.documents.pin("shop", ttl=60)
    assert await changeable.documents.holds(before)
    base = await changeable.documents.active("shop")
    assert await _change(changeable, base, _CHANGES)
    assert not await changeable.documents.holds(before)
    assert await changeable.documents.holds(await changeable.documents.pin("shop", ttl=60))
    await load_knowledge(changeable.documents, changeable.graph, knowledge_of(version="new"))
    assert not await changeable.documents.holds(before)


async def test_a_change_of_a_generation_that_is_not_active_any_more_changes_nothing(changeable):
    base = await changeable.documents.active("shop")
    await load_knowledge(changeable.documents, changeable.graph, knowledge_of(version="new"))
    assert not await _change(changeable, base, _CHANGES)
    assert version_of((await read_knowledge(changeable.documents, changeable.graph, "shop"))[0]) == "new"


async def test_a_loader_that_lost_its_lease_changes_nothing(changeable):
    base = await changeable.documents.active("shop")
    lost = await changeable.documents.begin("shop", ME, ttl=-1)
    await changeable.documents.begin("shop", ME, ttl=60)
    new = dataclasses.replace(base, generation=lost.generation, records_under=base.stored)
    with pytest.raises(LeaseLost):
        await changeable.documents.change(lost, base, _CHANGES, new)
    assert version_of((await read_knowledge(changeable.documents, changeable.graph, "shop"))[0]) == "old"


async def test_contents_that_change_while_they_are_read_are_not_given(changeable, monkeypatch):
    base = await changeable.documents.active("shop")
    assert await read_contents(changeable.documents, changeable.graph, "shop") is not None
    read_graph = changeable.graph.raw_records

    async def changed_meanwhile(website_id: str, generation: int) -> Any:
        await _change(changeable, base, _CHANGES)
        return await read_graph(website_id, generation)

    monkeypatch.setattr(changeable.graph, "raw_records", changed_meanwhile)
    assert await read_contents(changeable.documents, changeable.graph, "shop") is None


async def test_a_website_that_changes_while_it_is_counted_is_not_called_damaged(changeable, monkeypatch):
    base = await changeable.documents.active("shop")
    more = dataclasses.replace(base, edges={**base.edges, "transition": base.edges["transition"] - 1})
    count = changeable.documents.count
    done = False

    async def changed_meanwhile(website_id: str, generation: int) -> Any:
        nonlocal done
        if not done:
            done = True
            await _change(changeable, base, RecordChanges(gone=[("transition", "t_1")]), more)
        return await count(website_id, generation)

    monkeypatch.setattr(changeable.documents, "count", changed_meanwhile)
    status = await store_status(changeable.documents, changeable.graph)
    assert [(each.whole, each.active.generation > base.generation) for each in status.websites] == [
        (True, True)
    ]
