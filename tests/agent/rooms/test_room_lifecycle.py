"""Who comes, who goes, who is refused; and that nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from typing import Any

import pytest

from periplus.rooms.room_presentation import RoomStayOutcome
from tests.support.processes import descendants
from tests.support.room_house import open_house
from tests.support.room_visitor import entered

pytestmark = pytest.mark.timeout(300)


def left_over(environment) -> dict[str, Any]:
    """What a room might leave: contexts of the browser, tasks, threads, processes."""
    return {
        "contexts": len(environment.browser.contexts),
        "tasks": sorted(
            task.get_name() for task in asyncio.all_tasks() if not task.get_name().startswith("Task-")
        ),
        "jobs": [t.name for t in threading.enumerate() if t.name.startswith(("job_", "inference.vad"))],
        "processes": len(descendants(os.getpid())),
    }


async def visit(house) -> None:
    """Somebody comes, hears a word, and says goodbye."""
    ticket = house.ticket(speed=3)
    async with entered(ticket) as visitor:
        await visitor.until(lambda: any(each.text for each in visitor.said), "a word")
        await visitor.until(lambda: visitor.pictures, "a picture")
        await visitor.press("stop")
        assert (await visitor.event("ended"))["outcome"] == "told"
        stay = await house.stay_in(ticket)
        await visitor.until(lambda: not visitor.room.remote_participants, "the presenter's leaving")
    assert stay.outcome is RoomStayOutcome.TOLD, stay.reason
    assert stay.presentation.ended_by_visitor


async def rooms_one_after_the_other(livekit_server, environment, number: int) -> None:
    async with open_house(livekit_server, environment, max_rooms=1) as house:
        await visit(house)  # what the first one starts stays: a forked voice, a pool of threads
        before = await settled(house, environment)
        for _ in range(number - 1):
            await visit(house)
        after = await settled(house, environment, before)
    assert not more(after, before)
    assert after["contexts"] == 0


def more(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What there is more of; what other tests of this worker started may end meanwhile."""
    tasks = Counter(after["tasks"]) - Counter(before["tasks"])
    processes = max(0, after["processes"] - before["processes"])
    return {name: found for name, found in (("tasks", tasks), ("processes", processes)) if found}


async def settled(house, environment, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """What is left once the last job is reported to the server; 20 s are given for it to be no more than before."""
    for _ in range(200):
        found = left_over(environment)
        reported = not found["jobs"] and "agent_job_termination" not in found["tasks"]
        if house.presenters.busy == 0 and reported and not (before and more(found, before)):
            return found
        await asyncio.sleep(0.1)
    return left_over(environment)


@pytest.mark.always
async def test_two_rooms_one_after_the_other_leave_nothing_behind(livekit_server, environment):
    await rooms_one_after_the_other(livekit_server, environment, 2)


@pytest.mark.nightly
@pytest.mark.timeout(1200)
async def test_twenty_rooms_one_after_the_other_leave_nothing_behind(livekit_server, environment):
    await rooms_one_after_the_other(livekit_server, environment, 20)


async def test_who_comes_when_all_are_busy_is_told_so_and_the_others_go_on(livekit_server, environment):
    async with open_house(livekit_server, environment, max_rooms=1) as house:
        first, second = house.ticket(speed=2), house.ticket()
        async with entered(first) as visitor:
            await visitor.until(lambda: visitor.said, "the first words")
            async with entered(second) as turned_away:
                refused = await turned_away.event("refused")
                assert "busy" in refused["text"]
                assert "busy" in turned_away.room.metadata
                assert not turned_away.room.remote_participants
            await visitor.event("segment_started", segment_id="authentication")
            await visitor.press("stop")
            assert (await visitor.event("ended"))["outcome"] == "told"
        assert second.room not in house.stays


@pytest.mark.sampled(0.3)
async def test_five_at_once_are_told_or_refused_and_all_of_them_know(livekit_server, environment):
    async with open_house(livekit_server, environment, max_rooms=2) as house:
        outcomes = await asyncio.gather(*(one_of_five(house) for _ in range(5)))
    assert sorted(outcomes) == ["refused", "refused", "refused", "told", "told"]
    assert environment.browser.contexts == []


async def one_of_five(house) -> str:
    async with entered(house.ticket(speed=3)) as visitor:
        first = await visitor.until(
            lambda: visitor.find("refused") or visitor.find("segment_started"), "an answer"
        )
        if first["event"] == "refused":
            return "refused"
        await visitor.until(lambda: any(each.text for each in visitor.said), "a word")
        await visitor.event("segment_ended", segment_id="introduction", status="shown")
        await visitor.press("stop")
        return (await visitor.event("ended"))["outcome"]


@pytest.mark.sampled(0.5)
async def test_a_demo_is_over_when_every_visitor_has_left(livekit_server, environment):
    async with open_house(livekit_server, environment, grace_s=0.5) as house:
        ticket = house.ticket()
        async with entered(ticket) as visitor:
            await visitor.until(lambda: visitor.said, "the first words")
        stay = await house.stay_in(ticket)
    assert (stay.outcome, stay.reason) == (RoomStayOutcome.LEFT, "every visitor left")
    assert stay.presentation.interrupted is False or not stay.presentation.succeeded
    assert environment.browser.contexts == []


@pytest.mark.sampled(0.5)
async def test_who_comes_back_in_time_hears_how_it_stands_and_how_it_goes_on(livekit_server, environment):
    async with open_house(livekit_server, environment, grace_s=30) as house:
        ticket = house.ticket(speed=2)
        async with entered(ticket) as visitor:
            await visitor.event("segment_ended", segment_id="introduction", status="shown")
        async with entered(ticket) as again:
            state = await again.event("state")
            assert state["chapters"][0] == {
                "segment_id": "introduction",
                "title": "Hello",
                "status": "shown",
                "reason": None,
            }
            await again.until(lambda: any(each.text for each in again.said), "more words")
            await again.until(lambda: again.pictures, "a picture")
            await again.press("stop")
            assert (await again.event("ended"))["outcome"] == "told"
        assert (await house.stay_in(ticket)).outcome is RoomStayOutcome.TOLD


@pytest.mark.sampled(0.5)
async def test_a_flow_that_there_is_not_is_told_in_the_room(livekit_server, environment):
    async with open_house(livekit_server, environment) as house:
        ticket = house.ticket(flow="no_such_flow")
        async with entered(ticket) as visitor:
            told = await visitor.event("declined_room")
        assert "no_such_flow" in told["text"]
        assert (await house.stay_in(ticket)).outcome is RoomStayOutcome.FAILED
    assert environment.browser.contexts == []


@pytest.mark.sampled(0.5)
async def test_a_presenter_leaves_a_room_that_nobody_enters(livekit_server, environment):
    from livekit import api  # noqa: PLC0415 - an extra

    async with open_house(livekit_server, environment, arrival_s=0.5) as house:
        async with api.LiveKitAPI(*house.settings.reach) as server:
            await server.agent_dispatch.create_dispatch(
                api.CreateAgentDispatchRequest(agent_name=house.settings.agent, room="empty")
            )
            async with asyncio.timeout(60):
                while "empty" not in house.stays:
                    await house.changed()
        assert house.stays["empty"].outcome is RoomStayOutcome.NOBODY
    assert environment.browser.contexts == []


@pytest.mark.sampled(0.5)
async def test_a_worker_that_ends_leaves_its_rooms_in_good_order(livekit_server, environment):
    async with open_house(livekit_server, environment) as house:
        ticket = house.ticket()
        async with entered(ticket) as visitor:
            await visitor.until(lambda: visitor.said, "the first words")
            await house.presenters.close()
            await visitor.until(lambda: not visitor.room.remote_participants, "the presenter's leaving")
    assert house.stays[ticket.room].outcome is RoomStayOutcome.LEFT
    assert environment.browser.contexts == []


@pytest.mark.sampled(0.5)
async def test_a_page_that_is_gone_ends_this_room_and_no_other(livekit_server, environment):
    async with open_house(livekit_server, environment) as house:
        doomed, other = house.ticket(speed=2), house.ticket(speed=2)
        async with entered(doomed) as first, entered(other) as second:
            show = await house.show_in(doomed)
            await first.until(lambda: first.said, "the first words")
            await second.until(lambda: second.said, "the first words")
            await show.session.page.context.close()
            told = await first.event("declined_room")
            assert "right now" in told["text"]
            await second.event("segment_started", segment_id="authentication")
            await second.press("stop")
            assert (await second.event("ended"))["outcome"] == "told"
        assert (await house.stay_in(doomed)).outcome is RoomStayOutcome.FAILED
