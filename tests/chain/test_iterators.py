"""Loops of the seed on the live site: nothing, one, many, more than the bound; what resists, what comes meanwhile."""

from __future__ import annotations

import pytest

from agent.engine.engine import Engine
from kb_schema.runs import RunStatus, StepStatus
from tests.support.live_spadeworks import visiting

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
        first = await Engine(session).run_task(TASK)
        again = await Engine(session).run_task(TASK)
        counts = live.state()["counts"]
    assert first.status is again.status is RunStatus.SUCCESS, (first.error, again.error)
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
        result = await Engine(session).run_task(TASK)
        counts = live.state()["counts"]
        assert result.status is RunStatus.SUCCESS, result.error
        assert counts["emails_received"] == 2
        assert counts["emails_deleted"] == 4
        assert len(set(_ids(result))) == 4
        await _inbox(live, session, 5)
        await _changed(session, max_iterations=3)
        bounded = await Engine(session).run_task(TASK)
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
        stopped = await Engine(session).run_task(TASK)
        assert not stopped.succeeded
        assert "could not be deleted" in (stopped.error or "")
        assert _ids(stopped) == ids[:1]
        assert [email["id"] for email in live.state()["emails"]] == ids[1:]
        await _changed(session, continue_on_error=True)
        passed_over = await Engine(session).run_task(TASK)
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
        result = await Engine(session).run_task(TASK)
        left = live.state()["emails"]
    assert result.succeeded is (count <= 50), result.error
    assert _ids(result) == ids[:50]
    assert len(left) == max(0, count - 50)
