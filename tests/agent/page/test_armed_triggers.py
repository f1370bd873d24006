"""Triggers armed before the action: fast events count, navigations do not lose them."""

from __future__ import annotations

import asyncio

import pytest

from agent.page.armed_triggers import arm_trigger
from agent.page.errors import SelectorUnusable
from kb_schema.selectors import Selector, css
from kb_schema.wait_triggers import ObservabilityTrigger
from tests.support.pages import show

PAGE = "<p id=p>x</p><div id=box></div><p id=other>y</p><div id=spinner hidden>...</div>"


async def armed(page, event, selector=None, timeout_s=3.0, **more):
    return await arm_trigger(
        page, ObservabilityTrigger(event=event, selector=selector, timeout=timeout_s, **more), css
    )


@pytest.mark.parametrize(
    ("event", "selector", "script"),
    [
        ("dom_mutation", None, "p.textContent = 'z'"),
        ("dom_mutation", "#box", "box.innerHTML = '<b>1</b>'"),
        ("dom_mutation", "#box", "box.className = 'new'"),
        ("dom_mutation", "#p", "p.firstChild.data = 'z'"),
        ("dom_mutation", "#p", "p.remove()"),
        ("dom_mutation", ".toast", "box.innerHTML = '<i><b class=toast>1</b></i>'"),
        ("element_visible", "#spinner", "spinner.hidden = false"),
        ("element_hidden", "#p", "p.hidden = true"),
        ("url_change", None, "history.pushState({}, '', '/agents')"),
        ("url_change", None, "location.hash = 'x'"),
        ("url_change", None, "location.href = '/next'"),
        ("network_idle", None, "fetch('/next')"),
    ],
)
async def test_the_event_fires_though_it_comes_before_the_waiting(page, event, selector, script):
    await show(page, PAGE, pages={"/next": "<h1>Next</h1>"})
    watch = await armed(page, event, selector)
    await page.evaluate(f"() => {{ {script} }}")
    outcome = await watch.wait()
    assert outcome.fired
    assert not outcome.fell_back
    assert outcome.waited_s < 2.5


async def test_something_that_showed_only_for_a_moment_was_seen(page):
    await show(page, PAGE)
    watch = await armed(page, "element_visible", "#spinner", timeout_s=0.3)
    await page.evaluate(
        """async () => { spinner.hidden = false; await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame); spinner.hidden = true }"""
    )
    assert (await watch.wait()).fired


@pytest.mark.parametrize(
    ("event", "selector", "script"),
    [
        ("dom_mutation", None, ""),
        ("dom_mutation", "#box", "other.textContent = 'z'"),
        ("element_visible", "#spinner", "p.hidden = true"),
        ("element_hidden", "#p", "spinner.hidden = false"),
        ("url_change", None, "history.replaceState({a: 1}, '', location.href)"),
        ("network_idle", None, "fetch('/never')"),
    ],
)
async def test_what_did_not_happen_does_not_fire(page, event, selector, script):
    await show(page, PAGE)
    watch = await armed(page, event, selector, timeout_s=0.5)
    await page.evaluate(f"() => {{ {script} }}")
    outcome = await watch.wait()
    assert not outcome.fired
    assert not outcome.fell_back
    assert outcome.waited_s >= 0.45


async def test_what_happened_before_arming_does_not_count(page):
    await show(page, PAGE)
    await page.evaluate("() => { p.textContent = 'early' }")
    assert not (await (await armed(page, "dom_mutation", timeout_s=0.2)).wait()).fired


async def test_the_authored_fallback_is_used_and_told(page):
    await show(page, PAGE)
    watch = await armed(page, "dom_mutation", timeout_s=0.1, fallback={"action": "wait", "duration": 0.1})
    outcome = await watch.wait()
    assert (outcome.fired, outcome.fell_back) == (False, True)
    assert outcome.waited_s >= 0.2


@pytest.mark.parametrize(
    ("event", "selector"),
    [
        ("dom_mutation", None),
        ("dom_mutation", "h1"),
        ("element_visible", "h1"),
        ("element_hidden", "#p"),
        ("url_change", None),
    ],
)
async def test_a_new_document_is_watched_too(page, event, selector):
    await show(page, PAGE, pages={"/next": "<h1>Next</h1>"})
    watch = await armed(page, event, selector)
    waiting = asyncio.create_task(watch.wait())
    await page.evaluate("() => { setTimeout(() => { location.href = '/next' }, 50) }")
    assert (await waiting).fired
    assert page.url.endswith("/next")


async def test_a_reload_is_no_change_of_the_url(page):
    await show(page, PAGE)
    watch = await armed(page, "url_change", timeout_s=0.4)
    await page.reload()
    assert not (await watch.wait()).fired


async def test_selectors_that_lead_nowhere_are_told_at_arming(page):
    await show(page, PAGE)
    trigger = ObservabilityTrigger(event="element_visible", selector="no_such_element")

    def nothing(_: str) -> Selector | None:
        return None

    with pytest.raises(SelectorUnusable, match="no_such_element"):
        await arm_trigger(page, trigger, nothing)
    with pytest.raises(SelectorUnusable, match="not a valid selector"):
        await armed(page, "element_visible", "p[")


async def test_disarming_stops_the_watching(page):
    await show(page, PAGE)
    watch = await armed(page, "dom_mutation")
    await watch.disarm()
    await watch.disarm()
