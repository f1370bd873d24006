"""Shown a few times by people who did not all do the same: an agent is edited, searched for, signed in for
with and without a one-time code; the workflow runs on inputs nobody showed, and goes each way.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow
from tests.support.live_spadeworks import live, stores, visiting  # noqa: F401 - fixtures
from tests.support.people import Noise, secrets, shown, signs_in

if TYPE_CHECKING:
    from playwright.async_api import Page

    from agent.session import Session
    from agent.synthesis.synthesis_pipeline import PipelineResult
    from kb_schema.run_records import RunResult

pytestmark = pytest.mark.sampled(0.15)
HOME_OR_CODE = re.compile("/dashboard|/login/code")
HARD = 'O\'Brien "Bob" </script> {x}'


async def edits_an_agent(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
    """Signs in, finds an agent by its name, changes some fields in any order, saves."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/agent']")
    await page.wait_for_url("**/agent")
    await noise.type("#agent-search", given["agent"])
    await page.click("#agent-search-button")
    await page.wait_for_url("**/agent?q=*")
    await page.get_by_role("list").get_by_role("link", name=given["agent"]).click()
    await page.click("#edit-agent")
    await page.wait_for_url("**/edit")

    async def language() -> None:
        await page.focus("#language")
        await page.keyboard.type(given["language"])
        await noise.wander()

    async def name() -> None:
        await noise.retype("#agent-name", given["name"])

    async def greeting() -> None:
        await noise.retype("#greeting", given["greeting"])

    fields = [field for field in (language, name, greeting) if field.__name__ in given]
    dice.shuffle(fields)
    for fill in fields:
        await fill()
    await page.click("#save-agent")
    await page.wait_for_url(lambda url: "/edit" not in url)


async def searches_an_agent(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
    """Signs in, searches by name, opens what is found."""
    noise = Noise(page, dice)
    await signs_in(page, noise)
    await page.click("nav[aria-label=Main] a[href='/agent']")
    await page.wait_for_url("**/agent")
    await noise.type("#agent-search", given["query"])
    await noise.wander()
    await page.click("#agent-search-button")
    await page.wait_for_url("**/agent?q=*")
    await page.click("#agent-list .row-link >> nth=0")
    await page.wait_for_url("**/agent/agt-*")


async def signs_in_with_the_code_of_their_phone(
    page: Page, _given: Mapping[str, str], dice: random.Random
) -> None:
    """Signs in; where a code is asked for, types what the phone beside the keyboard says; opens the inbox."""
    noise = Noise(page, dice)
    await signs_in(page, noise, into=HOME_OR_CODE)
    if "/login/code" in page.url:
        phone = await page.request.get(page.url.split("/login")[0] + "/authenticator/code")
        await _verifies(page, noise, (await phone.json())["code"])
    await page.click("nav[aria-label=Main] a[href='/inbox']")
    await page.wait_for_url("**/inbox")


async def signs_in_with_the_code_of_another_tab(
    page: Page, _given: Mapping[str, str], dice: random.Random
) -> None:
    """Signs in; where a code is asked for, opens the authenticator and copies what it says; opens the inbox."""
    noise = Noise(page, dice)
    await signs_in(page, noise, into=HOME_OR_CODE)
    if "/login/code" in page.url:
        async with page.expect_popup() as opening:
            await page.get_by_role("link", name="authenticator app").click()
        phone = await opening.value
        code = await phone.inner_text("#current-code")
        await phone.close()
        await _verifies(page, noise, code)
    await page.click("nav[aria-label=Main] a[href='/inbox']")
    await page.wait_for_url("**/inbox")


async def _verifies(page: Page, noise: Noise, code: str) -> None:
    await noise.type("#code", code)
    await page.click("#verify")
    await page.wait_for_url("**/dashboard")


class Phone:
    """Beside the keyboard: says the code of the moment to who asks for it."""

    def __init__(self, page: Page, base: str) -> None:
        self._page, self._base = page, base
        self.asked: list[tuple[str, bool]] = []

    async def ask(self, name: str, prompt: str, *, secret: bool) -> str | None:
        self.asked.append((prompt, secret))
        assert name == "digit_code"
        answer = await self._page.request.get(f"{self._base}/authenticator/code")
        code: str = (await answer.json())["code"]
        return code


async def _run(session: Session, workflow_id: str, given: Mapping[str, str]) -> RunResult:
    return await run_workflow(TaskRunner(session), await session.knowledge.workflow(workflow_id), given)


def _induced(result: PipelineResult) -> dict[str, bool]:
    """The workflow's inputs, and which of them are required; nothing of it is left to judgement."""
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.agent_node_count, report.refusals) == (0, ())
    return {spec.name: spec.required for spec in lowered.workflow.io_spec.inputs}


EDITS = (
    {"agent": "Ravi Menon", "language": "Spanish", "name": "Ravi M.", "greeting": "Hello there"},
    {"agent": "Elena Campos", "language": "Hindi", "name": "Elena & Co", "greeting": "How can I help?"},
    {"agent": "Grace Osei", "name": "Grace", "greeting": 'Say "hi"'},
)


async def test_an_agent_is_edited_as_it_was_shown_whatever_it_is_called(browser, live, stores, tmp_path):  # noqa: F811
    result = await shown(browser, live, tmp_path, edits_an_agent, EDITS)
    required = dict.fromkeys(("search_agents", "agent_name", "greeting", "password"), True)
    assert _induced(result) == required | {"language": False}
    workflow_id = await publish_workflow(
        SynthesisSite(stores, "spadeworks", live.base), result.lowered, replace=False
    )
    first = {"search_agents": "Carmen Ruiz", "language": "English (US)", "agent_name": HARD, "greeting": HARD}
    second = {"search_agents": HARD, "agent_name": "Bob", "greeting": "Überseehafen"}
    async with visiting(live, stores, browser) as session:
        before = {each["id"]: each for each in live.state()["agents"]}
        (edited,) = [each for each in before.values() if each["name"] == "Carmen Ruiz"]
        for given in (first, second):
            done = await _run(session, workflow_id, given | secrets(result.lowered))
            assert done.succeeded, (done.error, done.steps)
            told = {"name": given["agent_name"], "greeting": given["greeting"], "language": "en-US"}
            after = {each["id"]: each for each in live.state()["agents"]}
            assert after == before | {edited["id"]: edited | told}
            async with session.page.expect_navigation():
                await session.page.evaluate(
                    "document.querySelector('form[action=\"/sign-out\"]').requestSubmit()"
                )


SEARCHES = ({"query": "Elena"}, {"query": "an"}, {"query": "ravi"})


async def test_a_search_is_made_with_and_without_a_cookie_banner(browser, live, stores, tmp_path):  # noqa: F811
    result = await shown(browser, live, tmp_path, searches_an_agent, SEARCHES)
    assert _induced(result) == {"search_agents": True, "password": True}
    workflow_id = await publish_workflow(
        SynthesisSite(stores, "spadeworks", live.base), result.lowered, replace=False
    )
    for query, found, banner in (("a", "Amelia Hart", True), ("sinclair", "Nora Sinclair", False)):
        async with visiting(live, stores, browser) as session:
            if not banner:
                cookie = {"name": "sw_consent", "value": "declined", "url": live.base}
                await session.page.context.add_cookies([cookie])
                await session.page.reload()
            assert await session.page.locator("#cookie-banner").is_visible() == banner
            done = await _run(session, workflow_id, {"search_agents": query} | secrets(result.lowered))
            assert done.succeeded, (done.error, done.steps)
            assert await session.page.inner_text("h1") == found


@pytest.mark.parametrize(
    "person", [signs_in_with_the_code_of_their_phone, signs_in_with_the_code_of_another_tab]
)
async def test_a_code_is_asked_for_where_the_site_wants_one(browser, live, stores, tmp_path, person):  # noqa: F811
    def prepare(number: int) -> None:
        live.ask("otp", required=number % 2 == 0)

    result = await shown(browser, live, tmp_path, person, [{}] * 4, prepare)
    assert _induced(result) == {"digit_code": False, "password": True}
    workflow_id = await publish_workflow(
        SynthesisSite(stores, "spadeworks", live.base), result.lowered, replace=False
    )
    password = {"password": secrets(result.lowered)["password"]}
    for wanted in (True, False):
        live.ask("otp", required=wanted)
        async with visiting(live, stores, browser) as session:
            session.context.asker = phone = Phone(session.page, live.base)
            done = await _run(session, workflow_id, password)
            assert done.succeeded, (done.error, done.steps)
            assert phone.asked == ([("6-digit code", True)] if wanted else [])
            state = live.state()
            assert (state["signed_in"], state["counts"]["codes_accepted"]) == (True, int(wanted))
            assert session.page.url.endswith("/inbox")
            assert len(session.page.context.pages) == 1
