"""What the console says when something went wrong: a page for people, JSON for programs, the trace in the log alone."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.async_playwright import Axe

from periplus.console import console_framework
from tests.periplus.service.service_support import KEY, served

PAGE = {"Accept": "text/html,application/xhtml+xml"}
ANON = {**PAGE, "X-API-Key": ""}
PHONE = {"width": 390, "height": 844}


@pytest.fixture
async def keyed(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    async with served(tmp_path, serve_max_body_bytes=10_000) as service:
        service.data = tmp_path
        yield service


def _break(monkeypatch, service):
    async def broken(**_):
        raise RuntimeError("the boiler burst <b>here</b>")

    monkeypatch.setattr(service.console.runs, "runs", broken)


def _form_token(page: str) -> str:
    return re.search(r'name="csrf_token" value="([0-9a-f]+)"', page)[1]


async def test_a_defect_is_a_page_for_a_browser_and_json_for_programs_and_its_trace_is_in_the_log_alone(
    keyed, monkeypatch
):
    _break(monkeypatch, keyed)
    shown = await keyed.client.get("/runs", headers=PAGE)
    assert shown.status_code == 500
    assert shown.headers["content-type"].startswith("text/html")
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    assert "Internal error" in shown.text
    assert shown.headers["x-request-id"] in shown.text, "whoever runs the service finds it by this"
    assert 'aria-label="Console"' in shown.text, "one can go on from there"
    for path, headers in (("/runs", {"Accept": "application/json"}), ("/api/runs", PAGE)):
        told = await keyed.client.get(path, headers=headers)
        assert told.status_code == 500
        assert told.json()["code"] == "defect"
        assert "boiler" not in told.text
    assert "boiler" not in shown.text
    assert "Traceback" not in shown.text
    logged = "".join(each.read_text() for each in (keyed.data / "logs").glob("error-*.log"))
    assert "the boiler burst" in logged


async def test_a_defect_of_the_pages_themselves_is_still_answered(keyed, monkeypatch):
    _break(monkeypatch, keyed)

    def broken(*_):
        raise ValueError("no page can be made")

    monkeypatch.setattr(console_framework, "render", broken)
    told = await keyed.client.get("/runs", headers=PAGE)
    assert told.status_code == 500
    assert told.json()["code"] == "defect"


async def test_the_page_of_a_defect_is_accessible_and_fits_a_phone(keyed, browser, monkeypatch):
    _break(monkeypatch, keyed)
    context = await browser.new_context(viewport=PHONE, extra_http_headers={"X-API-Key": KEY})
    page = await context.new_page()
    await page.goto(f"{keyed.url}/runs")
    assert (await Axe().run(page)).response["violations"] == []
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    await page.get_by_role("link", name="Health of the service").click()
    await page.get_by_role("heading", name="Health").first.wait_for()
    await context.close()


async def test_whoever_is_no_longer_signed_in_is_told_so_and_led_back_to_where_the_form_was(keyed):
    page = await keyed.client.get("/sign-in", headers=ANON)
    form = {"key": KEY, "csrf_token": _form_token(page.text)}
    await keyed.client.post("/sign-in", data=form, headers=ANON)
    shown = await keyed.client.get("/runs?kind=task", headers=ANON)
    keyed.client.cookies.clear()
    sent = {"theme": "dark", "csrf_token": _form_token(shown.text)}
    here = {**ANON, "Referer": f"{keyed.url}/runs?kind=task"}
    over = await keyed.client.post("/theme", data=sent, headers=here)
    assert over.status_code == 401
    assert "You are not signed in, or your session has ended; nothing was changed" in over.text
    assert 'href="/sign-in?next=%2Fruns%3Fkind%3Dtask"' in over.text
    assert "Basic" not in over.headers["www-authenticate"], "no dialog of the browser's own"
    assert "this machine" not in over.text
    assert "operate" not in over.text
    elsewhere = {**ANON, "Referer": "https://evil.example/runs"}
    assert (
        'href="/sign-in?next=%2F"' in (await keyed.client.post("/theme", data=sent, headers=elsewhere)).text
    )


@pytest.mark.parametrize(
    "asked", [{"Accept": "image/avif,image/webp,*/*;q=0.8"}, {"Accept": "*/*", "Sec-Fetch-Dest": "video"}]
)
async def test_pictures_of_a_session_that_is_over_open_no_dialog_of_the_browser(keyed, asked):
    nobody = {**asked, "X-API-Key": ""}
    answer = await keyed.client.get("/runs/any/steps/1/picture", headers=nobody)
    assert answer.status_code == 401
    assert "Basic" not in answer.headers["www-authenticate"]


async def test_the_colours_are_chosen_on_a_page_with_a_long_address_too(keyed):
    path = f"/sites/any/search?q={'%C3%A4' * 400}"
    shown = await keyed.client.get(path, headers=PAGE)
    form = {"theme": "dark", "next": path, "csrf_token": _form_token(shown.text)}
    chosen = await keyed.client.post("/theme", data=form, headers=PAGE)
    assert (chosen.status_code, chosen.headers["location"]) == (303, path)


async def test_a_page_that_is_pasted_and_too_large_is_refused_by_a_page(keyed):
    shown = await keyed.client.get("/runs", headers=PAGE)
    large = {"html": "x" * 20_000, "csrf_token": _form_token(shown.text)}
    refused = await keyed.client.post("/sites/any/where", data=large, headers=PAGE)
    assert refused.status_code == 413
    assert refused.headers["content-type"].startswith("text/html")
    assert "PERIPLUS_SERVE_MAX_BODY_BYTES" in refused.text
    programs = await keyed.client.post("/api/run", json={"html": "x" * 20_000})
    assert programs.json()["code"] == "too_large"


@pytest.mark.parametrize(
    ("path", "said"),
    [("/runs?page=x", "“page” in the address must be a number"), ("/runs/%20x", "“run_id” in the address has an invalid format")],
)  # fmt: skip
async def test_an_address_that_cannot_be_read_is_told_in_words(keyed, path, said):
    answer = await keyed.client.get(path, headers=PAGE)
    assert answer.status_code == 422
    assert said in answer.text
    assert "pattern" not in answer.text
