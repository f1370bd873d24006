"""Loops shown a few times: people who work through lists and pages of Spadeworks are recorded, and what is
made of that runs on lists and pages of other lengths.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.support.people import Noise, signs_in

if TYPE_CHECKING:
    from playwright.async_api import Page

MAIN = "nav[aria-label=Main]"


async def _blocks_rows(page: Page, noise: Noise) -> None:
    """Page by page, each of those who may be called."""
    while True:
        while await page.locator("tbody button:text-is('Do not call')").count():
            before = await page.locator("tbody button:text-is('Allow calls')").count()
            await page.locator("tbody button:text-is('Do not call')").first.click()
            await page.wait_for_function(
                "(count) => [...document.querySelectorAll('tbody button')]"
                ".filter((each) => each.textContent === 'Allow calls').length > count",
                arg=before,
            )
        await noise.wander()
        following = page.locator("a[rel=next]")
        if not await following.count():
            return
        async with page.expect_navigation():
            await following.click()


async def blocks_all_contacts(page: Page, _given: Mapping[str, Any], dice: random.Random) -> None:
    """Signs in and forbids calls to every contact on every page who may be called."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click(f"{MAIN} a[href='/contacts']")
    await page.wait_for_url("**/contacts")
    await _blocks_rows(page, noise)


async def _works_agents(page: Page, dice: random.Random, wanted: Mapping[str, str | None]) -> None:
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click(f"{MAIN} a[href='/agent']")
    await page.wait_for_url("**/agent")
    count = await page.locator("#agent-list > div").count()
    for number in range(count):
        row = page.locator("#agent-list > div").nth(number)
        status = await row.locator(".status").inner_text()
        if status in wanted:
            await row.locator("a").click()
            await page.wait_for_url("**/agent/agt-*")
            button = wanted[status]
            if button is not None:
                async with page.expect_navigation():
                    await page.click(f"main button:text-is('{button}')")
            await noise.wander()
            await page.click("nav[aria-label=Breadcrumb] a")
            await page.wait_for_url("**/agent")


async def switches_each_agent(page: Page, _given: Mapping[str, Any], dice: random.Random) -> None:
    """Opens each agent: one that is live is paused, one that is paused is resumed; a draft is left alone."""
    await _works_agents(page, dice, {"Live": "Pause", "Paused": "Resume", "Draft": None})


async def pauses_who_is_live(page: Page, _given: Mapping[str, Any], dice: random.Random) -> None:
    """Opens each agent and pauses it where it is live."""
    await _works_agents(page, dice, {"Live": "Pause", "Paused": None, "Draft": None})


async def publishes_drafts(page: Page, _given: Mapping[str, Any], dice: random.Random) -> None:
    """Opens the drafts only, and publishes each."""
    await _works_agents(page, dice, {"Draft": "Publish"})


async def finds_and_pauses(page: Page, given: Mapping[str, Any], dice: random.Random) -> None:
    """Looks each agent up by its name, opens it, pauses it, goes back to the list."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click(f"{MAIN} a[href='/agent']")
    await page.wait_for_url("**/agent")
    for name in given["names"]:
        await noise.type("#agent-search", name)
        await page.click("#agent-search-button")
        await page.wait_for_url("**/agent?q=*")
        await page.locator("#agent-list a").first.click()
        await page.wait_for_url("**/agent/agt-*")
        async with page.expect_navigation():
            await page.click("main button:text-is('Pause')")
        await noise.wander()
        await page.click("nav[aria-label=Breadcrumb] a")
        await page.wait_for_url("**/agent")


async def creates_agents(page: Page, given: Mapping[str, Any], dice: random.Random) -> None:
    """Fills the form in once for each agent."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click(f"{MAIN} a[href='/agent']")
    await page.wait_for_url("**/agent")
    for each in given["agents"]:
        await page.click("#create-agent")
        await page.wait_for_url("**/agent/create")
        await noise.type("#agent-name", each["name"])
        await page.select_option("#language", label=each["language"])
        await noise.type("#greeting", each["greeting"])
        await page.click("#save-agent")
        await page.wait_for_url("**/agent?page=*")


async def deletes_all_messages(page: Page, _given: Mapping[str, Any], dice: random.Random) -> None:
    """Deletes message after message until there is none."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click(f"{MAIN} a[href='/inbox']")
    await page.wait_for_url("**/inbox")
    while count := await page.locator("[data-mails] > .mail").count():
        await page.locator("[data-mails] > .mail button").first.click()
        await page.wait_for_function(
            "(count) => document.querySelectorAll('[data-mails] > .mail').length < count", arg=count
        )
