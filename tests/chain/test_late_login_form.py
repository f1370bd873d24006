"""Signing in with a form that comes late, or to which a page leads, or beside inputs that are for something else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from playwright.async_api import Browser
from rich.console import Console

from kb_schema.explorations import MapLimits
from periplus.errors import UserError
from periplus.exploration import login_form
from periplus.exploration.login_form import sign_in_by_form
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_run import MapRunPlan, map_website
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import sign_in_with_form
from tests.agent.exploration.small_site import Answer, small_site

FORM = '<form method="post" action="/in"><label>Name <input name="name"></label><label>Password <input type="password" name="word"></label><button>Sign in</button></form>'
LATE = f"<!doctype html><title>In</title><main>Loading</main><script>setTimeout(() => {{ document.querySelector('main').innerHTML = '{FORM}' }}, 2500)</script>"
ACCOUNT = {"name": "ann", "password": "maple"}


async def test_a_form_that_comes_late_is_waited_for(browser: Browser) -> None:
    signed_in = Answer("<h1>Welcome</h1>", headers={"Set-Cookie": "session=1; Path=/"})
    with small_site({"/": LATE, "/in": signed_in}) as site:
        state = (await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)).state
        assert site.asked["POST /in"] == 1
        assert [each["name"] for each in state["cookies"]] == ["session"]


async def test_a_page_without_a_form_says_so(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_form, "LATE_FORM_MS", 200)
    told = pytest.raises(UserError, match="no login form was found for name, password")
    with small_site({"/": "<h1>Nothing here</h1>"}) as site, told:
        await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)


ENTRY = '<h1>The quay</h1><a href="/boats">Boats</a><a href="/account/enter">Log in</a><form><input name="name"></form>'
TITLE = "<h1>Welcome</h1><form method=post action=/boats><label>Title <input name=title></label><button>Save</button></form>"


async def test_the_page_that_leads_to_the_form_is_enough_and_other_inputs_are_left_alone(
    browser: Browser,
) -> None:
    signed_in = Answer(TITLE, headers={"Set-Cookie": "session=1; Path=/"})
    with small_site(
        {"/": ENTRY, "/account/enter": FORM, "/in": signed_in, "/boats": "<h1>Boats</h1>"}
    ) as site:
        state = (await sign_in_by_form(browser, f"{site.url}/", {"title": "Skua", **ACCOUNT})).state
        assert site.asked["POST /in"] == 1
        assert site.asked["POST /boats"] == 0
        assert [each["name"] for each in state["cookies"]] == ["session"]


BUTTON = "<h1>The quay</h1><button onclick=\"fetch('/account', {method: 'DELETE'})\">Log in</button>"


async def test_a_button_is_not_pressed_for_the_form_where_it_would_change_something(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login_form, "LATE_FORM_MS", 200)
    told = pytest.raises(UserError, match="no login form was found")
    with small_site({"/": BUTTON}) as site, told:
        await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)
    assert site.asked["DELETE /account"] == 0


async def test_a_button_that_shows_the_form_is_pressed(browser: Browser) -> None:
    shown = f"<h1>The quay</h1><button onclick='this.nextElementSibling.hidden = false'>Log in</button><div hidden>{FORM}</div>"
    signed_in = Answer("<h1>Welcome</h1>", headers={"Set-Cookie": "session=1; Path=/"})
    with small_site({"/": shown, "/in": signed_in}) as site:
        state = (await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)).state
        assert [each["name"] for each in state["cookies"]] == ["session"]


@pytest.mark.parametrize(
    ("action", "button"), [("/account/delete", "Go on"), ("/account", "Delete my account")]
)
async def test_a_form_that_was_found_and_does_harm_is_not_sent(
    browser: Browser, action: str, button: str
) -> None:
    harm = FORM.replace("/in", action).replace("Sign in", button)
    told = pytest.raises(UserError, match="does harm by its words")
    with small_site({"/": "<h1>The quay</h1><a href=/enter>Log in</a>", "/enter": harm}) as site, told:
        await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)
    assert site.asked[f"POST {action}"] == 0


async def test_a_map_begins_where_signing_in_led_if_the_form_is_shown_to_who_has_signed_in(
    browser: Browser, tmp_path: Path
) -> None:
    def desk(path: str, cookies: str) -> str | Answer:
        if "session=1" not in cookies:
            return Answer(status=302, headers={"Location": "/login"})
        return f"<!doctype html><title>{path}</title><h1>Desk {path}</h1><a href='/desk/log'>Log</a><a href='/desk/out'>Log out</a>"

    signed_in = Answer(status=302, headers={"Set-Cookie": "session=1; Path=/", "Location": "/desk"})
    form = f"<!doctype html><title>In</title><h1>Who are you?</h1>{FORM}"
    with small_site({"/login": form, "/in": signed_in, "/desk": desk, "/desk/log": desk}) as site:
        url, folder = f"{site.url}/login", MapFolder(tmp_path / "map")
        plan = MapRunPlan("desk", url, folder, MapLimits(per_second=100.0, seconds=60.0, page_s=5.0))
        view = MapView(Console(file=io.StringIO()), "a map")
        await map_website(browser, plan, lambda opened: sign_in_with_form(opened, url, ACCOUNT), view)
        found = {page.url.removeprefix(site.url) for page in folder.exploration.pages()}
        assert {"/desk", "/desk/log"} <= found
