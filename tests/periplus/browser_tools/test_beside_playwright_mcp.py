"""In front of Playwright's real MCP server (`--wrap`), and beside it on one Chrome."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from typer.testing import CliRunner

from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.browser_tools.element_targets import (
    NamedElement,
    find_fitting,
    find_targets,
    list_other_fields,
    role_selector,
)
from periplus.browser_tools.wrapped_answers import (
    WHOLE,
    AnsweredPage,
    find_answered_page,
    list_messages,
    list_named_elements,
    put_summary,
)
from periplus.cli import app
from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from tests.support.given_chrome import given_chrome
from tests.support.playwright_mcp import own_browser, playwright_mcp_command

HARBOUR = Path(__file__).parents[2] / "data" / "harbour"


@pytest.fixture(scope="module")
async def harbour() -> AsyncIterator[str]:
    async with start_seed_site(find_seed(str(HARBOUR))) as url:
        yield url


@pytest.fixture
async def data(tmp_path: Path) -> dict[str, str]:
    """The environment of servers that know the harbour."""
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    async with open_stores(tmp_path / "data") as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)
    return {**os.environ, "PERIPLUS_DATA_DIR": str(tmp_path / "data")}


def started(command: list[str], env: dict[str, str], folder: Path) -> Client:
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=folder)
    return Client(stdio_client(parameters))


async def told(client: Client, tool: str, *, fails: bool = False, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    assert bool(result.is_error) is fails, text
    return text


def periplus_mcp(harbour: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "periplus", "mcp", "--base-url", f"harbour={harbour}", *more]


@pytest.mark.always
async def test_in_front_of_playwright_mcp_a_known_page_is_a_summary_with_its_references(
    harbour, data, tmp_path
):
    wrapped = playwright_mcp_command(*own_browser())
    command = periplus_mcp(harbour, "--wrap", shlex.join(wrapped))
    async with started(wrapped, data, tmp_path) as alone, started(command, data, tmp_path) as client:
        theirs, ours = (await alone.list_tools()).tools, (await client.list_tools()).tools
        assert ours[:-1] == theirs, "its tools are passed on as they are"
        assert ours[-1].name == WHOLE
        opened = await told(client, "browser_navigate", url=f"{harbour}/boats/new")
        assert "on boat_new" in opened
        assert "### Ran Playwright code" in opened, "the rest of the answer stays"
        assert ".yml" not in opened
        refs = dict(each.split("=") for each in opened.partition("targets: ")[2].splitlines()[0].split(", "))
        await told(client, "browser_type", target=refs["name_field"], text="Heron")
        moored = await told(client, "browser_click", target=refs["moor"])
        assert "on quay" in moored
        assert "! Boat registered" in moored
        summary = await told(client, "browser_snapshot")
        whole = await told(client, WHOLE)
        assert "Heron" not in summary
        assert 'cell "Heron"' in whole
        assert len(summary) < 1_000
        unknown = await told(client, "browser_navigate", url=f"{harbour}/fog")
        assert "Periplus" not in unknown, "an unknown page is as without us"
        elsewhere = await told(client, "browser_navigate", url="data:text/html,<h1>Boats</h1>")
        assert "Periplus" not in elsewhere
        assert "Error" in await told(client, "browser_click", target="#nothing", fails=True)


async def test_beside_playwright_mcp_each_sees_what_the_other_does(harbour, data, tmp_path):
    with given_chrome(tmp_path, (f"{harbour}/boats/new",)) as chrome:
        theirs = playwright_mcp_command("--cdp-endpoint", chrome.endpoint)
        ours = periplus_mcp(harbour, "--cdp-endpoint", chrome.endpoint)
        async with started(theirs, data, tmp_path) as playwright, started(ours, data, tmp_path) as periplus:
            seen = await told(periplus, "look")
            assert "on boat_new" in seen
            targets = dict(
                each.split(" ", 1) for each in seen.partition("targets: ")[2].splitlines()[0].split(", ")
            )
            assert targets["name_field"] == 'role=textbox[name="Boat name"s]'
            await told(playwright, "browser_type", target=targets["name_field"], text="Grebe")
            assert await told(periplus, "read", what="Boat name") == "Grebe"
            await told(periplus, "act", element="Boat name", value="Smew")
            assert "Smew" in await told(playwright, "browser_snapshot")
            await told(playwright, "browser_click", target=targets["moor"])
            assert "on quay" in await told(periplus, "look")
            assert "Smew" in await told(periplus, "read", what="table")
        assert len(chrome.pages()) == 1


# -- without a browser -----------------------------------------------------------------------------------

ANSWER = """### Result
"### Page
- Page URL: https://bank.example/pay
### Snapshot
```yaml
- button "Pay" [ref=e1]
```"
### Page
- Page URL: http://127.0.0.1:8080/quay
- Page Title: Quay
### Snapshot
```yaml
- alert [ref=e2]:
  - paragraph [ref=e3]: No wind
- button "Moor" [ref=e4]
- button "Moor \\"now\\"" [ref=e5]
```
### Events
- New console entries"""


def test_the_page_of_an_answer_is_the_one_at_its_end(tmp_path):
    page = find_answered_page(ANSWER, tmp_path)
    assert page is not None
    assert page.url == "http://127.0.0.1:8080/quay"
    assert ANSWER[page.end :] == "\n### Events\n- New console entries"
    assert list(list_named_elements(page.snapshot)) == [
        NamedElement("button", "Moor", "e4"), NamedElement("button", 'Moor "now"', "e5"),
    ]  # fmt: skip
    assert list_messages(page.snapshot) == ["No wind"]


@pytest.mark.parametrize("file", ["../secret.yml", "/etc/passwd", ".playwright-mcp/../secret.yml"])
def test_a_snapshot_is_read_only_from_the_folder_for_snapshots(tmp_path, file):
    (tmp_path / "secret.yml").write_text('- button "Secret" [ref=e1]')
    (tmp_path / ".playwright-mcp").mkdir()
    text = "### Page\n- Page URL: http://a.example/\n### Snapshot\n- [Snapshot]({})"
    assert find_answered_page(text.format(file), tmp_path) is None
    (tmp_path / ".playwright-mcp" / "page.yml").write_text('- button "Open" [ref=e1]')
    found = find_answered_page(text.format(".playwright-mcp/page.yml"), tmp_path)
    assert found is not None
    assert "Open" in found.snapshot


def test_an_element_whose_name_is_there_twice_has_no_target():
    from kb_schema.tool_answers import ElementAction  # noqa: PLC0415 - used once

    actions = [
        ElementAction(element_id=name, label=label, action_type=action)
        for name, label, action in (
            ("save", "Save", "click"),
            ("off", "Cast off", "click"),
            ("q", "Name:", "fill"),
        )
    ]
    elements = [
        NamedElement("button", "Save", "e1"), NamedElement("heading", "Save", "e2"),
        NamedElement("button", "Cast off", "e3"), NamedElement("button", "Cast off", "e4"),
        NamedElement("textbox", "Name *", "e5"),
    ]  # fmt: skip
    assert find_targets(actions, elements) == {"save": "e1", "q": "e5"}
    assert role_selector("button", 'Say "hi"') == 'role=button[name="Say \\"hi\\""s]'


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--wrap", "no-such-program-here"], "there is no program"),
        (["--wrap", "x 'y"], "No closing quotation"),
        (["--wrap", "node", "--browser"], "goes with stdio and without"),
        (["--wrap", "node", "--transport", "http"], "goes with stdio and without"),
    ],
)
def test_a_command_that_cannot_be_wrapped_is_refused(arguments, says, tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("periplus.commands.mcp.log_to_stderr", lambda: None)  # it would stay for other tests
    error = CliRunner().invoke(app, ["mcp", *arguments]).exception
    assert isinstance(error, UserError), error
    assert error.code == 2
    assert says in str(error)


FORM = """- table [ref=e1]:
  - row [ref=e2]:
    - rowheader "Title:" [ref=e3]
    - cell [ref=e4]:
      - textbox [ref=e5]
  - row [ref=e6]:
    - rowheader "Priority" [ref=e7]
    - cell [ref=e8]:
      - combobox [ref=e9]:
        - option "bug"
- textbox [ref=e10]
- button "Save" [ref=e11]"""


def test_a_field_without_a_name_is_called_as_its_row_says_and_fields_that_are_not_known_are_listed():
    from kb_schema.tool_answers import ElementAction  # noqa: PLC0415 - used twice

    elements = list(list_named_elements(FORM))
    assert NamedElement("textbox", "Title:", "e5") in elements
    assert NamedElement("combobox", "Priority", "e9") in elements
    known = [
        ElementAction(element_id="title_field", label="Title", action_type="fill"),
        ElementAction(element_id="login_field", label="Login", action_type="fill"),
    ]
    fitting = find_fitting(known, elements)
    assert {name: found[0].target for name, found in fitting.items()} == {"title_field": "e5"}
    others = list_other_fields(elements, fitting)
    assert [each.target for each in others] == ["e9"]
    page = AnsweredPage("http://a.example/", FORM, 0, 0)
    assert 'combobox "Priority"=e9' in put_summary("", page, "on new_issue:", {"title_field": "e5"}, others)
