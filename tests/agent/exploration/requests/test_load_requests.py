"""Requests that every visit of a website sends when a page opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from agent.dangers.sent_deeds import SentRequest
from agent.exploration.requests.load_requests import LONGEST_BODY, LoadRequests
from agent.exploration.website_exploration import explore
from kb_schema.exploration_folder import ExplorationFolder
from tests.agent.exploration.small_site import html, small_site

SESSION = "http://127.0.0.1/api/session/current/"


def learned(*sent: tuple[str, str, str]) -> LoadRequests:
    loads = LoadRequests(learning=True)
    for method, url, body in sent:
        loads.are_usual(SentRequest(method, url, body), on_load=True)
    loads.learning = False
    return loads


def is_usual(
    loads: LoadRequests,
    body: dict[str, Any],
    *,
    method: str = "PUT",
    url: str = SESSION,
    on_load: bool = True,
    **headers: str,
) -> bool:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return loads.are_usual(SentRequest(method, url, json.dumps(body), named), on_load=on_load)


@pytest.mark.parametrize(
    ("method", "url", "body", "on_load", "usual"),
    [
        ("PUT", SESSION, {"active": False, "at": 1_796_000_000_000}, True, True),
        ("PUT", f"{SESSION}?t=3", {"active": False, "at": 1_796_000_555_000}, True, True),
        ("PUT", SESSION, {"active": False, "at": 1_796_000_555_000}, False, False),
        ("PUT", SESSION, {"active": False, "at": 1_796_000_000_000}, False, True),
        ("PUT", SESSION, {"active": True, "at": 1_796_000_000_000}, True, False),
        ("PUT", SESSION, {"active": False, "at": 1_796_000_000_000, "role": "admin"}, True, False),
        ("PUT", SESSION, {"active": False, "at": "noon"}, True, False),
        ("POST", SESSION, {"active": False, "at": 1_796_000_000_000}, True, False),
        ("DELETE", SESSION, {"active": False, "at": 1_796_000_000_000}, True, False),
        ("PUT", "http://127.0.0.1/api/session/", {"active": False, "at": 1_796_000_000_000}, True, False),
        ("PUT", "http://127.0.0.2/api/session/current/", {"active": False, "at": 1_796_000_000_000}, True, False),
    ],
)  # fmt: skip
def test_a_request_is_usual_if_a_visit_sent_it(
    method: str, url: str, body: dict[str, Any], on_load: bool, usual: bool
) -> None:
    loads = learned(("PUT", SESSION, json.dumps({"active": False, "at": 1_796_000_000_000})))
    assert is_usual(loads, body, method=method, url=url, on_load=on_load) is usual


def test_tokens_and_moments_differ_between_visits_and_ids_do_not() -> None:
    first = {
        "refreshToken": "eyJhbGciOi.J1c2VyIjo3.x-9",
        "session": 4,
        "boat": "5f0c2d1e-77aa",
        "at": 17,
        "berth": 17,
    }
    loads = learned(("PUT", SESSION, json.dumps(first)))
    assert is_usual(loads, {**first, "refreshToken": "eyJhbGciOj.J2d3VyIjo8.q_1", "at": 99})
    assert not is_usual(loads, {**first, "refreshToken": "for ever"})
    assert not is_usual(loads, {**first, "boat": "5f0c2d1e-77ab"})
    assert not is_usual(loads, {**first, "berth": 18})
    assert not is_usual(loads, {**first, "session": 5})


def test_a_request_is_what_its_headers_say_too() -> None:
    loads = learned(("PUT", SESSION, "{}"))
    assert is_usual(loads, {}, accept="*/*", x_csrf_token="9f3")
    for on_load in (True, False):
        assert not is_usual(loads, {}, on_load=on_load, next_action="7c1f")
        assert not is_usual(loads, {}, on_load=on_load, x_http_method_override="DELETE")


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("DELETE", SESSION, ""),
        ("POST", "http://127.0.0.1/api/drafts/7/delete", ""),
        ("POST", SESSION, json.dumps({"action": "deleteAccount"})),
        ("POST", SESSION, "x" * (LONGEST_BODY + 1)),
    ],
)
def test_what_a_visit_sends_that_names_a_deed_or_carries_data_is_not_learned(
    method: str, url: str, body: str
) -> None:
    assert not learned((method, url, body)).known


async def test_pages_that_keep_their_session_alive_by_put_are_seen_as_a_visit_sees_them(
    browser: Browser, tmp_path: Path
) -> None:
    upkeep = """<p id=state>Disconnected</p><script>
fetch("/api/session", { method: "PUT", body: JSON.stringify({ active: false }) })
  .then((answer) => answer.ok && (document.getElementById("state").textContent = "Connected"));
const mark = () => fetch("/api/session", { method: "PUT", body: JSON.stringify({ active: true }) });
</script>"""
    pages = {
        "/": html("Home", f"<a href=/more>More</a>{upkeep}"),
        "/more": html("More", f"<button onclick=mark()>Wake</button>{upkeep}"),
        "/api/session": "{}",
    }
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(), tmp_path)
    folder = ExplorationFolder(tmp_path)
    assert done.usual == ("PUT /api/session",)
    shown = [folder.snapshot(page.page_id).html for page in folder.pages()]
    assert len(shown) == 2
    assert all("Connected" in each and "Disconnected" not in each for each in shown)
    held = [each.message for each in folder.passages() if "was not sent" in each.message]
    assert len(held) == 1, "what the button would send is another request to the same address"
