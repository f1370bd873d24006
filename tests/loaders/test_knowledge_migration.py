"""Folders and stores of older versions: read as they are, and brought up to date when asked."""

from __future__ import annotations

import json

import pytest
import yaml

from kb_schema import KnowledgeError
from kb_schema.base import SCHEMA_VERSION
from kb_store import load_knowledge, open_stores, read_knowledge
from kb_store.errors import GenerationMoved, StoreTooNew
from loaders import knowledge_migration as migrating
from loaders import read_knowledge_folder, write_folder
from loaders.knowledge_migration import migrate_folder, migrate_store, plan_folder, plan_store
from periplus.cli import main
from tests.kb_store.sample_knowledge import knowledge_of, version_of

COMMENTED = """# What this site is.
type: website
website_id: shop # the id
name: Shop
base_url: https://shop.example
metadata: {version: old}
"""


def texts(folder):
    return {
        file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*") if file.is_file()
    }


@pytest.fixture
def old(tmp_path):
    """A folder from before there were versions, with files that are no knowledge, and comments."""
    folder = tmp_path / "kb"
    write_folder(knowledge_of(), folder)
    (folder / "website.yaml").write_text(COMMENTED)
    (folder / "README.md").write_text("# About")
    (folder / "groups/all.yaml").write_text(
        "# every page\n_id: groups/all\nname: old\nmetadata: {version: old, website_id: shop}\n"
    )
    (folder / "triggers").rename(folder / "gone")
    edge = yaml.safe_load(next((folder / "gone").iterdir()).read_text())
    (folder / "triggers").mkdir()
    (folder / "triggers/all.json").write_text(json.dumps([{**edge, "_key": "1", "_from": "actions/buy"}]))
    for file in (folder / "gone").iterdir():
        file.unlink()
    (folder / "gone").rmdir()
    return folder


def test_an_old_folder_is_read_as_it_is(old):
    knowledge, _ = read_knowledge_folder(old)
    assert {document.schema_version for document in knowledge.documents()} == {SCHEMA_VERSION}


def test_only_what_changes_is_rewritten_and_a_line_more_keeps_the_comments(old):
    before, said = texts(old), read_knowledge_folder(old)[0]
    plan = plan_folder(old)
    assert {document.source for document in plan.documents} == {
        "website.yaml", "groups/all.yaml", "triggers/all.json[0]",
    }  # fmt: skip
    assert {document.from_version for document in plan.documents} == {0}
    assert texts(old) == before  # a plan changes nothing
    migrate_folder(plan)
    after = texts(old)
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {
        "website.yaml", "groups/all.yaml", "triggers/all.json",
    }  # fmt: skip
    assert after["website.yaml"] == COMMENTED.replace("website\n", "website\nschema_version: 2\n", 1)
    assert yaml.safe_load(after["groups/all.yaml"])["group_id"] == "all"
    assert json.loads(after["triggers/all.json"])[0]["_from"] == "action/buy"
    assert list(read_knowledge_folder(old)[0].documents()) == list(said.documents())
    assert not plan_folder(old)
    assert [path.name for path in old.parent.iterdir()] == ["kb"]


def test_a_migration_that_cannot_be_finished_changes_nothing(old, monkeypatch):
    before = texts(old)
    plan = plan_folder(old)

    def full(fresh, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(migrating, "swap_folders", full)
    with pytest.raises(OSError, match="No space"):
        migrate_folder(plan)
    assert texts(old) == before
    assert [path.name for path in old.parent.iterdir()] == ["kb"]


def test_a_folder_with_problems_is_not_migrated_but_told(old):
    (old / "screens/bare.yaml").write_text("name: x\nscren_id: bare\n")
    with pytest.raises(KnowledgeError, match="screen_id"):
        plan_folder(old)


async def aged(stores, change):
    """Load knowledge, then make its bodies older or newer behind the store's back."""
    await load_knowledge(stores.documents, stores.graph, knowledge_of())

    def work(db):
        for table in ("documents", "edges"):
            for rowid, body in db.execute(f"SELECT rowid, body FROM {table}").fetchall():
                db.execute(
                    f"UPDATE {table} SET body = ? WHERE rowid = ?",
                    (json.dumps(change(json.loads(body))), rowid),
                ).close()

    await stores.documents._database.write(work)


def without_version(body):
    return {key: value for key, value in body.items() if key != "schema_version"}


async def test_an_old_store_is_read_as_it_is_and_migrated_into_a_new_generation(tmp_path):
    async with open_stores(tmp_path) as stores:
        await aged(stores, without_version)
        read, generation = await read_knowledge(stores.documents, stores.graph, "shop")
        assert list(read.documents()) == list(knowledge_of().documents())
        plan = await plan_store(stores.documents, stores.graph, "shop")
        assert plan.generation == generation
        assert {document.from_version for document in plan.documents} == {0}
        assert len(plan.documents) == 24  # all but the group, which is a vertex
        report = await migrate_store(stores.documents, stores.graph, plan)
        assert (report.replaced, report.generation) == (generation, generation + 1)
        assert not await plan_store(stores.documents, stores.graph, "shop")


async def test_a_load_after_the_plan_is_not_undone_by_migrating(tmp_path):
    async with open_stores(tmp_path) as stores:
        await aged(stores, without_version)
        plan = await plan_store(stores.documents, stores.graph, "shop")
        await load_knowledge(stores.documents, stores.graph, knowledge_of(version="newer"))
        with pytest.raises(GenerationMoved, match="generation 1 of 'shop' was replaced meanwhile"):
            await migrate_store(stores.documents, stores.graph, plan)
        read, generation = await read_knowledge(stores.documents, stores.graph, "shop")
        assert (version_of(read), generation) == ("newer", 2)


async def test_a_load_between_reading_and_writing_is_not_undone_by_migrating(tmp_path, monkeypatch):
    async with open_stores(tmp_path) as stores, open_stores(tmp_path) as others:
        await aged(stores, without_version)
        plan = await plan_store(stores.documents, stores.graph, "shop")

        async def then_somebody_loads(*args):
            found = await read_knowledge(*args)
            await load_knowledge(others.documents, others.graph, knowledge_of(version="newer"))
            return found

        monkeypatch.setattr(migrating, "read_knowledge", then_somebody_loads)
        with pytest.raises(GenerationMoved) as moved:
            await migrate_store(stores.documents, stores.graph, plan)
        assert (moved.value.expected, moved.value.found, moved.value.retriable) == (1, 2, True)
        read, generation = await read_knowledge(stores.documents, stores.graph, "shop")
        assert (version_of(read), generation) == ("newer", 2)
        # The lease was given back: the next load is not kept waiting.
        assert await stores.documents.holder("shop") is None


async def test_a_newer_store_is_one_clear_error(tmp_path):
    async with open_stores(tmp_path) as stores:
        await aged(stores, lambda body: {**body, "schema_version": 7, "novelty": 1})
        with pytest.raises(StoreTooNew, match="schema_version 7"):
            await read_knowledge(stores.documents, stores.graph, "shop")
        with pytest.raises(KnowledgeError, match="24 documents are of schema_version 7"):
            await plan_store(stores.documents, stores.graph, "shop")


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


def test_a_dry_run_shows_the_tree_and_changes_nothing(periplus, old):
    before = texts(old)
    code, out, _ = periplus("kb", "migrate", old, "--dry-run")
    assert code == 0
    assert "website.yaml version 0" in out
    assert "$.schema_version nothing -> 2" in out
    assert "$[0]._from" not in out
    assert '$._from "actions/buy" -> "action/buy"' in out
    assert "would migrate 3 documents to schema version 2" in out
    assert texts(old) == before
    told = json.loads(periplus("kb", "migrate", old, "--dry-run", "--json")[1])
    assert len(told["migrated"]) == 3


def test_migrating_a_folder_twice_does_nothing_the_second_time(periplus, old):
    assert "migrating 3 documents" in periplus("kb", "migrate", old)[1]
    assert "up to date" in periplus("kb", "migrate", old)[1]
    assert periplus("kb", "validate", old)[0] == 0


def test_the_store_is_up_to_date_after_every_load(periplus, old):
    assert "up to date" in periplus("kb", "migrate")[1]
    periplus("kb", "load", old)
    assert "up to date" in periplus("kb", "migrate", "--dry-run")[1]
    assert "generation 1" in periplus("kb", "export", "--website", "shop", old.parent / "out")[1]


def test_a_folder_of_a_newer_version_is_refused_in_one_line(periplus, old):
    (old / "website.yaml").write_text(COMMENTED + "schema_version: 7\n")
    for command in ("validate", "load", "migrate"):
        code, _, err = periplus("kb", command, old)
        assert code == 2
        assert err.count("schema_version") == 2  # the path and the message
        assert "use a newer Periplus" in err
