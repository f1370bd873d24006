"""A captcha or a passkey is left to a person: the run tells, waits and goes on; nothing is pressed before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page

from agent.execution.single_actions import perform_single_action
from agent.execution.task_runner import TaskRunner
from agent.page.page_refusals import read_person_checks
from agent.session import Session
from kb_schema.run_records import RunStatus
from kb_schema.selectors import Selector
from periplus.browser_tools.browser_tabs import WITHOUT_KNOWLEDGE, _bare_knowledge
from periplus.session_setup import BrowserOptions, open_session, open_working_context
from periplus.trial_stores import open_trial_stores
from tests.support.given_chrome import GivenChrome, given_chrome
from tests.support.small_sites import Answered, Asked, RunningSite, running_site

JOIN = """<title>Join</title><h1>Join</h1>
<form role=search><input name=q aria-label=Search><button>Find</button></form>
<form method=post action=/joined><label>Email <input name=email></label>
<label>Type the letters of the picture <input name=captcha_1></label><button>Join</button></form>"""
WIDGET = """<title>Join</title><form method=post action=/joined><label>Email <input name=email></label>
<div class=g-recaptcha data-sitekey=k style="width:300px;height:70px">I am not a robot</div>
<textarea name=g-recaptcha-response hidden></textarea><button>Join</button></form>
<div class=grecaptcha-badge><div data-sitekey=v3 data-size=invisible>badge</div></div>"""
KEY = """<title>Sign in</title><h1>Sign in</h1><p role=status id=said>Signed out</p>
<button onclick="navigator.credentials.create({publicKey: {challenge: new Uint8Array(16), rp: {name: 'Quay'},
  user: {id: new Uint8Array(8), name: 'ada', displayName: 'Ada'}, pubKeyCredParams: [{type: 'public-key', alg: -7}],
  timeout: 60000}}).then(() => { said.textContent = 'Signed in with a passkey' }, (e) => { said.textContent = e.name })"
>Use a passkey</button>"""
PAGES = {"/join": JOIN, "/widget": WIDGET, "/key": KEY, "/joined": "<title>Welcome</title><h1>Welcome</h1>"}


class Person:
    """Does on the page what is asked for, or gives no answer."""

    def __init__(self, does: str = "") -> None:
        """`does`: a script for the page; empty: nothing is done, and there is no answer."""
        self.does, self.told = does, list[str]()
        self.page: Page | None = None

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        assert (name, secret) == ("continue", False)
        assert self.page is not None
        assert await self.page.evaluate("document.visibilityState") == "visible"
        self.told.append(prompt)
        if not self.does:
            return None
        if self.does == "authenticator":
            cdp = await self.page.context.new_cdp_session(self.page)
            await cdp.send("WebAuthn.addVirtualAuthenticator", {"options": {
                "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
                "isUserVerified": True, "automaticPresenceSimulation": True,
            }})  # fmt: skip
        else:
            await self.page.evaluate(self.does)
        return "done"


@pytest.fixture
def site() -> Iterator[RunningSite]:
    def answer(asked: Asked) -> Answered:
        return Answered(PAGES.get(asked.path.partition("?")[0], ""))

    with running_site(answer) as running:
        yield running


@pytest.fixture
def chrome(tmp_path: Path) -> Iterator[GivenChrome]:
    with given_chrome(tmp_path, ["about:blank"]) as running:
        yield running


@asynccontextmanager
async def at(
    chrome: GivenChrome, site: RunningSite, path: str, person: Person | None
) -> AsyncIterator[tuple[Session, TaskRunner]]:
    """A session in the given browser, on a page of the site."""
    origin = site.base.replace("127.0.0.1", "localhost")
    async with (
        open_working_context(BrowserOptions(cdp_endpoint=chrome.endpoint), bare=True) as context,
        open_trial_stores(_bare_knowledge(origin)) as stores,
        open_session(stores, context, WITHOUT_KNOWLEDGE, base_url=origin, asker=person) as session,
    ):
        if person is not None:
            person.page = session.page
        engine = TaskRunner(session)
        await perform_single_action(engine, "navigate", url=f"{origin}{path}")
        yield session, engine


def _button(name: str) -> Selector:
    return Selector.model_validate({"strategies": [{"type": "role_name", "role": "button", "name": name}]})


async def _press(engine: TaskRunner, name: str):
    return await perform_single_action(engine, "click", _button(name))


@pytest.mark.parametrize(
    ("path", "solved", "called"),
    [
        (
            "/join",
            "document.querySelector('[name=captcha_1]').value = 'x7k'",
            "'Type the letters of the picture'",
        ),
        ("/widget", "document.querySelector('[name=g-recaptcha-response]').value = 'token'", "a captcha"),
    ],
)
async def test_a_captcha_is_done_by_a_person_before_the_press(chrome, site, path, solved, called):
    person = Person(solved)
    async with at(chrome, site, path, person) as (session, engine):
        await session.page.fill("[name=email]", "ada@quay.example")
        result = await _press(engine, "Join")
        assert result.complete, result.error
        assert await session.page.title() == "Welcome"
    (told,) = person.told
    assert called in told
    assert [each.method for each in site.writes if each.path == "/joined"] == ["POST"]


async def test_without_an_answer_nothing_is_pressed(chrome, site):
    person = Person()
    async with at(chrome, site, "/join", person) as (session, engine):
        await session.page.fill("[name=email]", "ada@quay.example")
        result = await _press(engine, "Join")
    assert result.status is RunStatus.NEEDS_PERSON
    assert "nothing was pressed" in str(result.error)
    assert len(person.told) == 1
    assert not [each for each in site.writes if each.path == "/joined"]


async def test_a_person_who_did_not_do_it_is_told_again_and_then_the_run_ends(chrome, site):
    person = Person("1")
    async with at(chrome, site, "/join", person) as (session, engine):
        await session.page.fill("[name=email]", "ada@quay.example")
        result = await _press(engine, "Join")
    assert result.status is RunStatus.NEEDS_PERSON
    assert len(person.told) == 3
    assert not [each for each in site.writes if each.path == "/joined"]


async def test_a_captcha_of_a_form_in_which_nothing_was_entered_is_not_in_the_way(chrome, site):
    person = Person()
    async with at(chrome, site, "/join", person) as (session, engine):
        await session.page.fill("[name=q]", "boats")
        result = await _press(engine, "Find")
        assert result.complete, result.error
    assert person.told == []


async def test_an_invisible_captcha_asks_nobody(chrome, site):
    async with at(chrome, site, "/widget", None) as (session, _engine):
        await session.page.evaluate("document.querySelector('.g-recaptcha').remove()")
        assert await read_person_checks(session.page) == ()


async def test_a_passkey_prompt_waits_for_a_person_and_the_run_goes_on(chrome, site):
    person = Person("authenticator")
    async with at(chrome, site, "/key", person) as (session, engine):
        cdp = await session.page.context.new_cdp_session(session.page)
        await cdp.send("WebAuthn.enable")
        result = await _press(engine, "Use a passkey")
        assert result.complete, result.error
        await session.page.get_by_text("Signed in with a passkey").wait_for()
        assert await read_person_checks(session.page) == ()
    (told,) = person.told
    assert "passkey" in told


async def test_without_a_person_a_passkey_prompt_ends_the_run_with_what_to_do(chrome, site):
    async with at(chrome, site, "/key", None) as (session, engine):
        cdp = await session.page.context.new_cdp_session(session.page)
        await cdp.send("WebAuthn.enable")
        result = await _press(engine, "Use a passkey")
    assert result.status is RunStatus.NEEDS_PERSON
    assert "passkey" in str(result.error)
    assert "in the browser" in str(result.hint)
