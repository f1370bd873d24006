"""`periplus mcp --browser`, asked by the SDK's client: in memory, over stdio, beside a Chrome that was started by hand."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from html import escape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from kb_schema.session_reader import read_session
from kb_store import Stores, load_knowledge, open_stores
from kb_store.runs.run_store import RunStore
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.path_engines import PathEngines
from mcp_server.security.call_limits import CallLimits
from mcp_server.tool_reference import update_reference
from periplus.browser_tools.address_policy import OpenMode
from periplus.browser_tools.browser_server import LEFT_OUT, open_browser_server
from periplus.browser_tools.browser_tool_reference import BEGIN, list_browser_tools
from periplus.cli import app
from periplus.errors import UserError
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import BrowserOptions
from tests.support.given_chrome import GivenChrome, given_chrome
from tests.support.small_sites import Answered, Asked, RunningSite, running_site

HARBOUR = Path(__file__).parents[3] / "tests/data/harbour"
FEW = 1_000
"""Characters of 250 tokens."""


@pytest.fixture(scope="module")
async def harbour() -> AsyncIterator[str]:
    async with start_seed_site(find_seed(str(HARBOUR))) as url:
        yield url


@pytest.fixture(scope="module")
async def shelves(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stores, RunStore, Path]]:
    folder = tmp_path_factory.mktemp("browser")
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    async with open_stores(folder) as stores, open_runs(folder) as runs:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        yield stores, runs, folder


@asynccontextmanager
async def eyes(
    shelves: tuple[Stores, RunStore, Path],
    harbour: str,
    *,
    shared: bool = False,
    all_tools: bool = False,
    options: BrowserOptions | None = None,
    open_mode: OpenMode = OpenMode.ANY,
) -> AsyncIterator[Client]:
    stores, runs, _ = shelves
    async with (
        open_browser_server(
            stores,
            runs,
            ViewCache(StoreSource(stores.documents, stores.graph)),
            options or BrowserOptions(),
            base_urls={"harbour": harbour},
            read_only=False,
            limits=CallLimits(call_seconds=600.0),  # a loaded machine takes more than 30 s to start a browser
            engines=PathEngines(),
            files=None,
            runs_at_once=2,
            shared=shared,
            all_tools=all_tools,
            open_mode=open_mode,
        ) as server,
        Client(server) as client,
    ):
        yield client


async def told(client: Client, tool: str, *, fails: bool = False, **arguments: object) -> str:
    """The text of an answer."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    assert bool(result.is_error) is fails, text
    return text


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PERIPLUS_SECRET_HATCH", "open sesame")
    return tmp_path / "data"


# -- a known website -------------------------------------------------------------------------------------


@pytest.mark.always
async def test_on_a_known_page_a_look_is_short_and_each_act_answers_with_what_is_shown_now(
    shelves, harbour, data_folder
):
    async with eyes(shelves, harbour) as client:
        seen = await told(client, "go_to", url=f"{harbour}/quay")
        assert "on quay" in seen
        assert len(seen) < FEW
        assert "at boat_new (verified)" in await told(client, "go_to", screen="boat_new")
        filled = await told(client, "act", element="name_field", value="Cleo")
        assert filled.splitlines()[0] == "done: fill 'Boat name'"
        assert "on boat_new: as before" in filled
        pressed = await told(client, "act", element="moor")
        assert "on quay" in pressed
        assert "Cleo" in await told(client, "read", what="table")


async def test_a_screen_of_the_only_website_needs_no_address_first(shelves, harbour, data_folder):
    async with eyes(shelves, harbour) as client:
        assert "at boat_new (verified)" in await told(client, "go_to", screen="boat_new")


async def test_a_task_runs_in_the_same_browser_and_its_page_is_closed(shelves, harbour, data_folder):
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{harbour}/quay")
        result = await client.call_tool(
            "run_task", {"website_id": "harbour", "task_id": "register_boat", "inputs": {"boat_name": "Dora"}}
        )
        assert (result.structured_content or {}).get("state") == "success", result.content
        assert (await told(client, "tabs")).count("http") == 1
        await told(client, "go_to", url=f"{harbour}/quay")
        assert "Dora" in await told(client, "read", what="table")


@pytest.mark.parametrize(("all_tools", "most"), [(False, 7_000), (True, 16_000)])
async def test_all_tools_together_are_few_and_none_is_there_twice(
    shelves, harbour, data_folder, all_tools, most
):
    async with eyes(shelves, harbour, all_tools=all_tools) as client:
        tools = (await client.list_tools()).tools
    names = [tool.name for tool in tools]
    assert len(names) == len(set(names))
    assert {"look", "go_to", "act", "read", "tabs", "run_task", "list_tasks", "search_knowledge"} <= set(
        names
    )
    assert ("find_path" in names) is all_tools
    assert not LEFT_OUT & set(names)
    listed = [
        {"name": tool.name, "description": tool.description, "schema": tool.input_schema} for tool in tools
    ]
    assert len(json.dumps(listed)) < most  # four characters are about one token


# -- a website that nobody described ---------------------------------------------------------------------

LIST = "<h1>Boats</h1><a href=/new>New boat</a><ul>{rows}</ul><p role=status>{said}</p>"
NEW = (
    "<h1>New boat</h1>{alert}<form method=post action=/new><label>Name <input name=name required></label>"
    "<label>Key <input type=password name=key></label><button>Moor</button></form>"
)
BOAT = (
    "<h1>A boat</h1><form method=post action=/boat/1><input type=hidden name=@action value=retire><button>Go on</button></form>"
    "<form method=post action=/boat/1><button>Retire</button></form>"
)

REFUSED = (
    "<h1>A boat</h1><p class=error-message>Required property name not supplied</p>"
    "<form method=post action=/refused><label>Name <input name=name></label><button>Moor</button></form>"
)
CHOICES = (
    "<h1>Boats</h1><form method=post action=/boat/1><label>Action <select name=deed><option value=''>---</option>"
    "<option value=gone>Delete selected boats</option></select></label><button>Go</button></form>"
    "<form method=post action=/boat/1><h2>Payment of 500 EUR</h2><label>Name <input name=holder></label><button>Continue</button></form>"
    "<form method=post action=/boat/1><label>Number <input name=number autocomplete='billing cc-number'></label><button>Next step</button></form>"
    "<label>Quay <select onchange=\"fetch('/boat/1')\"><option value=keep>Keep<option value=wipe>Delete all boats now</select></label>"
    "<button aria-label='Delete this quay' onclick=\"fetch('/boat/1')\">Sink them</button>"
    "<a href='/boat/1?delete=all'>Proceed</a>"
    "<form method=post action=/boat/1><label>Word <input name=word></label><button>Delete boats</button></form>"
    "<label><input type=checkbox onchange=\"fetch('/boat/1')\">Remove boats at once</label>"
)
_POST = "<form method=post action=/boat/1>{}</form>"
_FETCH = "fetch('/boat/1', {method: 'POST'})"
NEEDS_A_YES: dict[str, tuple[str, dict[str, object]]] = {
    "japanese": (_POST.format("<button>アカウントを削除</button>"), {"element": "アカウントを削除"}),
    "russian": (_POST.format("<button>Удалить</button>"), {"element": "Удалить"}),
    "sign": (_POST.format("<button>🗑️</button>"), {"element": "e3"}),
    "share": (_POST.format("<button>Share</button>"), {"element": "Share"}),
    "order": (_POST.format("<button>Submit order</button>"), {"element": "Submit order"}),
    "image": (_POST.format('<input name=t aria-label=Note><input type=image alt="Delete account" src=x>'), {"element": "Note", "action": "press", "value": "Enter"}),
    "area": ("<form method=post action=/boat/1><textarea aria-label=Note onkeydown=\"if (event.key === 'Enter') form.submit()\"></textarea><button>Delete</button></form>", {"element": "Note", "action": "press", "value": "Control+Enter"}),
    "chat": (f'<div contenteditable role=textbox aria-label=Message style="min-height: 30px" onkeydown="if (event.key === \'Enter\') {_FETCH}"></div><button>Send</button>', {"element": "Message", "action": "append_text", "value": "hello\n"}),
    "chat, Enter": (f'<div contenteditable role=textbox aria-label=Message style="min-height: 30px" onkeydown="if (event.key === \'Enter\') {_FETCH}"></div><button>Send</button>', {"element": "Message", "action": "press", "value": "Enter"}),
    "key": (f'<div role=option tabindex=0 onkeydown="{_FETCH}">report.txt</div>', {"element": "report.txt", "action": "press", "value": "Delete"}),
    "question": (f'<button onclick="if (confirm(\'Delete all your files?\')) {_FETCH}">Continue</button>', {"element": "Continue", "expects": "accept"}),
    "price": (f'<button onclick="if (confirm(\'Pay 300 EUR?\')) {_FETCH}">Continue</button>', {"element": "Continue", "expects": "accept"}),
    "slotted": (f'<div id=host><button onclick="{_FETCH}">Yes</button></div><script>host.attachShadow({{mode: "open"}}).innerHTML = "<div role=dialog><h2>Delete your account?</h2><slot></slot></div>"</script>', {"element": "Yes"}),
    "popover": (f'<div popover id=asks><h3>Delete 3 files?</h3><button onclick="{_FETCH}">Yes</button></div><script>asks.showPopover()</script>', {"element": "Yes"}),
    "frame": ('<div role=dialog><h2>Delete account?</h2><iframe srcdoc="<form method=post action=/boat/1 target=_top><button>Yes</button></form>"></iframe></div>', {"element": "Yes"}),
    "button's value": (_POST.format("<button name=action value=delete>Continue</button>"), {"element": "Continue"}),
    "label of a list": (_POST.format('<label>Delete all <select onchange="form.submit()"><option>no<option>yes</select></label>'), {"element": "Delete all", "value": "yes"}),
    "described": (f'<p id=asks>Delete all files?</p><div role=alertdialog aria-describedby=asks><button onclick="{_FETCH}">OK</button></div>', {"element": "OK"}),
    "column": ("<table><tr><th>Name<th>Delete<tr><td>Ann<td>" + _POST.format("<button>Go</button>") + "</table>", {"element": "Go"}),
    "rails": ('<a href="/boat/1" data-method=delete>Continue</a>', {"element": "Continue"}),
    "htmx": (f'<button hx-delete="/boat/1" onclick="{_FETCH}">Continue</button>', {"element": "Continue"}),
    "its own code": ("""<button onclick="fetch('/boats', {method: 'DELETE'})">Go on</button>""", {"element": "Go on"}),
    "an address in its code": ("""<button onclick="fetch('/boat/delete?id=1')">Go on</button>""", {"element": "Go on"}),
    "drawn by a style sheet": (
        _POST.format("<style>#q::before {{ content: 'Delete all boats' }}</style><button id=q aria-label=Details></button>".format()),
        {"element": "Details"},
    ),
}  # fmt: skip
"""Ways in which a page deletes, pays or sends, and the act that does it there."""
PAGES = {"/new": NEW.format(alert=""), "/boat": BOAT, "/refused": REFUSED, "/choices": CHOICES}


class Quay:
    """A small site: boats are moored and cast off."""

    def __init__(self) -> None:
        self.boats = ["Ada", "Bea"]
        self.keys: list[str] = []
        self.said = ""

    def __call__(self, asked: Asked) -> Answered:
        if asked.path == "/new" and asked.method == "POST":
            if asked.form["name"] in self.boats:
                alert = "<p role=alert class=error>This name is taken.</p>"
                return Answered(NEW.format(alert=alert), status=200)
            self.boats.append(asked.form["name"])
            self.keys.append(asked.form["key"])
            self.said = "Moored."
            return Answered(location="/")
        if asked.path == "/ask":
            return Answered(f"<title>Ask</title>{NEEDS_A_YES[asked.query['for']][0]}")
        if asked.path in PAGES:
            return Answered(PAGES[asked.path])
        if asked.path == "/boat/1":
            self.boats.clear()
        if asked.path == "/off" and asked.method == "POST":
            self.boats.remove(asked.form["name"])
            return Answered(location="/")
        rows = "".join(
            f"<li>{escape(name)} <form method=post action=/off><input type=hidden name=name value='{name}'><button>Delete</button></form></li>"
            for name in self.boats
        )
        return Answered(LIST.format(rows=rows, said=self.said))


@pytest.fixture
def quay() -> Iterator[tuple[Quay, RunningSite]]:
    made = Quay()
    with running_site(made) as site:
        yield made, site


async def test_without_knowledge_an_outline_has_references_and_the_next_look_only_what_changed(
    shelves, harbour, quay, data_folder
):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        seen = await told(client, "go_to", url=f"{site.base}/new")
        assert "# New boat" in seen
        ref = next(line.split()[0] for line in seen.splitlines() if 'textbox "Name"' in line)
        assert "unchanged" in await told(client, "act", element=ref, value="Cleo")
        await told(client, "act", element="Key", value="open sesame")
        pressed = await told(client, "act", element="Moor")
        assert "! Moored." in pressed
        assert (await told(client, "look")).splitlines()[1:] == ["unchanged"]
    assert made.boats == ["Ada", "Bea", "Cleo"]
    assert made.keys == ["open sesame"]
    (folder,) = (data_folder / "browser").iterdir()
    trace = read_session(folder)
    assert [step.action_type for step in trace.steps] == ["navigate", "fill", "fill", "click"]
    assert "open sesame" not in "".join(each.read_text() for each in folder.rglob("*") if each.is_file())


async def test_a_look_shows_what_fields_hold_but_for_secrets(shelves, harbour, quay, data_folder):
    _, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{site.base}/new")
        await told(client, "act", fields={"Name": "Cleo", "Key": "open sesame"})
        whole = await told(client, "look", whole=True)
    assert 'textbox "Name" required = "Cleo"' in whole
    assert "open sesame" not in whole
    assert "password" in whole


async def test_what_is_too_long_to_read_says_how_much_there_is_and_how_to_read_on(
    shelves, harbour, data_folder
):
    rows = "".join(f"<tr><td>{n}</td><td>Boat {n}</td></tr>" for n in range(1, 251))
    text = "".join(f"<p>Line {n} of the log.</p>" for n in range(900))
    page = f"<h1>Log</h1><table><tr><th>No</th><th>Name</th></tr>{rows}</table>{text}"
    with running_site(lambda _: Answered(page)) as site:
        async with eyes(shelves, harbour) as client:
            await told(client, "go_to", url=site.base)
            first = (await told(client, "read", what="table")).splitlines()
            assert len(json.loads(first[0])) == 200
            assert first[1] == 'rows 1 to 200 of 250; the next: read "table from row 201"'
            last = (await told(client, "read", what="table from row 201")).splitlines()
            assert json.loads(last[0])[-1] == {"No": "250", "Name": "Boat 250"}
            assert last[1] == "rows 201 to 250 of 250, the last"
            page_text = (await told(client, "read")).splitlines()
            assert page_text[-1].startswith("characters 1 to ")
            on = page_text[-1].partition('"')[2].strip('"')
            assert "Line 899 of the log." in await told(client, "read", what=on)


async def test_words_that_no_element_is_called_by_are_found_in_the_text_of_the_page(
    shelves, harbour, data_folder
):
    page = (
        "<h1>Terms</h1><p>Orders ship from Bergen.</p><p>Refunds take ten days.</p><h2>Berths</h2><div>Price per night</div>"
        "<div>120 kr</div><p>Paid on arrival.</p><p style='display: none'>Refunds are secret.</p><button>Order</button>"
    )
    with running_site(lambda _: Answered(page)) as site:
        async with eyes(shelves, harbour) as client:
            await told(client, "go_to", url=site.base)
            found = await told(client, "read", what="refund days")
            assert found.splitlines() == [
                "no element is called 'refund days'; the page's text has:",
                "Orders ship from Bergen.", "Refunds take ten days.", "Berths",
            ]  # fmt: skip
            assert "120 kr" in await told(client, "read", what="Price per night")
            refused = await told(client, "read", what="refund of deposits", fails=True)
            assert "nor does the page's text have these words" in refused
            assert await told(client, "read", what="Order") == "Order"


async def test_several_fields_are_filled_with_one_act_and_the_first_that_refuses_ends_it(
    shelves, harbour, quay, data_folder
):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        seen = await told(client, "go_to", url=f"{site.base}/new")
        ref = next(line.split()[0] for line in seen.splitlines() if 'textbox "Name"' in line)
        for wrong, says in (
            ({"fields": {}}, "fields has 0 entries"),
            ({"fields": {ref: "Cleo"}, "element": ref}, "nothing else"),
            ({"fields": {ref: "Cleo"}, "value": "x"}, "nothing else"),
            ({}, "nothing else"),
            ({"fields": {"Colour": "red"}}, "Colour"),
            ({"fields": {"tool:paint": "red"}}, "is no field"),
        ):
            assert says in await told(client, "act", fails=True, **wrong)
        stopped = await told(client, "act", fields={ref: "Cleo", "Colour": "red", "Key": "x"}, fails=True)
        assert stopped.startswith("done: Name; then 'Colour':")
        assert made.boats == ["Ada", "Bea"]
        filled = await told(client, "act", fields={"Name": "Dora", "Key": "open sesame"})
        assert filled.splitlines() == ["done: Name, Key", "unchanged"]
        await told(client, "act", element="Moor")
    assert made.boats == ["Ada", "Bea", "Dora"]
    assert made.keys == ["open sesame"]
    (folder,) = (data_folder / "browser").iterdir()
    assert [step.action_type for step in read_session(folder).steps][-3:] == ["fill", "fill", "click"]
    assert "open sesame" not in "".join(each.read_text() for each in folder.rglob("*") if each.is_file())


async def test_a_secret_is_typed_into_a_secret_field_of_a_known_website_and_nowhere_else(
    shelves, harbour, quay, data_folder
):
    made, site = quay
    async with eyes(shelves, harbour) as client:  # nobody described the site
        await told(client, "go_to", url=f"{site.base}/new")
        assert "knowledge base only" in await told(client, "act", element="Key", secret="HATCH", fails=True)
    async with eyes(shelves, site.base) as client:  # the harbour runs there
        await told(client, "go_to", url=f"{site.base}/new")
        assert "no field for a secret" in await told(
            client, "act", element="Name", secret="HATCH", fails=True
        )
        await told(client, "act", element="Key", secret="HATCH")
        await told(client, "act", element="Name", value="Cleo")
        await told(client, "act", element="Moor")
    assert made.keys == ["open sesame"]


async def test_a_typed_secret_is_not_shown_when_another_website_repeats_it(
    shelves, harbour, quay, data_folder
):
    _, site = quay
    with running_site(lambda _: Answered("<h1>open sesame</h1><button>open sesame</button>")) as other:
        async with eyes(shelves, site.base) as client:
            await told(client, "go_to", url=f"{site.base}/new")
            await told(client, "act", element="Key", secret="HATCH")
            shown = await told(client, "go_to", url=other.base)
            assert "heading" in shown or "#" in shown
            for seen in (shown, await told(client, "read"), await told(client, "look", whole=True)):
                assert "sesame" not in seen
    kept = "".join(each.read_text() for each in data_folder.rglob("*.json*") if each.is_file())
    assert "open sesame" not in kept


async def test_what_the_application_refuses_is_an_error_with_its_own_words(
    shelves, harbour, quay, data_folder
):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{site.base}/new")
        await told(client, "act", element="Name", value="Ada")
        answer = await told(client, "act", element="Moor", fails=True)
        assert "This name is taken." in answer
    assert made.boats == ["Ada", "Bea"]


async def test_an_error_that_was_there_before_is_told_after_a_press_that_changed_nothing(
    shelves, harbour, quay, data_folder
):
    _, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{site.base}/refused")
        answer = await told(client, "act", element="Moor", fails=True)
        assert answer.startswith("the page shows 'Required property name not supplied'")


async def test_what_deletes_by_what_its_form_says_needs_a_yes(shelves, harbour, quay, data_folder):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{site.base}/boat")
        for element in ("Go on", "Retire"):
            assert "sure: true" in await told(client, "act", element=element, fails=True)
        assert made.boats == ["Ada", "Bea"]
        await told(client, "act", element="Go on", sure=True)
    assert made.boats == []


async def test_what_deletes_or_pays_by_what_is_chosen_or_by_its_form_needs_a_yes(
    shelves, harbour, quay, data_folder
):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{site.base}/choices")
        for entered in (
            {"element": "Action", "value": "Delete selected boats"},
            {"element": "Action", "value": "gone"},
            {"element": "Quay", "value": "wipe"},
            {"element": "Remove boats at once", "value": "true"},
            {"fields": {"Remove boats at once": True}},
            {"element": "Continue"},
            {"element": "Next step"},
            {"element": "Sink them"},
            {"element": "Proceed"},
            {"element": "Delete this quay"},
            {"element": "Word", "action": "input_and_submit", "value": "DELETE"},
            {"element": "Word", "action": "append_text", "value": "DELETE\n"},
            {"element": "Word", "action": "press", "value": "Enter"},
        ):
            assert "sure: true" in await told(client, "act", fails=True, **entered), entered
        await told(client, "act", fields={"Action": "gone"}, sure=True)
        assert "sure: true" in await told(client, "act", element="Go", fails=True)
        assert made.boats == ["Ada", "Bea"]
        await told(client, "act", element="Go", sure=True)
    assert made.boats == []


async def test_what_deletes_pays_or_sends_in_any_of_many_ways_needs_a_yes(
    shelves, harbour, quay, data_folder
):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        for way, (_, entered) in NEEDS_A_YES.items():
            await told(client, "go_to", url=f"{site.base}/ask?{urlencode({'for': way})}")
            assert "sure: true" in await told(client, "act", fails=True, **entered), way
            assert made.boats == ["Ada", "Bea"], way
        await told(client, "go_to", url=f"{site.base}/ask?for=question")
        await told(client, "act", element="Continue", expects="accept", sure=True)
        assert made.boats == []
        assert "sure: true" in await told(client, "go_to", url=f"{site.base}/boat/delete?id=4", fails=True)


async def test_what_deletes_needs_a_yes_and_the_row_that_is_meant(shelves, harbour, quay, data_folder):
    made, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=site.base)
        assert "sure: true" in await told(client, "act", element="Delete@row Bea", fails=True)
        assert "may mean 2 elements" in await told(client, "act", element="Delete", sure=True, fails=True)
        assert made.boats == ["Ada", "Bea"]
        await told(client, "act", element="Delete@row Bea", sure=True)
    assert made.boats == ["Ada"]


@pytest.mark.sampled(0.5)
async def test_a_job_that_was_done_three_times_is_a_workflow(shelves, harbour, quay, data_folder):
    made, site = quay
    for name in ("Cleo", "Dora", "Eva"):
        async with eyes(shelves, harbour) as client:
            await told(client, "go_to", url=f"{site.base}/")
            await told(client, "act", element="New boat")
            await told(client, "act", element="Name", value=name)
            await told(client, "act", element="Moor")
    traces = [str(each) for each in (data_folder / "browser").iterdir()]
    command = [
        sys.executable, "-m", "periplus", "synthesize", *traces, "--name", "Moor a boat", "--no-validate",
        "--out", str(data_folder / "made"),
    ]  # fmt: skip
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "type {name} into textbox 'Name'" in done.stdout
    assert "3 constant steps, 1 with inputs" in done.stdout
    assert made.boats == ["Ada", "Bea", "Cleo", "Dora", "Eva"]


ASKS = """<h1>Boats</h1><button onclick="if (confirm('Really sink her?')) document.body.append('Sunk.')">Sink</button>
<a href=/ target=_blank>Other window</a>"""


async def test_dialogs_and_new_tabs_are_answered_as_the_client_says_and_refused_otherwise(
    shelves, harbour, data_folder
):
    with running_site(lambda _: Answered(ASKS)) as site:
        async with eyes(shelves, harbour) as client:
            await told(client, "go_to", url=site.base)
            asked = await told(client, "act", element="Sink", fails=True)
            assert "Really sink her?" in asked
            assert "expects: accept" in asked
            await told(client, "act", element="Sink", expects="dismiss")
            assert "Sunk." not in await told(client, "read")
            await told(client, "act", element="Sink", expects="accept")
            assert "Sunk." in await told(client, "read")
            assert "expects" in await told(client, "act", element="Other window", fails=True)
            assert (await told(client, "tabs")).count("http") == 1
            opened = await told(client, "act", element="Other window", expects="new_tab")
            assert "this is the new tab" in opened
            assert "Sunk." not in await told(client, "read")
            assert (await told(client, "tabs")).count("http") == 2


async def test_a_password_that_a_client_types_is_kept_out_of_the_trace(shelves, harbour, quay, data_folder):
    _, site = quay
    async with eyes(shelves, harbour) as client:
        await told(client, "go_to", url=f"{site.base}/new")
        await told(client, "act", element="Key", value="mellon of the west")
    text = "".join(each.read_text() for each in (data_folder / "browser").rglob("*") if each.is_file())
    assert "fill" in text
    assert "mellon" not in text


async def test_what_is_not_there_is_refused_with_what_to_do(shelves, harbour, quay, data_folder):
    _, site = quay
    async with eyes(shelves, harbour) as client:
        assert "call go_to with a url" in await told(client, "look", fails=True)
        await told(client, "go_to", url=site.base)
        assert "no element" in await told(client, "act", element="Paint", fails=True)
        assert "no element e99" in await told(client, "act", element="e99", fails=True)
        assert "no known website" in await told(client, "go_to", screen="quay", fails=True)
        assert "a screen or a url" in await told(client, "go_to", fails=True)
        assert "begin with http" in await told(client, "go_to", url="file:///etc/passwd", fails=True)
        assert "call tabs" in await told(client, "look", tab="t77", fails=True)


async def test_on_a_shared_server_each_call_names_its_tab_and_no_other_can_be_guessed(
    shelves, harbour, quay, data_folder
):
    _, site = quay
    async with eyes(shelves, harbour, shared=True) as client:
        assert "call tabs" in await told(client, "look", fails=True)
        one = (await told(client, "tabs", open=True)).split()[0]
        two = (await told(client, "tabs", open=True)).split()[0]
        assert len({one, two}) == 2
        assert one not in await told(client, "tabs")
        await told(client, "go_to", url=f"{site.base}/new", tab=one)
        await told(client, "go_to", url=site.base, tab=two)
        assert "# New boat" in await told(client, "look", tab=one, whole=True)
        assert "# Boats" in await told(client, "look", tab=two, whole=True)


# -- a browser that was running --------------------------------------------------------------------------


@pytest.fixture
def chrome(tmp_path: Path, quay: tuple[Quay, RunningSite]) -> Iterator[GivenChrome]:
    """A browser with three tabs, started by hand."""
    base = quay[1].base
    with given_chrome(tmp_path, (base, "about:blank", f"{base}/new")) as chrome:
        yield chrome


async def test_a_running_browser_is_worked_in_and_left_with_the_tabs_that_it_had(
    shelves, harbour, quay, chrome, data_folder
):
    made, site = quay
    before = chrome.pages()
    assert len(before) == 3
    async with eyes(shelves, harbour, options=BrowserOptions(cdp_endpoint=chrome.endpoint)) as client:
        assert (await told(client, "tabs")).count("was open before") == 3
        own = (await told(client, "tabs", open=True)).splitlines()[-1].split()[0]
        assert len(chrome.pages()) == 4
        await told(client, "go_to", url=f"{site.base}/new", tab=own)
        await told(client, "act", element="Name", value="Cleo")
        await told(client, "act", element="Moor")
        theirs = (await told(client, "tabs")).split()[0]
        assert "not ours" in await told(client, "tabs", close=theirs, fails=True)
    assert made.boats == ["Ada", "Bea", "Cleo"]
    assert chrome.pages() == before


async def test_a_running_browser_outlives_a_server_that_is_killed(chrome, data_folder):
    before = set(chrome.pages())
    command = [sys.executable, "-m", "periplus", "mcp", "--cdp-endpoint", chrome.endpoint]
    pid_file = data_folder.parent / "pid"
    script = (
        "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
    )
    parameters = StdioServerParameters(
        command=sys.executable, args=["-c", script, str(pid_file), *command], env={**os.environ}
    )
    answered = []
    with suppress(Exception):  # the connection breaks, in whatever way
        async with Client(parameters) as client:
            answered.append(await told(client, "tabs"))
            os.kill(int(pid_file.read_text()), signal.SIGKILL)
            answered.append(await told(client, "tabs"))
    (first,) = answered
    assert first.count("was open before") == 3
    assert before <= set(chrome.pages())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--cdp-endpoint", "http://10.0.0.7:9222"], "--allow-remote-cdp"),
        (["--cdp-endpoint", "nine"], "is no address"),
        (["--cdp-endpoint", "http://127.0.0.1:9", "--channel", "chrome"], "for a browser that is started"),
        (["--channel", "chrome"], "needs --browser"),
        (["--browser", "--agent"], "do not go together"),
        (["--cdp-endpoint", "http://127.0.0.1:9"], "no browser answers"),
    ],
)
def test_options_that_do_not_fit_end_with_what_to_do(arguments, says, data_folder, monkeypatch):
    monkeypatch.setattr("periplus.commands.mcp.log_to_stderr", lambda: None)  # it would stay for other tests
    error = CliRunner().invoke(app, ["mcp", *arguments]).exception
    assert isinstance(error, UserError)
    assert error.code == 2
    assert says in str(error)


def test_the_tool_reference_is_current():
    text = (Path(__file__).parents[3] / "docs/browser-tools.md").read_text()
    assert update_reference(text, list_browser_tools(), BEGIN) == text, (
        "python -m periplus.browser_tools.browser_tool_reference docs/browser-tools.md"
    )
