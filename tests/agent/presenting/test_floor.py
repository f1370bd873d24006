"""Who has the floor: falling silent, waiting for words, and what happens at a safe point."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import Bus
from agent.presenting.floor import (
    FASTEST,
    SLOWEST,
    Detour,
    Detoured,
    Floor,
    Heard,
    PaceChanged,
    Patience,
    SpeechStopped,
)
from tests.support.visitors import NotingNarrator

SHORT = Patience(words_s=0.05, utterance_s=5.0)


class Listing:
    """A host that notes what was heard, and leads away when told to."""

    def __init__(self, detour: Detour | None = None) -> None:
        self.heard: list[str] = []
        self.detour = detour
        self.meanwhile = ""
        self.floor: Floor | None = None

    async def attend(self, heard: Heard) -> Detour | None:
        self.heard.append(heard.text)
        if self.meanwhile:
            assert self.floor is not None
            self.floor.hear(self.meanwhile)
            self.meanwhile = ""
        return self.detour


def _floor(host: Listing | None) -> tuple[Floor, NotingNarrator, list]:
    told: list = []
    bus = Bus()
    bus.listen(told.append)
    narrator = NotingNarrator()
    floor = Floor(narrator, lambda: 3.0, bus, host, patience=SHORT)
    if host is not None:
        host.floor = floor
    return floor, narrator, told


async def test_whoever_speaks_makes_the_presenter_fall_silent_and_is_attended_to():
    host = Listing()
    floor, narrator, told = _floor(host)
    floor.hear("one")
    floor.hear("two", by="button")
    await floor.safe_point()
    assert narrator.hushed
    assert host.heard == ["one", "two"]
    assert [e.by for e in told if isinstance(e, Heard)] == ["text", "button"]
    assert any(isinstance(e, SpeechStopped) for e in told)
    assert not floor.raised


async def test_nobody_is_waited_for_where_nobody_wants_anything():
    floor, _, _ = _floor(Listing())
    await asyncio.wait_for(floor.safe_point(), 0.02)


async def test_what_is_said_while_somebody_is_attended_to_is_next():
    host = Listing()
    host.meanwhile = "two"
    floor, _, _ = _floor(host)
    floor.hear("one")
    await floor.safe_point()
    assert host.heard == ["one", "two"]


async def test_a_detour_is_raised_and_what_was_said_after_it_waits():
    floor, _, _ = _floor(Listing(Detour("skip")))
    floor.hear("one")
    floor.hear("two")
    with pytest.raises(Detoured) as raised:
        await floor.safe_point()
    assert raised.value.detour.kind == "skip"
    assert floor.wanted
    assert floor.raised


async def test_words_are_waited_for_after_somebody_began_to_speak():
    host = Listing()
    floor, _, _ = _floor(host)
    floor.barge_in()
    waiting = asyncio.create_task(floor.safe_point())
    await asyncio.sleep(0)
    assert not waiting.done()
    floor.hear("words")
    await waiting
    assert host.heard == ["words"]


async def test_nobody_waits_for_ever_for_words_that_do_not_come():
    host = Listing()
    floor, narrator, _ = _floor(host)
    floor.barge_in()
    await asyncio.wait_for(floor.safe_point(), 2.0)
    assert host.heard == []
    assert narrator.hushed == 1
    assert not floor.raised


async def test_who_goes_on_speaking_is_let_speak():
    host = Listing()
    floor, _, _ = _floor(host)
    floor.barge_in(speaking=True)
    waiting = asyncio.create_task(floor.safe_point())
    done, _ = await asyncio.wait({waiting}, timeout=SHORT.words_s * 4)
    assert not done  # longer than words are waited for
    floor.fell_silent()
    floor.hear("a long sentence", by="voice")
    await waiting
    assert host.heard == ["a long sentence"]


async def test_who_spoke_and_said_nothing_is_not_waited_for_any_longer():
    floor, _, _ = _floor(Listing())
    floor.barge_in(speaking=True)
    waiting = asyncio.create_task(floor.safe_point())
    await asyncio.sleep(0)
    floor.fell_silent()
    await asyncio.wait_for(waiting, 2.0)


async def test_an_answer_is_not_cut_short_by_the_silence_that_was_asked_for_before():
    order: list[str] = []

    class Slow(NotingNarrator):
        async def hush(self) -> None:
            await asyncio.sleep(0.02)
            order.append("silent")

    class Speaks(Listing):
        async def attend(self, heard: Heard) -> None:
            order.append("answer")

    floor = Floor(Slow(), lambda: 0.0, Bus(), Speaks(), patience=SHORT)
    floor.hear("one")
    await floor.safe_point()
    assert order == ["silent", "answer"]


async def test_without_a_host_what_was_heard_waits_for_who_listens():
    floor, narrator, _ = _floor(None)
    floor.hear("one")
    await floor.safe_point()
    heard = await floor.listen(0.0)
    assert heard is not None
    assert heard.text == "one"
    assert await floor.listen(0.0) is None
    assert narrator.hushed


async def test_who_is_listened_to_may_take_their_time_once_they_began():
    floor, _, _ = _floor(None)
    listening = asyncio.create_task(floor.listen(0.02))
    await asyncio.sleep(0)
    floor.barge_in(speaking=True)
    done, _ = await asyncio.wait({listening}, timeout=0.2)
    assert not done
    floor.hear("at last")
    heard = await listening
    assert heard is not None
    assert heard.text == "at last"


async def test_the_pace_has_bounds_and_is_told():
    floor, _, told = _floor(None)
    assert floor.want_pace(0.8) == 0.8
    assert floor.want_pace(0.8) == 0.8
    assert floor.want_pace(0.01) == SLOWEST
    assert floor.want_pace(9) == FASTEST
    assert [e.pace for e in told if isinstance(e, PaceChanged)] == [0.8, SLOWEST, FASTEST]


async def test_who_waits_while_words_are_spoken_hears_of_an_interruption():
    floor, _, _ = _floor(None)
    waiting = asyncio.create_task(floor.interrupted())
    await asyncio.sleep(0)
    assert not waiting.done()
    floor.barge_in()
    await asyncio.wait_for(waiting, 1.0)
