"""`act` on pages of the knowledge base: it stays where it is after a press, and says what the page says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client

from kb_schema import SourcedDocument, assemble, parse_document
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from mcp_server.knowledge.store_source import StoreSource
from mcp_server.knowledge.view_cache import ViewCache
from mcp_server.paths.path_engines import PathEngines
from mcp_server.security.call_limits import CallLimits
from periplus.browser_tools.browser_server import open_browser_server
from periplus.session_setup import BrowserOptions
from tests.support.small_sites import Answered, Asked, RunningSite, running_site

FORM = """<h1>New issue</h1><p>{said}</p><form method=post action=/new>
<label>Title <input name=title value="{title}"></label>
<label>Priority <select name=priority><option>low<option>high</select></label>
<label>Note <input name=note></label><button>Submit New Entry</button></form>"""
LIST = "<h1>Issues</h1><a href=/new>New issue</a><p>{count} issues</p>"
LOGIN = """<h1>Sign in</h1><form method=post action=/login><label>Login <input name=login></label>
<label>Password <input type=password name=password></label><button>Login</button></form>"""


def _element(element_id: str, kind: str, label: str, action: str, role: str, **affordance: object) -> dict:
    selector = {"strategies": [{"type": "role_name", "role": role, "name": label}]}
    return {
        "element_id": element_id,
        "type": kind,
        "selector": selector,
        "affordances": [{"action_type": action, **affordance}],
        "metadata": {"label": label},
    }


def _screen(screen_id: str, heading: str, path: str, *elements: dict) -> dict:
    return {
        "type": "screen",
        "screen_id": screen_id,
        "name": heading,
        "url": path,
        "url_patterns": [f"^{path}$"],
        "state_signature": {
            "required_indicators": [{"type": "dom_contains", "value": heading, "selector": "h1"}]
        },
        "ui_elements": list(elements),
    }


KNOWN = [
    {
        "type": "website",
        "website_id": "tracker",
        "name": "Tracker",
        "base_url": "http://tracker.example",
        "login_task_id": "sign_in",
        "authenticated_when": [{"type": "element_visible", "element": "#user"}],
        "default_recovery": {"actions": [{"action_type": "navigate", "url": "/list"}]},
    },
    _screen("issue_list", "Issues", "/list", _element("new_link", "link", "New issue", "click", "link")),
    _screen(
        "new_issue",
        "New issue",
        "/new",
        _element("title_field", "input", "Title", "fill", "textbox"),
        _element("priority_dropdown", "dropdown", "Priority", "select_option", "combobox"),
        _element(
            "submit_button",
            "button",
            "Submit New Entry",
            "click",
            "button",
            idempotent=False,
            postconditions=[{"type": "on_screen", "screen_id": "issue_list"}],
        ),
    ),
    _screen("login", "Sign in", "/login"),
    {
        "type": "task",
        "task_id": "sign_in",
        "name": "Sign in",
        "io_spec": {"inputs": [{"name": "user", "source": "user_input"}]},
        "steps": [{"step_id": "open", "action": {"action_type": "navigate", "target_screen": "login"}}],
    },
]


class Tracker:
    """A site that takes issues with a title; it says what is wrong in plain text, without any mark."""

    def __init__(self) -> None:
        self.issues: list[str] = []
        self.asked: list[str] = []
        self.leads_to = "/list"
        self.bare = False

    def __call__(self, asked: Asked) -> Answered:
        self.asked.append(f"{asked.method} {asked.path}")
        if asked.path == "/new" and asked.method == "POST":
            if not asked.form["title"]:
                return Answered(FORM.format(said="A title is needed.", title=""))
            self.issues.append(asked.form["title"])
            return Answered(location=self.leads_to)
        if asked.path == "/new":
            bare = "<h1>New issue</h1><p>Sold out.</p>"
            return Answered(bare if self.bare else FORM.format(said="", title=""))
        if asked.path == "/login":
            return Answered(LOGIN)
        if asked.path == "/elsewhere":
            return Answered("<h1>Something else</h1>")
        return Answered(LIST.format(count=len(self.issues)))


@pytest.fixture
def tracker() -> Iterator[tuple[Tracker, RunningSite]]:
    made = Tracker()
    with running_site(made) as site:
        yield made, site


@asynccontextmanager
async def opened(base: str, folder: Path) -> AsyncIterator[Client]:
    """A client of the server that knows the tracker at `base`."""
    knowledge, _ = assemble([SourcedDocument(parse_document(each)) for each in KNOWN])
    async with open_stores(folder) as stores, open_runs(folder) as runs:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        async with (
            open_browser_server(
                stores,
                runs,
                ViewCache(StoreSource(stores.documents, stores.graph)),
                BrowserOptions(),
                base_urls={"tracker": base},
                read_only=False,
                limits=CallLimits(),
                engines=PathEngines(),
                files=None,
                runs_at_once=1,
                shared=False,
            ) as server,
            Client(server) as client,
        ):
            yield client


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "shelves"


async def told(client: Client, tool: str, *, fails: bool = False, **arguments: object) -> str:
    """The text of an answer."""
    result = await client.call_tool(tool, arguments)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    assert bool(result.is_error) is fails, text
    return text


async def test_after_a_press_the_act_stays_on_the_page_whatever_the_knowledge_would_try(folder, tracker):
    made, site = tracker
    async with opened(site.base, folder) as client:
        await told(client, "go_to", url=f"{site.base}/new")
        made.asked.clear()
        answer = await told(client, "act", element="submit_button", fails=True)
        assert made.asked == ["POST /new"]  # no sign-in, no other screen, no second press
        assert "was done, but the page does not show" in answer
        assert "periplus run" not in answer
        assert "A title is needed." in await told(client, "read")
        await told(client, "act", element="title_field", value="Leak")
        assert "on issue_list" in await told(client, "act", element="submit_button")
        assert made.issues == ["Leak"]


async def test_a_look_says_what_was_entered_since_and_which_fields_are_not_known(folder, tracker):
    _, site = tracker
    async with opened(site.base, folder) as client:
        seen = await told(client, "go_to", url=f"{site.base}/new")
        assert "fields that are not known: " in seen
        assert 'textbox "Note"' in seen
        assert 'textbox "Title"' not in seen
        await told(client, "act", element="title_field", value="Leak")
        assert 'title_field shows "Leak"' in await told(client, "look")


async def test_a_page_without_what_only_its_screen_has_is_not_verified(folder, tracker):
    made, site = tracker
    async with opened(site.base, folder) as client:
        await told(client, "go_to", url=f"{site.base}/list")
        assert "at new_issue (verified)" in await told(client, "go_to", screen="new_issue")
        made.bare = True
        await told(client, "go_to", url=f"{site.base}/new")
        answer = await told(client, "go_to", screen="new_issue")
        assert (
            "at new_issue, not verified: the page shows none of the 3 elements that only new_issue has"
            in answer
        )


async def test_a_press_that_leads_elsewhere_than_known_is_done_and_says_so(folder, tracker):
    made, site = tracker
    async with opened(site.base, folder) as client:
        made.leads_to = "/elsewhere"
        await told(client, "go_to", url=f"{site.base}/new")
        await told(client, "act", element="title_field", value="Leak")
        answer = await told(client, "act", element="submit_button")
        assert "led elsewhere than the knowledge base says" in answer
        assert "# Something else" in answer


async def test_a_wrong_option_is_answered_with_the_options_and_nothing_else_is_tried(folder, tracker):
    made, site = tracker
    async with opened(site.base, folder) as client:
        await told(client, "go_to", url=f"{site.base}/new")
        await told(client, "act", element="title_field", value="Leak")
        made.asked.clear()
        answer = await told(client, "act", element="priority_dropdown", value="urgent", fails=True)
        assert "'Priority' has no option 'urgent'; nothing was chosen; its options: 'low', 'high'" in answer
        assert "tried" not in answer
        assert made.asked == []
        assert await told(client, "read", what="title_field") == "Leak"


async def test_a_field_that_is_called_like_a_button_is_filled_and_the_button_pressed(folder, tracker):
    made, site = tracker
    async with opened(site.base, folder) as client:
        await told(client, "go_to", url=f"{site.base}/login")
        assert "done: Login, Password" in await told(client, "act", fields={"Login": "ada", "Password": "x"})
        assert await told(client, "read", what="Login") == "ada"
        await told(client, "act", element="Login")
        assert made.asked[-1] == "POST /login"
