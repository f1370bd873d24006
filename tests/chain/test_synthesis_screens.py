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


class Settings:
    """Two pages of settings with a button of the same name; each saves its own box."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.saved.append(asked.path)
            return Answered(location=asked.path)
        tabs = "".join(f"<a href=/settings/{each}>{each.title()}</a> " for each in ("visits", "admin"))
        return Answered(f"<html><body>{tabs}{self._form(asked.path)}</body></html>")

    def _form(self, path: str) -> str:
        heads = {
            "/settings/visits": "<h1>Visits</h1><p>How long a visit is</p>",
            "/settings/admin": "<h1>Office</h1><table><tr><th>Name<th>Role<tr><td>Ada<td>Owner</table>",
        }
        if path not in heads:
            return "<h1>Harbour</h1><p>Choose what you would like to set</p>"
        told = f"<p>Saved {self.saved.count(path)} times</p>"
        return f"{heads[path]}{told}<form method=post><button>Save settings</button></form>"


async def saves(page: Page, given: Mapping[str, str], _dice: random.Random) -> None:
    await page.get_by_role("link", name=given["page"]).click()
    await page.wait_for_url(f"**/settings/{given['page'].lower()}")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Save settings").click()


async def test_a_step_that_was_shown_on_two_pages_is_done_on_both_though_only_one_became_a_screen(
    browser, tmp_path
):
    settings = Settings()
    shown = [{"page": each} for each in ("Visits", "Admin", "Visits")]
    with running_site(settings.answer) as site:
        result = await induced(browser, site, tmp_path / "traces", saves, shown)
        async with opened_stores(site, tmp_path / "stores") as stores:
            found = await find_screens(stores, WEBSITE, site.base, result)
            assert [each.screen.url_patterns for each in found.proposed if "visits" in each.screen.screen_id]
            assert [each.name for each in found.refused] == ["Office"]
            result = add_workflow_documents(result, found.by_step)
            assert result.lowered is not None
            made = SynthesisSite(stores, WEBSITE, site.base, allow_unverified=True)
            workflow_id = await publish_workflow(made, result.lowered, found.new, replace=False)
            for page in ("Admin", "Visits"):
                done = await ran_published(browser, stores, site, workflow_id, {"row": page})
                assert done.succeeded, done.error
                assert settings.saved[-1] == f"/settings/{page.lower()}"
    assert len(settings.saved) == len(shown) + 2
