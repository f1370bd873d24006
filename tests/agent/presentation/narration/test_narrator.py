"""Who speaks, when a word is heard, and how soon nobody does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from agent.media.voice import SilentVoice, Speech
from agent.presentation.narration.narrator import Narrator, SpeakerGone
from tests.support.clocks import Stepped, settled

LONG = "First sentence here. Now the second one goes on [[at:save]] for quite a while, and on."


class Heard:
    """A speaker that notes what it is told."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.log: list[tuple[str, float]] = []

    async def play(self, speech: Speech) -> None:
        self.log.append((speech.text, self._clock()))

    async def stop(self) -> None:
        self.log.append(("", self._clock()))


@pytest.fixture
def clock() -> Stepped:
    return Stepped()


def _narrator(clock: Stepped, **options: object) -> Narrator:
    return Narrator(SilentVoice(), clock, sleep=clock.sleep, **options)  # type: ignore[arg-type]


async def test_a_word_with_a_mark_is_waited_for(clock: Stepped) -> None:
    narrator = _narrator(clock)
    spoken = await narrator.say(LONG)
    assert spoken is not None
    assert spoken.text == "First sentence here. Now the second one goes on for quite a while, and on."
    (word,) = [w for w in spoken.speech.words if w.text == "for"]
    waiting = asyncio.create_task(narrator.wait_for_mark("save"))
    await clock.pass_(word.start_s - 0.01)
    assert not waiting.done()
    await clock.pass_(0.02)
    assert await waiting
    assert await narrator.wait_for_mark("save")  # it was heard: nobody waits again


@pytest.mark.parametrize("mark", ["elsewhere", "for"])
async def test_a_mark_that_is_not_in_the_words_is_not_waited_for(clock: Stepped, mark: str) -> None:
    narrator = _narrator(clock)
    await narrator.say(LONG)
    assert not await narrator.wait_for_mark(mark)
    assert narrator.next_mark([mark]) is None
    assert narrator.next_mark([mark, "save"]) == "save"


async def test_nobody_waits_for_a_word_longer_than_said(clock: Stepped) -> None:
    narrator = _narrator(clock)
    await narrator.say(LONG)
    waiting = asyncio.create_task(narrator.wait_for_mark("save", 0.5))
    await clock.pass_(0.6)
    assert await waiting is False


async def test_silence_ends_the_words_the_waits_and_the_captions_at_once(clock: Stepped) -> None:
    shown: list[str] = []

    async def show(text: str) -> None:
        shown.append(text)

    speaker = Heard(clock)
    narrator = _narrator(clock, speakers=[speaker], show=show)
    spoken = await narrator.say(LONG)
    assert spoken is not None
    word, until = (
        asyncio.create_task(narrator.wait_for_mark("save")),
        asyncio.create_task(narrator.finished()),
    )
    await clock.pass_(2.5)
    await narrator.stop_speaking()
    assert await word is False
    await until
    await settled()
    assert narrator.remaining_s == 0
    assert speaker.log == [(spoken.speech.text, 0.0), ("", 2.5)]
    assert (spoken.stop_s, spoken.duration_s) == (2.5, 2.5)
    heard = spoken.text.split()
    assert heard == spoken.speech.text.split()[: len(heard)]
    ends = [w.start_s for w in spoken.speech.words][1:]
    assert ends[len(heard) - 1] <= 2.5 < ends[len(heard)]
    assert shown[-1] == ""
    cues = narrator.cues()
    assert " ".join(" ".join(c.text for c in cues).split()) == spoken.text
    assert cues[-1].end_s == 2.5


async def test_what_was_left_unsaid_begins_with_the_sentence_that_was_cut(clock: Stepped) -> None:
    narrator = _narrator(clock)
    await narrator.say(LONG, resumed=True)
    await clock.pass_(2.5)
    await narrator.stop_speaking()
    await narrator.say(LONG)
    await clock.pass_(2.5)
    await narrator.stop_speaking()  # of which nothing is to be resumed
    assert narrator.take_rest() == "Now the second one goes on [[at:save]] for quite a while, and on."
    assert narrator.take_rest() == ""


async def test_silence_keeps_what_waits_for_its_turn_from_being_begun(clock: Stepped) -> None:
    narrator = _narrator(clock)
    await narrator.say("One thing.", resumed=True)
    waiting = asyncio.create_task(narrator.say("And another.", resumed=True))
    await clock.pass_(0.5)
    await narrator.stop_speaking()
    assert await waiting is None
    assert [s.text for s in narrator.spoken] == ["One"]
    assert narrator.take_rest() == "One thing. And another."


async def test_silence_where_nobody_speaks_changes_nothing(clock: Stepped) -> None:
    speaker = Heard(clock)
    narrator = _narrator(clock, speakers=[speaker])
    spoken = await narrator.say("One thing.", resumed=True)
    await clock.pass_(30)
    await narrator.stop_speaking()
    await narrator.stop_speaking()
    assert spoken is not None
    assert (spoken.text, spoken.stop_s) == ("One thing.", None)
    assert narrator.take_rest() == ""
    assert await narrator.say("And another.") is not None


async def test_silence_that_comes_as_the_words_begin_is_silence(clock: Stepped) -> None:
    speaker = Heard(clock)
    narrator = _narrator(clock, speakers=[speaker])
    play = speaker.play

    async def interrupted(speech: Speech) -> None:
        await play(speech)
        await narrator.stop_speaking()

    speaker.play = interrupted  # type: ignore[method-assign]
    assert await narrator.say("One thing.", resumed=True) is None
    assert speaker.log[-1][0] == ""
    assert narrator.spoken == []
    assert narrator.take_rest() == "One thing."


async def test_a_speaker_that_does_not_answer_holds_nobody_up(clock: Stepped) -> None:
    class Stuck(Heard):
        async def stop(self) -> None:
            await asyncio.Event().wait()

    narrator = _narrator(clock, speakers=[Stuck(clock)])
    await narrator.say(LONG)
    await clock.pass_(1.5)
    await narrator.stop_speaking()
    assert narrator.spoken[0].stop_s == 1.5
    narrator.close()


async def test_a_speaker_that_nobody_hears_any_more_is_let_go(clock: Stepped) -> None:
    class Gone(Heard):
        async def play(self, speech: Speech) -> None:
            await super().play(speech)
            raise SpeakerGone("the room is closed")

    gone, there = Gone(clock), Heard(clock)
    narrator = _narrator(clock, speakers=[gone, there])
    await narrator.say("One.")
    await clock.pass_(10)
    await narrator.say("Two.")
    assert [text for text, _ in gone.log] == ["One."]
    assert [text for text, _ in there.log] == ["One.", "Two."]


async def test_two_who_speak_at_once_take_turns(clock: Stepped) -> None:
    narrator = _narrator(clock)
    both = asyncio.gather(narrator.say("One thing."), narrator.say("And another."))
    await clock.pass_(10)
    first, second = await both
    assert first is not None
    assert second is not None
    assert second.start_s > first.start_s + first.duration_s


async def test_what_was_prepared_is_synthesised_once() -> None:
    asked: list[str] = []

    class Voice(SilentVoice):
        async def synthesize(self, text: str) -> Speech:
            asked.append(text)
            return await super().synthesize(text)

    narrator = Narrator(Voice(), time.monotonic, silent=True)
    await narrator.prepare(["One [[at:x]] thing.", "One thing.", "", "[[at:y]]"])
    assert asked == ["One thing."]


async def test_words_that_take_no_time_are_not_cut(clock: Stepped) -> None:
    narrator = _narrator(clock, silent=True)
    await narrator.stop_speaking()
    spoken = await narrator.say(LONG, resumed=True)
    await narrator.stop_speaking()
    assert spoken is not None
    assert spoken.stop_s is None
    assert narrator.take_rest() == ""
