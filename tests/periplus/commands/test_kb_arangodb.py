"""`periplus kb` with the graph in ArangoDB (the loopback server): the same answers as over files."""

from __future__ import annotations

import json

import pytest

from loaders import write_folder
from periplus.cli import main
from tests.kb_store.sample_knowledge import knowledge_of
from tests.support.arango_loopback import PASSWORD, loopback


@pytest.fixture
def periplus(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capfd.readouterr()
        assert PASSWORD not in told.out + told.err
        return ended.value.code or 0, told.out, told.err

    return run


@pytest.fixture
def folder(tmp_path):
    write_folder(knowledge_of(), tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def arangodb(monkeypatch):
    with loopback() as server:
        monkeypatch.setenv("PERIPLUS_ARANGODB_URL", server.url())
        yield server


@pytest.mark.usefixtures("arangodb")
def test_everything_works_with_the_graph_in_arangodb_as_it_does_on_files(periplus, folder, tmp_path):
    code, out, _ = periplus("kb", "status")
    assert code == 2
    assert "it is not set up -> run `periplus kb init`" in out, out
    assert periplus("kb", "init")[0] == 0
    assert periplus("kb", "load", folder)[1].startswith("loaded shop, generation 1: ")
    told = json.loads(periplus("kb", "status", "--json")[1])
    assert told["healthy"]
    assert told["stores"]["graph"]["detail"].startswith("ArangoDB 3.12")
    assert told["stores"]["graph"]["address"] == told["stores"]["learned"]["address"]
    assert told["stores"]["documents"]["address"] == told["stores"]["runs"]["address"]
    assert "no difference" in periplus("kb", "diff", folder)[1]
    assert "wrote 25 files" in periplus("kb", "export", "--website", "shop", tmp_path / "out")[1]
    for file in folder.rglob("*.yaml"):
        assert (tmp_path / "out" / file.relative_to(folder)).read_bytes() == file.read_bytes()
    assert "up to date" in periplus("kb", "migrate")[1]


def test_what_was_learned_before_there_was_an_arangodb_moves_there_with_the_edges(
    periplus, folder, arangodb, tmp_path, monkeypatch
):
    monkeypatch.delenv("PERIPLUS_ARANGODB_URL")
    periplus("kb", "load", folder)
    here = f"embedded:{tmp_path / 'data'}"
    code, out, _ = periplus("kb", "copy", "--from", here, "--to", here, "--to-arangodb-url", arangodb.url())
    assert (code, out) == (0, "copied shop: 25 documents, generation 2\n")
    monkeypatch.setenv("PERIPLUS_ARANGODB_URL", arangodb.url())
    assert json.loads(periplus("kb", "status", "--json")[1])["healthy"]
    assert "no difference" in periplus("kb", "diff", folder)[1]


def test_a_database_in_which_something_is_missing_says_so(periplus, folder, arangodb):
    periplus("kb", "load", folder)
    (database,) = (each for name, each in arangodb.server.databases.items() if name != "_system")
    del database.collections["learned"]
    code, out, _ = periplus("kb", "status")
    assert code == 2
    assert "collections missing: learned; run `periplus kb init`" in out
    assert periplus("kb", "init")[0] == 0
    assert periplus("kb", "status")[0] == 0
