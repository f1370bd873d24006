"""What is filled in the form of a control that was allowed by name."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from playwright.async_api import Browser

from agent.exploration.pages.page_observation import list_offers, observe_page
from agent.exploration.requests.request_guard import RequestGuard
from agent.exploration.tab.exploration_tab import ExplorationTab
from agent.exploration.tab.form_filler import fill_form
from agent.page import in_page_library
from kb_schema.explorations import ExplorationPage
from tests.agent.exploration.small_site import html, small_site

HOLDS = "Object.fromEntries(new FormData(document.forms[0]))"


def radios(name: str, *values: str, chosen: str = "") -> str:
    return "".join(
        f"<label><input type=radio name={name} value={each} {'checked' * (each == chosen)}>{each}</label>"
        for each in values
    )


async def held(browser: Browser, fields: str) -> tuple[dict[str, str], dict[str, str]]:
    """What a form with these fields holds once it was filled, and what is told of that."""
    form = f"<form action=/done method=post>{fields}<button>Continue</button></form>"
    with small_site({"/": html("Start", form)}) as site:
        context = await browser.new_context()
        try:
            await in_page_library.install(context)
            tab = ExplorationTab(context, RequestGuard((site.url,)), 5.0)
            await tab.open(f"{site.url}/")
            page = await tab.page()
            look = await observe_page(page)
            offers = await list_offers(page, look, most=60, origins=(site.url,), allowed=("Continue",))
            send = next(each for each in offers if each.allowed_by)
            seen = ExplorationPage(
                page_id="p1",
                url=look.url,
                state=look.state,
                depth=0,
                seen_at=datetime.now(UTC),
                offers=offers,
            )
            told = await fill_form(tab, seen, send, seed=1)
            names = {
                each.offer_id: each.fingerprint.attributes["name"]
                for each in offers
                if each.fingerprint and each.label
            }
            return await page.evaluate(HOLDS), {names[each]: value for each, value in told.items()}
        finally:
            await context.close()


async def test_of_a_question_with_nothing_chosen_the_first_answer_is_chosen_and_nothing_else_is_ticked(
    browser: Browser,
) -> None:
    fields = (
        radios("list", "all", "some", "none")
        + radios("speed", "slow", "quick", chosen="quick")
        + "<label>Limit <input type=number name=limit min=3 max=9 required></label>"
        + "<label>Remark <input name=remark></label><label><input type=checkbox name=news> News</label>"
    )
    holds, told = await held(browser, fields)
    assert 3 <= int(holds["limit"]) <= 9
    assert holds == {"list": "all", "speed": "quick", "limit": holds["limit"], "remark": ""}
    assert told == {"list": "true", "limit": holds["limit"]}


async def test_an_answer_that_cannot_be_chosen_is_passed_over_and_a_required_question_gets_one(
    browser: Browser,
) -> None:
    fields = "<label><input type=radio name=a value=1 disabled>1</label>" + radios("a", "2", "3")
    holds, told = await held(
        browser, fields + radios("b", "4", "5").replace("type=radio", "type=radio required")
    )
    assert holds == {"a": "2", "b": "4"}
    assert told == {"a": "true", "b": "true"}


@pytest.mark.nightly
async def test_the_same_question_of_two_forms_is_two_questions(browser: Browser) -> None:
    other = "<button>Continue</button></form><form action=/other method=post>" + radios(
        "a", "6", "7", chosen="7"
    )
    holds, told = await held(browser, radios("a", "1", "2") + other)
    assert holds == {"a": "1"}
    assert told == {"a": "true"}


async def test_a_password_is_put_into_a_page_of_the_explored_origins_alone(browser: Browser) -> None:
    form = "<form action=/done method=post><label>Password <input type=password name=pw></label></form>"
    with small_site({"/": html("Start", form)}) as site:
        context = await browser.new_context()
        try:
            await in_page_library.install(context)
            tab = ExplorationTab(context, RequestGuard((site.url,)), 5.0)
            await tab.open(f"{site.url}/")
            page = await tab.page()
            look = await observe_page(page)
            (field,) = [
                each
                for each in await list_offers(page, look, most=60, origins=(site.url,), allowed=())
                if each.kind == "password"
            ]
            assert await tab.put(field, "s3cret-pass", secret=True)
            assert await page.evaluate(HOLDS) == {"pw": "s3cret-pass"}
            await page.goto(f"{site.url}/".replace("127.0.0.1", "localhost"))
            assert not await tab.put(field, "s3cret-pass", secret=True)
            assert await page.evaluate(HOLDS) == {"pw": ""}
        finally:
            await context.close()
