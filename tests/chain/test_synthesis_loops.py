"""Loops shown a few times: people who work through lists and pages of Spadeworks are recorded, and what is
made of that runs on lists and pages of other lengths.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow
from tests.support.live_spadeworks import Controls, live, stores, visiting  # noqa: F401 - fixtures
from tests.support.people import Noise, Person, secrets, shown, signs_in
from tests.support.rotation import rotating

pytestmark = pytest.mark.sampled(0.5)

if TYPE_CHECKING:
    from playwright.async_api import Page


MAIN = "nav[aria-label=Main]"


async def _looks_around(page: Page, dice: random.Random) -> None:
    """Opens a menu and closes it again, now and then."""
    if dice.random() < 0.15:
        await page.click("#user-menu")
        await page.locator("#user-panel").wait_for(state="visible")
        await page.click("#user-menu")
        await page.locator("#user-panel").wait_for(state="hidden")


async def _blocks_rows(page: Page, noise: Noise, dice: random.Random) -> None:
    """Page by page, each of those who may be called."""
    while True:
        while await page.locator("tbody button:text-is('Do not call')").count():
            await _looks_around(page, dice)
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
    await _blocks_rows(page, noise, dice)


async def _works_agents(page: Page, dice: random.Random, wanted: Mapping[str, str | None]) -> None:
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click(f"{MAIN} a[href='/agent']")
    await page.wait_for_url("**/agent")
    count = await page.locator("#agent-list > div").count()
    for number in range(count):
        await _looks_around(page, dice)
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
        await page.focus("#language")
        await page.keyboard.type(each["language"])
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
        await _looks_around(page, dice)
        await page.locator("[data-mails] > .mail button").first.click()
        await page.wait_for_function(
            "(count) => document.querySelectorAll('[data-mails] > .mail').length < count", arg=count
        )


Fill = Callable[[Controls], object]
"""Fills the site's lists before somebody comes."""
Check = Callable[[Mapping[str, Any]], bool]
"""Whether the site's own data is as it should be."""


@dataclass(frozen=True)
class Run:
    """One run on what nobody showed."""

    fill: Fill
    check: Check
    given: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Shown:
    """A task, how it was shown, and on what it is to work."""

    person: Person
    passes: Sequence[tuple[Mapping[str, Any], Fill]]
    runs: Sequence[Run]
    loops: int
    inputs: frozenset[str] = frozenset()


def emails(count: int) -> Fill:
    return lambda site: site.ask("seed-emails", count=count)


def contacts(count: int, *blocked: int) -> Fill:
    return lambda site: site.ask("seed-contacts", count=count, blocked=list(blocked))


def agents(statuses: str) -> Fill:
    told = {"L": "Live", "P": "Paused", "D": "Draft"}
    return lambda site: site.ask("seed-agents", statuses=[told[each] for each in statuses])


def become(statuses: str) -> Check:
    return lambda state: "".join(each["status"][0] for each in state["agents"]) == statuses


def no_emails(state: Mapping[str, Any]) -> bool:
    return state["emails"] == []


def blocked(by_hand: int) -> Check:
    def told(state: Mapping[str, Any]) -> bool:
        counts = state["counts"]
        done = (counts["contacts_blocked"], counts["contacts_allowed"]) == (by_hand, 0)
        return done and all(each["do_not_call"] for each in state["contacts"])

    return told


def are_paused(*names: str) -> Check:
    return lambda state: (
        {each["name"] for each in state["agents"] if each["status"] == "Paused"} == set(names)
    )


def were_created(*wanted: Mapping[str, str]) -> Check:
    languages = {"Hindi": "hi-IN", "Spanish": "es-ES", "English (US)": "en-US"}

    def told(state: Mapping[str, Any]) -> bool:
        made = [(each["name"], each["language"], each["greeting"]) for each in state["agents"][1:]]
        return made == [
            (each["agent_name"], languages[each["language"]], each["greeting"]) for each in wanted
        ]

    return told


def _agent(name: str, language: str, greeting: str) -> dict[str, str]:
    return {"name": name, "language": language, "greeting": greeting}


NEW = [
    {"agent_name": "Überseehafen", "language": "English (US)", "greeting": "Ahoi {x}"},
    {"agent_name": "O'Neil", "language": "Spanish", "greeting": "Hola"},
    {"agent_name": "Third", "language": "Hindi", "greeting": "One, two, three"},
    {"agent_name": "Fourth", "language": "Spanish", "greeting": '"quoted"'},
]
TASKS = {
    "delete all": Shown(
        deletes_all_messages,
        [({}, emails(3)), ({}, emails(2)), ({}, emails(4))],
        # Past seven messages senders and previews come again: rows that say the same.
        [Run(emails(count), no_emails) for count in (9, 0, 1)],
        loops=1,
    ),
    "every row of every page": Shown(
        blocks_all_contacts,
        [({}, contacts(3)), ({}, contacts(13)), ({}, contacts(2))],
        [Run(contacts(count), blocked(count)) for count in (15, 0, 1)],
        loops=2,
    ),
    "some rows of every page": Shown(
        blocks_all_contacts,
        [
            ({}, contacts(5, 1, 3)),
            ({}, contacts(15, 0, 2, 4, 5, 6, 7, 9, 10, 11, 12, 14)),
            ({}, contacts(26, *(set(range(26)) - {0, 11, 14, 25}))),
        ],
        [
            Run(contacts(30, *range(12), *range(14, 28)), blocked(4)),
            Run(contacts(0), blocked(0)),
            Run(contacts(3), blocked(3)),
        ],
        loops=2,
    ),
    "rows of two kinds": Shown(
        switches_each_agent,
        [({}, agents("LPD")), ({}, agents("PLLD")), ({}, agents("DPLPL"))],
        [Run(agents("DPLLPD"), become("DLPPLD")), Run(agents(""), become(""))],
        loops=1,
    ),
    "an optional step": Shown(
        pauses_who_is_live,
        [({}, agents("LPD")), ({}, agents("PLLD")), ({}, agents("DPLPL"))],
        [Run(agents("PDLLP"), become("PDPPP")), Run(agents("L"), become("P"))],
        loops=1,
    ),
    "rows in one state": Shown(
        publishes_drafts,
        [({}, agents("DLPD")), ({}, agents("LDLDPD")), ({}, agents("PLD"))],
        [Run(agents("PDDLD"), become("PLLLL")), Run(agents("LP"), become("LP")), Run(agents("D"), become("L"))],
        loops=1,
    ),
    "search, open, return": Shown(
        finds_and_pauses,
        [
            ({"names": ["Amelia Hart", "Ravi Menon"]}, agents("L" * 20)),
            ({"names": ["Grace Osei"]}, agents("L" * 20)),
            ({"names": ["Priya Nair", "Hannah Cole", "Meera Iyer"]}, agents("L" * 20)),
        ],
        [
            Run(agents("L" * 23), are_paused(*names), {"search_agents": names})
            for names in (["Nora Sinclair", "Ruby Lawson", "Lucía Ortega", "Ravi Menon"], [])
        ],
        loops=1,
        inputs=frozenset({"search_agents"}),
    ),
    "a form for each": Shown(
        creates_agents,
        [
            ({"agents": [_agent("Night Desk", "Hindi", "Good evening"),
                         _agent("Returns", "Spanish", "How can we help?")]}, agents("L")),
            ({"agents": [_agent("O'Brien & Co", "Hindi", "Hello"), _agent("Sales", "English (US)", "Hi there"),
                         _agent("Zed", "Spanish", "Hola")]}, agents("L")),
            ({"agents": [_agent("Solo", "Spanish", "Buenas")]}, agents("L")),
        ],
        [Run(agents("L"), were_created(*NEW[:count]), {"items": NEW[:count]}) for count in (4, 0)],
        loops=1,
        inputs=frozenset({"items"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("task", rotating("loops", list(TASKS), 1))
async def test_a_loop_that_was_shown_runs_on_lists_that_nobody_showed(task, browser, live, stores, tmp_path):  # noqa: F811
    shown_task = TASKS[task]
    given = [each for each, _ in shown_task.passes]
    result = await shown(
        browser, live, tmp_path, shown_task.person, given, lambda number: shown_task.passes[number][1](live)
    )
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.loop_count, report.agent_node_count, report.refusals) == (shown_task.loops, 0, ())
    secret = secrets(lowered)
    assert {spec.name for spec in lowered.workflow.io_spec.inputs} == {*shown_task.inputs, *secret}

    workflow_id = await publish_workflow(
        SynthesisSite(stores, "spadeworks", live.base), lowered, replace=True
    )
    for run in shown_task.runs:
        run.fill(live)
        async with visiting(live, stores, browser) as session:
            workflow = await session.knowledge.workflow(workflow_id)
            done = await run_workflow(TaskRunner(session), workflow, {**(run.given or {}), **secret})
            assert done.succeeded, (done.error, done.steps)
            assert run.check(live.state()), live.state()
