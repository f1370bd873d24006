"""A load of what changed leaves what a whole load leaves, on both stores; what it cannot tell it leaves to the whole load."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.large_site import large_site
from kb_schema import KnowledgeBase, KnowledgeError, Problem
from kb_store import Stores, load_knowledge, open_stores, read_knowledge
from kb_store.sqlite import document_store
from loaders import read_knowledge_folder, write_folder
from loaders.files import folder_record
from loaders.files.folder_reader import knowledge_files, read_with_digests
from loaders.files.folder_record import list_file_states
from periplus import folder_loads
from periplus.folder_loads import FolderLoad
from periplus.foreign_input import DEFAULT_BUDGET

EDITS = int(os.environ.get("PERIPLUS_TEST_EDITS", "12"))
"""In one test; `PERIPLUS_TEST_EDITS` makes more."""


@pytest.fixture(params=["embedded", pytest.param("mongodb", marks=pytest.mark.mongodb)])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Empty stores that can change records in place."""
    url = request.getfixturevalue("emptied_mongodb_url") if request.param == "mongodb" else None
    async with open_stores(tmp_path / "data", mongodb_url=url) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of 10 screens with 50 transitions and 2 tasks, large enough to be recorded."""
    monkeypatch.setattr(folder_loads, "LEAST_DOCUMENTS", 1)
    monkeypatch.setattr(folder_record, "UNSURE_SECONDS", 0.0)
    monkeypatch.setattr(folder_loads, "read_foreign", lambda _folder, _budget, read, *given: read(*given))
    write_folder(large_site(0.001), tmp_path / "kb")
    return tmp_path / "kb"


def _loading(folder: Path, stores: Stores) -> FolderLoad:
    assert stores.views_folder is not None
    return FolderLoad(folder, stores.views_folder.parent, (stores.documents.address, stores.graph.address))


async def _load(folder: Path, stores: Stores) -> tuple[bool, tuple[Problem, ...]]:
    """Load as the command does; return whether only changes were loaded, and the warnings."""
    loading = _loading(folder, stores)
    changed = loading.find_changes(DEFAULT_BUDGET)
    if changed is not None and await loading.load(stores, changed) is not None:
        return True, changed.record.warnings
    knowledge, warnings, digests = read_with_digests(folder)
    report = await load_knowledge(stores.documents, stores.graph, knowledge)
    await loading.record_whole(stores, report, knowledge, warnings, digests)
    return False, warnings


def _edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = yaml.safe_load(file.read_text())
    change(data)
    file.write_text(yaml.safe_dump(data))


def _some(chance: random.Random, folder: Path, kind: str) -> Path:
    return chance.choice(sorted((folder / kind).glob("*.yaml")))


def _cost(chance: random.Random, folder: Path) -> None:
    _edit(
        _some(chance, folder, "transitions"),
        lambda d: d.update(cost={"estimated_ms": chance.randrange(9_999)}),
    )


def _goal(chance: random.Random, folder: Path) -> None:
    to = f"s{chance.randrange(12)}"  # two of twelve do not exist
    _edit(_some(chance, folder, "transitions"), lambda d: d.update(_to=f"screen/{to}"))


def _trigger(chance: random.Random, folder: Path) -> None:
    target = f"e{chance.randrange(7)}"  # two of seven are on no screen
    _edit(_some(chance, folder, "transitions"), lambda d: d["triggered_by"].update(target=target))


def _name(chance: random.Random, folder: Path) -> None:
    kind = chance.choice(["screens", "tasks"])
    _edit(_some(chance, folder, kind), lambda d: d.update(name=f"Renamed {chance.random()}"))


def _element(chance: random.Random, folder: Path) -> None:
    _edit(_some(chance, folder, "screens"), lambda d: d["ui_elements"].pop())


def _selector(chance: random.Random, folder: Path) -> None:
    _edit(
        _some(chance, folder, "screens"),
        lambda d: d["ui_elements"][0].update(selector=f"#n{chance.randrange(99)}"),
    )


def _delete(chance: random.Random, folder: Path) -> None:
    _some(chance, folder, chance.choice(["transitions", "memberships", "screens", "tasks"])).unlink()


def _copy(chance: random.Random, folder: Path) -> None:
    file = _some(chance, folder, "transitions")
    name = chance.choice([f"t_new{chance.randrange(99)}", "t0-1"])
    data = yaml.safe_load(file.read_text()) | {"transition_id": name}
    (folder / "transitions" / f"copy{chance.randrange(99)}.yaml").write_text(yaml.safe_dump(data))


def _gather(chance: random.Random, folder: Path) -> None:
    one, two = _some(chance, folder, "transitions"), _some(chance, folder, "transitions")
    if one == two:
        return
    parts = [yaml.safe_load(each.read_text()) for each in (one, two)]
    flat = [doc for part in parts for doc in (part if isinstance(part, list) else [part])]
    one.write_text(yaml.safe_dump(flat))
    two.unlink()


def _touch(chance: random.Random, folder: Path) -> None:
    os.utime(_some(chance, folder, "screens"))


def _website(chance: random.Random, folder: Path) -> None:
    _edit(folder / "website.yaml", lambda d: d.update(name=f"Site {chance.random()}"))


def _broken(chance: random.Random, folder: Path) -> None:
    _some(chance, folder, "tasks").write_text("type: [")


KINDS = (
    _cost, _cost, _goal, _trigger, _name, _name, _element, _selector, _delete, _copy, _gather, _touch, _website, _broken,
)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
async def test_loading_what_changed_leaves_what_loading_everything_leaves(stores, folder, seed):
    chance = random.Random(seed)
    await _load(folder, stores)
    alone = 0
    for _ in range(EDITS):
        kept = {file: file.read_bytes() for file in folder.rglob("*.yaml")}
        edits = [chance.choice(KINDS) for _ in range(chance.choice([1, 1, 2]))]
        for edit in edits:
            with contextlib.suppress(AttributeError, TypeError, KeyError, IndexError, yaml.YAMLError):
                edit(chance, folder)  # an edit before may have broken the file, or made it a list
        names = [edit.__name__ for edit in edits]
        expected = _whole(folder)
        if expected is None:
            with pytest.raises(KnowledgeError):
                await _load(folder, stores)
            for file in folder.rglob("*.yaml"):
                file.unlink()
            for file, content in kept.items():
                file.write_bytes(content)
            continue
        only_changes, warnings = await _load(folder, stores)
        alone += only_changes
        read, _ = await read_knowledge(stores.documents, stores.graph, "large")
        assert read.by_kind == expected[0].by_kind, names
        assert warnings == expected[1], names
    assert alone >= EDITS // 8


def _whole(folder: Path) -> tuple[KnowledgeBase, tuple[Problem, ...]] | None:
    try:
        return read_knowledge_folder(folder)
    except KnowledgeError:
        return None


async def test_one_change_writes_one_document(stores, folder):
    await _load(folder, stores)
    base = await stores.documents.active("large")
    _edit(folder / "screens" / "s3.yaml", lambda d: d.update(name="Another name"))
    loading = _loading(folder, stores)
    changed = loading.find_changes(DEFAULT_BUDGET)
    assert [*changed.files] == ["screens/s3.yaml"]
    report = await loading.load(stores, changed)
    assert report.changed == 1
    assert report.replaced == base.generation
    active = await stores.documents.active("large")
    assert (active.generation, active.stored) == (report.generation, base.stored)


def _write_again(folder: Path) -> None:
    for file in folder.rglob("*.yaml"):
        file.write_bytes(file.read_bytes())


async def test_a_folder_that_was_written_again_is_no_change_of_every_file(stores, folder, monkeypatch):
    monkeypatch.setattr(folder_loads, "MOST_CHANGED", 3)
    await _load(folder, stores)
    _write_again(folder)
    _edit(folder / "screens" / "s3.yaml", lambda d: d.update(name="Another name"))
    changed = _loading(folder, stores).find_changes(DEFAULT_BUDGET)
    assert [*changed.files] == ["screens/s3.yaml"]
    assert (await _load(folder, stores))[0]
    read, _ = await read_knowledge(stores.documents, stores.graph, "large")
    assert read.by_kind == read_knowledge_folder(folder)[0].by_kind
    _write_again(folder)
    assert not _loading(folder, stores).find_changes(DEFAULT_BUDGET).files


async def test_a_folder_that_is_loaded_as_soon_as_it_is_written_is_known_by_its_content(
    stores, folder, monkeypatch
):
    monkeypatch.setattr(folder_loads, "MOST_CHANGED", 3)
    monkeypatch.setattr(folder_record, "UNSURE_SECONDS", 3_600.0)
    await _load(folder, stores)
    assert (await _load(folder, stores))[0]
    _edit(folder / "screens" / "s3.yaml", lambda d: d.update(name="Another name"))
    assert (await _load(folder, stores))[0]
    read, _ = await read_knowledge(stores.documents, stores.graph, "large")
    assert read.by_kind == read_knowledge_folder(folder)[0].by_kind


async def test_of_too_many_changes_no_more_are_looked_for(stores, folder, monkeypatch):
    monkeypatch.setattr(folder_loads, "MOST_CHANGED", 3)
    await _load(folder, stores)
    for name in ("s1", "s2", "s3", "s4", "s5"):
        _edit(folder / "screens" / f"{name}.yaml", lambda d: d.update(name="Another name"))
    assert _loading(folder, stores).find_changes(DEFAULT_BUDGET) is None


async def test_a_generation_of_somebody_else_is_loaded_over_as_a_whole(stores, folder):
    await _load(folder, stores)
    await load_knowledge(stores.documents, stores.graph, read_knowledge_folder(folder)[0])
    _edit(folder / "screens" / "s3.yaml", lambda d: d.update(name="Another name"))
    assert not (await _load(folder, stores))[0]
    _edit(folder / "screens" / "s3.yaml", lambda d: d.update(name="And another"))
    assert (await _load(folder, stores))[0]


async def test_a_load_that_is_interrupted_before_its_end_changes_nothing(folder, tmp_path, monkeypatch):
    async with open_stores(tmp_path / "data") as stores:
        await _load(folder, stores)
        before = await read_knowledge(stores.documents, stores.graph, "large")
        _edit(folder / "transitions" / _first(folder), lambda d: d.update(cost={"estimated_ms": 7}))

        class _KilledError(Exception):
            pass

        def killed(*_: object) -> None:
            raise _KilledError

        with monkeypatch.context() as patched:
            patched.setattr(document_store, "_activate", killed)
            with pytest.raises(_KilledError):
                await _load(folder, stores)
        assert await read_knowledge(stores.documents, stores.graph, "large") == before
        assert (await _load(folder, stores))[0]
        read, _ = await read_knowledge(stores.documents, stores.graph, "large")
        assert read.by_kind == read_knowledge_folder(folder)[0].by_kind


def _first(folder: Path) -> str:
    return min(each.name for each in (folder / "transitions").glob("*.yaml"))


def test_a_file_that_was_changed_just_now_is_read_again(tmp_path):
    (tmp_path / "website.yaml").write_text("a: 1\n")
    first, second = list_file_states(tmp_path), list_file_states(tmp_path)
    assert [each.partition("\t")[0] for each in first] == ["website.yaml"]
    assert first != second


def test_the_files_looked_at_are_those_that_are_read(tmp_path):
    for name in (
        "website.yaml",
        "screens/a.yml",
        "screens/deep/b.json",
        ".hidden/c.yaml",
        "screens/.d.yaml",
        "notes.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "linked").symlink_to(tmp_path / "screens")
    (tmp_path / "screens" / "link.yaml").symlink_to(tmp_path / "website.yaml")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere.yaml")
    read = {file.relative_to(tmp_path).as_posix() for file in knowledge_files(tmp_path)}
    assert {each.partition("\t")[0] for each in list_file_states(tmp_path)} == read
    assert read == {"website.yaml", "screens/a.yml", "screens/deep/b.json", "screens/link.yaml"}
