"""Requests that every visit of a website sends when a page opens."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from agent.exploration.requests.load_requests import LONGEST_BODY, LoadRequests
from agent.exploration.website_exploration import explore
from agent.page.redirect_guard import OutgoingRequest
from kb_schema.exploration_folder import ExplorationFolder
from tests.agent.exploration.small_site import html, small_site

SESSION = "http://127.0.0.1/api/session/current/"
TOKEN, LATER = "9f8a7b6c5d4e3f2a1b0c", "1bf7651916cd43dd8448"
NOW = 1_796_000_600.0
"""Seconds since 1970: the 30th of November 2026, 01:03 UTC."""


def request(method: str, url: str, body: str | bytes = "", **headers: str) -> OutgoingRequest:
    content = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return OutgoingRequest(method, url, "fetch", document=False, content=content, headers=named)


def learned_from(*sent: OutgoingRequest) -> LoadRequests:
    loads = LoadRequests(learning=True, now=lambda: NOW)
    for each in sent:
        loads.are_usual(each, on_load=True)
    loads.learning = False
    return loads


def learned(*sent: tuple[str, str, str]) -> LoadRequests:
    return learned_from(*(request(*each) for each in sent))


def is_usual(
    loads: LoadRequests,
    body: dict[str, Any],
    *,
    method: str = "PUT",
    url: str = SESSION,
    on_load: bool = True,
    **headers: str,
) -> bool:
    return loads.are_usual(request(method, url, json.dumps(body), **headers), on_load=on_load)


def sends_again(known: OutgoingRequest, asked: OutgoingRequest) -> tuple[bool, bool]:
    """Return whether a request is sent again when an address is opened, and when a control is used."""
    loads = learned_from(known)
    assert loads.known, "it was not learned"
    return loads.are_usual(asked, on_load=True), loads.are_usual(asked, on_load=False)


@pytest.mark.parametrize(
    ("method", "url", "body", "on_load", "usual"),
    [
        ("PUT", SESSION, {"active": False, "at": 1_796_000_000_000}, True, True),
        ("PUT", f"{SESSION}?t=3", {"active": False, "at": 1_796_000_555_000}, True, False),
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
        "at": NOW - 3,
        "berth": 17,
    }
    loads = learned(("PUT", SESSION, json.dumps(first)))
    assert is_usual(loads, {**first, "refreshToken": "eyJhbGciOj.J2d3VyIjo8.q_1", "at": NOW + 7.5})
    assert not is_usual(loads, {**first, "refreshToken": "for ever"})
    assert not is_usual(loads, {**first, "boat": "5f0c2d1e-77ab"})
    assert not is_usual(loads, {**first, "berth": 18})
    assert not is_usual(loads, {**first, "session": 5})


def test_a_request_is_what_its_headers_say_too() -> None:
    loads = learned(("PUT", SESSION, "{}"))
    assert is_usual(loads, {}, sec_fetch_mode="cors")
    assert not is_usual(loads, {}, x_csrf_token=TOKEN)
    assert not is_usual(loads, {}, x_csrf_token="archive")
    for on_load in (True, False):
        assert not is_usual(loads, {}, on_load=on_load, next_action="7c1f")
        assert not is_usual(loads, {}, on_load=on_load, x_http_method_override="DELETE")


PARTS = '--{0}\r\nContent-Disposition: form-data; name="seen"\r\n\r\n{1}\r\n--{0}--\r\n'
ONE, OTHER = "----WebKitFormBoundary2xPPHtzLqFOAgyYs", "----WebKitFormBoundaryelbAATUBCND4qNQA"
JSON = "application/json"


def parts(boundary: str, seen: str) -> OutgoingRequest:
    kind = f"multipart/form-data; boundary={boundary}"
    return request("POST", SESSION, PARTS.format(boundary, seen), content_type=kind)


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (request("POST", SESSION, b"\x81\xa8archived\xc2"), request("POST", SESSION, b"\x81\xa8archived\xc3")),
        (request("POST", SESSION, b"\x08\xac\x02"), request("POST", SESSION, b"\x08\xad\x02")),
        (
            request("POST", SESSION, "{}", content_type=f"{JSON};domain-model=Ping"),
            request("POST", SESSION, "{}", content_type=f"{JSON};domain-model=ArchiveAllBoats"),
        ),
        (
            request("POST", SESSION, "{}", accept="application/vnd.harbor.ping+json"),
            request("POST", SESSION, "{}", accept="application/vnd.harbor.archive+json"),
        ),
        (request("POST", SESSION), request("POST", SESSION, prefer="archive")),
        (request("POST", SESSION, accept_language="en"), request("POST", SESSION, accept_language="x-archive")),
        (request("POST", SESSION, cache_control="no-cache"), request("POST", SESSION, cache_control="archive")),
        (request("PUT", SESSION, if_match='"3"'), request("PUT", SESSION, if_match='"4"')),
        (request("POST", SESSION, authorization="Call ping"), request("POST", SESSION, authorization="Call archive")),
        (request("POST", SESSION, x_session="boat-heron-1"), request("POST", SESSION, x_session="boat-egret-2")),
        (request("POST", SESSION, authorization="Keep boat-heron-1"), request("POST", SESSION, authorization="Archive boat-heron-1")),
        (request("POST", SESSION, authorization=f"Keep {TOKEN}"), request("POST", SESSION, authorization=f"Archive {TOKEN}")),
        (request("POST", SESSION, authorization=f"Bearer {TOKEN}"), request("POST", SESSION, authorization=TOKEN)),
        (request("POST", SESSION, authorization=f"Call ping {TOKEN}"), request("POST", SESSION, authorization=f"Call archive {TOKEN}")),
        (request("POST", SESSION, x_token="berth-000000000001"), request("POST", SESSION, x_token="berth-000000000002")),
        (request("POST", SESSION, x_token=f"keep-{TOKEN}"), request("POST", SESSION, x_token=f"archive-{TOKEN}")),
        (request("POST", SESSION, x_token="Keep-Boat-Heron-1"), request("POST", SESSION, x_token="Drop-Boat-Heron-1")),
        (request("POST", SESSION, traceparent="keep-boat-1111"), request("POST", SESSION, traceparent="archive-boat-1")),
        (request("POST", SESSION, x_csrf_token=TOKEN), request("POST", SESSION)),
        (request("POST", f"{SESSION}?session=boat-heron-1"), request("POST", f"{SESSION}?session=boat-egret-2")),
        (request("POST", SESSION, '{"session": "boat-heron-1"}'), request("POST", SESSION, '{"session": "boat-egret-2"}')),
        (request("POST", f"{SESSION}?boat=200"), request("POST", f"{SESSION}?boat=201")),
        (request("POST", f"{SESSION}?boat=%FE"), request("POST", f"{SESSION}?boat=%FF")),
        (request("POST", SESSION), request("POST", f"{SESSION}?all")),
        (request("POST", f"{SESSION}?x=1"), request("POST", f"{SESSION}?{'x=1&' * 1_001}")),
        (request("POST", SESSION, '{"a": 1}'), request("POST", SESSION, '{"a": 2, "a": 1}')),
        (parts(ONE, "one"), parts(OTHER, "all")),
        (request("POST", SESSION, access_control_request_op="stay"), request("POST", SESSION, access_control_request_op="archive")),
    ],
)  # fmt: skip
def test_another_request_is_not_taken_for_that_of_a_visit(
    known: OutgoingRequest, asked: OutgoingRequest
) -> None:
    assert sends_again(known, known) == (True, True)
    assert sends_again(known, asked) == (False, False)


def test_what_is_generated_for_each_request_makes_no_other_one() -> None:
    assert sends_again(parts(ONE, "one"), parts(OTHER, "one")) == (
        True,
        False,
    )  # a script can write a boundary, too
    assert sends_again(parts(ONE, "one"), parts(ONE, "one")) == (True, True)
    before, now = f"{SESSION}?_=1796000590123", f"{SESSION}?_=1796000600456"
    assert sends_again(request("POST", before), request("POST", now)) == (True, False)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    other = "00-1bf7651916cd43dd8448eb211c80319d-c8ad6b7169203332-01"
    assert sends_again(
        request("POST", SESSION, traceparent=trace, content_length="2"),
        request("POST", SESSION, traceparent=other, content_length="20"),
    ) == (True, False)


@pytest.mark.parametrize(
    ("header", "one", "other"),
    [
        ("x_csrf_token", TOKEN, LATER),
        ("authorization", f"Bearer {TOKEN}", f"Bearer {LATER}"),
        ("authorization", "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
         "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwiYSI6MX0.q8Zr4T1x0bK7uWm2Hc9L5E"),
        ("x_session", "5f0c2d1e-77aa-4c1b-9e0d-3a2b1c0d9e8f", "6a1d3e2f-88bb-4d2c-8f1e-4b3c2d1e0f9a"),
    ],
)  # fmt: skip
def test_a_token_may_be_another_when_a_page_opens_and_not_when_a_control_is_used(
    header: str, one: str, other: str
) -> None:
    known, asked = (request("POST", SESSION, **{header: each}) for each in (one, other))
    assert sends_again(known, known) == (True, True)
    assert sends_again(known, asked) == (True, False)
    assert one not in repr(learned_from(known).known[0].model_dump())


def test_a_body_with_a_file_of_the_disk_is_not_known() -> None:
    half = replace(request("POST", SESSION, "a"), whole=False)
    assert not learned_from(half).known
    assert not learned_from(request("POST", SESSION, "a")).are_usual(half, on_load=True)


@pytest.mark.parametrize(
    ("known", "asked", "usual"),
    [
        (NOW - 5, NOW + 1, True),
        ((NOW - 5) * 1000, (NOW + 1) * 1000, True),
        ("2026-11-30T01:03:10Z", "2026-11-30T01:03:25.120Z", True),
        ("2026-12-24T10:00:00Z", "2026-12-25T11:00:00Z", False),
        ("2026-12-24T10:00:00Z", "2026-11-30T01:03:25Z", False),
        ("2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z", False),
        (1_796_000_000, 1_798_113_600, False),
        (17, 99, False),
        ("10:00", "11:30", False),
    ],
)
def test_a_moment_is_that_of_the_visit_and_not_that_of_another_thing(
    known: object, asked: object, usual: bool
) -> None:
    first, second = (request("POST", SESSION, json.dumps({"at": each})) for each in (known, asked))
    assert sends_again(first, second) == (usual, False)


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("DELETE", SESSION, ""),
        ("POST", "http://127.0.0.1/api/drafts/7/delete", ""),
        ("POST", SESSION, json.dumps({"action": "deleteAccount"})),
        ("POST", SESSION, "x" * (LONGEST_BODY + 1)),
        ("POST", SESSION, json.dumps({"invite": "bo@quay.example", "role": "admin"})),
        ("POST", SESSION, json.dumps({"boats": [{"inviteUser": "bo"}]})),
        ("POST", SESSION, json.dumps({"password": "maple", "email": "bo@quay.example"})),
        ("POST", SESSION, "email=bo&new_password=maple"),
        ("POST", f"{SESSION}?invite=bo", ""),
    ],
)
def test_what_a_visit_sends_that_names_a_deed_or_carries_data_is_not_learned(
    method: str, url: str, body: str
) -> None:
    assert not learned((method, url, body)).known


@pytest.mark.parametrize(
    "body",
    [
        {"refresh_token": "eyJhbGciOi", "apiKey": "phc_1", "accessToken": "x"},
        {"transferSize": 300, "orderId": 7, "post": 3, "delete": False, "invited": True},
    ],
)
def test_fields_that_only_sound_like_a_deed_or_a_secret_are_of_a_visit(body: dict[str, Any]) -> None:
    assert learned(("POST", SESSION, json.dumps(body))).known


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


RPC = """<script>const rpc = (archived) =>
  fetch("/rpc/boats", { method: "POST", body: new Uint8Array([0x81, 0xa1, 0x61, archived ? 0xc3 : 0xc2]) });</script>"""


async def test_a_button_that_sends_other_bytes_is_not_pressed(browser: Browser, tmp_path: Path) -> None:
    """MessagePack: `{a: false}` when a page opens, `{a: true}` by the button."""
    pages = {
        "/": html("Home", f"<button onclick=rpc(true)>Older</button>{RPC}<script>rpc(false)</script>"),
        "/rpc/boats": "{}",
    }
    with small_site(pages) as site:
        done = await explore(browser, site.wanted(), tmp_path)
        sent = {each.encode("utf-8", "surrogateescape") for each in site.bodies["POST /rpc/boats"]}
    assert sent == {b"\x81\xa1a\xc2"}
    assert done.usual == ("POST /rpc/boats",)
    pressed = [each for each in ExplorationFolder(tmp_path).passages() if "was not sent" in each.message]
    assert len(pressed) == 1
