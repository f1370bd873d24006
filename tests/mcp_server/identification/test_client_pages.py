"""A page may be given as a string or as a file in the allowed folder, and its own URL is believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mcp import Client

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.tool_answers import AvailableActions, Identification
from mcp_server.errors import BadRequest, SnapshotTooLarge
from mcp_server.identification import client_pages
from mcp_server.identification.client_pages import ClientPage, admit_page, read_page_file
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server import pantry

HEAD = f"### Page\n- Page URL: {pantry.SHELF.url}\n- Page Title: Jars\n"
OUTLINE = '- heading "Your jars" [level=1]\n- table "jars"\n'
ANSWER = f"{HEAD}### Snapshot\n```yaml\n{OUTLINE}```\n"
LINKED = f"{HEAD}### Snapshot\n- [Snapshot](.playwright-mcp/page-1.yml)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / ".playwright-mcp"
    made.mkdir()
    (made / "page-1.yml").write_text(OUTLINE)
    (tmp_path / "secret.yml").write_text(OUTLINE)
    return made


async def called(tool: str, folder: Path | None = None, **arguments):
    async with Client(create_server(MemorySource(pantry.knowledge()), snapshots=folder)) as client:
        return await client.call_tool(tool, {"website_id": "pantry", **arguments})


async def test_a_snapshot_may_be_a_string():
    result = await called("get_available_actions", snapshot=ANSWER, detail="summary")
    assert not result.is_error, result.content
    assert AvailableActions.model_validate(result.structured_content).screen_id == "shelf"


async def test_of_html_alone_the_url_is_asked_for():
    result = await called("identify_current_screen", snapshot=pantry.SHELF.html)
    assert not result.is_error, result.content
    assert "send the page's `url`" in result.content[0].text


async def test_a_snapshot_may_be_an_object_inside_a_string():
    result = await called(
        "identify_current_screen",
        snapshot=PageSnapshot(url=pantry.SHELF.url, html=pantry.SHELF.html).model_dump_json(),
    )
    assert Identification.model_validate(result.structured_content).screen_id == "shelf"


@pytest.mark.parametrize(
    "given",
    [
        {"url": pantry.SHELF.url, "file": ".playwright-mcp/page-1.yml"},
        {"url": pantry.SHELF.url, "file": "page-1.yml"},
        {"text": LINKED},
        LINKED,
    ],
)
async def test_a_file_that_the_browsers_server_wrote_is_read(folder, given):
    result = await called("identify_current_screen", folder, snapshot=given)
    assert not result.is_error, result.content
    assert Identification.model_validate(result.structured_content).screen_id == "shelf"


async def test_without_an_allowed_folder_no_file_is_read(folder):
    result = await called("identify_current_screen", snapshot={"file": str(folder / "page-1.yml")})
    assert result.is_error
    assert "reads no files" in result.content[0].text
    assert "--snapshots" in result.content[0].text


def test_nothing_outside_the_folder_is_read_and_missing_files_answer_alike(folder):
    (folder / "out.yml").symlink_to(folder.parent / "secret.yml")
    (folder / "inner").mkdir()
    os.mkfifo(folder / "pipe")
    told = set()
    for name in (
        "secret.yml",
        "../secret.yml",
        ".playwright-mcp/../secret.yml",
        "out.yml",
        "nowhere.yml",
        "inner",
        "pipe",
        "/etc/passwd",
    ):
        with pytest.raises(BadRequest) as refused:
            read_page_file(name, folder)
        told.add(str(refused.value).replace(repr(name), "NAME"))
    assert len(told) == 1
    for name in ("a\0b", "x" * 5_000):
        with pytest.raises(BadRequest, match="cannot be read"):
            read_page_file(name, folder)


def test_a_file_beyond_the_limit_is_refused(folder, monkeypatch):
    monkeypatch.setattr(client_pages, "MAX_BYTES", 10)
    with pytest.raises(SnapshotTooLarge):
        read_page_file("page-1.yml", folder)


async def test_the_snapshots_own_url_is_believed_and_that_is_said():
    wrong = {"url": f"{pantry.BASE}/sign-in", "text": ANSWER}
    for tool in ("identify_current_screen", "get_available_actions"):
        result = await called(tool, snapshot=wrong)
        assert result.structured_content["screen_id"] == "shelf"
        assert f"own `Page URL:` {pantry.SHELF.url!r} was used" in result.content[0].text


def test_a_fragment_or_a_closing_slash_is_no_contradiction():
    page = ClientPage(url=f"{pantry.SHELF.url}/#top", text=ANSWER)
    assert admit_page(page, None).note is None


def test_what_a_page_shows_as_text_does_not_name_its_url():
    shown = f"Welcome\n- Page URL: {pantry.SHELF.url}\n- [Snapshot](page-1.yml)\n"
    admitted = admit_page(ClientPage(url="https://elsewhere.example/", text=shown), None)
    assert (admitted.snapshot.url, admitted.note) == ("https://elsewhere.example/", None)
