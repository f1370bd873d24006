"""The second line of defence: what a browser may ask for while a site is only looked at."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from agent.mapping.guarding import Guard
from tests.agent.mapping.small_site import SmallSite, html, small_site

ASK = "([url, how]) => fetch(url, how).then((answer) => answer.status, () => 0)"


@pytest.fixture
async def site() -> AsyncIterator[SmallSite]:
    with small_site({"*": html("Any", "any")}) as running:
        yield running


async def guarded(browser: Browser, site: SmallSite) -> tuple[Page, Guard]:
    context = await browser.new_context()
    guard = Guard((site.url,))
    await guard.install(context)
    page = await context.new_page()
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
    guard.begin(allowing=True)
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


async def test_nothing_is_sent_by_a_page_that_is_left(browser: Browser, site: SmallSite) -> None:
    page, _ = await guarded(browser, site)
    await page.evaluate(
        "addEventListener('pagehide', () => { navigator.sendBeacon('/bye', 'x'); fetch('/bye', {method: 'POST', keepalive: true}) })"
    )
    await page.goto(f"{site.url}/next")
    await page.context.close()
    assert site.asked["POST /bye"] == 0


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
