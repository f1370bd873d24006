"""Signing in with a form that comes late, or to which a page leads, or beside inputs that are for something else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from playwright.async_api import Browser
from rich.console import Console

from kb_schema.explorations import MapLimits
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
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
    told = pytest.raises(UserError, match="is no sign-in form")
    with small_site({"/": "<h1>The quay</h1><a href=/enter>Log in</a>", "/enter": harm}) as site, told:
        await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)
    assert site.asked[f"POST {action}"] == 0


EMAIL = "<label>E-mail <input name=email type=email></label>"
WORD = "<label>Password <input name=password type=password></label>"
NEW = "<label>Password <input name=password type=password autocomplete=new-password></label>"
MEMBER = {"email": "ann@quay.example", "password": "maple"}


def post(action: str, inner: str) -> str:
    return f"<form method=post action={action}>{inner}</form>"


OTHER_FORMS = {
    "closes": post("/account/close", f"{EMAIL}{WORD}<button>Continue</button>"),
    "closes, by its heading": f"<h2>Close my account</h2>{post('/go', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "closes, by its heading beside a button that signs in": post("/go", f"<h2>Delete your account</h2>{EMAIL}{WORD}<button>Sign in</button>"),
    "pays": post("/checkout", f"{EMAIL}{WORD}<button>Continue</button>"),
    "pays, by a card": post("/checkout", f"{EMAIL}{WORD}<input name=card autocomplete=cc-number><button>Sign in</button>"),
    "pays, by its heading": f"<h1>Place your order</h1>{post('/login', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "deletes, sent to where one signs in": f"<h1>Delete boat</h1>{post('/login', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "deploys": f"<h1>Deploy</h1>{post('/go', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "closes, by a hidden field": post("/go", f"<input type=hidden name=action value=close_account>{EMAIL}{WORD}<button>Next</button>"),
    "closes, by the name of its button": post("/go", f"{EMAIL}{WORD}<input type=submit name=delete value=Login>"),
    "closes, by the value of its button": post("/go", f"{EMAIL}{WORD}<button name=action value=close_account>Login</button>"),
    "new account": f"<h1>Create your account</h1>{post('/go', f'{EMAIL}{NEW}<button>Create account</button>')}",
    "new account, by its heading": f"<h1>Create your account</h1>{post('/go', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "new account, by its button": post("/go", f"{EMAIL}{WORD}<button>Sign up</button>"),
    "new account, in German": post("/go", f"{EMAIL}{WORD}<button>Konto anlegen</button>"),
    "new account, by its address": post("/users/sign_up", f"{EMAIL}{WORD}<button>Next</button>"),
    "new password": post("/go", f"<p>Choose one</p>{NEW}<button>Next</button>"),
    "new password, by its label": post("/go", f"{EMAIL}<label>New password <input name=password type=password></label><button>Log in</button>"),
    "two passwords": post("/go", f"{EMAIL}{WORD}<label>Again <input name=again type=password></label><button>Next</button>"),
}  # fmt: skip


async def check_no_password(browser: Browser, form: str, *, first: str) -> set[str]:
    """Check that signing in is refused; return what was sent."""
    told = pytest.raises(UserError, match=r"is no sign-in form: .*check the e-mail")
    with small_site({"/": first, "/next": form, "*": "<h1>Done</h1>"}) as site:
        with told as raised:
            await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert raised.value.code == ExitCode.USER_ERROR
        return {each for each in site.bodies if each.startswith("POST")}


@pytest.mark.parametrize("form", OTHER_FORMS.values(), ids=OTHER_FORMS)
async def test_a_form_for_something_else_gets_no_password(browser: Browser, form: str) -> None:
    assert await check_no_password(browser, form, first=form) == set()


@pytest.mark.parametrize("kind", ["closes", "new account", "new password"])
async def test_a_form_for_something_else_gets_no_password_after_the_e_mail(
    browser: Browser, kind: str
) -> None:
    first = post("/next", f"{EMAIL}<button>Next</button>")
    assert await check_no_password(browser, OTHER_FORMS[kind], first=first) == {"POST /next"}


SCRIPT = """{0}{1}<button onclick="const [e, p] = document.querySelectorAll('input');
fetch('{2}', {{method: 'POST', body: JSON.stringify({{email: e.value, password: p.value}})}}).then(() => location.href = '/in')">Continue</button>"""


async def test_what_a_script_sends_of_the_password_is_looked_at(browser: Browser) -> None:
    form = SCRIPT.format(EMAIL, WORD, "/account/close")
    assert await check_no_password(browser, form, first=form) == set()


async def test_a_script_signs_in_whatever_the_page_would_send_by_itself(browser: Browser) -> None:
    own = "<h1>Boats</h1><script>fetch('/messages/clear', {method: 'DELETE', body: 'all'})</script>"
    pages = {"/": SCRIPT.format(EMAIL, WORD, "/api/login"), "/in": own, "*": "{}"}
    with small_site(pages) as site:
        await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert set(site.bodies) == {"POST /api/login"}


SIGN_IN_FORMS = {
    "plain": f"<h1>Welcome back</h1>{post('/in', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "both": f"<h1>Log in or sign up</h1>{post('/in', f'{EMAIL}{WORD}<button>Continue</button>')}",
    "called like a register": f"<h1>Boat Register</h1>{post('/in', f'{EMAIL}{WORD}<button>Log in</button>')}",
    "an account beside": f"<h2>Create an account</h2><a href=/up>Register</a>{post('/in', f'{EMAIL}{WORD}<button>Sign in</button>')}",
    "called like a deed": f"<h1>Deploy</h1>{post('/in?logout=1', f'{EMAIL}{WORD}<button>Log in</button>')}",
    "a button with the name of its method": post("/in", f"{EMAIL}{WORD}<input type=submit name=post value=Login>"),
    "a forgotten password": post("/in", f"{EMAIL}<a href=/reset>Reset your password</a>{WORD}<button>Next</button>"),
    "against autofill": post("/in", f"{EMAIL}{NEW}<button>Log in</button>"),
    "in German": f"<h1>Anmelden</h1>{post('/in', f'{EMAIL}{WORD}<button>Anmelden</button>')}",
    "in a dialog": f"<div role=dialog><p>Subscribe to our news, order now.</p>{post('/in', f'{EMAIL}{WORD}<button>Sign in</button>')}</div>",
    "behind a form that closes": f"{post('/account/close', f'{EMAIL}{WORD}<button>Continue</button>')}<a href=/login>Sign in</a>",
    "beside a form for a new account": f"{post('/up', f'{EMAIL}{NEW}<button>Register</button>')}{post('/in', f'{EMAIL}{WORD}<button>Log in</button>')}",
}  # fmt: skip


@pytest.mark.parametrize("form", SIGN_IN_FORMS.values(), ids=SIGN_IN_FORMS)
async def test_a_sign_in_form_is_sent_whatever_stands_around_it(browser: Browser, form: str) -> None:
    signed_in = Answer("<h1>Boats</h1>", headers={"Set-Cookie": "session=1; Path=/"})
    login = post("/in", f"{EMAIL}{WORD}<button>Sign in</button>")
    with small_site({"/": form, "/login": login, "/in": signed_in, "*": "<h1>Other</h1>"}) as site:
        await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert set(site.bodies) == {"POST /in"}


async def test_an_application_called_like_a_deed_signs_in_where_its_address_says_so(browser: Browser) -> None:
    form = f"<h1>Deploy</h1>{post('/auth/login', f'{EMAIL}{WORD}<button>Continue</button>')}"
    signed_in = Answer("<h1>Boats</h1>", headers={"Set-Cookie": "session=1; Path=/"})
    with small_site({"/": form, "/auth/login": signed_in}) as site:
        await sign_in_by_form(browser, f"{site.url}/", MEMBER)
        assert set(site.bodies) == {"POST /auth/login"}


BOTH = f"{post('/up', f'{EMAIL}<label>Choose a password <input name=chosen type=password></label><button>Register</button>')}{post('/in', f'{EMAIL}{WORD}<button>Log in</button>')}"
"""A page with a form for a new account, which says so by its words alone, and one that signs in."""


@pytest.mark.parametrize("form", [BOTH, FORM], ids=["two password fields", "one"])
async def test_a_form_that_comes_again_has_signed_nobody_in(browser: Browser, form: str) -> None:
    told = pytest.raises(UserError, match="signing in failed: the website still asks for the password")
    with small_site({"/": form, "/in": f"<p>Wrong password</p>{form}"}) as site, told:
        await sign_in_by_form(browser, f"{site.url}/", MEMBER if form == BOTH else ACCOUNT)
    assert site.asked["POST /in"] == 1


async def test_a_page_with_other_passwords_after_signing_in_is_no_failure(browser: Browser) -> None:
    own = post("/word", "<label>Old <input name=old type=password></label><label>Password <input name=password type=password></label><button>Change</button>")  # fmt: skip
    signed_in = Answer(own, headers={"Set-Cookie": "session=1; Path=/"})
    with small_site({"/": post("/in", f"{EMAIL}{WORD}<button>Log in</button>"), "/in": signed_in}) as site:
        state = (await sign_in_by_form(browser, f"{site.url}/", MEMBER)).state
    assert [each["name"] for each in state["cookies"]] == ["session"]


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


async def test_wrong_values_are_told_with_the_words_of_the_page(browser: Browser) -> None:
    refused = Answer(f"<p role=alert>Name and password don't match</p>{FORM}")
    told = pytest.raises(
        UserError, match="signing in failed: the website says: Name and password don't match"
    )
    with small_site({"/": FORM, "/in": refused}) as site, told:
        await sign_in_by_form(browser, f"{site.url}/", ACCOUNT)
    assert site.asked["POST /in"] == 1
