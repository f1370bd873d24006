"""`periplus kb rename`, `merge` and `split`: in the store and in files, tried first or made."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime

import pytest

from kb_schema.observed_outcomes import ElementUse, Outcome
from kb_schema.proposals import Proposal, SelectorChange, Support, proposal_id
from kb_schema.selectors import css
from kb_store import open_stores, read_knowledge
from kb_store.learned.learned_numbers import utc_now
from loaders import read_knowledge_folder, write_folder
from periplus.cli import main
from periplus.commands import kb_edit
from tests.kb_store.sample_knowledge import knowledge_of

USE = ElementUse(screen_id="screen_0", element_id="go", strategy="css")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(kb_edit.out, "width", 160)
    return tmp_path / "data"


@pytest.fixture
def periplus(data, capsys):
    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


@pytest.fixture
def folder(tmp_path, periplus):
    write_folder(knowledge_of(), tmp_path / "kb")
    periplus("kb", "load", tmp_path / "kb")
    return tmp_path / "kb"


def stored(data):
    async def read():
        async with open_stores(data) as stores:
            return await read_knowledge(stores.documents, stores.graph, "shop")

    return asyncio.run(read())


def files(folder):
    return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*.yaml")}


def test_a_dry_run_lists_what_would_change_and_changes_nothing(periplus, folder, data):
    before = files(folder)
    code, out, _ = periplus("kb", "rename", "screen_0", "First screen", "--dry-run")
    assert code == 0
    assert "would change 5 documents: shop, generation 1" in out
    assert "~ screen screen_0 -> first_screen" in out
    assert '$._from "screen_0" -> "first_screen"' in out
    assert stored(data) == (knowledge_of(), 1)
    code, out, _ = periplus("kb", "rename", "screen_0", "First screen", "--dry-run", "--folder", folder)
    assert (code, files(folder)) == (0, before)


def test_a_rename_in_the_store_is_its_next_generation(periplus, folder, data):
    code, out, _ = periplus("kb", "rename", "screen_0", "First screen")
    assert (code, "changed 5 documents: shop, generation 2" in out) == (0, True)
    knowledge, generation = stored(data)
    assert (generation, knowledge.screens["first_screen"].name) == (2, "First screen")
    assert "screen_0" not in knowledge.screens


def test_a_rename_in_files_changes_what_a_rename_in_the_store_changes(periplus, folder, data):
    code, out, _ = periplus("kb", "rename", "screen_0", "First screen", "--folder", folder)
    assert code == 0
    assert "added" in out
    assert (folder / "screens/first_screen.yaml").exists()
    assert not (folder / "screens/screen_0.yaml").exists()
    periplus("kb", "rename", "screen_0", "First screen")
    assert "no difference" in periplus("kb", "diff", folder)[1]


def test_merging_and_splitting_in_files_gives_what_it_gives_in_the_store(periplus, folder):
    for edit in (("merge", "screen_0", "screen_1"), ("split", "screen_2", "third", "--text", "Three")):
        assert periplus("kb", *edit, "--folder", folder)[0] == 0
        assert periplus("kb", *edit)[0] == 0
        assert "no difference" in periplus("kb", "diff", folder)[1]
    knowledge, _ = read_knowledge_folder(folder)
    assert set(knowledge.screens) == {"bare", "screen_0", "screen_2", "screen_3", "third"}
    assert not (folder / "screens/screen_1.yaml").exists()


def test_what_was_learned_of_an_element_and_of_a_transition_stays(periplus, folder, data):
    async def learn():
        async with open_stores(data) as stores:
            at = utc_now()
            outcomes = [
                Outcome(outcome_id="one", website_id="shop", at=at, element=USE, succeeded=True),
                Outcome(outcome_id="two", website_id="shop", at=at, transition_id="t_0", succeeded=True),
            ]
            await stores.learned.record(outcomes)

    async def read():
        async with open_stores(data) as stores:
            elements = await stores.learned.element_stats("shop")
            return elements, await stores.learned.transition_stats("shop")

    asyncio.run(learn())
    periplus("kb", "rename", "screen_0", "first")
    periplus("kb", "rename", "go", "press")
    elements, transitions = asyncio.run(read())
    assert {(each.screen_id, each.element_id) for each in elements} == {("first", "press")}
    assert next(iter(elements.values())).seen == pytest.approx(1)
    assert set(transitions) == {"t_0"}


def test_json_has_every_changed_value(periplus, folder):
    code, out, _ = periplus("kb", "merge", "screen_0", "screen_1", "--json", "--dry-run")
    told = json.loads(out)
    assert code == 0
    assert told["look_at"] == ["transition t_0 led from one to the other and is removed"]
    assert {"kind": "screen", "before": "screen_1", "after": None, "changes": []} in told["documents"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("rename", "scren_0", "x"), "there is no screen, element, task, ... 'scren_0' -> did you mean"),
        (("rename", "screen_0", "x", "--kind", "page"), "--kind: unknown kind 'page'"),
        (("merge", "screen_0", "tour"), "there is no screen 'tour'"),
        (("split", "screen_0", "x"), "give one of --pattern, --element, --text"),
        (("rename", "screen_0", "x", "--website", "shop", "--folder", "kb"), "cannot be combined"),
    ],
)
def test_an_error_names_the_place_and_the_fix(periplus, folder, data, args, message):
    code, _, err = periplus("kb", *args)
    assert (code, message in " ".join(err.split())) == (2, True), err
    assert stored(data)[1] == 1


def test_files_loaded_after_a_rename_keep_the_accepted_change_of_the_old_name(periplus, folder, data):
    change = SelectorChange(type="selector", screen_id="screen_0", element_id="go", selector=css("#went"))
    now = datetime.now(UTC)
    proposal = Proposal(
        proposal_id=proposal_id("shop", change), website_id="shop", change=change, proposed_at=now,
        before=css("#go").to_json(),
    )  # fmt: skip

    async def propose():
        async with open_stores(data) as stores:
            await stores.proposals.support(proposal, Support(run_id="r", at=now))

    asyncio.run(propose())
    periplus("kb", "proposals", "accept", proposal.proposal_id)
    periplus("kb", "rename", "screen_0", "first")
    periplus("kb", "rename", "go", "press")
    periplus("kb", "export", folder, "--force")
    assert periplus("kb", "load", folder)[0] == 0
    knowledge = stored(data)[0]
    assert knowledge.elements("first")["press"].selector == css("#went")
    periplus("kb", "rename", "press", "again", "--folder", folder)
    text = (folder / "screens/first.yaml").read_text()
    (folder / "screens/first.yaml").write_text(text.replace("#went", "#elsewhere"))
    code, _, err = periplus("kb", "load", folder)
    assert (code, "1 accepted change of 'shop' would be lost" in err) == (2, True)
