"""Shown a few times, and it can do it: people at work on Spadeworks are recorded, the workflow made of that
runs on inputs nobody showed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from periplus.synthesis.synthesis_report import write_synthesis_report
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    publish_workflow,
    read_shown_values,
    write_synthesis_files,
)
from tests.support.live_spadeworks import live, stores, visiting  # noqa: F401 - fixtures
from tests.support.people import Noise, secrets, shown, signs_in
from tests.support.rotation import dice

if TYPE_CHECKING:
    from playwright.async_api import Page

_AGENT_TONIGHT = dice("synthesis").random() < 0.5
T = TypeVar("T")


def sampled(*, tonight: bool) -> Callable[[T], T]:
    """One of the two is in the normal run, drawn by its seed; the other in the nightly."""
    return pytest.mark.nightly if tonight else lambda test: test


async def creates_an_agent(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
    """Signs in, opens the form, fills it in any order, sends it."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
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
    await signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/inbox']")
    await page.wait_for_url("**/inbox")
    while count := await page.locator("[data-mails] > .mail").count():
        await page.locator("[data-mails] > .mail button").first.click()
        await page.wait_for_function(
            "(count) => document.querySelectorAll('[data-mails] > .mail').length < count", arg=count
        )


AGENTS = (
    {"name": "Night Desk", "language": "Hindi", "greeting": "Good evening"},
    {"name": "Returns", "language": "Spanish", "greeting": "How can we help?"},
    {"name": "O'Brien & Co", "language": "Hindi", "greeting": 'Hello from "O\'Brien"'},
)


@sampled(tonight=_AGENT_TONIGHT)
async def test_an_agent_is_created_as_it_was_shown_with_data_nobody_showed(browser, live, stores, tmp_path):  # noqa: F811
    result = await shown(browser, live, tmp_path / "traces", creates_an_agent, AGENTS)
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.agent_node_count, report.refusals) == (0, ())
    inputs = {spec.name: spec for spec in lowered.workflow.io_spec.inputs}
    by_value = {value: name for name, value in read_shown_values(result, result.traces[0].trace_id).items()}
    one = next(each for each in AGENTS if each["name"] in by_value)
    names = {by_value[one["name"]]: "Überseehafen", by_value[one["greeting"]]: "Ahoi {x}",
             by_value[one["language"]]: "English (US)"}  # fmt: skip
    secret = secrets(lowered)
    assert set(inputs) == {*names, *secret}
    write_synthesis_files(result, tmp_path)
    write_synthesis_report(tmp_path / "report.html", result, name="It", screens={}, problems={}, validated=())
    assert "Returns" in (tmp_path / "report.html").read_text()

    workflow_id = await publish_workflow(
        SynthesisSite(stores, "spadeworks", live.base), lowered, replace=False
    )
    async with visiting(live, stores, browser) as session:
        workflow = await session.knowledge.workflow(workflow_id)
        done = await run_workflow(TaskRunner(session), workflow, {**names, **secret})
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

    result = await shown(
        browser, live, tmp_path / "traces", deletes_all_messages, [{}] * len(numbers), prepare
    )
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.loop_count, report.agent_node_count, report.refusals) == (1, 0, ())
    live.ask("seed-emails", count=count)
    async with visiting(live, stores, browser) as session:
        for task in lowered.tasks:
            session.knowledge.know(task)
        done = await run_workflow(TaskRunner(session), lowered.workflow, secrets(lowered))
        assert done.succeeded, (done.error, done.steps)
        assert live.state()["emails"] == []
