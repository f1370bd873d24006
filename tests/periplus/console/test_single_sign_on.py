"""Single sign-on in a real browser, at an issuer that listens; and what is refused."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe

from kb_store.audit.audit_log import AuditLog
from kb_store.audit.audit_recorder import use_audit_log
from periplus.errors import UserError
from periplus.service import single_sign_on
from periplus.service.console_sessions import ConsoleSessions
from periplus.service.single_sign_on import OidcSettings, load_oidc_settings
from tests.periplus.service.service_support import served
from tests.support.oidc_issuer import CLIENT, SECRET, issuing
from tests.support.site_server import Answered, running_site

PAGE = {"Accept": "text/html", "X-API-Key": ""}


@pytest.fixture
def issuer():
    people = {
        "ann": {"email": "ann@example.com", "email_verified": True, "groups": ["staff", "testers"]},
        "bob": {"email": "bob@example.com", "email_verified": True, "groups": ["admins"]},
        "eve": {"email": "eve@example.com", "email_verified": True, "groups": ["guests"]},
    }
    with issuing(**people) as running:
        yield running


def _settings(at, /, **more):
    told = {"client_id": CLIENT, "client_secret": SECRET, "scopes": "testers=review, admins=operate"}
    return OidcSettings(**{"issuer": at.url, **told, **more})


@pytest.fixture
async def service(tmp_path, issuer):
    log = AuditLog(tmp_path / "audit")
    use_audit_log(log)
    async with served(tmp_path, oidc=_settings(issuer)) as opened:
        opened.log = log
        yield opened
    use_audit_log(None)


@asynccontextmanager
async def _at_sign_in(service, browser, path="/runs"):
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{service.url}{path}")
    yield page
    await context.close()


async def _sign_in(page, name="ann"):
    await page.get_by_role("link", name="Sign in with localhost").click()
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Password").fill("open")
    await page.get_by_role("button", name="Allow").click()


async def test_a_person_signs_in_at_the_issuer_comes_back_and_signs_out(service, issuer, browser):
    async with _at_sign_in(service, browser) as page:
        assert (await Axe().run(page)).response["violations"] == []
        await _sign_in(page)
        await page.wait_for_url("**/runs")
        await page.get_by_role("heading", name="Runs").wait_for()
        header = await page.locator("header").inner_text()
        assert "ann@example.com" in header
        assert "review" in header
        cookies = {each["name"]: each for each in await page.context.cookies(service.url)}
        assert cookies["periplus_session"]["sameSite"] == "Strict"
        assert "periplus_sign_in" not in cookies
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="Sign in").wait_for()
        await page.goto(f"{service.url}/runs")
        assert "/sign-in" in page.url
    assert issuer.refused == []
    told = [(each.actor.text, each.action) for each in service.log.entries()]
    assert told == [("console ann@example.com", "signed_in"), ("console ann@example.com", "signed_out")]


async def test_signing_out_ends_the_session_at_an_issuer_that_can_end_it(tmp_path, issuer, browser):
    issuer.ends_sessions = True
    back = f"{issuer.url}/authorize"
    async with (
        served(tmp_path, oidc=_settings(issuer, sign_out_redirect_url=back)) as service,
        _at_sign_in(service, browser) as page,
    ):
        await _sign_in(page)
        await page.wait_for_url("**/runs")
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="Signed out").get_by_text("Signed out", exact=True).wait_for()
        await page.wait_for_url(f"{issuer.url}/end?theme=plain&*")
        assert issuer.ended == [{"theme": "plain", "client_id": CLIENT, "post_logout_redirect_uri": back}]
        await page.goto(f"{service.url}/runs")
        assert "/sign-in" in page.url


@pytest.mark.parametrize("address", ["http://login.example.com/end", "javascript:alert(1)", ""])
async def test_an_unsafe_address_to_sign_out_at_is_not_used(issuer, monkeypatch, address):
    told = {**issuer.discovery(), "end_session_endpoint": address}
    monkeypatch.setattr(issuer, "discovery", lambda: told)
    assert await single_sign_on.SingleSignOn(_settings(issuer)).sign_out_url() is None


def test_a_session_of_a_key_is_not_of_the_issuer():
    sessions = ConsoleSessions(
        b"k", sign_on=OidcSettings(issuer="https://a.example", client_id="x", scopes="*=read")
    )
    assert sessions.is_of_issuer(sessions.begin_for("ann", ()))
    assert not sessions.is_of_issuer("")
    assert not sessions.is_of_issuer(sessions.seal("attempt", "{}"))


async def test_a_group_has_its_role_and_no_other(service, browser):
    for name, status in (("ann", 403), ("bob", 200)):
        async with _at_sign_in(service, browser) as page:
            await _sign_in(page, name)
            await page.wait_for_url("**/runs")
            answer = await page.goto(f"{service.url}/audit")
            assert answer.status == status


WRONG = {
    "state": ({"wrong_state": "x" * 32}, "the answer belongs to another sign-in (its state is another)"),
    "nonce": ({"wrong_claims": {"nonce": "other"}}, "its nonce is another"),
    "no nonce": ({"wrong_claims": {"nonce": None}}, "its nonce is another"),
    "expired": ({"wrong_claims": {"exp": 1_700_000_000}}, "the ID token has expired"),
    "audience": ({"wrong_claims": {"aud": "another-app"}}, "the ID token is for another application"),
    "party": (
        {"wrong_claims": {"aud": [CLIENT, "b"], "azp": "b"}},
        "the ID token is for another application",
    ),
    "issuer": (
        {"wrong_claims": {"iss": "http://localhost:1"}},
        "the ID token is from another sign-in service",
    ),
    "signature": ({"wrong_key": True}, "the ID token's signature is wrong"),
    "no expiry": ({"wrong_claims": {"exp": None}}, "the ID token is not valid"),
    "denied": ({"no_code": True}, "did not sign you in"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_wrong_is_refused_with_a_sentence(service, issuer, browser, name):
    fault, said = WRONG[name]
    for key, value in fault.items():
        setattr(issuer, key, value)
    async with _at_sign_in(service, browser) as page:
        await _sign_in(page)
        await page.get_by_role("heading", name="Not allowed").wait_for()
        assert said.casefold() in (await page.locator("main").inner_text()).casefold()
        assert [each["name"] for each in await page.context.cookies(service.url)] != ["periplus_session"]
        await page.goto(f"{service.url}/runs")
        assert "/sign-in" in page.url
    assert [(each.action, each.outcome) for each in service.log.entries()] == [("sign_in_failed", "refused")]


async def test_a_person_without_a_scope_is_refused_by_name(service, browser):
    async with _at_sign_in(service, browser) as page:
        await _sign_in(page, "eve")
        await page.get_by_role("heading", name="Not allowed").wait_for()
        told = await page.locator("main").inner_text()
        assert "No group of eve@example.com has access to this service." in told
        await page.goto(f"{service.url}/runs")
        assert "/sign-in" in page.url


async def test_an_issuer_that_is_down_is_one_clear_error_and_keys_still_work(tmp_path):
    with issuing() as gone:
        settings = _settings(gone)
    async with served(tmp_path, oidc=settings) as service:
        answer = await service.client.get("/sign-in/oidc", headers=PAGE)
        assert answer.status_code == 503
        assert "does not answer" in answer.text
        assert "sign in with a key" in answer.text
        assert (await service.client.get("/api/runs")).status_code == 200


async def test_an_issuer_with_another_name_is_refused(tmp_path, issuer):
    other = _settings(issuer, issuer=issuer.url.replace("localhost", "127.0.0.1"))
    async with served(tmp_path, oidc=other) as service:
        answer = await service.client.get("/sign-in/oidc", headers=PAGE)
        assert (answer.status_code, "calls itself by another name" in answer.text) == (503, True)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint"])
async def test_an_address_that_can_be_read_on_the_way_is_not_used(service, issuer, monkeypatch, name):
    """The discovery document may name any: our secret goes to the token endpoint."""
    known = issuer.discovery()
    monkeypatch.setattr(issuer, "discovery", lambda: {**known, name: "http://issuer.example/x"})
    asked = {} if name == "authorization_endpoint" else await _sent_to_issuer(service)
    where = "/sign-in/oidc/callback" if asked else "/sign-in/oidc"
    answer = await service.client.get(
        where, params={"state": asked.get("state", ""), "code": "x"}, headers=PAGE
    )
    assert (answer.status_code, f"does not tell a safe {name}" in answer.text) == (503, True)


@pytest.mark.parametrize("name", ["token_endpoint", "jwks_uri"])
async def test_no_redirect_of_the_issuer_is_followed(service, issuer, monkeypatch, name):
    """It would lead our secret, or the question for the keys, to an address that nobody looked at."""
    asked_there = []

    def answer(asked):
        asked_there.append(asked)
        return Answered(json.dumps(issuer.published_keys()))

    known = issuer.discovery()
    with (
        running_site(answer) as elsewhere,
        running_site(lambda _: Answered(location=f"{elsewhere.base}/x")) as redirecting,
    ):
        monkeypatch.setattr(issuer, "discovery", lambda: {**known, name: f"{redirecting.base}/y"})
        back = urlsplit(issuer.sign_in(await _sent_to_issuer(service), "ann"))
        refused = await service.client.get(f"{back.path}?{back.query}", headers=PAGE)
    assert refused.status_code in (403, 503)
    assert asked_there == []


async def test_an_issuer_on_the_web_names_no_address_of_this_machine(monkeypatch):
    web = "https://issuer.example"
    told = {"issuer": web, "authorization_endpoint": "http://127.0.0.1:9/x", "token_endpoint": f"{web}/token"}

    async def discover(_address: str) -> dict[str, str]:
        return told

    monkeypatch.setattr(single_sign_on, "fetch_json", discover)
    settings = OidcSettings(issuer=web, client_id="c", client_secret="s", scopes="staff=read")
    sign_on = single_sign_on.SingleSignOn(settings)
    assert await sign_on._address("token_endpoint") == f"{web}/token"
    with pytest.raises(single_sign_on.IssuerUnavailable, match="does not tell a safe authorization_endpoint"):
        await sign_on._address("authorization_endpoint")


async def _sent_to_issuer(service, **params):
    begun = await service.client.get("/sign-in/oidc", params=params, headers=PAGE)
    assert begun.status_code == 303
    return {name: values[0] for name, values in parse_qs(urlsplit(begun.headers["location"]).query).items()}


async def test_the_answer_to_another_browser_is_refused(service, issuer):
    asked = await _sent_to_issuer(service)
    back = urlsplit(issuer.sign_in(asked, "ann"))
    service.client.cookies.clear()
    answer = await service.client.get(f"{back.path}?{back.query}", headers=PAGE)
    assert (answer.status_code, "began in another browser" in answer.text) == (403, True)


async def test_a_code_is_good_once_and_one_comes_back_to_this_service_only(service, issuer):
    asked = await _sent_to_issuer(service, next="//evil.example/")
    back = urlsplit(issuer.sign_in(asked, "ann"))
    cookies = dict(service.client.cookies)
    first = await service.client.get(f"{back.path}?{back.query}", headers=PAGE)
    assert first.status_code == 200
    assert "evil.example" not in first.text
    service.client.cookies.update(cookies)
    again = await service.client.get(f"{back.path}?{back.query}", headers=PAGE)
    assert (again.status_code, issuer.refused) == (403, ["code", "verifier", "method", "redirect"])


async def test_without_any_key_an_issuer_alone_closes_the_door(tmp_path, issuer):
    async with served(tmp_path, keyed=False, oidc=_settings(issuer)) as service:
        assert (await service.client.get("/runs", headers=PAGE)).status_code == 303
        assert (await service.client.get("/api/runs")).status_code == 401


async def test_without_an_issuer_there_is_no_single_sign_on(tmp_path):
    async with served(tmp_path) as service:
        assert "Sign in with" not in (await service.client.get("/sign-in", headers=PAGE)).text
        assert (await service.client.get("/sign-in/oidc", headers=PAGE)).status_code == 404


def test_a_session_ends_when_the_group_loses_its_scope_or_the_issuer_changes():
    key, settings = b"k" * 32, OidcSettings(issuer="https://a.example", client_id="c", scopes="staff=read")
    cookie = ConsoleSessions(key, sign_on=settings).begin_for("ann", ("staff",))

    def scopes(**changed):
        now = settings.model_copy(update=changed)
        found = ConsoleSessions(key, sign_on=now).person(cookie)
        return None if found is None else found[1]

    assert scopes() == ("read",)
    assert scopes(scopes={"staff": "write"}) == ("read", "write")
    assert scopes(scopes={"other": "write"}) is None
    assert scopes(issuer="https://b.example") is None
    assert ConsoleSessions(key).person(cookie) is None


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"ISSUER": "http://login.example.com", "CLIENT_ID": "c"}, "PERIPLUS_OIDC_ISSUER"),
        ({"ISSUER": "https://login.example.com"}, "PERIPLUS_OIDC_CLIENT_ID"),
        ({"SCOPES": "staff=owner"}, "PERIPLUS_OIDC_SCOPES"),
    ],
)
def test_a_wrong_setting_is_one_clear_error(monkeypatch, told, named):
    for name, value in told.items():
        monkeypatch.setenv(f"PERIPLUS_OIDC_{name}", value)
    with pytest.raises(UserError, match=named):
        load_oidc_settings()


@pytest.mark.parametrize(
    ("verified", "status"), [(True, 200), (False, 403), ("false", 403), ("true", 403), (None, 403)]
)
async def test_an_address_gives_a_role_only_if_the_issuer_has_verified_it(tmp_path, issuer, verified, status):
    issuer.wrong_claims = {"email": "ann@example.com", "email_verified": verified}
    settings = _settings(issuer, claim="email", scopes="ann@example.com=operate")
    async with served(tmp_path, oidc=settings) as service:
        back = urlsplit(issuer.sign_in(await _sent_to_issuer(service), "eve"))
        answer = await service.client.get(f"{back.path}?{back.query}", headers=PAGE)
    assert (answer.status_code, "is verified" in answer.text) == (status, status == 403)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"sub": "7", "email": "boss@example.com"}, "boss@example.com (7)"),
        ({"sub": "api-key", "preferred_username": "api-key"}, "api-key (api-key)"),
        ({"sub": "7", "email": "api-key", "email_verified": True}, "api-key (7)"),
        ({"sub": "7" * 200, "name": "Ann"}, None),
        ({"sub": "7", "email": "ann@example.com", "email_verified": True}, "ann@example.com"),
    ],
)
def test_what_a_person_may_choose_is_no_name_of_its_own(issuer, claims, name):
    named = single_sign_on.SingleSignOn(_settings(issuer))._person(claims).name
    assert named == (name or named)
    assert "7" in named or named == name
    assert len(named) <= 100
