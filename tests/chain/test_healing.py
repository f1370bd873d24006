"""Healing through the whole chain: learned over MCP, used by later sessions, proposed, withdrawn."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from agent.events import HealTried
from agent.execution.task_runner import TaskRunner
from agent.healing.healer import HealPolicy
from agent.page import in_page_library
from kb_schema import parse_document
from kb_schema.conditions import ElementVisible
from kb_schema.run_records import RunStatus
from kb_schema.selectors import css
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from periplus.run_store_adapters import record_run
from periplus.session_setup import open_session
from tests.chain.conftest import HARBOUR

pytestmark = pytest.mark.sampled(0.4)

TASK, BOAT = "register_boat", {"boat_name": "Argo"}
QUICK = HealPolicy(gate_s=1.0, healed_gate_s=0.5)


@asynccontextmanager
async def sailing(stores, browser, site, rebuilt=()):
    """A session on its own context; `rebuilt` are (old, new) pairs of markup the site has changed."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    await in_page_library.install(context)

    async def rebuild(route):
        if route.request.method != "GET":
            await route.continue_()
            return
        answer = await route.fetch()
        body = await answer.text()
        for old, new in rebuilt:
            body = body.replace(old, new)
        await route.fulfill(response=answer, body=body)

    if rebuilt:
        await context.route("**/boats/new", rebuild)
    try:
        async with open_session(stores, context, "harbour", base_url=site.url, healing=QUICK) as session:
            session.told = []
            session.bus.listen(session.told.append)
            yield session
    finally:
        await context.close()


@pytest.fixture
async def stores(tmp_path):
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    async with open_stores(tmp_path) as opened:
        await load_knowledge(opened.documents, opened.graph, knowledge)
        yield opened


def heals(session):
    return [(each.element, each.outcome) for each in session.told if isinstance(each, HealTried)]


RENAMED = [
    (
        "<label for=name>Boat name</label><input id=name name=name>",
        "<label for=vessel>Name of the vessel</label><input id=vessel name=name>",
    )
]
SCUTTLE = [
    ("<button id=moor>Moor</button>", "<button id=moor>Moor</button>".replace("Moor", "Mooring cancelled"))
]


async def test_what_is_learned_in_one_session_heals_the_next_and_is_proposed_until_it_is_confirmed(
    stores, browser, site, tmp_path
):
    async with sailing(stores, browser, site) as session:
        assert (await TaskRunner(session).run_task(TASK, BOAT)).status is RunStatus.SUCCESS
        assert heals(session) == []
    known = await stores.proposals.fingerprints("harbour")
    assert known["boat_new", "name_field"].label == "Boat name"
    assert known["boat_new", "moor"].name == "Moor"

    for run in range(3):
        async with sailing(stores, browser, site, RENAMED) as session:
            assert (await TaskRunner(session).run_task(TASK, BOAT)).status is RunStatus.SUCCESS
            assert heals(session) == [("boat_new.name_field", "healed")]
        (proposal,) = await stores.proposals.proposals("harbour")
        assert (proposal.succeeded, proposal.failed) == (run + 1, 0)
        assert proposal.supports[-1].score is not None
    assert proposal.confirmed

    async with sailing(stores, browser, site, RENAMED) as session:  # now it is tried first
        assert (await TaskRunner(session).run_task(TASK, BOAT)).status is RunStatus.SUCCESS
        assert heals(session) == []


async def test_the_cache_finds_again_what_was_healed_and_forgets_what_was_wrong(
    stores, browser, site, tmp_path
):
    async with sailing(stores, browser, site) as session:
        await TaskRunner(session).run_task(TASK, BOAT)
    for expected in ([("boat_new.name_field", "healed")], []):
        async with sailing(stores, browser, site, RENAMED) as session:
            logbook = open_runs(tmp_path / "runs")
            async with record_run(logbook, session, kind="task", subject=TASK):
                assert (await TaskRunner(session).run_task(TASK, BOAT)).status is RunStatus.SUCCESS
            assert heals(session) == expected
    async with open_runs(tmp_path / "runs") as runs:
        kept = await runs.locator("harbour", f"{site.url}/boats/new", "boat_new.name_field")
        assert kept is not None
        assert css("#vessel").strategies[0].value.strip("#") in kept.selector.model_dump_json()
    (proposal,) = await stores.proposals.proposals("harbour")
    assert proposal.succeeded == 2  # what the cache found speaks for it, too


async def test_a_button_that_does_something_else_now_is_not_pressed(stores, browser, site):
    async with sailing(stores, browser, site) as session:
        await TaskRunner(session).run_task(TASK, BOAT)
    before = site.state()["created"]
    async with sailing(stores, browser, site, SCUTTLE) as session:
        result = await TaskRunner(session).run_task(TASK, BOAT)
    assert result.status is not RunStatus.SUCCESS
    assert "Mooring cancelled" in result.error
    assert site.state()["created"] == before


@pytest.mark.usefixtures("impatient")
async def test_a_heal_whose_step_is_contradicted_speaks_against_itself_and_is_not_kept(stores, browser, site):
    async with sailing(stores, browser, site) as session:
        await TaskRunner(session).run_task(TASK, BOAT)
    deaf = [*RENAMED, ("</form>", "</form><script>vessel.oninput=()=>{vessel.value='Nobody'};vessel.onchange=vessel.oninput</script>")]  # fmt: skip
    async with sailing(stores, browser, site, deaf) as session:
        assert (await TaskRunner(session).run_task(TASK, BOAT)).status is not RunStatus.SUCCESS
        assert ("boat_new.name_field", "healed") in heals(session)
        assert session.memory.healed(("boat_new", "name_field")) is None
    (proposal,) = await stores.proposals.proposals("harbour")
    assert (proposal.succeeded, proposal.failed) == (0, 1)


def knowing(session, *steps):
    """The desk's answer for a task of these steps, as the agent keeps it for a run."""
    data = {"type": "task", "task_id": "t", "name": "T", "steps": list(steps)}
    document = parse_document(data)
    session.knowledge._documents[document.kind, document.local_id] = document


TO_FORM = {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "boat_new", "method": "path"}}  # fmt: skip
NAMED = {"step_id": "name", "action": {"action_type": "fill", "target": "name_field", "value": "Argo"}}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("where", ["preconditions", "postconditions"])
async def test_css_in_a_condition_is_judged_on_the_stored_element_it_names_and_the_evidence_says_so(
    stores, browser, site, where
):
    async with sailing(stores, browser, site) as session:
        await TaskRunner(session).run_task(TASK, BOAT)
    visible = {"type": "element_visible", "element": "#name"}
    async with sailing(stores, browser, site, RENAMED) as session:
        knowing(session, TO_FORM, NAMED | {where: [visible]})
        result = await TaskRunner(session).run_task("t", {})
        assert result.complete, result.error
        (verdict,) = await session.judge([ElementVisible.model_validate(visible)])
    assert verdict.held
    assert "#name could not be evaluated as it is written; healed: found again by" in verdict.evidence
    told = [evidence for step in result.steps for evidence in step.evidence]
    assert where == "preconditions" or any("healed: found again by" in each for each in told)


@pytest.mark.usefixtures("impatient")
async def test_what_a_task_names_by_itself_is_found_again_in_a_later_session(stores, browser, site, tmp_path):
    named = {"step_id": "name", "action": {"action_type": "fill", "target": "#name", "value": "Argo"},
             "postconditions": [{"type": "field_has_value", "field_id": "#name", "value": "Argo"}]}  # fmt: skip
    for rebuilt, expected in (((), []), (RENAMED, ["healed"]), (RENAMED, [])):
        async with sailing(stores, browser, site, rebuilt) as session:
            knowing(session, TO_FORM, named)
            async with record_run(open_runs(tmp_path / "runs"), session, kind="task", subject="t"):
                result = await TaskRunner(session).run_task("t", {})
            assert result.status is RunStatus.SUCCESS, result.error
            assert [outcome for _, outcome in heals(session)] == expected
