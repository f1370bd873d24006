"""The folder of an exploration: read as it was written, and whole after any end."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_schema.errors import KnowledgeError
from kb_schema.exploration_folder import PAGES_FILE, PASSAGES_FILE, ExplorationFolder
from kb_schema.explorations import AttemptedTransition, Exploration, ExplorationPage, Offer
from kb_schema.page_snapshots import PageSnapshot

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def exploration() -> Exploration:
    return Exploration(
        website_id="shop",
        base_url="https://shop.example",
        starts=("https://shop.example/",),
        origins=("https://shop.example",),
        started_at=NOW,
    )


def seen(page_id: str, **more: object) -> ExplorationPage:
    told = {"page_id": page_id, "url": "https://shop.example/", "state": page_id, "depth": 0, "seen_at": NOW}
    return ExplorationPage.model_validate(told | more)


def begun(folder: Path) -> ExplorationFolder:
    opened = ExplorationFolder(folder)
    opened.begin(exploration())
    return opened


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    folder = begun(tmp_path / "map")
    page = seen("p1", offers=(Offer(offer_id="o1", action_type="click", name="Save Ä \u2028"),))
    folder.add_page(page, PageSnapshot(url="https://shop.example/", title="Shop", html="<p>Hi</p>"), b"jpg")
    passage = AttemptedTransition(from_page="p1", offer_id="o1", outcome="stayed", at=NOW)
    folder.add_passage(passage)
    folder.end(exploration().model_copy(update={"ended_by": "done", "ended_at": NOW}))
    again = ExplorationFolder(tmp_path / "map")
    assert again.exploration.ended_by == "done"
    assert (again.pages(), again.passages()) == ([page], [passage])
    assert again.snapshot("p1").html == "<p>Hi</p>"
    assert list(again.snapshots()) == ["p1"]
    picture = again.picture("p1")
    assert picture is not None
    assert picture.read_bytes() == b"jpg"


@pytest.mark.parametrize("name", [PAGES_FILE, PASSAGES_FILE])
def test_a_torn_last_line_is_not_read_and_does_not_spoil_the_next(tmp_path: Path, name: str) -> None:
    folder = begun(tmp_path)
    folder.add_page(seen("p1"))
    folder.add_passage(AttemptedTransition(from_page="p1", outcome="stayed", at=NOW))
    with (tmp_path / name).open("ab") as lines:
        lines.write(b'{"page_id": "p2", "url')
    again = ExplorationFolder(tmp_path)
    assert [page.page_id for page in again.pages()] == ["p1"]
    assert len(again.passages()) == 1
    again.add_page(seen("p3"))
    again.add_passage(AttemptedTransition(from_page="p3", outcome="stayed", at=NOW))
    assert [page.page_id for page in again.pages()] == ["p1", "p3"]
    assert len(again.passages()) == 2


def test_a_page_that_is_written_again_keeps_its_place(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    folder.add_page(seen("p1"))
    folder.add_page(seen("p2"))
    folder.add_page(seen("p1", openable=True))
    assert [(page.page_id, page.openable) for page in folder.pages()] == [("p1", True), ("p2", None)]


def test_a_line_that_is_wrong_is_named_with_file_and_number(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    folder.add_page(seen("p1"))
    with (tmp_path / PAGES_FILE).open("ab") as lines:
        lines.write(b'{"page_id": "../p2"}\n')
    with pytest.raises(KnowledgeError, match=r"pages\.jsonl, line 2"):
        folder.pages()


@pytest.mark.parametrize("name", ["../exploration", "a/b", "", ".."])
def test_no_page_outside_the_folder_is_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(KnowledgeError):
        begun(tmp_path).snapshot(name)


def test_a_folder_without_an_exploration_says_what_to_name(tmp_path: Path) -> None:
    folder = ExplorationFolder(tmp_path)
    assert not folder.exists
    with pytest.raises(KnowledgeError, match="periplus map"):
        _ = folder.exploration


def test_what_is_written_of_a_website_has_no_secrets_of_addresses_and_names_no_secret(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    address = "https://shop.example/rss?token=dbee00c72ff8"
    page = seen(
        "p1",
        url=address,
        offers=(Offer(offer_id="o1", action_type="click", href=address, name="{secret:A}"),),
    )
    folder.add_page(page, PageSnapshot(url=address, html=f"<a href='{address}'>{{secret:A}}</a>"), b"jpg")
    folder.add_passage(AttemptedTransition(from_page="p1", outcome="external", message=address, at=NOW))
    written = "".join(each.read_text() for each in tmp_path.rglob("*.*") if each.suffix != ".jpg")
    assert "dbee00c72ff8" not in written
    assert "{secret:A}" not in written
    (again,) = folder.pages()
    assert (again.url, again.openable) == (address.replace("dbee00c72ff8", "masked-secret"), False)
    assert folder.picture("p1") is not None  # as it was drawn it has no address
