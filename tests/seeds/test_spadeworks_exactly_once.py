"""The seed's tasks on the live site, with its faults switched on: nothing is done twice.

What the site really holds decides, asked through its test controls.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from agent.engine.engine import Engine
from agent.page import library
from agent.presenting.stage import Stage
from agent.session import Session
from kb_schema.runs import RunStatus
from kb_store import Stores, load_knowledge, open_stores
from kb_store.runs import open_runs
from loaders.files import read_knowledge_folder
from periplus.logbook import Kept
from periplus.voyage import open_session
from tests.support.foreign_sites import spadeworks_site
from tests.support.lives import another_life, cut_off, kept_state
from tests.support.rotation import rotating

SEED = Path(__file__).parents[2] / "seeds" / "spadeworks"
ACCOUNT = {"email": "demo@spadeworks.example", "password": "spadeworks-demo"}


@dataclass(frozen=True)
class Work:
    """A task, where it changes the site, and what the site counts then."""

    task_id: str
    inputs: dict[str, Any]
    path: str
    count: str
    once: int = 1
    """What it counts when it is done once."""


WORKS = (
    Work("create_agent", {"agent_name": "Ada \"O'Neil\" & Söhne"}, "^/agent/create$", "agents_created"),
    Work(
        "create_campaign",
        {"campaign_name": "Spring <1>", "campaign_agent": "{agent}", "start_date": "03/01/2027",
         "daily_limit": 50},
        "^/campaign/create/review$", "campaigns_created",
    ),
    Work("delete_agent", {"agent_id": "{agent}"}, "^/agent/[^/]+/delete$", "agents_deleted"),
    Work("import_contacts", {"contacts_file": str(SEED / "files/contacts.csv")}, "^/contacts/import$",
         "contacts_imported", once=12),
    Work("delete_single_email", {}, "^/inbox/[^/]+/delete$", "emails_deleted"),
)  # fmt: skip
FAULTS = ("drop_after_commit", "error_500", "expire_session", "delay")
CASES = [(work, fault) for work in WORKS for fault in FAULTS]


class Controls:
    """The site's test controls."""

    def __init__(self, base: str) -> None:
        self.base = base

    def ask(self, path: str, /, **body: Any) -> dict[str, Any]:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(
            f"{self.base}/__control/{path}", data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def clear(self) -> None:
        urllib.request.urlopen(
            urllib.request.Request(f"{self.base}/__control/faults", method="DELETE")
        ).close()

    def state(self) -> dict[str, Any]:
        return self.ask("state")


@pytest.fixture(scope="module")
def live() -> Iterator[Controls]:
    with spadeworks_site() as base:
        yield Controls(base)


@pytest.fixture(scope="module")
async def stores(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stores]:
    knowledge, _ = read_knowledge_folder(SEED / "kb")
    async with open_stores(tmp_path_factory.mktemp("stores")) as opened:
        await load_knowledge(opened.documents, opened.graph, knowledge)
        yield opened


@asynccontextmanager
async def visiting(live: Controls, stores: Stores, browser: Browser) -> AsyncIterator[Session]:
    """A session of a new visitor, whose workspace is as everybody's at first."""
    live.clear()
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        await library.install(context)
        await Stage.install(context)
        async with open_session(stores, context, "spadeworks", base_url=live.base, values=ACCOUNT) as session:
            await session.page.goto(f"{live.base}/login")
            yield session
    finally:
        await context.close()


def _inputs(work: Work, live: Controls) -> dict[str, Any]:
    agent = live.state()["agents"][0]["id"]
    return {name: agent if value == "{agent}" else value for name, value in work.inputs.items()}


@pytest.mark.parametrize(
    "case", rotating(__name__, CASES, 3), ids=lambda case: f"{case[0].task_id}-{case[1]}"
)
async def test_nothing_is_done_twice_and_what_was_asked_is_done(case, live, stores, browser):
    work, fault = case
    async with visiting(live, stores, browser) as session:
        before = live.state()["counts"][work.count]
        live.ask("faults", kind=fault, path=work.path, method="POST", times=1, ms=2500)
        result = await Engine(session).run_task(work.task_id, _inputs(work, live))
        counted = live.state()["counts"][work.count] - before
        fired = [each["fired"] for each in live.state()["faults"]]
    assert fired == [1]
    assert result.status is RunStatus.SUCCESS, result.error
    assert counted == work.once


@pytest.mark.parametrize("at", rotating(f"{__name__} lives", range(1, 31), 2))
async def test_a_campaign_whose_run_was_cut_off_anywhere_is_launched_once(
    at, live, stores, browser, tmp_path
):
    work = WORKS[1]
    async with open_runs(tmp_path) as runs, visiting(live, stores, browser) as session:
        kept = Kept(runs)
        await cut_off(session, kept, work.task_id, _inputs(work, live), at)
        state = await kept_state(kept, session)
        async with another_life(session, browser, state) as again:
            result = await Engine(again, keeping=kept, resume=state).run_task(work.task_id)
        found = live.state()
    assert result.status is RunStatus.SUCCESS, result.error
    assert found["counts"]["campaigns_created"] == 1
    (campaign,) = [each for each in found["campaigns"] if each["name"] == "Spring <1>"]
    assert (campaign["start_date"], campaign["daily_limit"]) == ("03/01/2027", 50)
    assert result.outputs["created_campaign_id"] == campaign["id"]
