"""What a page is told: in order, once, and again from where it was lost."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from hypothesis import given
from hypothesis import strategies as st

from periplus.service.visits.visit_feed import MOST_WAITING, RESYNC, FeedItem, VisitFeed


async def _kinds(feed: VisitFeed, after: int, count: int) -> list[str]:
    found: list[str] = []
    async with aclosing(feed.follow(after)) as items:
        async for item in items:
            assert item is not None
            found.append(item.kind)
            if len(found) == count:
                break
    return found


async def test_who_comes_back_hears_what_was_told_meanwhile_and_then_what_comes():
    feed = VisitFeed()
    for kind in ("one", "two", "three"):
        feed.add(kind)
    waiting = asyncio.create_task(_kinds(feed, 1, 3))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    feed.add("four")
    assert await waiting == ["two", "three", "four"]
    assert feed.followers == 0


async def test_what_is_passing_is_told_to_who_is_there_and_not_again():
    feed = VisitFeed()
    there = asyncio.create_task(_kinds(feed, 0, 2))
    await asyncio.sleep(0)
    feed.add("speech", passing=True)
    feed.add("line")
    assert await there == ["speech", "line"]
    assert await _kinds(feed, 0, 1) == ["line"]


async def test_who_missed_what_is_not_kept_or_comes_from_another_life_is_sent_for_the_whole():
    feed = VisitFeed(kept=2)
    for kind in ("one", "two", "three"):
        feed.add(kind)
    assert await _kinds(feed, 0, 1) == [RESYNC]
    assert await _kinds(feed, 1, 2) == ["two", "three"]
    assert await _kinds(feed, 99, 1) == [RESYNC]


async def test_a_follower_who_takes_nothing_is_let_go_and_the_others_go_on():
    feed = VisitFeed(kept=2 * MOST_WAITING)
    stuck = feed.follow(0)
    feed.add("first")
    await anext(stuck)
    for number in range(MOST_WAITING + 2):
        feed.add(str(number))
    assert feed.followers == 0
    rest = [item async for item in stuck]
    assert [item.kind for item in rest if item] == [str(number) for number in range(MOST_WAITING)]
    again = await _kinds(feed, rest[-1].number if rest[-1] else 0, 2)
    assert again == [str(MOST_WAITING), str(MOST_WAITING + 1)]


async def test_a_quiet_feed_gives_a_sign_of_life_and_a_closed_one_lets_go():
    feed = VisitFeed()
    following = feed.follow(0, quiet_s=0.01)
    assert await anext(following) is None
    feed.add("last")
    feed.close()
    assert [item async for item in following] == [FeedItem(1, "last")]
    assert [item async for item in feed.follow(0)] == [FeedItem(1, "last")]


@given(kept=st.integers(1, 8), told=st.lists(st.booleans(), max_size=20), after=st.integers(0, 25))
def test_nobody_ever_misses_anything_unknowingly(kept: int, told: list[bool], after: int):
    feed = VisitFeed(kept=kept)
    lasting = []
    for passing in told:
        feed.add("it", passing=passing)
        if not passing:
            lasting.append(feed.number)
    missed = feed._missed(after)
    if [item.kind for item in missed] != [RESYNC]:
        assert [item.number for item in missed] == [number for number in lasting if number > after]
