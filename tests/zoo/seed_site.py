"""The seed site, Spadeworks, as an application: only collected runs are measured on it, since it is ours."""

from __future__ import annotations

import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from tests.support.foreign_sites import spadeworks_site
from tests.support.live_spadeworks import ACCOUNT, Controls
from tests.support.people import Noise, signs_in
from tests.zoo.registry.serving import ServedApplication, instances
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication

_STATE = ("agents", "contacts", "campaigns", "emails", "preferences")


@asynccontextmanager
async def start_spadeworks(_parent: Path) -> AsyncIterator[RunningApplication]:
    """Serve the site in a process of its own. Each browser context is a visitor with a workspace: the state is that of the last."""
    with spadeworks_site() as base:
        controls = Controls(base)
        served = ServedApplication(base, partial(_reset, controls), partial(_read_state, controls))
        served.secrets = {"password": ACCOUNT["password"]}
        yield served


def _reset(controls: Controls) -> None:
    controls.ask("reset", everything=True)


def _read_state(controls: Controls) -> Any:
    """Return the workspace, without ids, which are drawn."""
    if controls.state()["visitor"] is None:
        urllib.request.urlopen(f"{controls.base}/login").close()
    known = controls.state()
    return {name: _without_ids(known[name]) for name in _STATE}


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ids(each) for key, each in value.items() if key != "id"}
    return [_without_ids(each) for each in value] if isinstance(value, list) else value


async def create_agent(page: Page, given: Given, noise: Noise) -> None:
    """Sign in, open the form, fill and send it."""
    await signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/agent']")
    await page.wait_for_url("**/agent")
    await page.click("a[href='/agent/create'] >> nth=0")
    await page.wait_for_url("**/agent/create")
    await noise.type("#agent-name", given["name"])
    await page.select_option("#language", label=given["language"])
    await noise.wander()
    await noise.type("#greeting", given["greeting"])
    await page.click("#save-agent")
    await page.wait_for_url(lambda url: "/create" not in url)


def _agent(name: str, language: str, greeting: str) -> Given:
    return {"name": name, "language": language, "greeting": greeting}


SPADEWORKS = Application(
    "spadeworks", "server-rendered, the seed",
    [
        Job("create_agent", create_agent, instances(
            ("plain", _agent("Night Desk", "Hindi", "Good evening")),
            ("plain", _agent("Returns", "Spanish", "How can we help?")),
            ("plain", _agent("Harbour Office", "Hindi", "You have reached the harbour office")),
            ("plain", _agent("Lost and Found", "Spanish", "What did you lose?")),
            ("plain", _agent("Reception", "English (US)", "Welcome")),
            ("plain", _agent("Billing", "Hindi", "Which invoice is it about?")),
            ("plain", _agent("Weekend Desk", "English (US)", "We are open from nine to five")),
            ("plain", _agent("Spare Parts", "Spanish", "Which part do you need?")),
            ("plain", _agent("Test Drives", "Hindi", "When would you like to come?")),
            ("quotes", _agent("O'Brien & Co", "Spanish", "Hello from \"O'Brien\"")),
            ("quotes", _agent('The "Swift" line', "English (US)", "It's {here}")),
            ("unicode", _agent("Überseehafen 大阪", "Hindi", "Grüß Gott, прошу ✓")),
            ("plain", _agent("Complaints", "Spanish", "We are sorry to hear that")),
        ), "/login", "create"),
    ],
    start_spadeworks,
)  # fmt: skip
