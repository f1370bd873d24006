"""A sign-in found in recordings is a task of its own: the website's, which later workflows and other tasks use."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Page

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.session import Session
from agent.synthesis.workflows.sign_in_steps import is_same_sign_in
from kb_schema.tasks import Task
from kb_store import Stores, open_stores, read_knowledge
from periplus.recorded_websites import add_website
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow
from tests.support.live_spadeworks import ACCOUNT, Controls, live  # noqa: F401 - a fixture
from tests.support.people import Noise, shown, signs_in

WEBSITE = "fresh"
AGENTS = ({"name": "Night Desk"}, {"name": "Returns"})


@pytest.fixture
async def empty_stores(live, tmp_path) -> AsyncIterator[Stores]:  # noqa: F811
    """Stores that know nothing of the website but its address."""
    async with open_stores(tmp_path / "stores") as opened:
        await add_website(opened, live.base, WEBSITE)
        yield opened


async def creates_an_agent(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/agent']")
    await page.wait_for_url("**/agent")
    await page.click("a[href='/agent/create'] >> nth=0")
    await page.wait_for_url("**/agent/create")
    await noise.type("#agent-name", given["name"])
    await page.focus("#language")
    await page.keyboard.type("Hindi")
    await noise.type("#greeting", "Good evening")
    await page.click("#save-agent")
    await page.wait_for_url(lambda url: "/create" not in url)


async def opens_the_inbox(page: Page, _given: Mapping[str, str], dice: random.Random) -> None:
    await signs_in(page, Noise(page, dice))
    await page.click("nav[aria-label=Main] a[href='/inbox']")
    await page.wait_for_url("**/inbox")


@asynccontextmanager
async def visit(browser: Browser, stores: Stores, live: Controls) -> AsyncIterator[Session]:  # noqa: F811
    async with (
        open_fresh_context(browser) as context,
        open_session(
            stores, context, WEBSITE, base_url=live.base, values={"password": ACCOUNT["password"]}
        ) as session,
    ):
        yield session


async def test_a_recorded_sign_in_becomes_the_websites_and_later_workflows_use_it(
    browser, live, empty_stores, tmp_path  # noqa: F811
):  # fmt: skip
    site = SynthesisSite(empty_stores, WEBSITE, live.base, allow_unverified=True)
    told: list[str] = []
    for person, given in ((creates_an_agent, AGENTS), (opens_the_inbox, ({}, {}))):
        result = await shown(browser, live, tmp_path / person.__name__, person, given)
        assert result.lowered is not None
        await publish_workflow(site, result.lowered, replace=False, traces=result.traces, tell=told.append)
    assert told[0].startswith("the sign-in is the task sign_in, for all tasks")
    assert told[1] == "the sign-in is the website's task sign_in"

    knowledge, _ = await read_knowledge(empty_stores.documents, empty_stores.graph, WEBSITE)
    assert knowledge.website.login_task_id == "sign_in"
    assert knowledge.website.authenticated_when
    assert [each for each in knowledge.tasks if "sign_in" in each] == ["sign_in"]
    secret = [spec for spec in knowledge.tasks["sign_in"].io_spec.inputs if spec.secret]
    assert [spec.name for spec in secret] == ["password"]
    assert ACCOUNT["password"] not in str(knowledge.tasks["sign_in"].to_json())
    for workflow in knowledge.workflows.values():
        assert workflow.nodes[0].task_id == "sign_in"

    inputs = {"password": ACCOUNT["password"]}
    live.clear()
    async with visit(browser, empty_stores, live) as session:
        name = next(
            spec.name for spec in knowledge.workflows["creates_an_agent"].io_spec.inputs if not spec.secret
        )
        workflow = await session.knowledge.workflow("creates_an_agent")
        done = await run_workflow(TaskRunner(session), workflow, {**inputs, name: "Harbour Master"})
        assert done.complete, done.error
        workflow = await session.knowledge.workflow("opens_the_inbox")
        done = await run_workflow(TaskRunner(session), workflow, inputs)
        assert done.complete, done.error
    assert "Harbour Master" in [each["name"] for each in live.state()["agents"]]
    async with visit(browser, empty_stores, live) as session:
        done = await TaskRunner(session).run_task("sign_in", inputs)
        assert done.succeeded, (done.error, done.steps)
        assert await session.signed_in()


def test_two_sign_ins_are_the_same_if_they_enter_the_same_under_other_names():
    one = make_task("password", "ann")
    assert is_same_sign_in(one, make_task("secret", "ann"))
    assert not is_same_sign_in(one, make_task("password", "bob"))
    assert not is_same_sign_in(one, replace_target(one))


def make_task(secret: str, user: str) -> Task:
    return Task.model_validate(
        {
            "task_id": "sign_in",
            "io_spec": {"inputs": [{"name": secret, "source": "user_input", "secret": True}]},
            "steps": [
                {"step_id": "s1", "action": {"action_type": "navigate", "url": "/login"}},
                {"step_id": "s2", "action": {"action_type": "fill", "target": {"type": "id", "value": "user"}, "value": user}},
                {"step_id": "s3", "action": {"action_type": "fill", "target": {"type": "id", "value": "pass"}, "value": f"{{{secret}}}"}},
                {"step_id": "s4", "action": {"action_type": "click", "target": {"type": "id", "value": "go"}}},
            ],
        }
    )  # fmt: skip


def replace_target(task: Task) -> Task:
    other = {**task.to_json(), "type": "task"}
    other["steps"][2]["action"]["target"] = {"type": "id", "value": "repeat"}
    return Task.model_validate(other)
