"""What clients send: snapshots of other MCP browsers, headers, pages beyond all limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from kb_schema import KnowledgeBase, parse_document
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.tool_answers import Identification
from loaders.files.folder_reader import read_knowledge_folder
from mcp_server.errors import SnapshotTooLarge
from mcp_server.identification.screen_identification import identify
from mcp_server.identification.snapshot_limits import MAX_BYTES, admit_snapshot
from mcp_server.knowledge.compiled_view import KnowledgeView, compile_view
from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server import pantry
from web_pages.stored_pages import answer_probes

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "data" / "playwright_mcp"


@pytest.fixture(scope="module")
def spadeworks() -> KnowledgeView:
    return compile_view(read_knowledge_folder(ROOT / "seeds" / "spadeworks" / "kb")[0], "1")


def sample(name: str) -> PageSnapshot:
    return admit_snapshot(PageSnapshot(url="", text=(SAMPLES / f"{name}.md").read_text(encoding="utf-8")))


def test_there_is_a_sample_of_every_screen_in_both_versions(spadeworks):
    names = {path.stem for path in SAMPLES.glob("*.md")} - {"README"}
    assert names == {f"v{version}_{screen}" for version in (1, 2) for screen in spadeworks.knowledge.screens}


@pytest.mark.parametrize("name", sorted({path.stem for path in SAMPLES.glob("v?_*.md")}))
def test_screens_are_known_from_the_text_that_playwright_mcp_sends(spadeworks, name):
    screen = name.partition("_")[2]
    found = identify(spadeworks, sample(name), answer_probes)
    assert (found.screen_id, found.ambiguous) == (screen, False)


def test_a_text_alone_says_what_it_leaves_out_and_html_is_asked_for():
    data = {
        "type": "screen", "screen_id": "code", "name": "Code",
        "state_signature": {"required_indicators": [
            {"type": "dom_contains", "value": "Your code", "selector": "h1"},
            {"type": "dom_element", "selector": "#current-code"},
        ]},
    }  # fmt: skip
    kept = pantry.knowledge()
    view = compile_view(
        KnowledgeBase(website=kept.website, by_kind={"website": {kept.website.website_id: kept.website},
                                                     "screen": {"code": parse_document(data)}}), "1",
    )  # fmt: skip
    text = PageSnapshot(url=f"{pantry.BASE}/code", title="x", text='- heading "Your code" [level=1]')
    found = identify(view, text, answer_probes)
    assert found.screen_id is None
    assert found.hint == (
        "no known screen matches with certainty; send its `html`: text alone does not tell everything"
    )
    [nearest] = found.candidates
    assert "#current-code" in nearest.because
    html = text.model_copy(update={"text": None, "html": "<h1>Your code</h1><p id=current-code>1"})
    assert identify(view, html, answer_probes).screen_id == "code"


def test_what_a_snapshot_does_not_tell_is_said_in_the_evidence(spadeworks):
    found = identify(spadeworks, sample("v1_login"), answer_probes)
    told = {evidence.indicator: evidence for evidence in found.evidence}
    password = told["dom_element 'input[type=\"password\"]'"]
    assert (password.status, password.kind) == ("unknown", "required")
    assert password.detail.startswith("could not be evaluated, counts as not held")


def test_url_and_title_come_from_the_snapshots_own_head():
    seen = sample("v1_settings")
    assert (seen.url, seen.title) == ("http://127.0.0.1:8000/settings", "Settings · Spadeworks")


def test_a_snapshot_that_was_written_to_a_file_is_asked_for(spadeworks):
    text = "### Page\n- Page URL: http://127.0.0.1:1/inbox\n- Page Title: X\n- [Snapshot](.playwright-mcp/page.yml)"
    found = identify(spadeworks, admit_snapshot(PageSnapshot(url="", text=text)), answer_probes)
    assert found.screen_id is None
    assert "not its file" in (found.hint or "")


# -- how much is told ----------------------------------------------------------------------------


async def told(detail: str | None, **snapshot: str) -> tuple[Identification, str]:
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        asked = {"website_id": "pantry", "snapshot": snapshot, "last_known_screen_id": "shelf"}
        result = await client.call_tool(
            "identify_current_screen", asked | ({} if detail is None else {"detail": detail})
        )
    assert not result.is_error, result.content
    return Identification.model_validate(result.structured_content), result.content[0].text


async def test_unless_asked_for_more_an_answer_is_the_screen_and_why_in_a_line():
    seen = {"url": pantry.SHELF.url, "html": pantry.SHELF.html}
    summary, words = await told(None, **seen)
    assert (summary.screen_id, summary.evidence, summary.candidates) == ("shelf", (), ())
    assert "indicators hold" in summary.because
    assert summary.because in words
    assert "get_available_actions for 'shelf'" in words
    working, _ = await told("working", **seen)
    full, listed = await told("full", **seen)
    assert {each.detail for each in working.evidence} == {""}
    assert [each.indicator for each in working.evidence] == [each.indicator for each in full.evidence]
    assert all(each.indicator in listed for each in full.evidence)
    assert len(summary.model_dump_json()) < len(working.model_dump_json()) < len(full.model_dump_json())


async def test_of_an_unknown_page_the_nearest_screens_and_ways_out_are_told_first():
    seen = {"url": f"{pantry.BASE}/nowhere", "html": "<p>Nothing"}
    summary, _ = await told("summary", **seen)
    full, _ = await told("full", **seen)
    assert summary.screen_id is full.screen_id is None
    assert summary.hint == full.hint
    assert summary.recovery == full.recovery[:2] != ()
    assert [each.screen_id for each in summary.candidates] == [e.screen_id for e in full.candidates[:2]]


# -- limits --------------------------------------------------------------------------------------


BOMBS = {
    "20 MB of HTML": ({"html": "<p>x</p>" * 2_500_000}, "MB"),
    "20 MB of text": ({"text": "word " * 4_000_000}, "MB"),
    "20 MB of title": ({"title": "t" * 20_000_000, "html": "<p>"}, "MB"),
    "a hundred thousand nested elements": ({"html": "<div>" * 100_000}, "nested"),
    "attributes": ({"html": "<p " + " ".join(f"a{n}=''" for n in range(400_000)) + ">"}, "attributes"),
    "formatting": (
        {"html": "<p>" + "".join(f"<b x={n}>" for n in range(900)) + "<p>x" * 100_000},
        "formatting",
    ),
    "lines of a snapshot": ({"text": "- text: a\n" * 200_000}, "lines"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", BOMBS)
async def test_pages_beyond_the_limits_get_a_clear_refusal(name):
    page, reason = BOMBS[name]
    snapshot = {"url": f"{pantry.BASE}/jars", **page}
    arguments = {"website_id": "pantry", "snapshot": snapshot}
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        answer = await client.call_tool("identify_current_screen", arguments)
    assert answer.is_error
    [said] = answer.content
    assert reason in said.text
    assert "send" in said.text
    assert len(said.text) < 1_000


def test_everything_a_client_sends_counts():
    with pytest.raises(SnapshotTooLarge):
        admit_snapshot(PageSnapshot(url="x" * (MAX_BYTES + 1)))
