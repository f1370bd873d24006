"""Shown a few times, and it can do it: people at work on Spadeworks are recorded, the workflow made of that
runs on inputs nobody showed.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from agent.context import Context
from agent.engine.engine import Engine
from agent.engine.workflows import run_workflow
from agent.recording.recorder import Recorder
from periplus.synthesis_report import write_report
from periplus.synthesizing import Site, induced, published, read_traces, values_shown, written
from tests.support.live_spadeworks import ACCOUNT, Controls, live, stores, visiting  # noqa: F401 - fixtures
from tests.support.rotation import SEED, dice

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

    from agent.synthesis.pipeline import PipelineResult

_AGENT_TONIGHT = dice("synthesis").random() < 0.5
T = TypeVar("T")


def sampled(*, tonight: bool) -> Callable[[T], T]:
    """One of the two is in the normal run, drawn by its seed; the other in the nightly."""
    return pytest.mark.nightly if tonight else lambda test: test


Person = Callable[["Page", Mapping[str, str], random.Random], Awaitable[None]]


class Noise:
    """What people do beside what they mean to."""

    def __init__(self, page: Page, dice: random.Random) -> None:
        self._page, self._dice = page, dice

    async def type(self, field: str, text: str) -> None:
        """With a slip that is corrected, now and then."""
        await self._page.click(field)
        if self._dice.random() < 0.5:
            await self._page.keyboard.type(f"{text[:2]}q")
            for _ in range(len(text[:2]) + 1):
                await self._page.keyboard.press("Backspace")
        await self._page.keyboard.type(text)

    async def wander(self) -> None:
        """A click on nothing."""
        if self._dice.random() < 0.5:
            await self._page.mouse.click(640, 700)


async def _signs_in(page: Page, noise: Noise) -> None:
    if await page.locator("#cookie-accept").is_visible():
        await page.click("#cookie-accept")
    await noise.type("#email", ACCOUNT["email"])
    await noise.type("#password", ACCOUNT["password"])
    await page.click("#sign-in")
    await page.wait_for_url("**/dashboard")


async def creates_an_agent(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
    """Signs in, opens the form, fills it in any order, sends it."""
    noise = Noise(page, dice)
    await _signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/agent']")
    await page.wait_for_url("**/agent")
    await page.click("a[href='/agent/create'] >> nth=0")
    await page.wait_for_url("**/agent/create")

    async def name() -> None:
        await noise.type("#agent-name", given["name"])

    async def language() -> None:
        await page.focus("#language")
        await page.keyboard.type(given["language"])
        await noise.wander()

    async def greeting() -> None:
        await noise.type("#greeting", given["greeting"])

    fields = [name, language, greeting]
    dice.shuffle(fields)
    for fill in fields:
        await fill()
    await page.click("#save-agent")
    await page.wait_for_url(lambda url: "/create" not in url)


async def deletes_all_messages(page: Page, _given: Mapping[str, str], dice: random.Random) -> None:
    """Signs in, goes to the inbox and deletes message after message until there is none."""
    noise = Noise(page, dice)
    await _signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/inbox']")
    await page.wait_for_url("**/inbox")
    while count := await page.locator("[data-mails] > .mail").count():
        await page.locator("[data-mails] > .mail button").first.click()
        await page.wait_for_function(
            "(count) => document.querySelectorAll('[data-mails] > .mail').length < count", arg=count
        )


async def _recorded(
    browser: Browser, base: str, folder: Path, person: Person, given: Mapping[str, str], dice: random.Random,
    *, asked: bool,
) -> None:  # fmt: skip
    """`asked`: this person is asked about cookies; others have said yes before."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    if not asked:
        await context.add_cookies([{"name": "sw_consent", "value": "accepted", "url": base}])
    try:
        recorder = Recorder(context, folder, context=Context(), name=person.__name__.replace("_", " "))
        await recorder.start()
        page = await context.new_page()
        await page.goto(f"{base}/login")
        await person(page, given, dice)
        await recorder.rest()
        await page.close()
        await asyncio.wait_for(recorder.closed.wait(), 10)
        await recorder.finish()
    finally:
        await context.close()


async def _shown(
    browser: Browser, live: Controls, folder: Path, person: Person, given: Sequence[Mapping[str, str]],  # noqa: F811
    prepare: Callable[[int], None] = lambda _: None,
) -> PipelineResult:  # fmt: skip
    rolled = random.Random(SEED)
    for number, each in enumerate(given):
        prepare(number)
        await _recorded(
            browser, live.base, folder / f"pass-{number}", person, each, rolled, asked=number != 1
        )
    for file in folder.rglob("*"):
        assert file.is_dir() or ACCOUNT["password"].encode() not in file.read_bytes(), file
    return await induced(read_traces([folder]), person.__name__, "")


AGENTS = (
    {"name": "Night Desk", "language": "Hindi", "greeting": "Good evening"},
    {"name": "Returns", "language": "Spanish", "greeting": "How can we help?"},
    {"name": "O'Brien & Co", "language": "Hindi", "greeting": 'Hello from "O\'Brien"'},
)


@sampled(tonight=_AGENT_TONIGHT)
async def test_an_agent_is_created_as_it_was_shown_with_data_nobody_showed(browser, live, stores, tmp_path):  # noqa: F811
    result = await _shown(browser, live, tmp_path / "traces", creates_an_agent, AGENTS)
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.agent_node_count, report.refusals) == (0, ())
    inputs = {spec.name: spec for spec in lowered.workflow.io_spec.inputs}
    by_value = {value: name for name, value in values_shown(result, result.traces[0].trace_id).items()}
    shown = next(each for each in AGENTS if each["name"] in by_value)
    names = {by_value[shown["name"]]: "Überseehafen", by_value[shown["greeting"]]: "Ahoi {x}",
             by_value[shown["language"]]: "English (US)"}  # fmt: skip
    secret = {name: ACCOUNT["password"] for name, spec in inputs.items() if spec.secret}
    assert set(inputs) == {*names, *secret}
    written(result, tmp_path)
    write_report(tmp_path / "report.html", result, name="It", screens={}, problems={}, validated="")
    assert "Returns" in (tmp_path / "report.html").read_text()

    workflow_id = await published(Site(stores, "spadeworks", live.base), lowered, replace=False)
    async with visiting(live, stores, browser) as session:
        workflow = await session.knowledge.workflow(workflow_id)
        done = await run_workflow(Engine(session), workflow, {**names, **secret})
        assert done.succeeded, (done.error, done.steps)
        agents = live.state()["agents"]
    assert [each["name"] for each in agents if each["name"] == "Überseehafen"]
    created = agents[-1]
    assert created["greeting"] == "Ahoi {x}"


@sampled(tonight=not _AGENT_TONIGHT)
async def test_all_messages_are_deleted_however_many_there_are(browser, live, stores, tmp_path):  # noqa: F811
    numbers, count = (3, 2, 4), 5

    def prepare(number: int) -> None:
        live.ask("seed-emails", count=numbers[number])

    result = await _shown(
        browser, live, tmp_path / "traces", deletes_all_messages, [{}] * len(numbers), prepare
    )
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.loop_count, report.agent_node_count, report.refusals) == (1, 0, ())
    live.ask("seed-emails", count=count)
    secret: dict[str, Any] = {
        spec.name: ACCOUNT["password"] for spec in lowered.workflow.io_spec.inputs if spec.secret
    }
    async with visiting(live, stores, browser) as session:
        for task in lowered.tasks:
            session.knowledge.know(task)
        done = await run_workflow(Engine(session), lowered.workflow, secret)
        assert done.succeeded, (done.error, done.steps)
        assert live.state()["emails"] == []
