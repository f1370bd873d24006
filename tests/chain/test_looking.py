"""A page is identified when it may have become another screen, and not again before."""

from __future__ import annotations

import asyncio

import pytest

from agent import session as agent_session
from agent.page import in_page_library
from agent.run_records.action_reports import report_action
from kb_schema.action_calls import ActionCall
from kb_schema.conditions import ElementHidden, ElementVisible, OnScreen
from kb_schema.selectors import css


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


# -- what the page was just asked ------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch):
    """The functions of the page's library that were called."""
    names = []
    call = in_page_library.call

    async def counted(page, name, *args, **rest):
        names.append(name)
        return await call(page, name, *args, **rest)

    monkeypatch.setattr(in_page_library, "call", counted)
    return names


HEADING = ElementVisible(type="element_visible", element=css("h1"))
BODY = ElementVisible(type="element_visible", element=css("body"))


async def test_what_the_page_just_answered_is_not_asked_again_where_recent_is_enough(
    session, asked, calls, monkeypatch
):
    monkeypatch.setattr(agent_session, "RECENT_S", 60.0)
    await session.judge([HEADING], ahead=([BODY], {}))
    assert all(verdict.held for verdict in await session.judge([HEADING, BODY], recent=True))
    assert calls == ["answer"]
    await session.judge([HEADING])
    assert calls == ["answer", "answer"]
    await session.judge([BODY], recent=True)  # the second look did not ask for it
    assert calls == ["answer"] * 3


async def test_what_it_answered_before_something_was_done_is_not_recent(session, asked, monkeypatch):
    monkeypatch.setattr(agent_session, "RECENT_S", 60.0)
    await session.judge([HEADING])
    await session.page.evaluate("document.querySelector('h1').remove()")
    session.touched(screen=False)
    (verdict,) = await session.judge([HEADING], recent=True)
    assert not verdict.held


async def test_nor_is_it_while_an_action_is_under_way(session, asked, monkeypatch):
    monkeypatch.setattr(agent_session, "RECENT_S", 60.0)
    await session.judge([HEADING])
    call = ActionCall(action_type="click", target="h1")
    async with report_action(session, "click", call, None, secret=False):
        await session.page.evaluate("document.querySelector('h1').remove()")
        (verdict,) = await session.judge([HEADING], recent=True)
    assert not verdict.held


async def test_nor_after_a_while_nor_of_another_address(session, asked, monkeypatch):
    monkeypatch.setattr(agent_session, "RECENT_S", 0.0)
    await session.judge([HEADING])
    await session.page.evaluate("document.querySelector('h1').remove()")
    (late,) = await session.judge([HEADING], recent=True)
    assert not late.held
    monkeypatch.setattr(agent_session, "RECENT_S", 60.0)
    await session.page.evaluate("history.pushState({}, '', '/elsewhere')")
    await session.page.evaluate("document.body.append(document.createElement('h1'))")
    await session.page.evaluate("document.querySelector('h1').textContent = 'Elsewhere'")
    (there,) = await session.judge([HEADING], recent=True)
    assert there.held


async def test_a_wait_asks_anew_each_time(session, asked, monkeypatch):
    monkeypatch.setattr(agent_session, "RECENT_S", 60.0)
    gone = ElementHidden(type="element_hidden", element=css("h1"))
    await session.judge([gone])
    await session.page.evaluate("setTimeout(() => document.querySelector('h1').remove(), 200)")
    (verdict,) = await session.judge_until_held([gone], timeout_s=20, recent=True)
    assert verdict.held


async def test_a_page_that_changed_is_identified_and_judged_in_one_round_trip(session, asked, calls):
    none = ElementHidden(type="element_hidden", element="boats")
    session.touched(screen=False)
    await session.page.evaluate("document.body.append('A gull')")
    (verdict,) = await session.judge([none])
    assert verdict.held, verdict.evidence
    assert (calls, len(asked)) == (["answer"], 1)


async def test_elements_of_another_screen_are_looked_up_once_it_is_known(session, asked, calls):
    """`name_field` is an element of the form alone."""
    field = ElementVisible(type="element_visible", element="name_field")
    await session.page.goto(f"{session.base_url}/boats/new")
    session.touched()
    (verdict,) = await session.judge([field])
    assert verdict.held, verdict.evidence
    assert (calls, len(asked)) == (["answer", "answer"], 1)
