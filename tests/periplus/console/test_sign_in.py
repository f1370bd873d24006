"""Who may look at the console and use it: keys, sessions, roles, forms."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.async_playwright import Axe
from fastapi import FastAPI, Request

from mcp_server.security.bearer_tokens import FileTokenVerifier, TokenFile, mint_token
from periplus.console.console_framework import require_role
from periplus.console.sign_in_page import safe_redirect_path
from periplus.service.console_sessions import (
    LASTS_S,
    ConsolePerson,
    ConsoleSessions,
    load_session_key,
    role_of_scopes,
)
from periplus.service.problem_details import ApiProblem
from tests.periplus.service.service_support import KEY, served

PAGE = {"Accept": "text/html,application/xhtml+xml"}
ANON = {**PAGE, "X-API-Key": ""}


@pytest.fixture
async def keyed(tmp_path):
    async with served(tmp_path) as service:
        service.data = tmp_path
        yield service


@pytest.fixture
async def unkeyed(tmp_path):
    async with served(tmp_path, keyed=False) as service:
        yield service


def _form_token(page: str) -> str:
    return re.search(r'name="csrf_token" value="([0-9a-f]+)"', page)[1]


async def _signed_in(service, key=KEY, to="/"):
    """Signs the client in; what the service answered."""
    page = await service.client.get("/sign-in", headers=ANON)
    form = {"key": key, "next": to, "csrf_token": _form_token(page.text)}
    return await service.client.post("/sign-in", data=form, headers=ANON)


async def test_without_a_key_a_person_is_asked_to_sign_in_and_comes_back(keyed):
    asked = await keyed.client.get("/sites/x?a=1&b=2", headers=ANON)
    assert asked.status_code == 303
    assert asked.headers["location"] == "/sign-in?next=%2Fsites%2Fx%3Fa%3D1%26b%3D2"
    found = await _signed_in(keyed, to="/?every=0")
    assert (found.status_code, found.headers["location"]) == (303, "/?every=0")
    front = await keyed.client.get("/", headers=ANON)
    assert front.status_code == 200
    assert "Sign out" in front.text
    assert "api-key" in front.text


async def test_the_cookie_is_for_this_service_alone_and_does_not_hold_the_key(keyed):
    answer = await _signed_in(keyed)
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert KEY not in cookie
    assert "Secure" not in cookie, "plain http on this machine"


async def test_a_copy_of_the_cookie_ends_with_the_sign_out(keyed):
    await _signed_in(keyed)
    copied = dict(keyed.client.cookies)
    page = await keyed.client.get("/", headers=ANON)
    assert page.status_code == 200
    left = await keyed.client.post("/sign-out", data={"csrf_token": _form_token(page.text)}, headers=ANON)
    assert left.status_code == 303
    keyed.client.cookies.update(copied)
    again = await keyed.client.get("/runs", headers=ANON)
    assert (again.status_code, again.headers["location"]) == (303, "/sign-in?next=%2Fruns")


def test_an_ended_session_stays_ended_after_a_restart_and_for_other_processes(tmp_path):
    now = [1_000_000.0]
    key, file = b"k" * 32, tmp_path / "ended.txt"
    settings = {"clock": lambda: now[0], "ended_file": file}
    token, entry = mint_token("ann", ["read"])
    tokens = FileTokenVerifier([entry])
    here, there = (ConsoleSessions(key, tokens, **settings) for _ in range(2))
    ended, kept = here.begin(token), here.begin(token)
    assert there.person(ended) is not None
    here.end(ended)
    for sessions in (here, there, ConsoleSessions(key, tokens, **settings)):
        assert sessions.person(ended) is None
        assert sessions.person(kept) is not None
    assert file.stat().st_mode & 0o077 == 0
    now[0] += LASTS_S + 1
    ConsoleSessions(key, tokens, **settings)
    assert file.read_text() == "", "what expired by itself is not kept"


async def test_a_key_that_nobody_has_is_refused(keyed):
    answer = await _signed_in(keyed, key="not-a-key-of-anybody-here")
    assert answer.status_code == 401
    assert "This key is unknown" in answer.text
    assert "set-cookie" not in answer.headers
    assert (await keyed.client.get("/", headers=ANON)).status_code == 303


async def test_a_forged_cookie_is_nobody_s(keyed):
    await _signed_in(keyed)
    cookie = keyed.client.cookies["periplus_session"]
    body, _, signature = cookie.partition(".")
    for forged in (
        f"{body}.{signature[:-1]}0",
        f"{body}x.{signature}",
        "",
        ".",
        "x.y",
        f"{body}.{signature[::-1]}",
    ):
        answer = await keyed.client.get("/", headers={**ANON, "Cookie": f"periplus_session={forged}"})
        assert answer.status_code == 303 or forged == cookie


async def test_signing_out_ends_it(keyed):
    await _signed_in(keyed)
    page = await keyed.client.get("/", headers=ANON)
    token = {"csrf_token": _form_token(page.text)}
    answer = await keyed.client.post("/sign-out", data=token, headers=ANON)
    assert answer.status_code == 303
    assert (await keyed.client.get("/", headers=ANON)).status_code == 303


async def test_a_session_ends_with_its_token(keyed):
    file = TokenFile(keyed.data / "tokens.json")
    token, entry = mint_token("ada", ["review"])
    file.add(entry)
    await _signed_in(keyed, key=token)
    page = await keyed.client.get("/", headers=ANON)
    assert "ada" in page.text
    assert "review" in page.text
    file.remove("ada")
    assert (await keyed.client.get("/", headers=ANON)).status_code == 303


async def test_at_the_rest_interface_a_session_may_only_look(keyed):
    await _signed_in(keyed)
    anonymous = {"X-API-Key": ""}
    assert (await keyed.client.get("/api/runs", headers=anonymous)).status_code == 200
    posted = await keyed.client.post("/api/run", json={}, headers=anonymous)
    assert posted.status_code == 401


async def test_a_form_without_our_token_is_refused(keyed):
    await _signed_in(keyed)
    mine = _form_token((await keyed.client.get("/", headers=ANON)).text)
    signing = _form_token((await keyed.client.get("/sign-in", headers={**ANON, "Cookie": ""})).text)
    for token in ("", "0" * 64, "ü", signing):
        answer = await keyed.client.post("/theme", data={"theme": "dark", "csrf_token": token}, headers=ANON)
        assert answer.status_code == 403, token
        assert "form has no valid token" in answer.text
    ours = {"theme": "dark", "csrf_token": mine}
    assert (await keyed.client.post("/theme", data=ours, headers=ANON)).status_code == 303


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://[", "http://127.0.0.1:1", ""])
async def test_a_form_of_another_site_is_refused(unkeyed, origin):
    token = _form_token((await unkeyed.client.get("/", headers=PAGE)).text)
    form = {"theme": "dark", "csrf_token": token}
    answer = await unkeyed.client.post("/theme", data=form, headers={**PAGE, "Origin": origin})
    assert answer.status_code == 403
    own = {**PAGE, "Origin": str(unkeyed.client.base_url).rstrip("/")}
    assert (await unkeyed.client.post("/theme", data=form, headers=own)).status_code == 303
    cross = {**PAGE, "Sec-Fetch-Site": "cross-site"}
    assert (await unkeyed.client.post("/theme", data=form, headers=cross)).status_code == 403


async def test_without_any_key_this_machine_operates_the_console_and_no_other_name_reaches_it(unkeyed):
    page = await unkeyed.client.get("/", headers=PAGE)
    assert "this machine" in page.text
    assert "operate" in page.text
    assert "Sign out" not in page.text
    refused = await unkeyed.client.get("/", headers={**PAGE, "Host": "evil.example"})
    assert refused.status_code == 421
    assert refused.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("path", "where"),
    [("/sites/x?q=1", "/sites/x?q=1"), ("//evil.example", "/"), ("/\\evil.example", "/"), ("https://evil.example", "/"),
     ("/a\r\nSet-Cookie: x", "/"), ("", "/")],
)  # fmt: skip
def test_one_comes_back_to_this_service_only(path, where):
    assert safe_redirect_path(path) == where


@pytest.mark.parametrize(
    ("scopes", "role"),
    [(["read"], "read"), (["read", "review"], "review"), (["read", "write"], "operate"), ([], "read")],
)
def test_the_scopes_of_a_token_make_a_role(scopes, role):
    assert role_of_scopes(scopes) == role


@pytest.mark.parametrize("role", ["read", "review", "operate"])
@pytest.mark.parametrize("wanted", ["read", "review", "operate"])
def test_a_role_includes_those_before_it(role, wanted):
    scope = {"type": "http", "app": FastAPI(), "state": {"person": ConsolePerson("ada", role, "x")}}
    roles = ["read", "review", "operate"]
    if roles.index(role) >= roles.index(wanted):
        assert require_role(wanted)(Request(scope)).name == "ada"
    else:
        with pytest.raises(ApiProblem) as refused:
            require_role(wanted)(Request(scope))
        assert refused.value.status == 403


def test_a_session_is_over_after_a_working_day_and_when_its_token_is():
    now = [1_000_000.0]
    token, entry = mint_token("ada", ["write"])
    sessions = ConsoleSessions(b"k" * 32, FileTokenVerifier([entry]), clock=lambda: now[0])
    cookie = sessions.begin(token)
    person, scopes = sessions.person(cookie)
    assert (person.name, person.role, scopes) == ("ada", "operate", ("read", "write"))
    now[0] += LASTS_S - 1
    assert sessions.person(cookie) is not None
    now[0] += 1
    assert sessions.person(cookie) is None
    other = ConsoleSessions(b"x" * 32, FileTokenVerifier([entry]), clock=lambda: 1_000_000.0)
    assert other.person(cookie) is None, "signed by another service"
    _, same_name = mint_token("ada", ["write"])
    renewed = ConsoleSessions(b"k" * 32, FileTokenVerifier([same_name]), clock=lambda: 1_000_000.0)
    assert renewed.person(cookie) is None, "another token of the same name"


def test_the_key_of_sessions_is_kept_for_its_owner_alone(tmp_path):
    path = tmp_path / "deep" / "session.key"
    first = load_session_key(path)
    assert len(first) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_session_key(path) == first
    path.write_bytes(b"short")
    assert load_session_key(path) != b"short"


async def test_one_signs_in_and_out_by_keyboard_in_a_browser(keyed, browser):
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{keyed.url}/runs")
    await page.get_by_role("heading", name="Sign in").wait_for()
    assert (await Axe().run(page)).response["violations"] == []
    await page.keyboard.type("not-a-key-of-anybody-here")  # the field has the focus
    await page.keyboard.press("Enter")
    await page.get_by_role("alert").wait_for()
    await page.get_by_label("Key").fill(KEY)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/runs")
    (cookie,) = [each for each in await context.cookies() if each["name"] == "periplus_session"]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert await page.evaluate("document.cookie") == ""
    await page.get_by_role("button", name="Sign out").click()
    await page.get_by_role("heading", name="Sign in").wait_for()
    await page.goto(f"{keyed.url}/")
    assert "/sign-in" in page.url
    await context.close()
