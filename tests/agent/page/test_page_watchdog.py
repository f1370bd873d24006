"""A page that does not answer is ended, and every call that waits for it ends with the reason."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from html import escape
from types import SimpleNamespace

import pytest
import structlog
from structlog.testing import capture_logs

from agent import retry_limits
from agent.page import in_page_library, page_watchdog
from agent.page.action_requests import ActionPace
from agent.page.errors import PageError, PageGone
from agent.page.page_actions import perform_action
from agent.page.page_side_effects import watch_page
from agent.page.page_watchdog import end_page, page_deadline, read_end_reason, watch_context
from agent.page.snapshot_capture import take_snapshot
from kb_schema.selectors import css
from tests.hostile.floods.flooding_site import flooding_site
from tests.support.pages import show
from tests.support.site_server import Answered, Asked, running_site

HANGS = """<button id=hang onclick="while (true);">Hang</button><input id=name oninput="while (true);">
<button id=later onclick="setTimeout(() => { while (true); })">Later</button>
<button id=alert onclick="while (true) alert('again')">Alert</button>
<button id=confirm onclick="setInterval(() => confirm('again'))">Confirm</button>"""


async def _act_and_look(page, action, **more):
    """Act, then look at the page until it cannot be looked at."""
    await perform_action(page, action, **more)
    while True:
        await take_snapshot(page)


@asynccontextmanager
async def _open_watched(page, **limit):
    """Open a page of a context of its own, since it will be ended."""
    context = await page.context.browser.new_context()
    watch_context(context, **limit)
    await in_page_library.install(context)
    watched = await context.new_page()
    watch_page(watched)
    yield watched
    await context.close()


@pytest.fixture
async def watched(page):
    async with _open_watched(page, answer_s=1.5) as watched:
        await show(watched, HANGS, "/hangs")
        yield watched


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("click", {"selector": css("#hang")}),
        ("click", {"selector": css("#later")}),
        ("double_click", {"selector": css("#hang")}),
        ("fill", {"selector": css("#name"), "value": "x"}),
        ("fill", {"selector": css("#name"), "value": "x", "pace": ActionPace(0.001)}),
        ("click", {"selector": css("#alert")}),
        ("click", {"selector": css("#confirm")}),
    ],
)
async def test_an_action_on_a_page_that_hangs_ends_with_the_reason(watched, action, more):
    with pytest.raises(PageError, match="was ended"):
        await _act_and_look(watched, action, **more)
    assert read_end_reason(watched)


@pytest.mark.parametrize("script", ["while (true);", "while (true) alert('again');"])
async def test_a_page_that_hangs_while_it_loads_is_ended(watched, script):
    await watched.route(
        "**/dead", lambda route: route.fulfill(body=f"<script>{script}</script>", content_type="text/html")
    )
    with pytest.raises(PageError):
        await _act_and_look(watched, "navigate", url=watched.url.replace("hangs", "dead"))
    assert "was ended" in (read_end_reason(watched) or "")


async def test_another_page_of_the_context_is_watched_and_the_rest_works_on(watched):
    other = await watched.context.new_page()
    await show(other, HANGS, "/other")
    with pytest.raises(PageGone, match="did not answer"):
        await _act_and_look(other, "click", selector=css("#hang"))
    third = await watched.context.new_page()
    await show(third, "<button id=go onclick=\"document.title = 'went'\">Go</button>", "/third")
    await perform_action(third, "click", selector=css("#go"))
    assert await third.title() == "went"


async def test_a_page_with_a_few_dialogs_and_much_work_is_left_alone(watched):
    await show(
        watched,
        """<button id=go onclick="for (let n = 0; n < 5; n += 1) alert(n); busy(9); document.title = 'went'">Go</button>
        <script>function busy(left) { const end = Date.now() + 200; while (Date.now() < end);
        if (left) setTimeout(busy, 0, left - 1); else document.title = 'done' }</script>""",
        "/busy",
    )
    await perform_action(watched, "click", selector=css("#go"))
    await watched.wait_for_function("document.title === 'done'")
    assert read_end_reason(watched) is None
    assert len(watch_page(watched).answered_dialogs) == 5 < retry_limits.STEP_DIALOGS


async def test_nothing_is_begun_on_a_page_that_was_ended(watched):
    await end_page(watched, "was ended by the test")
    with pytest.raises(PageGone, match="was ended by the test"):
        async with page_deadline(watched, 5.0, "step 3"):
            pytest.fail("begun")


async def test_what_takes_longer_than_its_deadline_ends_with_the_page(watched):
    with pytest.raises(PageGone, match=r"step 3 took more than 0 s; the page was ended"):
        async with page_deadline(watched, 0.05, "step 3"):
            await asyncio.Event().wait()
    with pytest.raises(PageGone, match="step 3"):
        await in_page_library.call(watched, "revision")


NEVER = """void setTimeout(() => {
Object.defineProperty(Promise.prototype, "constructor", { get: () => null });
Promise.prototype.then = () => undefined;
})"""
"""After it, the page's scripts wait without end for what they call; the page itself runs on."""


async def test_a_page_that_answers_the_watchdog_but_no_call_is_ended(page, monkeypatch):
    monkeypatch.setattr(retry_limits, "PAGE_CALL_S", 2.0)
    async with _open_watched(page) as watched:
        await show(watched, HANGS, "/silent")
        await watched.evaluate(NEVER)
        with pytest.raises(PageGone, match="the answer to a call took more than 2 s; the page was ended"):
            await _act_and_look(watched, "click", selector=css("#name"))
        assert read_end_reason(watched)


FLOODS = {
    "errors": "setTimeout(() => { throw new Error('again') })",
    "requests": "fetch('/' + Math.random()).catch(() => {})",
    "sockets": "new WebSocket('ws://127.0.0.1:9/')",
    "frames": "document.body.append(document.createElement('iframe'))",
    "workers": "new Worker('data:text/javascript,console.log(1)')",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_a_page_that_floods_the_driver_with_events_is_ended(page, monkeypatch, flood):
    monkeypatch.setattr(retry_limits, "PAGE_EVENTS", 60)
    await _ends_what_it_does_without_end(page, flood, "more than 60 events")


async def _ends_what_it_does_without_end(page, does, told):
    async with _open_watched(page) as watched:
        every = f"setInterval(() => {{ for (let n = 0; n < 9; n++) {does} }}, 9)"
        await show(watched, f'<button id=go onclick="{every}">Go</button>', "/floods")
        with pytest.raises(PageError, match=told):
            await _act_and_look(watched, "click", selector=css("#go"))


SENDS = {
    "beacons": "navigator.sendBeacon('/b', 'x')",
    "fetches": "fetch('/b', {method: 'POST'}).catch(() => {})",
    "xhrs": "{ const asks = new XMLHttpRequest(); asks.open('GET', '/' + n); asks.send() }",
    "images": "new Image().src = '/' + Math.random()",
    "of a worker": "window.sends ||= new Worker(`data:text/javascript,setInterval(() => fetch('${location.origin}/').catch(() => 0))`)",
}


@pytest.mark.parametrize("sends", SENDS.values(), ids=SENDS)
async def test_a_page_that_sends_without_end_is_ended(page, monkeypatch, sends):
    """Long before it has sent so much that the driver is full: each request takes its time in the page, the browser and the driver."""
    monkeypatch.setattr(retry_limits, "PAGE_REQUESTS", 60)
    told = "more than 60 requests for other things than parts of documents"
    await _ends_what_it_does_without_end(page, sends, told)


async def test_parts_of_a_document_may_be_many(page, monkeypatch):
    """A development server sends each module alone."""
    monkeypatch.setattr(retry_limits, "PAGE_REQUESTS", 20)
    modules = "".join(f"<script src=/{n}.js></script>" for n in range(50))
    with running_site(
        lambda asked: Answered(
            modules if asked.path == "/" else "", kind="text/html" if asked.path == "/" else "text/javascript"
        )
    ) as site:
        async with _open_watched(page) as watched:
            await watched.goto(site.base)
            assert await watched.evaluate("document.scripts.length") == 50
            assert read_end_reason(watched) is None


LINES = {
    "of the page": "setInterval(() => console.log('x'), 9)",
    "of a worker": "new Worker('data:text/javascript,setInterval(() => console.log(1), 9)')",
    "of a worker that does nothing else": "new Worker('data:text/javascript,for (let n = 0; n < 3000; n++) console.log(1)')",
    "of a frame": "document.body.append(document.createElement('iframe')); setInterval(() => frames[0].console.log(1), 9)",
    "few, long": "new Worker(`data:text/javascript,setInterval(() => console.log('x'.repeat(50000)), 50)`)",
}


@pytest.mark.parametrize("script", LINES.values(), ids=LINES)
async def test_a_page_whose_workers_or_frames_write_without_end_is_ended(page, monkeypatch, script):
    monkeypatch.setattr(retry_limits, "PAGE_LINES", 60)
    monkeypatch.setattr(retry_limits, "PAGE_LINE_CHARACTERS", 200_000)
    async with _open_watched(page) as watched:
        await show(watched, f'<button id=go onclick="{escape(script)}">Go</button>', "/lines")
        with pytest.raises(PageError, match="more than 60 lines or 200000 characters to the console"):
            await _act_and_look(watched, "click", selector=css("#go"))


SERVICE_WORKER = "setInterval(() => console.log('again'), 9)"
PAGE_WITH_WORKER = """<button id=go onclick="navigator.serviceWorker.register('/worker.js')">Go</button>
<button id=on onclick="document.title = 'went'">On</button>"""


async def test_lines_of_a_service_worker_are_not_passed_on_and_end_no_page(page, monkeypatch):
    """To count them, the driver had to pass them on: that held it for minutes. What they take of the memory is watched."""
    monkeypatch.setattr(retry_limits, "PAGE_LINES", 60)

    def answer(asked: Asked) -> Answered:
        script = asked.path == "/worker.js"
        return Answered(SERVICE_WORKER, kind="text/javascript") if script else Answered(PAGE_WITH_WORKER)

    with running_site(answer) as site:
        async with _open_watched(page) as watched:
            await watched.goto(site.base)
            async with watched.context.expect_event("serviceworker") as started:
                await perform_action(watched, "click", selector=css("#go"))
            lines = (
                "new Promise((done) => { let n = 0; setInterval(() => { n += 1; if (n > 99) done() }, 9) })"
            )
            await (await started.value).evaluate(lines)  # as many as it has written itself
            await perform_action(watched, "click", selector=css("#on"))
            assert await watched.title() == "went"
            assert read_end_reason(watched) is None


REGISTERS = """let n = 0; setInterval(() => { for (let k = 0; k < 5; k++)
navigator.serviceWorker.register('/worker.js?' + n++, {scope: '/' + n + '/'}).then(() => 0, (e) => { document.body.dataset.last = e.name }) }, 9)"""


@asynccontextmanager
async def _open_with_worker(page, script):
    """A page whose button runs a script; `/worker.js` is a service worker that does nothing."""

    def answer(asked: Asked) -> Answered:
        if asked.path.startswith("/worker.js"):
            return Answered("", kind="text/javascript")
        return Answered(f'<button id=go onclick="{escape(script)}">Go</button>')

    with running_site(answer) as site:
        async with _open_watched(page) as watched:
            await watched.goto(site.base)
            yield watched


async def test_a_document_registers_a_number_of_service_workers(page):
    async with _open_with_worker(page, REGISTERS) as watched:
        await perform_action(watched, "click", selector=css("#go"))
        await watched.wait_for_function("document.body.dataset.last === 'QuotaExceededError'")
        assert len(watched.context.service_workers) <= 20
        assert read_end_reason(watched) is None


async def test_a_page_whose_service_workers_start_without_end_is_ended(page, monkeypatch):
    monkeypatch.setattr(retry_limits, "SERVICE_WORKERS", 9)
    async with _open_with_worker(page, REGISTERS) as watched:
        with pytest.raises(PageError, match="started more than 9 service workers"):
            await _act_and_look(watched, "click", selector=css("#go"))


async def test_messages_of_a_socket_are_events(page, monkeypatch):
    monkeypatch.setattr(retry_limits, "PAGE_EVENTS", 60)
    with flooding_site() as site:
        async with _open_watched(page) as watched:
            await watched.goto(f"{site}/click/ws-receive")
            with pytest.raises(PageError, match="more than 60 events"):
                await _act_and_look(watched, "click", selector=css("#go"))


async def test_a_socket_that_receives_without_end_is_closed_in_its_page(page):
    with flooding_site() as site:
        async with _open_watched(page) as watched:
            await watched.goto(f"{site}/load/plain")
            receives = """path => new Promise((done) => {
              const socket = new WebSocket(`ws://${location.host}${path}`);
              let messages = 0;
              socket.onmessage = () => { messages += 1; };
              WebSocket.prototype.close = () => {};
              const closed = setInterval(() => { if (socket.readyState > 1) { clearInterval(closed); done(messages); } }, 50);
            })"""
            # those that had come when it was closed are no longer told
            assert await watched.evaluate(receives, "/ws?flood") == 10_001


@pytest.mark.parametrize(
    "change",
    ["history.replaceState(1, '', '?' + n)", "history.pushState(1, '', '?' + n)", "location.hash = n"],
)
async def test_a_page_changes_its_address_as_often_as_chromium_permits(page, change):
    """The driver passes each change on, and has no time for others if a page makes them without end."""
    with flooding_site() as site:
        async with _open_watched(page) as watched:
            await watched.goto(f"{site}/load/plain")
            changes = []
            watched.on("framenavigated", lambda frame: changes.append(frame.url))
            await watched.evaluate(f"() => {{ for (let n = 0; n < 3000; n++) {change} }}")
            await watched.evaluate("document.title")
            assert 100 < len(changes) < 1_000
            assert read_end_reason(watched) is None


async def test_what_is_logged_of_a_page_is_of_its_own_run(page):
    """The driver tells of a page in the task that started the browser, which is another run's."""
    browser = page.context.browser

    async def run(name):
        with structlog.contextvars.bound_contextvars(run_id=name):
            context = await browser.new_context()
            watch_context(context, answer_s=1.5)
            opened = await context.new_page()
        await show(opened, HANGS, "/hangs")
        with suppress(PageError):
            await _act_and_look(opened, "click", selector=css("#hang"))
        await context.close()

    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as logs:
        await asyncio.gather(run("one"), run("two"))
    assert sorted(each["run_id"] for each in logs if each["event"] == "page_ended") == ["one", "two"]


def test_lines_are_counted_by_the_clock_of_the_browser(monkeypatch):
    """What the browser wrote in a second may arrive in a minute."""
    monkeypatch.setattr(retry_limits, "PAGE_LINES", 3)
    ended: list[str] = []
    slow, quick = page_watchdog._EventCount(ended.append), page_watchdog._EventCount(ended.append)
    for second in range(0, 60, 5):
        slow.note_line(SimpleNamespace(timestamp=second * 1000.0, text="x"))
    assert ended == []
    for n in range(6):
        quick.note_line(SimpleNamespace(timestamp=1000.0 + n, text="x"))
    assert len(ended) == 1


def test_events_are_counted_within_any_such_time(monkeypatch):
    """Not from a beginning on: else a page could send nearly twice as many."""
    times = iter((0.0, 9.0, 9.5, 11.0, 0.0, 9.0, 9.5, 9.7, 9.9, 19.0))
    monkeypatch.setattr(page_watchdog, "time", SimpleNamespace(monotonic=lambda: next(times)))
    ended: list[str] = []
    slow, quick = (page_watchdog._EventCount(ended.append, 3, within_s=10.0) for _ in range(2))
    for _ in range(4):
        slow.note(None)
    assert ended == []
    for _ in range(6):
        quick.note(None)
    assert ended == [
        "the page sent more than 3 events (errors, requests, frames, sockets, messages, workers, downloads) within 10 s and was ended"
    ]


async def test_what_waits_for_a_page_ends_with_it_while_the_driver_is_busy(watched):
    """The driver may have much to pass on before it says that the page is gone."""
    begun = asyncio.Event()

    async def wait() -> None:
        async with page_deadline(watched, 600.0, "step 3"), page_deadline(watched, 300.0, "a call"):
            begun.set()
            await asyncio.Event().wait()

    waiting = asyncio.ensure_future(wait())
    await begun.wait()
    await end_page(watched, "was ended by the test")
    with pytest.raises(PageGone, match="was ended by the test"):
        async with asyncio.timeout(60.0):
            await waiting
    assert watched not in page_watchdog._LIMITS or page_watchdog._LIMITS[watched] == []


WINDOWS = {
    "many at once": "setInterval(() => { for (let n = 0; n < 9; n++) window.open('about:blank') }, 300)",
    "one by one": "setInterval(() => window.open('about:blank'), 50)",
}


@pytest.mark.parametrize("script", WINDOWS.values(), ids=WINDOWS)
async def test_a_page_that_opens_windows_without_end_is_ended(watched, script, monkeypatch):
    monkeypatch.setattr(retry_limits, "OPEN_WINDOWS", 4)
    await show(watched, f'<button id=go onclick="{script}">Go</button>', "/windows")
    with pytest.raises(PageError, match="more than 4 windows at a time"):
        await _act_and_look(watched, "click", selector=css("#go"))


async def test_windows_that_were_closed_do_not_count(watched, monkeypatch):
    monkeypatch.setattr(retry_limits, "OPEN_WINDOWS", 1)
    await show(watched, "<p>many, one after another</p>", "/windows")
    for _ in range(3):
        async with watched.expect_popup() as opened:
            await watched.evaluate("void window.open('about:blank')")
        await (await opened.value).close()
    assert read_end_reason(watched) is None
