"""What may not be repeated is done once: whether answers are lost, or the run itself."""

from __future__ import annotations

import asyncio

import pytest

from agent.execution.task_runner import TaskRunner
from agent.execution.workflow_runner import run_workflow
from kb_schema import parse_document
from kb_schema.read_backs import ReadBackStatus
from kb_schema.run_records import EvidenceLevel, RunStatus
from kb_schema.workflows import Workflow
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping
from tests.support.lives import another_life, cut_off, kept_state
from tests.support.rotation import dice, rotating

pytestmark = pytest.mark.sampled(0.5)

ROWS = {
    "method": "table_extraction",
    "selector": "tr.boat",
    "columns": {"name": "td.name", "length": "td.length", "place": ":scope@data-boat"},
}
READ_BACK = {
    "screen_id": "quay",
    "extraction": ROWS,
    "expect": "one_more",
    "where": {"name": "{boat_name}"},
    "gives": {"moored": "name"},
}


@pytest.fixture
async def kept(tmp_path):
    async with open_runs(tmp_path / "runs") as runs:
        yield RunStoreKeeping(runs)


def _knows(session, **changes):
    """The harbour's task, told differently."""
    task = {
        "type": "task",
        "task_id": "register_boat",
        "io_spec": {
            "inputs": [{"name": "boat_name", "source": "session_context"}],
            "outputs": [
                {
                    "name": "moored",
                    "extraction": {"method": "dom_extraction", "selector": "tr.boat:last-child td.name"},
                }
            ],
        },
        "steps": [
            {"step_id": "open_form", "action": {"action_type": "navigate", "target_screen": "boat_new"}},
            {"step_id": "fill_name", "action": {"action_type": "fill", "target": "name_field", "value": "{boat_name}"}},
            {
                "step_id": "moor",
                "action": {"action_type": "click", "target": "moor"},
                "postconditions": [{"type": "navigates_to", "screen_id": "quay"}],
            },
        ],
        "success_criteria": [{"type": "shows_success_message", "text_contains": "registered"}],
        **changes,
    }  # fmt: skip
    document = parse_document(task)
    session.knowledge._documents[document.kind, document.local_id] = document


async def _lose(session, times=1, *, commit=True):
    """The answers to the first registrations: lost, after they were carried out or before."""
    left = times

    async def lossy(route):
        nonlocal left
        if route.request.method != "POST" or left == 0:
            return await route.continue_()
        left -= 1
        if commit:
            await route.fetch(max_redirects=0)
        return await route.abort("connectionreset")

    await session.page.context.route("**/boats/new", lossy)


async def test_an_answer_that_was_lost_is_made_good_by_reading_back(session, site):
    _knows(session, read_back=READ_BACK)
    await _lose(session)
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Once"})
    assert result.complete, result.error
    assert result.evidence is EvidenceLevel.VERIFIED
    assert result.outputs == {"moored": "Once"}
    assert [boat["name"] for boat in site.state()["boats"]] == ["Once"]


@pytest.mark.parametrize("times", [1, 3])
async def test_what_was_lost_before_it_was_carried_out_is_done_again(session, site, times):
    _knows(session, read_back=READ_BACK)
    await _lose(session, times, commit=False)
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Once"})
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Once"]


async def test_a_site_that_never_takes_it_is_left_alone_after_three_times(session, site):
    _knows(session, read_back=READ_BACK)
    await _lose(session, 100, commit=False)
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Never"})
    assert result.status is RunStatus.FAILURE
    assert "did not happen" in (result.error or "")
    assert len([step for step in result.steps if step.step_id == "moor"]) == 4
    assert site.state()["boats"] == []


@pytest.mark.parametrize("commit", [True, False])
async def test_one_of_that_name_was_there_before_and_does_not_count(session, site, commit):
    site.moor("Twin", "Other")
    _knows(session, read_back=READ_BACK)
    await _lose(session, commit=commit)
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Twin"})
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Twin", "Other", "Twin"]


async def test_a_sign_that_held_before_says_nothing_afterwards(session, site):
    site.moor("Twin")
    sign = [
        {"type": "on_screen", "screen_id": "quay"},
        {"type": "dom_contains", "value": "{boat_name}", "selector": "td.name"},
    ]
    _knows(session, already_done_when=sign)
    await _lose(session)
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Twin"})
    assert result.status is RunStatus.NEEDS_PERSON
    assert "held before" in (result.error or "")
    assert len(site.state()["boats"]) == 2


async def test_a_task_that_names_nothing_to_look_at_needs_a_person_and_acts_on_what_was_seen(
    session, site, kept, browser
):
    _knows(session)
    await _lose(session)
    result = await TaskRunner(session, keeping=kept).run_task("register_boat", {"boat_name": "Perhaps"})
    assert result.status is RunStatus.NEEDS_PERSON
    assert "--it-happened" in (result.hint or "")
    assert len(site.state()["boats"]) == 1
    async with another_life(session, browser) as again:
        state = await kept_state(kept, session)
        engine = TaskRunner(again, keeping=kept, resume=state, decided=ReadBackStatus.HAPPENED)
        assert (await engine.run_task("register_boat")).status is RunStatus.SUCCESS
    assert len(site.state()["boats"]) == 1


async def test_a_page_that_says_done_without_having_done_it_is_contradicted(session, site):
    _knows(session, read_back={**READ_BACK, "where": {"name": "{boat_name}!"}})
    result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Boast"})
    assert result.status is RunStatus.FAILURE
    assert result.evidence is EvidenceLevel.CONTRADICTED


@pytest.mark.parametrize("at", rotating(__name__, range(1, 7), 3))
async def test_a_run_cut_off_anywhere_is_carried_on_without_repeating_anything(
    session, site, kept, browser, at
):
    _knows(session, read_back=READ_BACK)
    assert await cut_off(session, kept, "register_boat", {"boat_name": "Tern"}, at)
    async with another_life(session, browser) as again:
        engine = TaskRunner(again, keeping=kept, resume=await kept_state(kept, session))
        result = await engine.run_task("register_boat")
    assert result.complete, result.error
    assert result.outputs == {"moored": "Tern"}
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]
    assert len({step.step_id for step in result.steps}) == 3


async def test_a_run_whose_end_was_not_noted_is_over_all_the_same(session, site, kept, browser):
    _knows(session, read_back=READ_BACK)
    first = await TaskRunner(session, keeping=kept).run_task("register_boat", {"boat_name": "Tern"})
    async with another_life(session, browser) as again:
        engine = TaskRunner(again, keeping=kept, resume=await kept_state(kept, session))
        result = await engine.run_task("register_boat")
    assert (result.status, result.outputs) == (RunStatus.SUCCESS, first.outputs)
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_where_what_the_page_said_at_the_end_is_gone_the_site_is_asked(session, site, kept, browser):
    _knows(session, read_back=READ_BACK)
    await TaskRunner(session, keeping=kept).run_task("register_boat", {"boat_name": "Tern"})
    state = await kept_state(kept, session)
    frame = state.frames["register_boat"]
    frame.over = False  # cut off after its last step, and `?new=1` is what shows "Boat registered"
    for done in frame.done.values():
        done.url = done.url.partition("?")[0]
    async with another_life(session, browser) as again:
        result = await TaskRunner(again, keeping=kept, resume=state).run_task("register_boat")
    assert result.complete, result.error
    assert result.evidence is EvidenceLevel.VERIFIED
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


async def test_a_run_that_begins_with_a_way_needs_no_page_to_come_back_to(session, site, kept, browser):
    """As after signing in: the login page it began on shows something else by then."""
    _knows(session, read_back=READ_BACK)
    assert await cut_off(session, kept, "register_boat", {"boat_name": "Tern"}, 1)
    state = await kept_state(kept, session)
    frame = state.frames["register_boat"]
    frame.url, frame.screen_id = f"{site.url}/quay", "boat_new"
    async with another_life(session, browser) as again:
        result = await TaskRunner(again, keeping=kept, resume=state).run_task("register_boat")
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["Tern"]


def _knows_a_fleet(session):
    fleet = {
        "type": "task", "task_id": "fleet",
        "io_spec": {"inputs": [{"name": "names", "type": "array"}]},
        "iterator_spec": {
            "type": "list_processing", "items": "{names}", "item_name": "name",
            "item_action": {"task_id": "register_boat", "inputs": {"boat_name": "{name}"}},
        },
        "steps": [{"step_id": "all", "action": {"action_type": "execute_iterator"}}],
    }  # fmt: skip
    document = parse_document(fleet)
    session.knowledge._documents[document.kind, document.local_id] = document


@pytest.mark.parametrize("at", [dice(__name__).randrange(2, 20), 20])
async def test_a_loop_cut_off_goes_on_with_the_item_it_was_at(session, site, kept, browser, at):
    """20: after its last item, before the loop is noted as done."""
    names = ["A", "B", "C"]
    _knows(session, read_back=READ_BACK)
    _knows_a_fleet(session)
    assert await cut_off(session, kept, "fleet", {"names": names}, at)
    async with another_life(session, browser) as again:
        result = await TaskRunner(again, keeping=kept, resume=await kept_state(kept, session)).run_task(
            "fleet"
        )
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == names


@pytest.mark.usefixtures("impatient")
async def test_what_happened_before_a_task_failed_is_not_done_again_when_it_is_carried_on(
    session, site, kept, browser
):
    _knows(session, success_criteria=[{"type": "dom_contains", "value": "not to be seen"}])
    _knows_a_fleet(session)
    result = await TaskRunner(session, keeping=kept).run_task("fleet", {"names": ["A", "B"]})
    assert result.status is RunStatus.FAILURE
    assert [boat["name"] for boat in site.state()["boats"]] == ["A"]
    _knows(session)
    async with another_life(session, browser) as again:
        result = await TaskRunner(again, keeping=kept, resume=await kept_state(kept, session)).run_task(
            "fleet"
        )
    assert result.complete, result.error
    assert [boat["name"] for boat in site.state()["boats"]] == ["A", "B"]


async def test_what_a_page_had_time_to_show_is_not_waited_for_before_acting(session, site, monkeypatch):
    """Nor is anything missed: what was there already is the baseline."""
    monkeypatch.setattr("agent.execution.effects.effect_read_backs.BEFORE_S", 60.0)
    monkeypatch.setattr(type(session), "here_s", property(lambda _: 100.0))
    _knows(session, already_done_when=[{"type": "dom_contains", "value": "Tern is moored"}])
    async with asyncio.timeout(45):
        result = await TaskRunner(session).run_task("register_boat", {"boat_name": "Tern"})
    assert result.complete, result.error


@pytest.mark.parametrize("names", [["Perhaps"], ["Perhaps", "Later"]])
async def test_what_a_person_says_happened_is_no_failure_because_its_message_has_gone(
    session, site, kept, browser, names
):
    _knows(session)
    workflow = parse_document(
        {
            "type": "workflow", "workflow_id": "mooring", "name": "Mooring",
            "nodes": [{"type": "task", "node_id": name.casefold(), "task_id": "register_boat",
                       "inputs": {"boat_name": {"source": "hardcoded", "value": name}}} for name in names],
            "success_criteria": [{"type": "dom_contains", "value": "The boat has been moored."}],
        }
    )  # fmt: skip
    assert isinstance(workflow, Workflow)
    await _lose(session)
    result = await run_workflow(TaskRunner(session, keeping=kept), workflow, {})
    assert result.status is RunStatus.NEEDS_PERSON
    async with another_life(session, browser) as again:
        state = await kept_state(kept, session)
        engine = TaskRunner(again, keeping=kept, resume=state, decided=ReadBackStatus.HAPPENED)
        over = await run_workflow(engine, workflow, {})
    assert len(site.state()["boats"]) == len(names)
    if len(names) > 1:  # what was pressed since says nothing of itself
        assert over.status is RunStatus.FAILURE
        assert "The boat has been moored." in (over.error or "")
        return
    assert over.complete, over.error
    assert over.evidence is EvidenceLevel.UNVERIFIED
