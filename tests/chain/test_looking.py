"""A page is identified when it may have become another screen, and not again before."""

from __future__ import annotations

import asyncio

import pytest

from kb_schema.action_calls import ActionCall
from kb_schema.conditions import OnScreen


@pytest.fixture
async def asked(session, monkeypatch):
    """The addresses for which the desk was asked."""
    await session.page.goto(f"{session.base_url}/quay")
    await session.look_for(["quay"])
    addresses = []
    identify = session.knowledge.identify

    async def counted(snapshot, last_known=None):
        addresses.append(snapshot.url)
        return await identify(snapshot, last_known)

    monkeypatch.setattr(session.knowledge, "identify", counted)
    return addresses


async def test_a_page_that_did_not_change_is_not_identified_again(session, asked):
    on_quay = OnScreen(type="on_screen", screen_id="quay")
    for _ in range(3):
        assert (await session.see()).screen_id == "quay"
        (verdict,) = await session.judge([on_quay])
        assert verdict.held
        assert await session.elements()
    session.touched(screen=False)  # as typing does
    assert await session.elements()
    assert asked == []


async def test_a_page_that_changed_by_itself_is(session, asked):
    await session.page.evaluate("document.body.replaceChildren('under water')")
    (verdict,) = await session.judge([OnScreen(type="on_screen", screen_id="quay")])
    assert not verdict.held
    assert len(asked) == 1


async def test_so_is_one_that_something_was_done_to(session, asked):
    session.touched()
    assert await session.elements()
    assert len(asked) == 1


async def test_so_is_one_whose_address_changed_without_a_word(session, asked):
    await session.page.evaluate("history.pushState({}, '', '/elsewhere')")
    assert (await session.see()).screen_id != "quay"
    assert len(asked) == 1


async def test_how_long_it_is_there_counts_from_when_it_came(session, asked):
    came = session.here_s
    session.touched()
    await session.look()
    assert session.here_s > came  # looked at again, it is still the same page
    before = session.here_s
    await session.page.evaluate("history.pushState({}, '', '/elsewhere')")
    await session.look()
    assert session.here_s < before


async def test_a_document_that_two_want_at_once_is_asked_for_once(session):
    knowledge, before = session.knowledge, session.knowledge.calls
    first, second = await asyncio.gather(knowledge.screen("quay"), knowledge.screen("quay"))
    assert first is second
    assert knowledge.calls == before + 1


async def test_what_a_task_names_is_there_when_it_is_needed_and_what_there_is_not_does_no_harm(session):
    knowledge = session.knowledge
    task = await knowledge.task("register_boat")
    step = task.steps[0].model_copy(
        update={"action": ActionCall(action_type="navigate", target_screen="atlantis")}
    )
    await knowledge.fetch_ahead(task.model_copy(update={"steps": (step, *task.steps)}))
    calls = knowledge.calls
    for each in task.steps:
        await knowledge.action(each.action.action_type)
    assert knowledge.calls == calls


async def test_a_condition_has_the_time_it_says_and_no_more(session, asked):
    hasty = OnScreen(type="on_screen", screen_id="fog", timeout=0.1)
    async with asyncio.timeout(30):
        (verdict,) = await session.judge_until_held([hasty], timeout_s=120)
    assert not verdict.held


async def test_another_known_screen_that_stays_is_not_waited_for_to_the_end(session, asked):
    async with asyncio.timeout(30):
        found = await session.look_for(["fog"], timeout_s=120, elsewhere_s=0.1)
    assert found.screen_id == "quay"
