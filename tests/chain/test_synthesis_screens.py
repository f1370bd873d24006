"""What must not be repeated is done on the screen on which it was shown, or not at all."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.execution import step_runner
from agent.synthesis.synthesis_pipeline import add_workflow_documents
from kb_schema.conditions import OnScreen
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.workflow_synthesis import SynthesisSite, publish_workflow
from tests.support.small_sites import (
    WEBSITE,
    Answered,
    Asked,
    induced,
    opened_stores,
    ran_published,
    running_site,
)

if TYPE_CHECKING:
    from playwright.async_api import Page

MENU = "<nav><a href='/'>Berths</a> <a href='/help'>Help</a></nav>"


class Berths:
    """Berths are booked in two clicks; on some days, the site asks for something else in between."""

    def __init__(self) -> None:
        self.busy = False
        self.booked = self.upgraded = 0

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.booked += asked.path == "/book"
            self.upgraded += asked.path == "/upgrade"
            return Answered(location="/booked")
        if asked.path == "/book" and self.busy:
            return Answered(location="/upgrade")
        return Answered(
            f"<html><head><title>{asked.path}</title></head><body>{MENU}{self._body(asked.path)}<p>{self.booked} nights so far</p></body></html>"
        )

    def _body(self, path: str) -> str:
        return {
            "/": "<h1>Berths</h1><p>Free berths of the harbour</p><a id=new href=/book>Book a berth</a>",
            "/book": "<h1>Book a berth</h1><p>A berth for one night</p><form method=post><button id=save>Continue</button></form>",
            "/upgrade": "<h1>Become a patron</h1><p>999 a month, at once</p><form method=post><button id=save>Continue</button></form>",
            "/booked": "<h1>Thank you</h1><p>Your berth is booked</p>",
        }.get(path, "<h1>Nothing</h1>")  # fmt: skip


async def books(page: Page, _given: Mapping[str, str], _dice: random.Random) -> None:
    await page.click("#new")
    await page.wait_for_url("**/book")
    await page.click("#save")
    await page.wait_for_url("**/booked")


async def test_a_step_that_must_not_be_repeated_is_never_done_on_another_screen(
    browser, tmp_path, monkeypatch
):
    monkeypatch.setattr(step_runner, "PRECONDITION_S", 0.5)
    berths = Berths()
    with running_site(berths.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", books, [{}] * 3)
        async with opened_stores(site, tmp_path / "stores") as stores:
            found = await find_screens(stores, WEBSITE, site.base, result)
            result = add_workflow_documents(result, found.by_step)
            lowered = result.lowered
            assert lowered is not None
            steps = [
                step for task in lowered.tasks for step in task.steps if step.action.action_type == "click"
            ]
            on = [each for step in steps for each in step.preconditions if isinstance(each, OnScreen)]
            assert [each.hard_dependency for each in on] == [True] * len(steps)
            workflow_id = await publish_workflow(
                SynthesisSite(stores, WEBSITE, site.base, allow_unverified=True),
                lowered,
                found.new,
                replace=False,
            )
            done = await ran_published(browser, stores, site, workflow_id, {})
            assert done.succeeded, done.error
            assert berths.booked == 4
            berths.busy = True
            refused = await ran_published(browser, stores, site, workflow_id, {})
            assert not refused.complete
            assert berths.upgraded == 0
            assert berths.booked == 4
