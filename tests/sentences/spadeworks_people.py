"""The seed site as an application of the zoo, for jobs in words: scripted people, and what the site itself keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.support.foreign_sites import spadeworks_site
from tests.support.live_spadeworks import ACCOUNT, Controls
from tests.support.people import Noise, signs_in
from tests.zoo.registry.serving import instances
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication

KEPT = ("preferences", "agents", "contacts", "campaigns", "emails")
"""What a job can change."""


class RunningSeed:
    """Spadeworks. Every visitor has a workspace of their own, so a new one begins with the seed."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.secrets: Mapping[str, str] = {"password": ACCOUNT["password"]}
        self._controls = Controls(base_url)

    async def reset(self) -> None:
        """Forget all visitors."""
        await asyncio.to_thread(self._controls.ask, "reset", everything=True)

    async def state(self) -> Any:
        """Return the workspace of the last visitor who signed in."""
        told = await asyncio.to_thread(self._controls.state)
        return {name: _without_ids(told.get(name)) for name in KEPT}


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_ids(each) for name, each in value.items() if name not in ("id", "agent_id")}
    return [_without_ids(each) for each in value] if isinstance(value, list) else value


@asynccontextmanager
async def _started(_: Path) -> AsyncIterator[RunningApplication]:
    with spadeworks_site() as base:
        yield RunningSeed(base)


async def _go(page: Page, noise: Noise, entry: str) -> None:
    await signs_in(page, noise)
    await page.get_by_role("navigation", name="Main").get_by_role("link", name=entry).click()
    await page.get_by_role("heading", name=entry, level=1).wait_for()


async def create_agent(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, noise, "Agents")
    await page.get_by_role("link", name="Create Agent").click()
    await noise.type("#agent-name", given["name"])
    await page.select_option("#language", label=given["language"])
    await noise.type("#greeting", given["greeting"])
    await page.get_by_role("button", name="Save Changes").click()
    await page.get_by_role("status").first.wait_for()


async def _open_agent(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, noise, "Agents")
    await page.get_by_role("link", name=given["name"]).click()
    await page.get_by_role("heading", name=given["name"], level=1).wait_for()


async def greet_callers(page: Page, given: Given, noise: Noise) -> None:
    await _open_agent(page, given, noise)
    await page.get_by_role("link", name="Edit").click()
    await noise.retype("#greeting", given["greeting"])
    await page.get_by_role("button", name="Save Changes").click()
    await page.get_by_role("status").first.wait_for()


async def delete_agent(page: Page, given: Given, noise: Noise) -> None:
    await _open_agent(page, given, noise)
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("button", name="Delete agent").click()
    await page.get_by_role("status").first.wait_for()


async def pause_agent(page: Page, given: Given, noise: Noise) -> None:
    await _open_agent(page, given, noise)
    await page.get_by_role("button", name="Pause").click()
    await page.get_by_role("button", name="Resume").wait_for()


async def rename_company(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, noise, "Settings")
    await noise.retype("#display-name", given["name"])
    await noise.retype("#company", given["company"])
    await page.get_by_role("button", name="Save profile").click()
    await page.get_by_role("status").first.wait_for()


async def delete_message(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, noise, "Inbox")
    button = page.get_by_role("button", name=f"Delete message: {given['subject']}")
    await button.click()
    await button.wait_for(state="detached")


async def block_contact(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, noise, "Contacts")
    await page.get_by_role("button", name=f"Do not call {given['name']}").click()
    await page.get_by_role("button", name=f"Allow calls to {given['name']}").wait_for()


async def create_campaign(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, noise, "Campaigns")
    await page.get_by_role("link", name="New campaign").click()
    await noise.type("#campaign-name", given["name"])
    await page.select_option("#campaign-agent", label=given["agent"])
    await noise.type("#start-date", given["date"])
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("radio", name=given["list"]).check()
    await noise.type("#daily-limit", given["limit"])
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Launch Campaign").click()
    await page.get_by_role("button", name="Launch now").click()
    await page.get_by_role("heading", name=given["name"], level=1).wait_for()


def _named(*names: str) -> list[tuple[str, Given]]:
    return [("plain", {"name": each}) for each in names]


def _agent(name: str, language: str, greeting: str) -> tuple[str, Given]:
    return "plain", {"name": name, "language": language, "greeting": greeting}


def _campaign(name: str, agent: str, date: str, of: str, limit: str) -> tuple[str, Given]:
    return "plain", {"name": name, "agent": agent, "date": date, "list": of, "limit": limit}


JOBS = [
    Job("create_agent", create_agent, instances(
        _agent("Night Desk", "Hindi", "Good evening from the night desk"),
        _agent("Ferry Line", "Spanish", "Welcome aboard"),
        _agent("Harbour Office", "English (US)", "The harbour office speaks"),
        _agent("Lighthouse", "Hindi", "Lighthouse, how can I help"),
    ), "/login", "create"),
    Job("greet_callers", greet_callers, instances(
        ("plain", {"name": "Amelia Hart", "greeting": "Amelia here, at your service"}),
        ("plain", {"name": "Grace Osei", "greeting": "You have reached Grace"}),
        ("plain", {"name": "Priya Nair", "greeting": "Priya speaks, good morning"}),
        ("plain", {"name": "Ravi Menon", "greeting": "Ravi listens to you now"}),
    ), "/login", "edit"),
    Job("delete_agent", delete_agent, instances(*_named("Amelia Hart", "Grace Osei", "Mateo Vargas", "Hannah Cole")),
        "/login", "delete"),
    Job("pause_agent", pause_agent, instances(*_named("Amelia Hart", "Ravi Menon", "Hannah Cole", "Daniel Brooks")),
        "/login", "edit"),
    Job("rename_company", rename_company, instances(
        ("plain", {"name": "Ines Falk", "company": "Falk and Daughters"}),
        ("plain", {"name": "Juno Reyes", "company": "Reyes Telephony"}),
        ("plain", {"name": "Owen Pike", "company": "Pike Answers"}),
        ("plain", {"name": "Vera Lindt", "company": "Lindt Exchange"}),
    ), "/login", "edit"),
    Job("delete_message", delete_message, instances(*(("plain", {"subject": each}) for each in (
        "Your weekly call summary", "Invoice 2041 is ready", "Hindi pronunciation notes", "Call recording policy update",
    ))), "/login", "delete"),
    Job("block_contact", block_contact, instances(*_named("Alice Archer", "Ben Fischer", "Chloe Eriksen", "David Dubois")),
        "/login", "edit"),
    Job("create_campaign", create_campaign, instances(
        _campaign("Spring calls", "Amelia Hart", "12/24/2030", "Renewals", "120"),
        _campaign("Winter letters", "Grace Osei", "01/15/2031", "Dormant accounts", "80"),
        _campaign("Harvest offer", "Ravi Menon", "03/01/2031", "Spring webinar leads", "200"),
        _campaign("Late reminder", "Hannah Cole", "05/20/2031", "Renewals", "60"),
    ), "/login", "create"),
]  # fmt: skip

SPADEWORKS = Application("spadeworks", "server-rendered", JOBS, _started)
