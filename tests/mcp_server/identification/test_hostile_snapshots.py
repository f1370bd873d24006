"""What clients send that is wrong, huge or incomplete: the answer says so, in few words."""

from __future__ import annotations

import pytest
from mcp import Client

from mcp_server.knowledge.knowledge_sources import MemorySource
from mcp_server.server import create_server
from tests.mcp_server import pantry

SHELF_HTML = (
    "<title>Jars</title><main><h1>Your jars</h1><table class='jars'><tr><td>Plum</td></tr></table></main>"
)
LARGE = 100_000
SMALL_ANSWER = 8_000


async def ask(snapshot, tool="identify_current_screen", **more):
    async with Client(create_server(MemorySource(pantry.knowledge()))) as client:
        return await client.call_tool(tool, {"website_id": "pantry", "snapshot": snapshot, **more})


def said(result) -> str:
    return "".join(block.text for block in result.content)


async def test_a_url_that_is_none_is_of_no_website():
    result = await ask({"url": "http://[", "html": SHELF_HTML})
    assert not result.is_error
    assert "'http://[' is not of website 'pantry'" in said(result)


@pytest.mark.parametrize("base_url", ["http://[", "foo", "ftp://host", "http://"])
async def test_a_base_url_that_is_none_is_refused_with_one_that_would_do(base_url):
    result = await ask({"url": "http://10.0.0.1:81/jars", "html": SHELF_HTML}, base_url=base_url)
    assert result.is_error
    assert "is no URL; give one like 'http://10.0.0.1:81'" in said(result)


@pytest.mark.parametrize(
    "snapshot",
    [
        {"url": f"{pantry.BASE}/nowhere?q={'x' * LARGE}", "html": SHELF_HTML},
        {"url": f"https://other.example/{'x' * LARGE}", "html": SHELF_HTML},
        {"url": f"{pantry.BASE}/jars", "html": "<h1>How jars work</h1>", "title": "Blog" * LARGE},
    ],
)
async def test_the_answer_does_not_grow_with_what_was_sent(snapshot):
    result = await ask(snapshot)
    assert not result.is_error
    assert len(result.model_dump_json()) < SMALL_ANSWER


async def test_the_spelling_of_scheme_host_and_default_port_makes_no_difference():
    scheme, host = pantry.BASE.split("://")
    for base in (f"{scheme.upper()}://{host.upper()}", f"{scheme}://{host}:443"):
        result = await ask({"url": f"{base}/jars", "html": SHELF_HTML})
        assert result.structured_content["screen_id"] == "shelf"


async def test_a_page_without_a_url_is_judged_by_what_is_on_it():
    for snapshot in ({"html": SHELF_HTML}, {"url": "", "html": SHELF_HTML}):
        result = await ask(snapshot)
        assert not result.is_error
        folder = [e for e in result.structured_content["candidates"] if e["screen_id"] == "shelf"]
        assert "could not be evaluated" in folder[0]["because"]
        assert "send the page's `url`" in said(result)


async def test_the_url_a_text_names_is_taken():
    text = f'- Page URL: {pantry.BASE}/jars\n- Page Title: Jars\n- Page Snapshot:\n```yaml\n- heading "Your jars"\n```'
    result = await ask({"text": text})
    assert not result.is_error, said(result)
    assert "the page's `url`" not in said(result)


async def test_a_url_alone_is_said_to_be_all_that_was_given():
    for snapshot in ({"url": f"{pantry.BASE}/jars"}, {"url": f"{pantry.BASE}/jars", "html": ""}):
        result = await ask(snapshot)
        assert "nothing but the URL was given" in said(result)


async def test_from_a_foreign_page_only_ways_that_need_nothing_of_it_are_named():
    snapshot = {"url": "https://app.example:8443/x", "html": "<p>Hello</p>"}
    for screen_id in ("jar_new", "screen/jar_new"):
        result = await ask(snapshot, last_known_screen_id=screen_id)
        assert not result.is_error
        assert "base_url='https://app.example:8443'" in said(result)
        kinds = {each["action"]["action_type"] for each in result.structured_content.get("recovery", [])}
        assert kinds <= {"navigate", "navigate_back"}


async def test_html_without_annotations_is_not_taken_for_annotated():
    html = SHELF_HTML.replace("<h1>", "<h1 hidden>")
    result = await ask({"url": f"{pantry.BASE}/jars", "html": html, "annotated": True})
    assert result.structured_content.get("screen_id") is None


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (["page"], "a page is a text, or an object with url, html, text, file"),
        ({"url": "x", "htm": "<p>"}, 'did you mean "html"'),
        (
            {"nonsense": 1},
            "there is no 'nonsense'; a page is a text, or an object with url, html, text, file",
        ),
    ],
)
async def test_a_page_that_is_written_wrongly_is_refused_in_our_words(snapshot, words):
    result = await ask(snapshot)
    assert result.is_error
    assert words in said(result)
    assert "PageSnapshot" not in said(result)


async def test_an_empty_website_id_is_told_the_websites():
    result = await ask({"url": "x"}, website_id="")
    assert "websites are pantry" in said(result)
