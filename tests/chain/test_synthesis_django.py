"""Shown three times on Django's admin, and it can do it: a user is added with two permissions and found in
the list. Nothing is known of the site but its address; what happened is in Django's own database.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.synthesis.synthesis_pipeline import add_workflow_documents
from kb_schema import SourcedDocument, assemble
from kb_schema.websites import Website
from kb_store import Stores, load_knowledge, open_stores
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    induce_workflow,
    publish_workflow,
    read_shown_values,
    read_traces,
)
from tests.support.foreign_sites import ADMIN_PASSWORD, ADMIN_USER, django_site
from tests.support.people import Noise, Person, recorded
from tests.support.rotation import SEED

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

pytestmark = pytest.mark.sampled(0.25)

WEBSITE = "library_admin"
SCREENS = ["log_in", "site_administration", "add_user", "change_user", "select_user_to_change"]
AVAILABLE, CHOSEN = "#id_user_permissions_from", "#id_user_permissions_to"
PEOPLE = (
    {"name": "erika", "password": "Sea-breeze-77", "one": "library | author | Can add author",
     "two": "library | book | Can change book"},
    {"name": "mansa", "password": "Dune-walker-81", "one": "library | tag | Can delete tag",
     "two": "library | copy | Can view copy"},
    {"name": "o.hara", "password": "Night-ferry-93", "one": "auth | group | Can view group",
     "two": "library | author | Can change author"},
)  # fmt: skip
NOBODY_SHOWED = {"name": "jorun@quay", "password": "Tide-table-55", "one": "library | copy | Can add copy",
                 "two": "auth | user | Can view user"}  # fmt: skip


@dataclass
class Admin:
    """The running site and its database."""

    base: str
    database: Path

    def rights(self, name: str) -> set[str]:
        """The permissions of a user."""
        with sqlite3.connect(self.database) as connection:
            rows = connection.execute(
                "SELECT p.name FROM auth_user u JOIN auth_user_user_permissions r ON r.user_id = u.id"
                " JOIN auth_permission p ON p.id = r.permission_id WHERE u.username = ?",
                [name],
            )
            return {row[0] for row in rows}


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    database = tmp_path_factory.mktemp("django") / "db.sqlite"
    with django_site("4.2", database) as base:
        yield Admin(base, database)


@pytest.fixture
async def stores(admin: Admin, tmp_path: Path) -> AsyncIterator[Stores]:
    knowledge, _ = assemble(
        [SourcedDocument(Website(type="website", website_id=WEBSITE, name="Library", base_url=admin.base))]
    )
    async with open_stores(tmp_path / "stores") as opened:
        await load_knowledge(opened.documents, opened.graph, knowledge)
        yield opened


def adds_a_user(*, twice: bool) -> Person:
    """Signs in, adds a user, gives it two permissions, looks for it in the list and opens it.

    `twice`: permissions are chosen by a double click, not by the button between the lists.
    """

    async def adds_a_user(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        noise = Noise(page, dice)
        await noise.type("#id_username", ADMIN_USER)
        await noise.type("#id_password", ADMIN_PASSWORD)
        await page.click("input[type=submit]")
        await page.click("#content-main a[href='/admin/auth/user/add/']")
        await page.wait_for_url("**/user/add/")

        async def name() -> None:
            await noise.type("#id_username", given["name"])

        async def password() -> None:
            for field in ("#id_password1", "#id_password2"):
                await noise.type(field, given["password"])
            await noise.wander()

        fields = [name, password]
        dice.shuffle(fields)
        for fill in fields:
            await fill()
        await page.click("[name=_save]")
        await page.wait_for_url("**/change/")
        for each in ("one", "two"):
            option = page.locator(f"{AVAILABLE} option", has_text=given[each])
            if twice:
                await option.dblclick()
            else:
                await option.click()
                await page.click("#id_user_permissions_add_link")
            await page.locator(f"{CHOSEN} option", has_text=given[each]).wait_for(state="attached")
        await page.click("[name=_save]")
        await page.wait_for_url("**/auth/user/")
        await noise.type("#searchbar", given["name"])
        await page.click("#changelist-search input[type=submit]")
        await page.wait_for_url("**/?q=*")
        await page.click("#result_list tbody th a")
        await page.wait_for_url("**/change/**")

    return adds_a_user


@pytest.mark.parametrize("twice", [False, True], ids=["with the button", "with double clicks"])
async def test_a_user_with_two_permissions_is_added_and_found_as_it_was_shown(
    browser: Browser, admin: Admin, stores: Stores, tmp_path: Path, twice: bool
) -> None:
    dice = random.Random(SEED)
    mark = "2" if twice else ""
    for number, each in enumerate(PEOPLE):
        given = {**each, "name": each["name"] + mark}
        await recorded(
            browser, admin.base, tmp_path / "traces" / str(number), adds_a_user(twice=twice), given, dice,
            asked=True, start="/admin/",
        )  # fmt: skip
        assert admin.rights(given["name"]) == {_right(given["one"]), _right(given["two"])}
    result = await induce_workflow(read_traces([tmp_path / "traces"]), "add_a_user", "")
    found = await find_screens(stores, WEBSITE, admin.base, result)
    assert found.refused == ()
    assert [screen.screen_id for screen in found.new] == SCREENS
    result = add_workflow_documents(result, found.by_step)
    report, lowered = result.synthesis_report, result.lowered
    assert report is not None
    assert lowered is not None
    assert (report.agent_node_count, report.refusals) == (0, ())

    new = {**NOBODY_SHOWED, "name": NOBODY_SHOWED["name"] + mark}
    trace_id = next(
        e.trace_id
        for e in result.traces
        if PEOPLE[0]["name"] + mark in read_shown_values(result, e.trace_id).values()
    )
    meaning = {PEOPLE[0][key] + (mark if key == "name" else ""): new[key] for key in ("name", "one", "two")}
    inputs = {name: meaning[value] for name, value in read_shown_values(result, trace_id).items()}
    for spec in lowered.workflow.io_spec.inputs:
        if spec.secret:
            inputs[spec.name] = ADMIN_PASSWORD if spec.name == "password" else new["password"]
    workflow_id = await publish_workflow(
        SynthesisSite(stores, WEBSITE, admin.base), lowered, found.new, replace=False
    )
    async with (
        open_fresh_context(browser) as context,
        open_session(stores, context, WEBSITE, base_url=admin.base) as session,
    ):
        done = await run_workflow(TaskRunner(session), await session.knowledge.workflow(workflow_id), inputs)
        assert done.succeeded, (done.error, done.steps)
        assert await session.page.locator("#id_username").input_value() == new["name"]
        assert {step.screen_id for step in done.steps} >= {*SCREENS[1:]}
    assert admin.rights(new["name"]) == {_right(new["one"]), _right(new["two"])}


def _right(label: str) -> str:
    return label.rpartition(" | ")[2]
