"""Loading a page again never sends again what was sent to get it."""

from __future__ import annotations

from agent.page.page_actions import perform_action
from tests.support.pages import SITE


async def test_a_page_that_answered_a_form_is_loaded_again_without_sending_the_form_again(equipped_page):
    page, sent = equipped_page, []

    async def answer(route):
        sent.append(route.request.method)
        body = f"<p id=said>{route.request.method}</p><form method=post><button>Create</button></form>"
        await route.fulfill(body=body, content_type="text/html")

    await page.route(f"{SITE}/**", answer)
    await page.goto(f"{SITE}/new")
    await page.click("button")
    await page.wait_for_function("said.textContent === 'POST'")
    await perform_action(page, "refresh")
    assert sent == ["GET", "POST", "GET"]
    assert await page.inner_text("#said") == "GET"
    await page.goto(f"{SITE}/new#part")
    sent.clear()
    await perform_action(page, "refresh")
    assert sent == ["GET"]
