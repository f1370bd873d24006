from __future__ import annotations

import sqlite3
import stat

import pytest

from kb_schema.observed_outcomes import TransitionStats
from kb_store import load_knowledge, open_stores
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge import compiled_view, kept_views, store_source
from mcp_server.knowledge.compiled_view import LearnedStatistics, apply_statistics, compile_view
from mcp_server.knowledge.kept_views import MOST_FILES
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.transition_graph.transition_network import encode_cost
from tests.mcp_server import pantry
from web_pages.stored_pages import StoredPage, answer_probes

OBJECTIVES = ("fewest", "fastest", "reliable", "balanced")
SHELF = StoredPage(pantry.SHELF)


class Source(StoreSource):
    """Counts what is read whole."""

    reads = 0

    async def read(self, website_id):
        self.reads += 1
        return await super().read(website_id)


@pytest.fixture(params=["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def stores(request, tmp_path, monkeypatch):
    """Stores with the pantry, which is kept although it is small."""
    monkeypatch.setattr(store_source, "LEAST_DOCUMENTS", 1)
    url = request.getfixturevalue("emptied_mongodb_url") if request.param == "mongodb" else None
    async with open_stores(tmp_path, mongodb_url=url) as opened:
        await load_knowledge(opened.documents, opened.graph, pantry.knowledge())
        yield opened


async def opened(stores):
    """The view as a new process gets it, and how often the knowledge was read whole for it."""
    source = Source(stores.documents, stores.graph, stores.views_folder)
    current = await ViewCache(source).current("pantry")
    return current.view, source.reads, current.note


def alike(one, other):
    for name in ("elements", "signatures", "leaving", "ways", "groups_of", "recoveries_of", "tasks_of"):
        assert dict(getattr(one, name)) == dict(getattr(other, name)), name
    assert dict(one.knowledge.by_kind) == dict(other.knowledge.by_kind)
    assert dict(one.knowledge.signatures) == dict(other.knowledge.signatures)
    assert dict(one.knowledge.sources) == dict(other.knowledge.sources)
    assert (one.transition_ids, one.facts_set) == (other.transition_ids, other.facts_set)
    assert [*one.network.ways] == [*other.network.ways]
    for objective in OBJECTIVES:
        assert one.network.arcs(objective).costs == [*other.network.arcs(objective).costs]
        assert one.network.arcs(objective).into == other.network.arcs(objective).into
    for name in ("numbers", "factual", "helped", "by_action", "by_effect"):
        mine, theirs = (getattr(each.network, name) for each in (one, other))
        assert mine == theirs, name


async def test_the_second_process_takes_the_view_of_the_first_and_reads_nothing_whole(stores):
    compiled, reads, _ = await opened(stores)
    kept, none, note = await opened(stores)
    assert (reads, none, note) == (1, 0, None)
    alike(compiled, kept)
    assert identify(kept, SHELF, answer_probes) == identify(compiled, SHELF, answer_probes)


async def test_a_load_of_the_same_content_is_a_new_generation_of_the_same_view(stores):
    compiled, _, _ = await opened(stores)
    await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
    kept, reads, _ = await opened(stores)
    assert (reads, compiled.generation != kept.generation) == (0, True)


async def test_changed_content_is_read_and_compiled(stores):
    await opened(stores)
    edge = pantry._edge("leap", "shelf", "jar_new", {"action_type": "click", "target": "#leap"})
    await load_knowledge(stores.documents, stores.graph, pantry.knowledge(also=(edge,)))
    view, reads, _ = await opened(stores)
    assert reads == 1
    assert "leap" in view.transition_ids


async def test_an_edit_by_hand_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(store_source, "LEAST_DOCUMENTS", 1)
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, pantry.knowledge())
        await opened(stores)
        with sqlite3.connect(tmp_path / "knowledge.sqlite3") as db:
            db.execute(
                "UPDATE documents SET body = replace(body, '\"schema_version\"', '\"schema_wersion\"') WHERE kind = 'task'"
            )
        _, reads, note = await opened(stores)
        again, reads_again, note_again = await opened(stores)
    assert (reads, reads_again) == (1, 1)
    assert "damaged" in (note or "")
    assert note_again == note
    assert not again.knowledge.tasks


async def test_a_damaged_file_and_one_of_another_program_are_not_used(stores, monkeypatch):
    compiled, _, _ = await opened(stores)
    (path,) = stores.views_folder.glob("*.view")
    path.write_bytes(path.read_bytes().replace(b"shelf", b"sheaf"))
    view, reads, _ = await opened(stores)
    assert reads == 1
    alike(compiled, view)
    monkeypatch.setattr(kept_views, "program_mark", lambda _: "another")
    assert (await opened(stores))[1] == 1


async def test_files_are_their_owners_and_few(stores):
    view, _, _ = await opened(stores)
    identify(view, SHELF, answer_probes)
    for number in range(MOST_FILES + 3):
        view.screens.kept.views._write(f"{number}.view", [b"x"])
    files = list(stores.views_folder.iterdir())
    assert len(files) == MOST_FILES
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert stat.S_IMODE(stores.views_folder.stat().st_mode) == 0o700


async def test_index_keys_that_one_process_selected_are_those_of_the_next(stores, monkeypatch):
    compiled, _, _ = await opened(stores)
    pages = {compiled.screens.filed(medium) for medium in kept_views.SnapshotFormat}
    assert len(pages) == len(kept_views.SnapshotFormat)
    kept, _, _ = await opened(stores)
    monkeypatch.setattr("mcp_server.screen_index.screen_index.select_keys", None)  # nothing is selected again
    for medium in kept_views.SnapshotFormat:
        assert kept.screens._keys(medium) == compiled.screens._keys(medium)


async def test_learned_numbers_change_a_kept_view_as_a_compiled_one(stores):
    compiled, _, _ = await opened(stores)
    kept, _, _ = await opened(stores)
    names = sorted(compiled.transition_ids)
    for seen in range(1, 4):
        stats = {
            name: TransitionStats(
                transition_id=name, succeeded=seen, failed=9, seen=9 + seen, timed=9, mean_ms=900.0 * seen
            )
            for name in names[:seen]
        }
        compiled, kept = (apply_statistics(each, LearnedStatistics(stats)) for each in (compiled, kept))
        alike(compiled, kept)


def test_a_compiled_view_weighs_no_transition_and_compiles_no_signature_before_it_is_asked():
    made: list[str] = []
    for name in ("weigh_transition", "compile_signature"):
        whole = getattr(compiled_view, name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                compiled_view, name, lambda *given, of=name, do=whole: made.append(of) or do(*given)
            )
            view = compile_view(pantry.knowledge(), "1")
            assert made == []
            assert view.network.arcs("balanced").costs
            assert made == []
            assert [*view.network.ways]
            assert [*view.signatures.values()]
            assert set(made) == {name}
            made.clear()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_costs_from_documents_are_those_of_the_weighed_transitions(objective):
    view = compile_view(pantry.knowledge(), "1")
    costs = view.network.arcs(objective).costs
    assert costs == [encode_cost(way.weights[objective]) for way in view.network.ways]
    assert len(set(costs)) > 1 or objective == "fewest"
