"""Whether a text that a page shows came in an answer of a server, or was kept by the browser."""

from __future__ import annotations

import pytest

from agent.page.page_readings import wait_until_settled
from agent.page.server_answers import ServerAnswers
from tests.support.pages import show
from tests.support.site_server import Answered, Asked, running_site

WANTED = frozenset({"o'brien & co"})
ASKS = "<p id=p></p><script>fetch(%r).then((answer) => answer.text()).then((said) => { p.textContent = said; })</script>"
KEPT = '<p id=p></p><script>localStorage.kept = "O\'Brien & Co"; p.textContent = localStorage.kept.slice(0)</script>'


@pytest.mark.parametrize(
    ("html", "pages", "came"),
    [
        ("<p>O&#39;Brien &amp; Co", {}, True),
        (ASKS % "/boats", {"/boats": r'{"name": "O\u0027Brien & Co"}'}, True),
        (ASKS % "/boats", {"/boats": r'{"name": "O Brien"}'}, False),
        (ASKS % "/echo?q=O%27Brien+%26+Co", {"/echo?q=O%27Brien+%26+Co": "O'Brien & Co"}, False),
        (KEPT.replace("O'Brien & Co", "\\x4f'Brien & Co"), {}, False),
        ('<p>O&#39;Brien &amp; Co<script>document.cookie = "last=O\'Brien & Co"</script>', {}, False),
    ],
)
async def test_a_text_is_from_a_server_if_an_answer_has_it_and_its_request_had_not(page, html, pages, came):
    async with ServerAnswers(page) as answers:
        await show(page, f"<title>Boats</title>{html}", "/list", pages=pages)
        await wait_until_settled(page)
        assert await answers.have(WANTED) is came
        assert not answers.failed


WORKER = """oninstall = () => skipWaiting(); onactivate = (event) => event.waitUntil(clients.claim());
onfetch = (event) => event.respondWith(%s)"""
PASSES_ON = "fetch(event.request)"
MAKES_UP = "new Response('<title>Boats</title>O\\'Brien & Co', { headers: { 'Content-Type': 'text/html' } })"
LIST = """<title>Boats</title>%s<script>
navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => { document.title = 'ready' })</script>"""


@pytest.mark.parametrize(
    ("answers_by", "kept", "came"), [(PASSES_ON, "O'Brien &amp; Co", True), (MAKES_UP, "", False)]
)
async def test_a_service_worker_is_passed_by(browser, answers_by, kept, came):
    def site(asked: Asked) -> Answered:
        if asked.path == "/worker.js":
            return Answered(WORKER % answers_by, kind="text/javascript")
        return Answered(LIST % kept)

    with running_site(site) as served:
        async with await browser.new_context() as context:
            first = await context.new_page()
            await first.goto(f"{served.base}/list")
            await first.wait_for_function("document.title == 'ready' && navigator.serviceWorker.controller")
            second = await context.new_page()
            async with ServerAnswers(second) as answers:
                await second.goto(f"{served.base}/list")
                assert await answers.have(WANTED) is came
            await second.reload()
            assert ("O'Brien" in await second.inner_text("body")) is True, (
                "later loads go by the worker again"
            )
