"""Requests of a run that are held back: where they come from, when, and whose they are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
from playwright.async_api import Browser, BrowserContext, Page

from agent.dangers.sent_deeds import SentRequest
from agent.sentence_runs import held_requests
from agent.sentence_runs.act_permissions import ActPermissions
from agent.sentence_runs.held_requests import LATE_S, RequestHold, hold_requests
from kb_schema.sentence_plans import SentencePlan
from tests.agent.exploration.small_site import Answer, SmallSite, html, small_site

ASK = "([url, how]) => fetch(url, how).then((answer) => answer.status, () => 0)"
DELETE = SentRequest("DELETE", "http://127.0.0.1/boats/7")


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    pages = {
        "/kept": Answer("", 307, {"Location": "/delete/7"}),
        "/twice": Answer("", 307, {"Location": "/kept"}),
        "/next": Answer("", 302, {"Location": "/logout"}),
        "/saved": Answer("", 303, {"Location": "/boats"}),
        "/worker.js": Answer("fetch('/boats/7', {method: 'DELETE'})", headers={"Content-Type": "text/javascript"}),
        "*": html("Any", "<a id=on href=/next>Next</a>"),
    }  # fmt: skip
    with small_site(pages) as running:
        yield running


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    opened = await browser.new_context()
    yield opened
    await opened.close()


def permitting(*allowed: str) -> ActPermissions:
    return ActPermissions("Rename a boat", SentencePlan(), {}, frozenset(allowed))


def posted(site: SmallSite) -> list[str]:
    return [asked for asked in site.asked if not asked.startswith("GET") or asked == "GET /logout"]


async def opened(context: BrowserContext, site: SmallSite) -> Page:
    page = await context.new_page()
    await page.goto(site.url)
    return page


async def test_each_hop_of_a_redirect_is_judged(context, site) -> None:
    page = await opened(context, site)
    async with hold_requests(page, permitting()) as hold:
        await page.reload()
        hold.begin("Next")
        for path in ("/kept", "/twice"):
            assert await page.evaluate(ASK, [path, {"method": "POST"}]) == 0
            assert "'Next' would send what deletes (/delete)" in hold.take().reason
        assert await page.evaluate(ASK, ["/saved", {"method": "POST"}]) == 200
        async with page.expect_event("requestfailed", lambda each: each.url.endswith("/next")):
            await page.click("#on")
        assert await page.title() == "Any"
        assert "'Next' would send what signs out" in hold.take().reason
    assert sorted(posted(site)) == ["POST /kept", "POST /saved", "POST /twice"]
    assert await page.evaluate(ASK, ["/kept", {"method": "POST"}]) == 200  # the run is over


async def test_the_headers_of_a_hop_are_judged(context, site) -> None:
    """Here what the page sends on its own is led elsewhere once an act was done: only the address is new."""
    moved = list[str]()
    site.pages["/moved"] = lambda path, cookies: Answer("", 307, {"Location": moved[0]}) if moved else "kept"
    page = await opened(context, site)
    how = {"method": "POST", "headers": {"X-HTTP-Method-Override": "DELETE"}}
    async with hold_requests(page, permitting()) as hold:
        await page.reload()
        assert await page.evaluate(ASK, ["/moved", how]) == 200
        hold.begin("Next")
        assert await page.evaluate(ASK, ["/moved", how]) == 200
        moved.append("/boats/7")
        assert await page.evaluate(ASK, ["/moved", how]) == 0
        assert "'Next' would send what deletes (DELETE)" in hold.take().reason
    assert "POST /boats/7" not in site.asked


async def test_a_page_has_no_shared_workers_and_no_requests_that_are_sent_when_it_is_left(
    context, site
) -> None:
    page = await opened(context, site)
    async with hold_requests(page, permitting()):
        await page.reload()
        assert (
            await page.evaluate(
                """() => {
              const frame = document.createElement("iframe");
              document.body.append(frame);
              return [window, frame.contentWindow].flatMap((each) => ["SharedWorker", "fetchLater"].filter((name) => name in each));
            }"""
            )
            == []
        )


async def test_what_a_page_that_an_act_opens_is_redirected_to_is_judged(context, site) -> None:
    page = await opened(context, site)
    async with hold_requests(page, permitting()) as hold:
        hold.begin("Next")
        async with page.expect_popup() as popup:
            await page.evaluate("void open('/next')")
        async with (await popup.value).expect_event("requestfailed", lambda each: each.url.endswith("/next")):
            pass
        assert posted(site) == []


async def test_a_persons_other_pages_in_a_lent_browser_are_left_alone(context, site) -> None:
    others = await opened(context, site)
    page = await opened(context, site)
    async with hold_requests(page, permitting(), lent=True) as hold:
        later = await opened(context, site)
        async with page.expect_popup() as popup:
            await page.evaluate("void open('/boats')")
        own = await popup.value
        await own.wait_for_load_state()
        hold.begin("Next")
        statuses = [
            await each.evaluate(ASK, ["/boats/7", {"method": "DELETE"}])
            for each in (others, later, own, page)
        ]
        assert statuses == [200, 200, 0, 0]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(s=100.0)
    monkeypatch.setattr(held_requests, "time", SimpleNamespace(monotonic=lambda: now.s))
    return now


def test_a_late_request_is_held_and_each_act_that_may_have_sent_it_is_named(clock) -> None:
    hold = RequestHold(permitting())
    hold.begin("Next")
    clock.s += 4
    hold.begin("Name")
    assert hold.holds(DELETE, document=False)
    assert hold.take().reason == "'Name' or 'Next' would send what deletes (DELETE)"
    assert hold.take().may
    clock.s += 3_600
    assert hold.holds(DELETE, document=False)
    assert hold.take().reason == "'Name' would send what deletes (DELETE)"


def test_an_act_that_was_allowed_sends_once_after_the_next_one_began(clock) -> None:
    hold = RequestHold(permitting("remove"))
    hold.begin("Remove")
    clock.s += 3
    hold.begin("Save")
    assert not hold.holds(DELETE, document=False)  # it was offered to undo it until now
    assert hold.holds(DELETE, document=False)
    hold.begin("Remove")
    clock.s += LATE_S
    hold.begin("Save")
    assert hold.holds(DELETE, document=False)


def test_what_a_page_sends_without_an_act_is_its_own(clock) -> None:
    hold = RequestHold(permitting())
    counted = SentRequest("POST", "http://127.0.0.1/api/send?t=1")
    assert not hold.holds(counted, document=False)
    hold.begin("Next")
    assert not hold.holds(SentRequest("POST", "http://127.0.0.1/api/send?t=2"), document=False)
    assert hold.holds(SentRequest("POST", "http://127.0.0.1/messages/send"), document=False)
    assert hold.holds(DELETE, document=False)


def test_pages_that_knowledge_opens_may_be_called_like_a_deed(clock) -> None:
    hold = RequestHold(permitting())
    hold.begin("Next")
    page = SentRequest("GET", "http://127.0.0.1/boats/7/delete")
    with hold.led_by_knowledge():
        assert not hold.holds(page, document=True)
        assert hold.holds(DELETE, document=False)
    assert hold.holds(page, document=True)
