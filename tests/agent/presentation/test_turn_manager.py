"""Who has the floor: falling silent, waiting for words, and what happens at a safe point."""

from __future__ import annotations

import asyncio

import pytest

from agent.events import EventBus
from agent.presentation.turn_manager import (
    FASTEST,
    SLOWEST,
    Detour,
    DetourRequested,
    Heard,
    PaceChanged,
    SpeechStopped,
    TurnManager,
    TurnTimeouts,
)
from tests.support.visitors import NotingNarrator

SHORT = TurnTimeouts(words_s=0.05, utterance_s=5.0)


class Listing:
    """A host that notes what was heard, and leads away when told to."""

    def __init__(self, detour: Detour | None = None) -> None:
        self.heard: list[str] = []
        self.detour = detour
        self.meanwhile = ""
        self.turns: TurnManager | None = None

    async def attend(self, heard: Heard) -> Detour | None:
        self.heard.append(heard.text)
        if self.meanwhile:
            assert self.turns is not None
            self.turns.hear(self.meanwhile)
            self.meanwhile = ""
        return self.detour


def _turns(host: Listing | None) -> tuple[TurnManager, NotingNarrator, list]:
    told: list = []
    bus = EventBus()
    bus.listen(told.append)
    narrator = NotingNarrator()
    turns = TurnManager(narrator, lambda: 3.0, bus, host, patience=SHORT)
    if host is not None:
        host.turns = turns
    return turns, narrator, told


async def test_whoever_speaks_makes_the_presenter_fall_silent_and_is_attended_to():
    host = Listing()
    turns, narrator, told = _turns(host)
    turns.hear("one")
    turns.hear("two", by="button")
    await turns.safe_point()
    assert narrator.hushed
    assert host.heard == ["one", "two"]
    assert [e.by for e in told if isinstance(e, Heard)] == ["text", "button"]
    assert any(isinstance(e, SpeechStopped) for e in told)
    assert not turns.pending


async def test_nobody_is_waited_for_where_nobody_wants_anything():
    turns, _, _ = _turns(Listing())
    await asyncio.wait_for(turns.safe_point(), 0.02)


async def test_what_is_said_while_somebody_is_attended_to_is_next():
    host = Listing()
    host.meanwhile = "two"
    turns, _, _ = _turns(host)
    turns.hear("one")
    await turns.safe_point()
    assert host.heard == ["one", "two"]


async def test_a_detour_is_raised_and_what_was_said_after_it_waits():
    turns, _, _ = _turns(Listing(Detour("skip")))
    turns.hear("one")
    turns.hear("two")
    with pytest.raises(DetourRequested) as raised:
        await turns.safe_point()
    assert raised.value.detour.kind == "skip"
    assert turns.has_words
    assert turns.pending


async def test_words_are_waited_for_after_somebody_began_to_speak():
    host = Listing()
    turns, _, _ = _turns(host)
    turns.barge_in()
    waiting = asyncio.create_task(turns.safe_point())
    await asyncio.sleep(0)
    assert not waiting.done()
    turns.hear("words")
    await waiting
    assert host.heard == ["words"]


async def test_nobody_waits_for_ever_for_words_that_do_not_come():
    host = Listing()
    turns, narrator, _ = _turns(host)
    turns.barge_in()
    await asyncio.wait_for(turns.safe_point(), 2.0)
    assert host.heard == []
    assert narrator.hushed == 1
    assert not turns.pending


async def test_who_goes_on_speaking_is_let_speak():
    host = Listing()
    turns, _, _ = _turns(host)
    turns.barge_in(speaking=True)
    waiting = asyncio.create_task(turns.safe_point())
    done, _ = await asyncio.wait({waiting}, timeout=SHORT.words_s * 4)
    assert not done  # longer than words are waited for
    turns.fell_silent()
    turns.hear("a long sentence", by="voice")
    await waiting
    assert host.heard == ["a long sentence"]


async def test_who_spoke_and_said_nothing_is_not_waited_for_any_longer():
    turns, _, _ = _turns(Listing())
    turns.barge_in(speaking=True)
    waiting = asyncio.create_task(turns.safe_point())
    await asyncio.sleep(0)
    turns.fell_silent()
    await asyncio.wait_for(waiting, 2.0)


async def test_an_answer_is_not_cut_short_by_the_silence_that_was_asked_for_before():
    order: list[str] = []

    class Slow(NotingNarrator):
        async def stop_speaking(self) -> None:
            await asyncio.sleep(0.02)
            order.append("silent")

    class Speaks(Listing):
        async def attend(self, heard: Heard) -> None:
            order.append("answer")

    turns = TurnManager(Slow(), lambda: 0.0, EventBus(), Speaks(), patience=SHORT)
    turns.hear("one")
    await turns.safe_point()
    assert order == ["silent", "answer"]


async def test_without_a_host_what_was_heard_waits_for_who_listens():
    turns, narrator, _ = _turns(None)
    turns.hear("one")
    await turns.safe_point()
    heard = await turns.listen(0.0)
    assert heard is not None
    assert heard.text == "one"
    assert await turns.listen(0.0) is None
    assert narrator.hushed


async def test_who_is_listened_to_may_take_their_time_once_they_began():
    turns, _, _ = _turns(None)
    listening = asyncio.create_task(turns.listen(0.02))
    await asyncio.sleep(0)
    turns.barge_in(speaking=True)
    done, _ = await asyncio.wait({listening}, timeout=0.2)
    assert not done
    turns.hear("at last")
    heard = await listening
    assert heard is not None
    assert heard.text == "at last"


async def test_the_pace_has_bounds_and_is_told():
    turns, _, told = _turns(None)
    assert turns.want_pace(0.8) == 0.8
    assert turns.want_pace(0.8) == 0.8
    assert turns.want_pace(0.01) == SLOWEST
    assert turns.want_pace(9) == FASTEST
    assert [e.pace for e in told if isinstance(e, PaceChanged)] == [0.8, SLOWEST, FASTEST]


async def test_who_waits_while_words_are_spoken_hears_of_an_interruption():
    turns, _, _ = _turns(None)
    waiting = asyncio.create_task(turns.interrupted())
    await asyncio.sleep(0)
    assert not waiting.done()
    turns.barge_in()
    await asyncio.wait_for(waiting, 1.0)
