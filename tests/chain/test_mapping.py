"""From a website to its book: sites are mapped as by `periplus map`, and what comes of it is held against those who
knew them before; tasks written by hand, and workflows that were shown, run on the maps.
"""

from __future__ import annotations

import io
import random
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from agent.synthesis.synthesis_pipeline import add_workflow_documents
from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document
from kb_schema.explorations import ExplorationPage, MapLimits
from kb_schema.page_snapshots import PageSnapshot
from kb_store import Stores, load_knowledge, open_stores
from loaders import read_knowledge_folder
from loaders.exploration_import import ExploredKnowledge
from loaders.exploration_import.explored_pages import ExploredSite
from periplus.exploration.map_folder import MapFolder
from periplus.exploration.map_run import MapRunPlan, SignInFunction, map_website
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import sign_in_with_form
from periplus.session_setup import open_fresh_context, open_session
from periplus.synthesis.proposed_screens import find_screens
from periplus.synthesis.workflow_synthesis import (
    SynthesisSite,
    induce_workflow,
    publish_workflow,
    read_shown_values,
    read_traces,
)
from tests.support.foreign_sites import (
    ADMIN_PASSWORD,
    ADMIN_USER,
    django_site,
    spadeworks_site,
)
from tests.support.live_spadeworks import ACCOUNT, SEED, Controls
from tests.support.mapping_rates import NOT_BY_LOOKING, DjangoTruth, identified, pairwise
from tests.support.people import Noise, recorded
from tests.support.rotation import SEED as DICE

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

    from agent.session import Session

QUICKLY = MapLimits(per_second=100.0, seconds=600.0)


@dataclass
class Mapped:
    """A map, and the pages it was drawn from."""

    chart: ExploredKnowledge
    base: str
    pages: dict[str, ExplorationPage]
    snapshots: dict[str, PageSnapshot]

    @property
    def knowledge(self) -> KnowledgeBase:
        return self.chart.knowledge

    @property
    def labels(self) -> dict[str, str]:
        return {page: screen for screen, pages in self.chart.screens.items() for page in pages}


async def mapped_site(
    browser: Browser,
    url: str,
    path: Path,
    website_id: str,
    sign_in: SignInFunction | None = None,
    limits: MapLimits = QUICKLY,
    **more: Any,
) -> Mapped:
    folder = MapFolder(path)
    view = MapView(Console(file=io.StringIO()), "a map")
    plan = MapRunPlan(website_id, url, folder, limits, **more)
    chart, stopped = await map_website(browser, plan, sign_in, view)
    assert not stopped
    seen = ExploredSite(folder.exploration, folder.signed_out if folder.signed_out.exists else None)
    pages = {page.page_id: page for page in seen.pages()}
    again, _ = read_knowledge_folder(folder.knowledge)
    assert [each.to_json() for each in again.documents()] == [
        each.to_json() for each in chart.knowledge.documents()
    ]
    return Mapped(
        chart, seen.exploration.base_url, pages, {page_id: seen.snapshot(page_id) for page_id in pages}
    )


def filling(url: str, **inputs: str) -> SignInFunction:
    return lambda browser: sign_in_with_form(browser, url, inputs)


@asynccontextmanager
async def known(knowledge: KnowledgeBase, path: Path, *tasks: Mapping[str, Any]) -> AsyncIterator[Stores]:
    """The knowledge with tasks written by hand beside it, loaded."""
    documents = [*knowledge.documents(), *(parse_document(task) for task in tasks)]
    together, _ = assemble(SourcedDocument(each) for each in documents)
    async with open_stores(path) as stores:
        await load_knowledge(stores.documents, stores.graph, together)
        yield stores


@asynccontextmanager
async def session_on(
    stores: Stores, context: BrowserContext, found: Mapped, start: str
) -> AsyncIterator[Session]:
    website_id = found.knowledge.website.website_id
    async with open_session(stores, context, website_id, base_url=found.base) as session:
        await session.page.goto(found.base + start)
        yield session


# -- a tiny site -----------------------------------------------------------------------------------------


@pytest.mark.always
async def test_a_site_nobody_described_is_mapped_and_a_task_written_by_hand_runs_on_the_map(
    browser, site, tmp_path
):
    site.moor("Ada", "Bea")
    limits = MapLimits(per_second=100.0, states=12)
    found = await mapped_site(browser, f"{site.url}/quay", tmp_path / "map", "harbour", limits=limits)
    assert {"quay", "new_boat"} <= set(found.chart.screens)
    assert len(site.state()["boats"]) == 2  # nothing was registered, nothing cast off
    edges = {(each.from_screen, each.to_screen) for each in found.knowledge.transitions.values()}
    assert {("quay", "new_boat"), ("new_boat", "quay")} <= edges
    register = {
        "type": "task",
        "task_id": "register",
        "io_spec": {"inputs": [{"name": "boat", "source": "user_input"}]},
        "steps": [
            {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "new_boat"}},
            {
                "step_id": "name",
                "action": {"action_type": "fill", "target": "boat_name_field", "value": "{boat}"},
            },
            {
                "step_id": "moor",
                "action": {"action_type": "click", "target": "moor_button"},
                "postconditions": [{"type": "on_screen", "screen_id": "quay"}],
            },
        ],
    }
    async with (
        known(found.knowledge, tmp_path / "stores", register) as stores,
        open_fresh_context(browser) as context,
        session_on(stores, context, found, "/quay") as session,
    ):
        result = await TaskRunner(session).run_task("register", {"boat": "Cleo"})
    assert result.complete, result.error
    assert [each["name"] for each in site.state()["boats"]] == ["Ada", "Bea", "Cleo"]


# -- the seed site ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spadeworks_live() -> Iterator[Controls]:
    with spadeworks_site() as base:
        yield Controls(base)


@pytest.fixture(scope="module")
async def seed_map(
    browser: Browser, spadeworks_live: Controls, tmp_path_factory: pytest.TempPathFactory
) -> Mapped:
    """Mapped signed in, by the form that the site shows."""
    base = spadeworks_live.base
    path = tmp_path_factory.mktemp("seed")
    return await mapped_site(browser, f"{base}/", path, "spadeworks_map", filling(f"{base}/", **ACCOUNT))


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_every_screen_of_the_seed_site_is_found_and_pages_are_put_together_as_by_hand(seed_map):
    by_hand, _ = read_knowledge_folder(SEED / "kb")
    layers = {page_id for page_id, page in seed_map.pages.items() if page.layer}
    whole = {page_id: page for page_id, page in seed_map.snapshots.items() if page_id not in layers}
    truth = identified(by_hand, whole, seed_map.base)  # by hand, what lies on a page is no screen
    rates = pairwise(seed_map.labels, truth)
    sys.stdout.write(
        f"seed site: {rates}; screens {len(set(truth.values()))} of {len(by_hand.screens) - len(NOT_BY_LOOKING)}"
        "\n"
    )
    assert set(by_hand.screens) - set(truth.values()) <= set(NOT_BY_LOOKING)
    assert {page for page in truth if page not in seed_map.labels} == set()
    assert rates.f1 >= 0.98
    assert {seed_map.labels[page_id] for page_id in layers} & set(truth.values()) == set()
    own = identified(seed_map.knowledge, seed_map.snapshots, seed_map.base)
    assert own == seed_map.labels


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_tasks_written_by_hand_run_on_the_map_of_the_seed_site(
    browser, seed_map, spadeworks_live, tmp_path
):
    search = {
        "type": "task",
        "task_id": "find_agent",
        "io_spec": {"inputs": [{"name": "query", "source": "user_input"}]},
        "steps": [
            {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "agents"}},
            {
                "step_id": "fill",
                "action": {"action_type": "fill", "target": "search_agents_field", "value": "{query}"},
            },
            {
                "step_id": "search",
                "action": {"action_type": "click", "target": "search_button"},
                "postconditions": [
                    {"type": "on_screen", "screen_id": "agents"},
                    {"type": "url_contains", "value": "q="},
                ],
            },
        ],
    }
    create = {
        "type": "task",
        "task_id": "new_agent",
        "io_spec": {"inputs": [{"name": "agent", "source": "user_input"}]},
        "steps": [
            {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "create_agent"}},
            {
                "step_id": "name",
                "action": {"action_type": "fill", "target": "agent_name_field", "value": "{agent}"},
            },
            {
                "step_id": "language",
                "action": {"action_type": "select_option", "target": "language_dropdown", "value": "hi-IN"},
            },
            {
                "step_id": "save",
                "action": {"action_type": "click", "target": "save_changes_button"},
                "postconditions": [{"type": "on_screen", "screen_id": "agents"}],
            },
        ],
    }
    spadeworks_live.clear()
    signed = await sign_in_with_form(browser, f"{spadeworks_live.base}/", ACCOUNT)
    async with (
        known(seed_map.knowledge, tmp_path / "stores", search, create) as stores,
        open_fresh_context(browser, signed.state) as context,
        session_on(stores, context, seed_map, "/settings") as session,
    ):
        created = await TaskRunner(session).run_task("new_agent", {"agent": "Nereus"})
        assert created.complete, (created.error, created.steps)
        found = await TaskRunner(session).run_task("find_agent", {"query": "Nereus"})
        assert found.complete, (found.error, found.steps)
        assert await session.page.locator(".row-link", has_text="Nereus").count() == 1


@pytest.mark.nightly
@pytest.mark.timeout(900)
async def test_with_its_buttons_allowed_by_name_the_wizard_is_found_to_its_last_step(
    browser, spadeworks_live, tmp_path
):
    base = spadeworks_live.base
    found = await mapped_site(
        browser,
        f"{base}/campaign/create/details",
        tmp_path / "map",
        "wizard",
        filling(f"{base}/", **ACCOUNT),
        MapLimits(per_second=100.0, seconds=400.0, depth=4),
        allowed=("Continue",),
    )
    by_hand, _ = read_knowledge_folder(SEED / "kb")
    truth = identified(by_hand, found.snapshots, found.base)
    steps = ("campaign_create_details", "campaign_create_audience", "campaign_create_review")
    assert set(steps) <= set(truth.values())
    rates = pairwise(found.labels, truth)
    sys.stdout.write(f"seed site with its wizard: {rates}" + "\n")
    assert rates.f1 >= 0.95
    ends = {
        (truth.get(found.chart.screens[e.from_screen][0]), truth.get(found.chart.screens[e.to_screen][0]))
        for e in found.knowledge.transitions.values()
    }
    assert {(steps[0], steps[1]), (steps[1], steps[2])} <= ends
    for visitor in spadeworks_live.state()["visitors"]:
        kept = spadeworks_live.ask(f"state?visitor={visitor['id']}")
        assert kept["counts"]["campaigns_created"] == 0


# -- Django's admin --------------------------------------------------------------------------------------


@dataclass
class Admin:
    """The running site and its database."""

    base: str
    database: Path

    def groups(self) -> dict[str, set[str]]:
        """The permissions of each group."""
        with sqlite3.connect(self.database) as connection:
            rows = connection.execute(
                "SELECT g.name, p.name FROM auth_group g LEFT JOIN auth_group_permissions r ON r.group_id = g.id"
                " LEFT JOIN auth_permission p ON p.id = r.permission_id"
            )
            found: dict[str, set[str]] = {}
            for group, right in rows:
                found.setdefault(group, set()).update({right} - {None})
            return found


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Admin]:
    database = tmp_path_factory.mktemp("django") / "db.sqlite"
    with django_site("4.2", database) as base:
        yield Admin(base, database)


@pytest.fixture(scope="module")
async def django_map(browser: Browser, admin: Admin, tmp_path_factory: pytest.TempPathFactory) -> Mapped:
    """Without any hint; what deletes may be looked at: its own button is called otherwise."""
    start = f"{admin.base}/admin/"
    sign_in = filling(start, username=ADMIN_USER, password=ADMIN_PASSWORD)
    path = tmp_path_factory.mktemp("map")
    return await mapped_site(browser, start, path, "library_map", sign_in, allowed=("Delete",))


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
async def test_the_screens_of_djangos_admin_are_told_apart_as_they_were_listed_before(django_map):
    listed = DjangoTruth()
    truth = listed.screens(django_map.pages.values())
    rates = pairwise(django_map.labels, truth)
    missing = set(listed.patterns) - set(truth.values())
    sys.stdout.write(f"Django 4.2: {rates}; screens not seen: {sorted(missing)}" + "\n")
    assert rates.f1 >= 0.97
    assert missing <= listed.only_when_allowed


@pytest.mark.nightly
@pytest.mark.timeout(1_200)
async def test_adding_a_group_shown_twice_runs_on_the_map_of_djangos_admin(
    browser, admin, django_map, tmp_path
):
    async def adds_a_group(page: Page, given: Mapping[str, str], dice: random.Random) -> None:
        noise = Noise(page, dice)
        await noise.type("#id_username", ADMIN_USER)
        await noise.type("#id_password", ADMIN_PASSWORD)
        await page.click("input[type=submit]")
        await page.click("#content-main a[href='/admin/auth/group/add/']")
        await page.wait_for_url("**/group/add/")
        await noise.type("#id_name", given["name"])
        await page.locator("#id_permissions_from option", has_text=given["right"]).dblclick()
        await page.locator("#id_permissions_to option", has_text=given["right"]).wait_for(state="attached")
        await page.click("[name=_save]")
        await page.wait_for_url("**/auth/group/")

    shown = (
        {"name": "Pilots", "right": "library | book | Can view book"},
        {"name": "Rowers", "right": "library | tag | Can add tag"},
    )
    dice = random.Random(DICE)
    for number, given in enumerate(shown):
        await recorded(
            browser, admin.base, tmp_path / "traces" / str(number), adds_a_group, given, dice,
            asked=True, start="/admin/",
        )  # fmt: skip
    result = await induce_workflow(read_traces([tmp_path / "traces"]), "add_a_group", "")
    new = {"name": "Harbour masters", "right": "library | copy | Can change copy"}
    async with known(django_map.knowledge, tmp_path / "stores") as stores:
        found = await find_screens(stores, "library_map", admin.base, result)
        assert found.refused == ()
        assert found.new == ()  # the map has them all
        result = add_workflow_documents(result, found.by_step)
        lowered = result.lowered
        assert lowered is not None
        first = next(e for e in result.traces if "Pilots" in read_shown_values(result, e.trace_id).values())
        meaning = {shown[0][key]: new[key] for key in new}
        inputs = {name: meaning[value] for name, value in read_shown_values(result, first.trace_id).items()}
        inputs |= {spec.name: ADMIN_PASSWORD for spec in lowered.workflow.io_spec.inputs if spec.secret}
        workflow_id = await publish_workflow(
            SynthesisSite(stores, "library_map", admin.base), lowered, found.new, replace=False
        )
        async with (
            open_fresh_context(browser) as context,
            open_session(stores, context, "library_map", base_url=admin.base) as session,
        ):
            done = await run_workflow(
                TaskRunner(session), await session.knowledge.workflow(workflow_id), inputs
            )
            assert done.succeeded, (done.error, done.steps)
    assert admin.groups()["Harbour masters"] == {"Can change copy"}
