"""`periplus group`: stored pages are grouped, and what is written is what `periplus learn` reads."""

from __future__ import annotations

import json

import pytest

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import write_snapshot
from periplus.cli import main

BASE = "https://shop.example"


@pytest.fixture
def pages(tmp_path):
    folder = tmp_path / "pages"
    for number in (1, 2, 3):
        for name, path, body in (
            (f"list/{number}", f"/goods?page={number}", "<h1>Goods</h1><label>Find <input name=find></label>"),
            (f"one{number}", f"/goods/{number}", f"<h1>Thing {number}</h1><label>Price <input name=price></label>"),
        ):  # fmt: skip
            html = f"<html><body><main>{body}</main></body></html>"
            write_snapshot(PageSnapshot(url=f"{BASE}{path}", title="Shop", html=html), folder / name)
    return folder


@pytest.fixture
def periplus(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


def test_stored_pages_are_grouped_and_their_labels_are_learned_from(periplus, pages, tmp_path):
    labels = tmp_path / "labels.json"
    code, told, _ = periplus("group", "--snapshots", pages, "--labels", labels)
    assert code == 0
    found = json.loads(labels.read_text())
    assert found.keys() == {f"{name}{number}" for name in ("list/", "one") for number in (1, 2, 3)}
    assert len({found[f"list/{number}"] for number in (1, 2, 3)}) == 1
    assert len({found[f"one{number}"] for number in (1, 2, 3)}) == 1
    assert found["list/1"] == "goods" != found["one1"]
    assert "goods: 3 pages (list/1, list/2, list/3)" in told
    assert json.loads(periplus("group", "--snapshots", pages, "--json")[1]) == found
    code, told, _ = periplus("learn", "--snapshots", pages, "--labels", labels, "--website", "shop")
    assert (code, "6 of 6 pages identified correctly" in told) == (0, True)


def test_a_labels_file_is_written_over_only_on_request(periplus, pages, tmp_path):
    labels = tmp_path / "labels.json"
    labels.write_text("{}")
    code, _, said = periplus("group", "--snapshots", pages, "--labels", labels)
    assert (code, labels.read_text()) == (2, "{}")
    assert "exists already" in said
    assert "--replace" in said
    assert periplus("group", "--snapshots", pages, "--labels", labels, "--replace")[0] == 0
    assert len(json.loads(labels.read_text())) == 6


@pytest.mark.parametrize(
    ("folder", "reason"), [("nowhere", "there is no such folder"), (".", "holds no snapshot")]
)
def test_a_folder_without_pages_is_one_clear_error(periplus, tmp_path, folder, reason):
    code, _, said = periplus("group", "--snapshots", tmp_path / folder)
    assert (code, reason in said) == (2, True)
