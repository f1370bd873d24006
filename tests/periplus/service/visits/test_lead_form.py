"""The form of a visitor's page: shown only where words are stored, sent once, and seen by who operates the service."""

from __future__ import annotations

import csv
import io
from contextlib import asynccontextmanager

import httpx
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from mcp_server.security.bearer_tokens import TokenFile, mint_token
from periplus.service.visits.visit_registry import VisitRegistry
from periplus.service.visits.visit_settings import VisitSettings
from tests.periplus.service.service_support import KEY, served
from tests.periplus.service.visits.visit_support import Puppets

ANN = {"key": "0" * 32, "agreed": True, "values": {"name": "Ann <b>Lee</b>", "email": "ann@example.com"}}


@asynccontextmanager
async def _service(tmp_path, monkeypatch, browser, days: str):
    """A service with one link, and a stranger who has it."""
    monkeypatch.setenv("PERIPLUS_VISITOR_RETENTION_DAYS", days)
    token, entry = mint_token("looker", ["read"])
    TokenFile(tmp_path / "tokens.json").add(entry)
    puppets = Puppets(browser)
    visits = VisitRegistry(puppets, VisitSettings())
    async with visits.opened(), served(tmp_path, visits=visits) as service:
        made = (await service.client.post("/api/visit", json={"label": "Acme"})).json()
        async with httpx.AsyncClient(base_url=service.url, timeout=20) as stranger:
            yield service, made, stranger, token
        await visits.close()


async def test_no_form_is_shown_or_taken_where_words_are_not_stored(tmp_path, monkeypatch, browser):
    async with _service(tmp_path, monkeypatch, browser, "0") as (service, made, stranger, _):
        assert made["lead_form"] is False
        assert "open-lead" not in (await stranger.get(made["url"])).text
        refused = await stranger.post(f"{made['url']}/lead", json=ANN)
        assert (refused.status_code, refused.json()["code"]) == (409, "not_stored")
        assert (await service.client.get("/api/leads")).json() == {"leads": []}
        told = (await service.client.get("/demos/leads", headers={"Accept": "text/html"})).text
        assert "PERIPLUS_VISITOR_RETENTION_DAYS is 0" in told


async def test_a_form_that_is_wrong_is_refused_with_its_place(tmp_path, monkeypatch, browser):
    wrong = [
        ({"agreed": False}, "body.agreed"),
        ({"agreed": 1}, "body.agreed"),
        ({"agreed": "yes"}, "body.agreed"),
        ({"values": {"email": "nowhere"}}, "body.values.email"),
        ({"values": {"name": "Ann"}}, "body.values.email"),
        ({"values": {**ANN["values"], "owner": "x"}}, "body.values.owner"),
        ({"key": "short"}, "body.key"),
        ({"more": 1}, "body.more"),
        ({"values": {str(n): "x" for n in range(100)}}, "body.values"),
    ]
    async with _service(tmp_path, monkeypatch, browser, "30") as (service, made, stranger, _):
        for changed, said in wrong:
            refused = await stranger.post(f"{made['url']}/lead", json={**ANN, **changed})
            assert refused.status_code == 422, changed
            assert said in [each["location"] for each in refused.json()["errors"]]
        assert (await service.client.get("/api/leads")).json() == {"leads": []}


async def test_a_form_is_read_by_who_may_operate_also_when_its_link_is_gone(tmp_path, monkeypatch, browser):
    async with _service(tmp_path, monkeypatch, browser, "30") as (service, made, stranger, token):
        for _ in range(2):
            sent = await stranger.post(f"{made['url']}/lead", json=ANN)
            assert sent.status_code == 201, sent.text
        assert (await service.client.post("/api/visits/" + made["visit_id"] + "/end")).status_code == 200
        assert (await stranger.post(f"{made['url']}/lead", json=ANN)).status_code == 404
        (lead,) = (await service.client.get("/api/leads", params={"visit_id": made["visit_id"]})).json()[
            "leads"
        ]
        assert [each["value"] for each in lead["entries"]] == ["Ann <b>Lee</b>", "ann@example.com"]
        assert (lead["link"], lead["website"], lead["expires_at"] > lead["given_at"]) == (
            "Acme",
            "works",
            True,
        )
        exported = await service.client.get("/api/leads/export?website=works")
        assert exported.headers["content-type"].startswith("text/csv")
        assert next(csv.DictReader(io.StringIO(exported.text)))["email"] == "ann@example.com"
        assert (await service.client.get("/api/leads/export?website=other")).text.count("\n") == 1
        assert (await service.client.get("/api/leads?website=a&website=b")).status_code == 422
        for path in ("/api/leads", "/api/leads/export", "/demos/leads", "/demos/leads/export"):
            assert (await service.client.get(path, headers={"X-API-Key": token})).status_code == 403
            assert (await stranger.get(path)).status_code in (401, 303)


async def _look(page) -> None:
    """Check the page for barriers, light and dark, and that it fits a phone."""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert (await Axe().run(page)).response["violations"] == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


async def test_a_visitor_sends_the_form_of_the_page_and_the_console_shows_it_under_the_link(
    tmp_path, monkeypatch, page
):
    async with _service(tmp_path, monkeypatch, page.context.browser, "30") as (service, made, _, _token):
        await page.set_viewport_size({"width": 390, "height": 800})
        await page.goto(made["url"])
        await page.get_by_role("button", name="Talk to us").first.click()
        dialog = page.get_by_role("dialog", name="Talk to us")
        await expect(dialog).to_contain_text("stored for 30 days")
        await dialog.get_by_label("Your name").fill("Ann <b>Lee</b>")
        await dialog.get_by_label("E-mail").fill("ann@localhost")  # a browser takes it, the service does not
        await dialog.get_by_role("button", name="Send").click()
        assert (await service.client.get("/api/leads")).json() == {"leads": []}  # without the consent
        await dialog.get_by_label("I agree that the Works store this").check()
        await dialog.get_by_role("button", name="Send").click()
        await expect(dialog.get_by_role("alert")).to_have_text("Please check: E-mail.")
        await _look(page)
        await dialog.get_by_label("E-mail").fill("ann@example.com")
        await dialog.get_by_role("button", name="Send").click()
        await expect(dialog.get_by_role("status")).to_have_text("Sent. Thank you.")
        await page.context.set_extra_http_headers({"X-API-Key": KEY})
        for path in (f"/demos/links/{made['visit_id']}", "/demos/leads"):
            await page.goto(f"{service.url}{path}")
            await expect(page.locator("main")).to_contain_text("Ann <b>Lee</b>")
            await expect(page.locator("main")).to_contain_text("I agree that the Works store this")
            await _look(page)


async def test_the_form_is_offered_when_the_demo_is_over(tmp_path, monkeypatch, page):
    async with _service(tmp_path, monkeypatch, page.context.browser, "30") as (_, made, _stranger, _token):
        await page.goto(made["url"])
        await page.get_by_role("button", name="Start the demo").click()
        await expect(page.locator("#status")).to_have_text("Live", timeout=20_000)
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.get_by_role("button", name="End", exact=True).click()
        await expect(page.get_by_role("dialog", name="Talk to us")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.locator("#ending")).to_have_text("You ended the demo.")
        await expect(page.get_by_role("button", name="Talk to us")).to_have_count(2)
