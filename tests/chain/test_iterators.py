"""Loops of the seed on the live site: nothing, one, many, more than the bound; what resists, what comes meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import ActionDone, StepEnded
from agent.execution import step_runner
from agent.execution.loops import iterators
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.run_records import StepStatus
from kb_store.store_factory import open_runs
from periplus.run_store_adapters import RunStoreKeeping
from tests.support import small_sites
from tests.support.live_spadeworks import visiting
from tests.support.lives import another_life, kept_state

pytestmark = pytest.mark.sampled(0.25)

TASK = "delete_all_emails"


async def _inbox(live, session, count):
    """The visitor seen last has that many messages now; their ids."""
    visitor = live.state()["visitor"]
    live.ask(f"seed-emails?visitor={visitor}", count=count)
    await session.page.reload()
    return [email["id"] for email in live.state()["emails"]]


async def _changed(session, **iterator):
    """The loop told otherwise than in the seed."""
    task = await session.knowledge.task(TASK)
    spec = task.iterator_spec.model_copy(update=iterator)
    told = task.model_copy(
        update={"iterator_spec": type(spec).model_validate(spec.to_json() | {"type": spec.type})}
    )
    session.knowledge._documents["task", TASK] = told


def _ids(result):
    return [kept["outputs"]["message_id"] for kept in result.outputs.get("iterate_delete_items", ())]


async def test_an_inbox_of_one_is_emptied_and_one_of_none_is_left_alone(live, stores, browser):
    async with visiting(live, stores, browser) as session:
        (only,) = await _inbox(live, session, 1)
        first = await TaskRunner(session).run_task(TASK)
        again = await TaskRunner(session).run_task(TASK)
        counts = live.state()["counts"]
    assert first.complete is again.complete is True, (first.error, again.error)
    assert first.outputs["iterate_delete_items"] == [
        {"item": first.outputs["iterate_delete_items"][0]["item"], "status": "done",
         "outputs": {"message_id": only}}
    ]  # fmt: skip
    assert first.outputs["inbox_note"] == "Your inbox is empty"
    assert "iterate_delete_items" not in again.outputs
    assert [s.status for s in again.steps] == [StepStatus.DONE, StepStatus.SKIPPED]
    assert counts["emails_deleted"] == 1


async def test_messages_that_come_meanwhile_are_deleted_too_and_the_bound_holds_all_the_same(
    live, stores, browser
):
    async with visiting(live, stores, browser) as session:
        await _inbox(live, session, 2)
        live.ask("faults", kind="new_email", times=2)
        result = await TaskRunner(session).run_task(TASK)
        counts = live.state()["counts"]
        assert result.complete, result.error
        assert counts["emails_received"] == 2
        assert counts["emails_deleted"] == 4
        assert len(set(_ids(result))) == 4
        await _inbox(live, session, 5)
        await _changed(session, max_iterations=3)
        bounded = await TaskRunner(session).run_task(TASK)
        left = live.state()["emails"]
    assert not bounded.succeeded
    assert "stopped after 3 items with 2 left (max_iterations)" in (bounded.error or "")
    assert len(_ids(bounded)) == 3
    assert len(left) == 2


async def test_a_message_that_cannot_be_deleted_stops_the_loop_or_is_passed_over_as_the_knowledge_says(
    live, stores, browser
):
    async with visiting(live, stores, browser) as session:
        ids = await _inbox(live, session, 3)
        live.ask("faults", kind="undeletable_email", email_id=ids[1])
        stopped = await TaskRunner(session).run_task(TASK)
        assert not stopped.succeeded
        assert "could not be deleted" in (stopped.error or "")
        assert _ids(stopped) == ids[:1]
        assert [email["id"] for email in live.state()["emails"]] == ids[1:]
        await _changed(session, continue_on_error=True)
        passed_over = await TaskRunner(session).run_task(TASK)
        left = [email["id"] for email in live.state()["emails"]]
    assert not passed_over.succeeded
    assert "1 of 2 items failed" in (passed_over.error or "")
    assert [kept["status"] for kept in passed_over.outputs["iterate_delete_items"]] == ["failed", "done"]
    assert left == [ids[1]]


@pytest.mark.nightly
@pytest.mark.parametrize("count", [50, 60])
async def test_a_full_inbox_is_emptied_up_to_the_bound(count, live, stores, browser):
    async with visiting(live, stores, browser) as session:
        ids = await _inbox(live, session, count)
        result = await TaskRunner(session).run_task(TASK)
        left = live.state()["emails"]
    assert result.complete is (count <= 50), result.error
    assert _ids(result) == ids[:50]
    assert len(left) == max(0, count - 50)


# -- single actions, on the harbour ---------------------------------------------------------------


def _knows_to_cast_off(session, **iterator):
    told = {
        "type": "task", "task_id": "clear",
        "iterator_spec": {
            "type": "collection_processing", "collection_selector": "tr.boat",
            "item_action": {"action": {"action_type": "click", "target": "tr.boat:first-child button"}},
            "termination_condition": {"type": "empty_collection", "timeout": 1.0}, **iterator,
        },
        "steps": [
            {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "quay"}},
            {"step_id": "all", "action": {"action_type": "execute_iterator"}},
        ],
    }  # fmt: skip
    session.knowledge._documents["task", "clear"] = parse_document(told)


@pytest.mark.parametrize("commit", [True, False])
async def test_an_action_of_a_loop_whose_answer_was_lost_is_done_once(commit, session, site):
    site.moor("A", "B", "C")
    removed = site.state()["removed"]
    lost = 0

    async def lossy(route):
        nonlocal lost
        lost += 1
        if lost != 2:
            return await route.continue_()
        if commit:
            await route.fetch(max_redirects=0)
        return await route.abort("connectionreset")

    await session.page.context.route("**/remove", lossy)
    _knows_to_cast_off(session)
    result = await TaskRunner(session).run_task("clear")
    assert result.complete, result.error
    assert site.state()["removed"] == removed + 3
    assert [kept["item"].split()[0] for kept in result.outputs["all_items"]] == ["A", "B", "C"]


async def test_an_action_of_a_loop_that_was_cut_off_is_not_done_again(session, site, browser, tmp_path):
    site.moor("A", "B", "C")
    removed = site.state()["removed"]
    _knows_to_cast_off(session)
    async with open_runs(tmp_path / "runs") as runs:
        kept, seen = RunStoreKeeping(runs), []
        running = asyncio.create_task(TaskRunner(session, keeping=kept).run_task("clear"))

        def cut_off(event):
            if isinstance(event, ActionDone) and event.action_type == "click":
                seen.append(event)
                if len(seen) == 2:
                    running.cancel()

        session.bus.listen(cut_off)
        await asyncio.wait({running})
        assert running.cancelled()
        async with another_life(session, browser) as again:
            result = await TaskRunner(again, keeping=kept, resume=await kept_state(kept, session)).run_task(
                "clear"
            )
    assert result.complete, result.error
    assert site.state()["removed"] == removed + 3
    assert len(result.outputs["all_items"]) == 3


async def test_an_item_is_tried_as_often_as_the_knowledge_says_and_a_next_page_that_is_the_same_ends_the_loop(
    session, site, monkeypatch
):
    monkeypatch.setattr(step_runner, "CONFIRM_S", 0.2)
    monkeypatch.setattr(iterators, "PROGRESS_S", 0.5)
    site.moor("A")
    session.resilience = session.resilience.model_copy(update={"enable_replanning": False})
    asks = {"type": "task", "task_id": "ask", "steps": [
        {"step_id": "ask", "action": {"action_type": "no_op"}, "required": True,
         "postconditions": [{"type": "dom_contains", "value": "not to be seen", "timeout": 0.1}],
         "error_handling": [{"condition": "postcondition", "recovery": "abort"}]}]}  # fmt: skip
    session.knowledge._documents["task", "ask"] = parse_document(asks)
    rules = {"on_error": "retry", "max_consecutive_errors": 3}
    _knows_to_cast_off(session, item_action={"task_id": "ask"}, error_handling=rules)
    begun = []
    session.bus.listen(lambda e: begun.append(e.step_id) if isinstance(e, StepEnded) else None)
    result = await TaskRunner(session).run_task("clear")
    assert not result.succeeded
    assert "item 1: " in (result.error or "")
    assert begun.count("ask") == 3

    same = {"type": "pagination", "item_action": {"action": "no_op"},
            "next_page": {"action_type": "click", "target": "#home"}}  # fmt: skip
    _knows_to_cast_off(session)
    document = session.knowledge._documents["task", "clear"].to_json() | {
        "type": "task",
        "iterator_spec": same,
    }
    session.knowledge._documents["task", "clear"] = parse_document(document)
    result = await TaskRunner(session).run_task("clear")
    assert "no progress" in (result.error or "")
    assert result.outputs["all_items"] == [{"item": 0, "status": "done"}]


def _page_of_names(asked: small_sites.Asked) -> small_sites.Answered:
    """Three pages; the last has no link to a next one."""
    number = int(asked.path.removeprefix("/") or 1)
    following = f"<a id=next href='/{number + 1}'>Next</a>" if number < 3 else ""
    return small_sites.Answered(f"<title>Names</title><h1>Names {number}</h1>{following}")


async def test_a_loop_over_pages_goes_to_the_last_one_and_ends(browser, tmp_path):
    names = {"type": "screen", "screen_id": "names", "name": "Names", "url": "/", "url_patterns": ["^/\\d*$"],
             "state_signature": {"required_indicators": [{"type": "title_contains", "value": "Names"}]}}  # fmt: skip
    look = {"type": "task", "task_id": "look", "steps": [{"step_id": "look", "action": {"action_type": "no_op"}}],
            "io_spec": {"outputs": [{"name": "heading", "extraction": {"method": "dom_extraction", "selector": "h1"}}]}}  # fmt: skip
    over = {"type": "task", "task_id": "over", "steps": [
                {"step_id": "go", "action": {"action_type": "navigate", "target_screen": "names"}},
                {"step_id": "all", "action": {"action_type": "execute_iterator"}}],
            "iterator_spec": {"type": "pagination", "item_action": {"task_id": "look"},
                              "next_page": {"action_type": "click", "target": "#next"}}}  # fmt: skip
    documents = [parse_document({"website_id": small_sites.WEBSITE, **each}) for each in (names, look, over)]
    with small_sites.running_site(_page_of_names) as site:
        async with small_sites.visiting(browser, site, tmp_path, *documents) as session:
            result = await TaskRunner(session).run_task("over")
    assert result.complete, result.error
    assert [each["outputs"]["heading"] for each in result.outputs["all_items"]] == [
        "Names 1",
        "Names 2",
        "Names 3",
    ]
