"""The seed's tasks on the live site, with its faults switched on: nothing is done twice.

What the site really holds decides, asked through its test controls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema.run_records import RunStatus
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping
from tests.support.live_spadeworks import ACCOUNT, SEED, Controls, visiting
from tests.support.lives import another_life, cut_off, kept_state
from tests.support.rotation import rotating

pytestmark = pytest.mark.sampled(0.5)


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


def _inputs(work: Work, live: Controls) -> dict[str, Any]:
    agent = live.state()["agents"][0]["id"]
    return {name: agent if value == "{agent}" else value for name, value in work.inputs.items()}


@pytest.mark.parametrize(
    "case", rotating(__name__, CASES, 1), ids=lambda case: f"{case[0].task_id}-{case[1]}"
)
async def test_nothing_is_done_twice_and_what_was_asked_is_done(case, live, stores, browser):
    work, fault = case
    async with visiting(live, stores, browser) as session:
        before = live.state()["counts"][work.count]
        live.ask("faults", kind=fault, path=work.path, method="POST", times=1, ms=2500)
        result = await TaskRunner(session).run_task(work.task_id, _inputs(work, live))
        counted = live.state()["counts"][work.count] - before
        fired = [each["fired"] for each in live.state()["faults"]]
    assert fired == [1]
    assert result.status is RunStatus.SUCCESS, result.error
    assert counted == work.once


@pytest.mark.parametrize("at", rotating(f"{__name__} lives", range(1, 31), 1))
async def test_a_campaign_whose_run_was_cut_off_anywhere_is_launched_once(
    at, live, stores, browser, tmp_path
):
    work = WORKS[1]
    async with open_runs(tmp_path) as runs, visiting(live, stores, browser) as session:
        kept = RunStoreKeeping(runs)
        await cut_off(session, kept, work.task_id, _inputs(work, live), at)
        state = await kept_state(kept, session)
        async with another_life(session, browser, state) as again:
            result = await TaskRunner(again, keeping=kept, resume=state).run_task(work.task_id)
        found = live.state()
    assert result.status is RunStatus.SUCCESS, result.error
    assert found["counts"]["campaigns_created"] == 1
    (campaign,) = [each for each in found["campaigns"] if each["name"] == "Spring <1>"]
    assert (campaign["start_date"], campaign["daily_limit"]) == ("03/01/2027", 50)
    assert result.outputs["created_campaign_id"] == campaign["id"]


async def test_a_wrong_password_stays_wrong_and_is_sent_once(live, hasty_stores, browser):
    async with visiting(live, hasty_stores, browser) as session:
        sent: list[str] = []
        session.page.on(
            "request", lambda request: sent.append(request.url) if request.method == "POST" else None
        )
        wrong = {**ACCOUNT, "password": "not-the-password"}
        session.context.global_values.update(wrong)
        result = await TaskRunner(session).run_task("create_agent", {"agent_name": "Nobody"})
    assert result.status is RunStatus.NEEDS_PERSON
    assert "not right" in (result.error or ""), result.error
    assert [urlsplit(url).path for url in sent] == ["/login"]
