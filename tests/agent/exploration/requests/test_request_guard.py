"""The second line of defence: what a browser may ask for while a site is only looked at."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser, Page, async_playwright

from agent.browser.launch import LaunchSettings, launch
from agent.exploration.requests.request_guard import RequestGuard
from tests.agent.exploration.small_site import Answer, SmallSite, html, small_site
from tests.support.trap_site.running import TrapSite, trap_site

ASK = "([url, how]) => fetch(url, how).then((answer) => answer.status, () => 0)"


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    with small_site({"*": html("Any", "any")}) as running:
        yield running


async def guarded(browser: Browser, site: SmallSite) -> tuple[Page, RequestGuard]:
    context = await browser.new_context()
    guard = RequestGuard((site.url,))
    await guard.install(context)
    page = await context.new_page()
    await guard.stand_before(page)
    await page.goto(site.url)
    return page, guard


async def test_only_what_asks_is_sent(browser: Browser, site: SmallSite) -> None:
    page, guard = await guarded(browser, site)
    for method in ("POST", "PUT", "DELETE"):
        assert await page.evaluate(ASK, ["/x", {"method": method}]) == 0
    assert await page.evaluate(ASK, ["/items/3/delete", {}]) == 0
    assert await page.evaluate(ASK, ["/list", {}]) == 200
    assert [each.method for each in guard.stopped] == ["POST", "PUT", "DELETE", "GET"]
    assert sum(number for asked, number in site.asked.items() if not asked.startswith("GET")) == 0
    await guard.begin(allowing=True)
    assert await page.evaluate(ASK, ["/x", {"method": "POST"}]) == 200
    await page.context.close()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("query Users { users { name } }", 200),
        ("{ users { name } }", 200),
        ("mutation { remove(id: 1) }", 0),
        ("query A { a } mutation B { b }", 0),
        ("subscription { s }", 0),
        ("remove everything", 0),
    ],
)
async def test_a_graphql_query_is_a_question_and_a_mutation_is_none(
    browser: Browser, site: SmallSite, query: str, status: int
) -> None:
    page, _ = await guarded(browser, site)
    body = json.dumps({"query": query})
    assert await page.evaluate(ASK, ["/graphql", {"method": "POST", "body": body}]) == status
    await page.context.close()


LEAVING = """addEventListener('pagehide', () => { new Image().src = '/bye'; navigator.sendBeacon('/bye', 'x');
let n = 0; fetch('/bye', {method: 'POST', get keepalive() { return n++ > 0 }}) }, true)"""
ANEW = "document.open(); document.write('x'); document.close();"
WRITTEN = f"document.write(`<script>{LEAVING}</${{''}}script>`); document.close()"


@pytest.mark.parametrize("leaving", [LEAVING, ANEW + LEAVING, WRITTEN])
async def test_nothing_is_sent_by_a_page_that_is_left(
    browser: Browser, site: SmallSite, leaving: str
) -> None:
    page, _ = await guarded(browser, site)
    await page.evaluate(f"() => {{ {leaving} }}")
    await page.goto(f"{site.url}/next")
    await page.context.close()
    assert site.asked["POST /bye"] == site.asked["GET /bye"] == 0


async def test_a_file_may_be_called_as_it_likes_and_an_image_that_deletes_is_no_file(
    browser: Browser, site: SmallSite
) -> None:
    page, _ = await guarded(browser, site)
    images = "<img src=/icons/delete.png><img src=/items/3/delete>"
    async with page.expect_response("**/delete.png"):
        await page.evaluate("(images) => { document.body.innerHTML = images }", images)
    await page.context.close()
    assert site.asked["GET /icons/delete.png"] == 1
    assert site.asked["GET /items/3/delete"] == 0


# -- what requests are sent on to


@pytest.fixture
def detours() -> Iterator[SmallSite]:
    """`/go` is sent on to `/hop`, and that to where the site signs out; `/round` to a page."""
    sent_on = {"/go": "/hop", "/hop": "/logout", "/round": "/hop/fine", "/hop/fine": "/fine"}
    pages = {path: Answer(status=302, headers={"Location": to}) for path, to in sent_on.items()}
    links = (
        "<a href=/go>Go</a><a href=/go target=_blank>Window</a><a href=/round target=_blank>Round</a>"
        "<button onclick=\"window.open('/go')\">Open</button>"
    )
    with small_site({**pages, "*": html("Any", links)}) as running:
        yield running


GOING = {
    "link": "document.links[0].click()",
    "fetch": "fetch('/go').catch(() => 0)",
    "frame": "document.body.insertAdjacentHTML('beforeend', '<iframe src=/go></iframe>')",
    "picture": "new Image().src = '/go'",
    "worker": "void new Worker(URL.createObjectURL(new Blob([`fetch('${location.origin}/go')`])))",
}


WINDOWS = ("Window", "Open")


@pytest.mark.parametrize("way", [*GOING, *WINDOWS])
async def test_what_a_request_is_sent_on_to_is_judged_before_it_is_asked_for(
    browser: Browser, detours: SmallSite, way: str
) -> None:
    page, guard = await guarded(browser, detours)
    async with page.context.expect_event(
        "requestfailed", lambda failed: failed.url.endswith("/hop"), timeout=5_000
    ):
        if way in WINDOWS:
            await page.get_by_text(way, exact=True).click()
        else:
            await page.evaluate(GOING[way])
    assert [(each.method, each.url) for each in guard.stopped] == [("GET", f"{detours.url}/logout")]
    assert detours.asked["GET /hop"] == 1
    assert detours.asked["GET /logout"] == 0
    await page.context.close()


async def test_a_window_that_is_sent_on_to_a_page_comes_there(browser: Browser, detours: SmallSite) -> None:
    page, guard = await guarded(browser, detours)
    async with page.context.expect_page() as opened:
        await page.get_by_text("Round").click()
    window = await opened.value
    await window.wait_for_url(f"{detours.url}/fine")
    assert await window.title() == "Any"
    assert guard.stopped == []
    await guard.begin(allowing=True)
    await page.goto(f"{detours.url}/go")
    assert page.url == f"{detours.url}/logout"
    await page.context.close()


# -- while no control is used


async def opened(browser: Browser, site: SmallSite) -> tuple[Page, RequestGuard]:
    """Open the site's start page as an exploration opens addresses."""
    context = await browser.new_context()
    guard = RequestGuard((site.url, site.url.replace("127.0.0.1", "localhost")))
    await guard.install(context)
    page = await context.new_page()
    await guard.stand_before(page)
    await guard.begin(allowing=False)
    await page.goto(f"{site.url}/", wait_until="load")
    return page, guard


async def test_files_come_from_the_browsers_cache(browser: Browser) -> None:
    style = Answer("", headers={"Content-Type": "text/css", "Cache-Control": "max-age=600"})
    with small_site({"*": "<link rel=stylesheet href=/style.css>Any", "/style.css": style}) as site:
        page, guard = await opened(browser, site)
        for path in ("/a", "/b"):
            await guard.begin(allowing=False)
            await page.goto(f"{site.url}{path}", wait_until="load")
        await page.context.close()
    assert site.asked["GET /style.css"] == 1


PAGES_OF_ITS_OWN = {
    "script": "open('/w')",
    "link": "link.click()",
    "event": "link.dispatchEvent(new MouseEvent('click', {bubbles: true}))",
    "within": "inner.dispatchEvent(new MouseEvent('click', {bubbles: true}))",
    "form": "form.submit()",
    "submit": "form.requestSubmit()",
    "button": "button.click()",
}


@pytest.mark.parametrize("way", PAGES_OF_ITS_OWN)
async def test_a_page_opens_no_windows_by_itself(browser: Browser, way: str) -> None:
    page_html = (
        "<a id=link href=/w target=_blank><b id=inner>x</b></a><form id=form action=/w target=other></form>"
        "<form><button id=button formtarget=_blank formaction=/w>y</button></form>"
        f"<script>{PAGES_OF_ITS_OWN[way]}; fetch('/done')</script>"
    )
    with small_site({"/": page_html, "*": html("Any", "any")}) as site:
        page, _ = await opened(browser, site)
        await page.wait_for_function("performance.getEntriesByName(`${location.origin}/done`).length")
        assert len(page.context.pages) == 1
        await page.context.close()
    assert site.asked["GET /done"] == 1
    assert site.asked["GET /w"] == 0


@pytest.mark.parametrize("flags", [(), ("--site-per-process",)], ids=["shared", "own process"])
async def test_frames_of_another_site_and_workers_are_judged(flags: tuple[str, ...]) -> None:
    sends = "fetch('/sent', {method: 'POST'}).catch(() => 0).then(() => fetch('/after'))"
    work = Answer(f"{sends}.then(() => postMessage(1))", headers={"Content-Type": "text/javascript"})
    page_html = (
        "<script>new Worker('/work.js').onmessage = () => document.body.append('worked');"
        "onmessage = () => document.body.append('framed')</script>"
        "<body onload=\"let f = document.createElement('iframe');"
        " f.src = location.href.replace('127.0.0.1', 'localhost') + 'frame'; document.body.append(f)\">"
    )
    frame = f"<script>{sends}.then(() => parent.postMessage(1, '*'))</script>"
    with small_site({"/": page_html, "/frame": frame, "/work.js": work, "*": "Any"}) as site:
        async with async_playwright() as playwright:
            started = await launch(playwright, settings=LaunchSettings(extra_args=flags))
            page, guard = await opened(started, site)
            await page.get_by_text("worked").wait_for()
            await page.get_by_text("framed").wait_for()
            assert {each.method for each in guard.stopped} == {"POST"}
            assert {each.url.split(":")[1] for each in guard.stopped} == {"//127.0.0.1", "//localhost"}
            await started.close()
    assert site.asked["POST /sent"] == 0


# -- WebSockets


@pytest.fixture(scope="module")
def trap() -> Iterator[TrapSite]:
    with trap_site() as running:
        yield running


async def on_sockets(browser: Browser, trap: TrapSite, guard: RequestGuard) -> Page:
    trap.reset()
    context = await browser.new_context()
    await guard.install(context)
    page = await context.new_page()
    await guard.stand_before(page)
    await page.goto(f"{trap.url}/sockets")
    await page.get_by_text("You are connected.").wait_for()
    return page


async def test_what_a_page_says_over_a_web_socket_stays_and_what_a_control_says_is_told(
    browser: Browser, trap: TrapSite
) -> None:
    guard = RequestGuard((trap.url,))
    page = await on_sockets(browser, trap, guard)
    await guard.begin(allowing=False, using=True)
    await page.get_by_text("Tidy").click()
    assert {each.method for each in guard.stopped} == {"a message to"}, "only what the button said"
    assert len(guard.stopped) == 1
    await page.context.close()
    assert trap.state()["changes"] == {}


@pytest.mark.parametrize("how", ["while a control that is allowed is used", "by name"])
async def test_it_is_passed_on_where_that_is_allowed(browser: Browser, trap: TrapSite, how: str) -> None:
    guard = RequestGuard((trap.url,), allowed=("websocket",) if how == "by name" else ())
    page = await on_sockets(browser, trap, guard)
    await guard.begin(allowing=how != "by name", using=True)
    await page.get_by_text("Tidy").click()
    await page.get_by_text("Removed.").wait_for()
    await page.context.close()
    assert trap.state()["changes"]["socket remove"] == 1


async def test_a_page_that_is_explored_has_no_binding_of_the_driver(
    browser: Browser, site: SmallSite
) -> None:
    page, _ = await guarded(browser, site)
    names = "Object.getOwnPropertyNames(window).filter((name) => /playwright|__pw|periplus/i.test(name))"
    assert await page.evaluate(names) == []
    await page.context.close()
