"""Drafts of WebMCP declarations: a browser reads them as the tools that they say."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import async_playwright
from typer.testing import CliRunner

from agent.browser.launch import LaunchSettings, launch
from agent.page.page_tools import list_page_tools
from kb_schema import SourcedDocument, assemble, parse_document
from loaders.bridges.webmcp_drafts import draft_webmcp
from loaders.files.folder_reader import read_knowledge_folder
from periplus.cli import app
from tests.support.small_sites import Answered, running_site

ROOT = Path(__file__).parents[3]
HARBOUR, SPADEWORKS = ROOT / "tests/data/harbour/kb", ROOT / "seeds/spadeworks/kb"


async def test_a_browser_reads_the_draft_as_tools_with_their_inputs(tmp_path):
    done = CliRunner().invoke(
        app, ["kb", "export", "--folder", str(SPADEWORKS), "--format", "webmcp", str(tmp_path / "x.html")]
    )
    assert done.exit_code == 0, done.output
    html = (tmp_path / "x.html").read_text()
    with running_site(lambda _: Answered(html)) as site:
        async with async_playwright() as playwright:
            flags = LaunchSettings(extra_args=("--enable-features=WebMCP",))
            browser = await launch(playwright, settings=flags)
            page = await browser.new_page()
            await page.goto(site.base.replace("127.0.0.1", "localhost"))
            tools = {each.name: each for each in await list_page_tools(page)}
            await browser.close()
    assert tools["update_profile"].required == {"display_name"}
    assert tools["update_profile"].properties.keys() == {"display_name", "company"}
    assert tools["create_agent"].properties["agent_name"]["description"].startswith("Name for the agent")
    assert not any(each.sends for each in tools.values()), "the owner decides what is sent without a look"
    assert "login" not in tools, "no tool takes a password"


def test_what_no_form_is_drafted_from_is_told_with_the_reason():
    knowledge, _ = read_knowledge_folder(SPADEWORKS)
    told = dict(each.split(": ", 1) for each in draft_webmcp(knowledge).left_out)
    assert told["login"] == "it types a secret"
    assert told["create_campaign"].startswith("its fields are on 2 screens")


def test_words_of_the_knowledge_base_stay_words():
    knowledge, _ = read_knowledge_folder(HARBOUR)
    document = knowledge.tasks["register_boat"].model_dump(mode="json", exclude_none=True, by_alias=True)
    document["description"] = 'Say "ahoy" --> <script>alert(1)</script>'
    others = [each for each in knowledge.documents() if each.local_id != "register_boat"]
    changed, _ = assemble([*map(SourcedDocument, others), SourcedDocument(parse_document(document))])
    html = draft_webmcp(changed).html
    assert "<script>" not in html
    assert 'tooldescription="Say &quot;ahoy&quot; --&gt; &lt;script&gt;' in html


def test_a_website_without_such_tasks_is_refused(tmp_path):
    (tmp_path / "website.yaml").write_text(
        "type: website\nwebsite_id: bare\nname: Bare\nbase_url: https://bare.example\n"
    )
    command = ["kb", "export", "--folder", str(tmp_path), "--format", "webmcp", str(tmp_path / "x.html")]
    failed = CliRunner().invoke(app, command)
    assert "no task fills a form" in str(failed.exception)
