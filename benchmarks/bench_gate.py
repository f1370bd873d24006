"""The gate: a gated flow against the same flow by bare Playwright and under sampling, and what each lets through.

Gated: an element is judged and acted on. Proven: it is compared before that with what is known of it, as
the engine does with every element of a screen (`agent.healing.healer.Healer`).

`make bench` runs a few rounds; for the whole table: `python -m benchmarks.bench_gate --repeats 20`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page, async_playwright

from agent.browser.launch import launch
from agent.events import Event
from agent.healing.healer import Healer, IntendedElement
from agent.healing.identity_check import take_sighting
from agent.page import in_page_library
from agent.page.action_requests import ActionRequest
from agent.page.armed_triggers import arm_trigger
from agent.page.page_actions import perform_action
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import css
from kb_schema.wait_triggers import ObservabilityTrigger
from tests.support.gate_pages import NEGATIVE, POSITIVE, Ruling, gated, open_page, sampled

pytestmark = pytest.mark.bench

ROUNDS = 9
VIEWPORT = {"width": 1280, "height": 720}
FORM = """<!doctype html><title>Order</title><h1>Order</h1><form onsubmit="event.preventDefault();
setTimeout(()=>{document.getElementById('done').hidden=false},20)">
<label>Name <input id=name></label><label>Mail <input id=mail type=email></label>
<label>Street <input id=street></label><label>City <input id=city></label>
<label>Country <select id=country><option value=at>Austria<option value=de>Germany</select></label>
<label><input type=checkbox id=terms>Terms</label><label><input type=radio name=pay id=card>Card</label>
<button id=send>Send</button></form><p id=done hidden>Thank you</p>"""
URL = "http://app.test/"
FILLED = {"#name": "Ann", "#mail": "ann@example.org", "#street": "High Street 1", "#city": "Graz"}
DONE = ObservabilityTrigger(event="element_visible", selector="#done", timeout=5)

RATIOS = {
    ("gated", "bare"): "goal 1.35, at most 1.5",
    ("proven", "bare"): "goal 1.35, at most 1.5",
    ("sampling", "gated"): "at least 3",
    ("sampling", "proven"): "at least 3",
}

Flow = Callable[[Page], Awaitable[None]]


async def bare(page: Page) -> None:
    """Playwright as its documentation shows it."""
    await page.goto(URL)
    for field, text in FILLED.items():
        await page.locator(field).fill(text)
    await page.locator("#country").select_option("de")
    await page.locator("#terms").check()
    await page.locator("#card").check()
    await page.locator("#send").click()
    await page.locator("#done").wait_for(state="visible")


async def ours(page: Page) -> None:
    """The same through the gate."""
    await page.goto(URL)
    for field, text in FILLED.items():
        await perform_action(page, "fill", selector=css(field), value=text)
    await perform_action(page, "select_option", selector=css("#country"), value="de")
    await perform_action(page, "check", selector=css("#terms"))
    await perform_action(page, "check", selector=css("#card"))
    armed = await arm_trigger(page, DONE, css)
    await perform_action(page, "click", selector=css("#send"))
    assert (await armed.wait()).fired


async def known_elements(page: Page) -> dict[str, Fingerprint]:
    """What an earlier run would know of the elements of the flow."""
    await page.goto(URL)
    known = {}
    for selector in (*FILLED, "#country", "#terms", "#card", "#send"):
        element = await page.query_selector(selector)
        seen = await take_sighting(page, element) if element is not None else None
        assert seen is not None
        known[selector] = seen.fingerprint
    return known


def proven(known: dict[str, Fingerprint]) -> Flow:
    """The same, every element compared with what is known of it before anything is done."""

    async def flow(page: Page) -> None:
        healed: list[Event] = []
        healer = Healer(page, healed.append)

        async def step(action: str, target: str, value: str | None = None) -> None:
            meant = IntendedElement(
                name=f"order.{target}", selector=css(target), known=known[target], action=action
            )
            done = await healer.act(meant, ActionRequest(action, value=value))
            assert done.checked.recognised

        await page.goto(URL)
        for field, text in FILLED.items():
            await step("fill", field, text)
        await step("select_option", "#country", "de")
        await step("check", "#terms")
        await step("check", "#card")
        armed = await arm_trigger(page, DONE, css)
        await step("click", "#send")
        assert (await armed.wait()).fired
        assert not healed

    return flow


async def sampling(page: Page) -> None:
    """The same through the gate of PACTS 6: count, visible, enabled, three boxes 120 ms apart."""
    await page.goto(URL)
    for field, text in FILLED.items():
        await _sampled_gate(page, field)
        await page.locator(field).fill(text)
    await _sampled_gate(page, "#country")
    await page.locator("#country").select_option("de")
    for box in ("#terms", "#card"):
        await _sampled_gate(page, box)
        await page.locator(box).check()
    await _sampled_gate(page, "#send")
    await page.locator("#send").click()
    await page.locator("#done").wait_for(state="visible")


async def _sampled_gate(page: Page, selector: str) -> None:
    found = page.locator(selector)
    assert await found.count() == 1
    assert await found.is_visible()
    assert await found.is_enabled()
    boxes = []
    for _ in range(3):
        boxes.append(await found.bounding_box())
        await page.wait_for_timeout(120)
    assert boxes[0] == boxes[1] == boxes[2]


@asynccontextmanager
async def _page(browser: Browser, *, with_library: bool) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    if with_library:
        await in_page_library.install(context)
    page = await context.new_page()
    yield page
    await context.close()


async def measured(browser: Browser, rounds: int) -> dict[str, float]:
    """Medians of the flows in milliseconds, in turns, and the medians of their ratios in each round."""
    async with _page(browser, with_library=False) as plain, _page(browser, with_library=True) as known:
        for page in (plain, known):
            await page.route(f"{URL}**", lambda route: route.fulfill(body=FORM, content_type="text/html"))
        flows: dict[str, tuple[Page, Flow]] = {
            "bare": (plain, bare),
            "gated": (known, ours),
            "proven": (known, proven(await known_elements(known))),
            "sampling": (plain, sampling),
        }
        times: dict[str, list[float]] = {name: [] for name in flows}
        for _ in range(rounds + 1):
            for name, (page, flow) in flows.items():
                begin = time.perf_counter()
                await flow(page)
                times[name].append((time.perf_counter() - begin) * 1000)
                assert await page.evaluate("document.getElementById('mail').value") == FILLED["#mail"]
    kept = {name: values[1:] for name, values in times.items()}  # the first round warms up
    result = {name: statistics.median(values) for name, values in kept.items()}
    for one, other in RATIOS:
        pairs = zip(kept[one], kept[other], strict=True)
        result[f"{one} / {other}"] = statistics.median(a / b for a, b in pairs)
    return result


def report_flow(result: dict[str, float]) -> None:
    """One line a flow, and the ratios."""
    print(f"\n{'goto + 8 actions + a wait':<30} {'median ms':>10}")
    for name in ("bare", "gated", "proven", "sampling"):
        print(f"{name:<30} {result[name]:10.1f}")
    for (one, other), goal in RATIOS.items():
        print(f"{f'{one} / {other}':<30} {result[f'{one} / {other}']:10.2f}   ({goal})")


async def _verdicts(
    browser: Browser, html: str, gate: Callable[[Page], Awaitable[Ruling]], repeats: int
) -> list[Ruling]:
    rulings = []
    async with _page(browser, with_library=gate is gated) as page:
        for _ in range(repeats):
            await open_page(page, html)
            rulings.append(await gate(page))
    return rulings


async def report_pages(browser: Browser, repeats: int) -> list[str]:
    """Both gates on every page, and the pages on which ours did worse than sampling or than it must."""
    worse = []
    print(f"\n{'nothing may be clicked':<48} {'ours held':>10} {'sampling held':>14}   of {repeats}")
    for name, html in NEGATIVE.items():
        mine, theirs = [
            sum(each.held for each in await _verdicts(browser, html, gate, repeats))
            for gate in (gated, sampled)
        ]
        print(f"{name:<48} {mine:10} {theirs:14}", flush=True)
        if mine < max(repeats, theirs):
            worse.append(name)
    print(f"\n{'a click is safe':<48} {'ours passed':>10} {'sampling passed':>14}   of {repeats}")
    for name, html in POSITIVE.items():
        mine, theirs = [
            sum(each.passed for each in await _verdicts(browser, html, gate, repeats))
            for gate in (gated, sampled)
        ]
        print(f"{name:<48} {mine:10} {theirs:14}", flush=True)
        if mine < repeats:
            worse.append(name)
    return worse


async def test_the_gated_flow_against_bare_playwright_and_sampling(browser: Browser) -> None:
    report_flow(await measured(browser, ROUNDS))


async def test_what_each_gate_lets_through(browser: Browser) -> None:
    assert await report_pages(browser, 2) == []


async def _main(repeats: int, rounds: int) -> None:
    async with async_playwright() as playwright:
        browser = await launch(playwright)
        report_flow(await measured(browser, rounds))
        if repeats:
            print("worse:", await report_pages(browser, repeats) or "none")
        await browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=0, help="how often each page is judged by each gate")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = parser.parse_args()
    asyncio.run(_main(chosen.repeats, chosen.rounds))
