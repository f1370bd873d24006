"""Whether a text that a page shows came in an answer of a server, or was kept by the browser."""

from __future__ import annotations

import pytest

from agent.page.page_readings import wait_until_settled
from agent.page.server_answers import ServerAnswers
from tests.support.pages import show

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
    with ServerAnswers(page) as answers:
        await show(page, f"<title>Boats</title>{html}", "/list", pages=pages)
        await wait_until_settled(page)
        assert await answers.have(WANTED) is came
        assert not answers.failed
