"""The console by keyboard alone: everything that can be used is reached, seen when it is, and works; nothing moves by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.periplus.console.console_site import SITE, Console, console, seed_knowledge

MOST_TABS = 200
PAGES = {
    "front": "/",
    "map": f"/sites/{SITE}",
    "course": f"/sites/{SITE}/paths?from=dashboard&to=agent_create",
    "where": f"/sites/{SITE}/where",
    "runs": "/runs",
    "error": "/nothing/here",
}
USABLE = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'], iframe, video"
FOCUSED = """(usable) => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    const style = getComputedStyle(one), inner = one.querySelector("rect");
    const drawn = inner && one.closest(".places") ? getComputedStyle(inner).strokeWidth === "5px" : false;
    const box = one.getBoundingClientRect();
    if (!one.dataset.nr && !one.dataset.walked) one.dataset.walked = Math.random();
    return {
        usable: one.matches(usable),
        who: one.outerHTML.slice(0, 120),
        key: one.dataset.nr ? "place " + one.dataset.nr : one.dataset.walked,
        seen: drawn || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2),
        there: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    };
}"""


@pytest.fixture
async def site(tmp_path) -> AsyncIterator[Console]:
    async with console(tmp_path, seed_knowledge()) as there:
        yield there


@asynccontextmanager
async def _tab(browser, **more):
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, **more)
    try:
        yield await context.new_page()
    finally:
        await context.close()


async def test_everything_that_can_be_used_is_reached_with_the_tab_key_and_seen_when_it_is(site, browser):
    async with _tab(browser) as page:
        for path in PAGES.values():
            await page.goto(site.at(path))
            if await page.locator("[autofocus]").count() == 0:
                await page.evaluate("document.activeElement.blur()")
            usable = await page.evaluate(
                "(usable) => [...document.querySelectorAll(usable)].filter((one) => one.tabIndex >= 0 && one.checkVisibility()).length",
                USABLE,
            )
            reached = {}
            for _ in range(MOST_TABS):
                await page.keyboard.press("Tab")
                found = await page.evaluate(FOCUSED, USABLE)
                if found is None or found["key"] == next(iter(reached), ""):
                    break  # a date's field is left after several
                reached.setdefault(found["key"], found)
            assert [found["who"] for found in reached.values() if not found["usable"]] == [], path
            assert len(reached) == usable, path
            for found in reached.values():
                assert found["seen"], (path, found["who"])
                assert found["there"], (path, found["who"])


async def test_a_way_is_found_and_its_screen_opened_without_a_mouse(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}/paths"))
        await page.get_by_label("From").focus()
        await page.keyboard.type("Dashboard")
        await page.keyboard.press("Tab")
        await page.keyboard.type("Agent Creation")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="The best path").wait_for()
        await page.get_by_role("region", name="The best path").get_by_role("link").last.focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/screens/agent_create")


async def test_the_ways_of_the_screen_that_has_the_focus_stand_out_on_the_map(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}"))
        assert await page.locator(".lines path.told").count() == 0
        place = page.locator(".places a", has_text="Sign in")
        await place.focus()
        number = await place.get_attribute("data-nr")
        ends = await page.locator(".lines path.told").evaluate_all(
            "all => all.map((one) => one.dataset.ends)"
        )
        assert ends
        assert all(number in each.split() for each in ends)
        quiet = await page.locator(".lines path:not(.told)").first.evaluate(
            "one => getComputedStyle(one).opacity"
        )
        assert float(quiet) < 0.2
        await page.get_by_role("link", name="Runs").focus()
        assert await page.locator(".lines path.told").count() == 0


async def test_nothing_moves_for_whoever_wants_nothing_to_move(site, browser):
    async with _tab(browser, reduced_motion="reduce") as page:
        for path in ("/", f"/sites/{SITE}", "/runs"):
            await page.goto(site.at(path))
            moving = await page.evaluate(
                """() => [...document.querySelectorAll("*")].filter((one) => {
                    const style = getComputedStyle(one);
                    return style.animationName !== "none" || parseFloat(style.transitionDuration) > 0;
                }).length"""
            )
            assert moving == 0, path
            assert await page.evaluate("document.getAnimations().length") == 0, path
            assert await page.locator("html").get_attribute("lang") == "en"


async def test_on_paper_a_page_is_its_content_alone(site, browser):
    async with _tab(browser) as page:
        await page.goto(site.at(f"/sites/{SITE}/tasks/create_agent"))
        await page.emulate_media(media="print", color_scheme="dark")
        for gone in ("nav.site-menu", ".who", "footer"):
            assert not await page.locator(gone).is_visible(), gone
        assert await page.get_by_role("heading", name="Create AI Voice Agent").is_visible()
        assert await page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
