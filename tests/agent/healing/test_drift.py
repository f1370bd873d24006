"""How often an element is found again on pages that changed, and that nothing else is taken for it.

Cases are tuned on in one half and reported on the other (`split`). The normal run draws a few pages;
the nightly one takes all: two versions of the sample site, three of Django's admin, and pages that
drift by the measured frequencies.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from agent.page import in_page_library
from seeds.spadeworks.site.settings import DEMO_EMAIL, DEMO_PASSWORD
from tests.agent.healing import drift_sites
from tests.agent.healing.drift_cases import Tally, mutated, opened, released, split
from tests.agent.locators.target_lists import VIEWPORT, sign_in_to_spadeworks
from tests.support.drift import Drift, frequencies
from tests.support.foreign_sites import django_site, sign_in_to_admin, spadeworks_site
from tests.support.rotation import SEED, dice

GOAL_FOUND, MOST_WRONG = 0.95, 0.005
FEWEST_CASES = 600


async def signed_in(stack: AsyncExitStack, browser, sign_in, url):
    context = await browser.new_context(viewport=VIEWPORT)
    stack.push_async_callback(context.close)
    await in_page_library.install(context)
    if sign_in is not None:
        await sign_in(context, url)
    return context


async def drifted(context, base, family, paths, releases=1):
    table, _ = frequencies()
    cases = []
    for path in paths:
        page = await opened(context, base + path)
        drawn = dice(f"drift {family} {path} {releases}")
        cases += await mutated(
            page, f"{family}, {releases} drift", drawn, Drift(drawn, table), releases=releases
        )
        await page.close()
    return cases


async def compared(family, old, old_base, new, new_base, paths, renamed=lambda said: said):
    cases = []
    for path in paths:
        before, after = await opened(old, old_base + path), await opened(new, new_base + path)
        cases += await released(family, before, after, renamed)
        await before.close()
        await after.close()
    return cases


def told(title, cases, half=None):
    tally = Tally()
    for case in cases:
        tally.add(case, case.match())
    print(f"\n{title} (seed {SEED})\n{tally.table()}")  # noqa: T201 - likewise
    print("\n".join(sorted(tally.failures)))  # noqa: T201 - the report is what one wants to read
    return tally


async def redesign_cases(stack, browser, first, second, paths, signed_out=()):
    cases = []
    if paths:
        old = await signed_in(stack, browser, sign_in_to_spadeworks, first)
        new = await signed_in(stack, browser, sign_in_to_redesign, second)
        cases += await compared("redesign", old, first, new, second, paths, drift_sites.redesigned)
    if signed_out:
        old, new = [await signed_in(stack, browser, None, url) for url in (first, second)]
        cases += await compared("redesign", old, first, new, second, signed_out, drift_sites.redesigned)
    return cases


async def sign_in_to_redesign(context, url):
    page = await context.new_page()
    await page.goto(f"{url}/login")
    await page.fill("[name=email]", DEMO_EMAIL)
    await page.fill("[name=password]", DEMO_PASSWORD)
    await page.press("[name=password]", "Enter")
    await page.wait_for_url("**/dashboard")
    refuse = page.locator("#cookieDeclineCtl")
    if await refuse.count():
        await refuse.click()
        await refuse.wait_for(state="detached")
    await page.close()


async def test_after_the_redesign_fields_and_buttons_are_found_again(browser, spadeworks, spadeworks_2):
    async with AsyncExitStack() as stack:
        paths = dice("redesign").sample(drift_sites.SPADEWORKS, 2)
        cases = await redesign_cases(
            stack, browser, spadeworks, spadeworks_2, paths, drift_sites.SPADEWORKS_SIGNED_OUT[:1]
        )
    tally = told("redesign, a sample", cases)
    assert tally.total["wrong"] == 0
    assert tally.share("found", "same address") >= 0.8


async def test_on_pages_that_drift_by_measured_frequencies_nothing_wrong_is_taken(browser, spadeworks):
    async with AsyncExitStack() as stack:
        context = await signed_in(stack, browser, sign_in_to_spadeworks, spadeworks)
        cases = await drifted(
            context, spadeworks, "spadeworks", dice("drifting").sample(drift_sites.SPADEWORKS, 3)
        )
    tally = told("drift, a sample", cases)
    assert tally.total["wrong"] <= 1
    assert tally.share("found", "same address") >= 0.8


@pytest.mark.nightly
async def test_of_everything_95_in_100_are_found_and_under_1_in_200_wrong(browser):
    cases = []
    async with AsyncExitStack() as stack:
        site, second = (stack.enter_context(spadeworks_site("--ui-version", v)) for v in ("1", "2"))
        cases += await redesign_cases(
            stack, browser, site, second, drift_sites.SPADEWORKS, drift_sites.SPADEWORKS_SIGNED_OUT
        )
        urls = {version: stack.enter_context(django_site(version)) for version in ("3.2", "4.2", "5.2")}
        admins = {v: await signed_in(stack, browser, sign_in_to_admin, url) for v, url in urls.items()}
        for old, new in drift_sites.RELEASES:
            family = f"django {old} -> {new}"
            cases += await compared(
                family, admins[old], urls[old], admins[new], urls[new], drift_sites.DJANGO
            )
        context = await signed_in(stack, browser, sign_in_to_spadeworks, site)
        for releases in (1, 2):
            cases += await drifted(context, site, "spadeworks", drift_sites.SPADEWORKS, releases)
            cases += await drifted(admins["4.2"], urls["4.2"], "django 4.2", drift_sites.DJANGO, releases)
    table, where = frequencies()
    print(f"\n{len(cases)} cases; drift {where}, {sum(table.values())} edits")  # noqa: T201 - likewise
    told("the half that was tuned on", split(cases, 0))
    tally = told("the other half", split(cases, 1))
    assert len(cases) >= FEWEST_CASES
    assert tally.share("wrong") < MOST_WRONG
    once = Tally()
    for case in split(cases, 1):
        if not case.family.endswith("2 drift"):  # twice is harder than what the goal is about
            once.add(case, case.match())
    assert once.share("found", "same address") >= GOAL_FOUND
