"""Speaking by the clock: one utterance after the other, while the page is being worked on.

`say` returns when the words begin, not when they end, so that acting goes on meanwhile; the next
`say` waits for its turn. What was said when is kept for the film; whoever is listening right now
hears it through a `Speaker`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.media.captions import Cue, cues_for
from agent.media.mux import Utterance
from agent.media.tools import MediaError
from agent.media.voice import SilentVoice, Speech, Voice
from kb_schema.marks import Marked, read_marks, without_marks

__all__ = ["Narrator", "Speaker", "SpeakerGone", "Spoken", "without_marks"]

LOG = logging.getLogger(__name__)
PAUSE_S = 0.25
"""Between two utterances, at speed 1."""
ANSWER_S = 0.2
"""How long a speaker may take to begin or to fall silent before nobody waits for it any more."""
TAIL_S = 0.3
"""What is cut this shortly before its end was said."""
SLOWEST, FASTEST = 0.5, 2.0
"""Bounds of what a visitor may wish."""
AT_ONCE = 4
"""Texts that are synthesised at the same time, ahead of their turn."""
LONGEST_WAIT_S = 30.0
"""For a word."""


class SpeakerGone(Exception):
    """Nobody can be reached through a speaker any more; the others go on."""


class Speaker(Protocol):
    """Makes speech heard by somebody now: a room, a web page. Implemented outside of this package.

    It keeps no queue: the narrator begins one utterance when the one before is over.
    """

    async def play(self, speech: Speech) -> None:
        """Begin, and return at once. Raises `SpeakerGone` where nobody is there any more."""

    async def stop(self) -> None:
        """Silent now, also where nothing is being played. Raises `SpeakerGone`."""


@dataclass(slots=True)
class Spoken:
    """One utterance, in seconds of the film. Where it is cut short, it changes: then it has `stop_s`."""

    text: str
    """What was heard: of an utterance that was cut short, the words before that."""
    start_s: float
    duration_s: float
    speech: Speech
    stop_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Current:
    """What is being said."""

    spoken: Spoken
    marked: Marked
    resumed: bool


class Narrator:
    """Keeps the floor: who speaks, since when, until when."""

    def __init__(
        self,
        voice: Voice,
        clock: Callable[[], float],
        *,
        speed: float = 1.0,
        silent: bool = False,
        show: Callable[[str], Awaitable[None]] | None = None,
        speakers: Iterable[Speaker] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`clock` gives seconds of film, `sleep` lets that many of them pass. `silent`: words take no
        time and are only noted. `show` puts a caption into the picture, "" takes it away.
        """
        self._own_voice = self._voice = voice
        self._clock, self._speed, self._silent = clock, speed, silent
        self._show, self._sleep = show, sleep
        self._pace = 1.0
        self._speakers = list(speakers)
        self._turn = asyncio.Lock()
        self._free_at = 0.0
        self._current: _Current | None = None
        self._marks: dict[str, float] = {}
        self._hushes = 0
        self._cut = asyncio.Event()
        self._rest: list[str] = []
        self._captions: asyncio.Task[None] | None = None
        self._reaching: set[asyncio.Future[None]] = set()
        self.spoken: list[Spoken] = []

    def add(self, speaker: Speaker) -> None:
        """Be heard there, too, from the next words on."""
        self._speakers.append(speaker)

    @property
    def now(self) -> float:
        """Seconds of film."""
        return self._clock()

    @property
    def pace(self) -> float:
        """How fast everything goes, as a visitor wishes: 1 is as the show was begun.

        It can be set, within `SLOWEST` and `FASTEST`: from the next words on they come so much faster.
        """
        return self._pace

    @pace.setter
    def pace(self, pace: float) -> None:
        wanted = min(FASTEST, max(SLOWEST, pace))
        if wanted != self._pace:
            self._pace, self._voice = wanted, self._own_voice.at_pace(wanted)

    async def prepare(self, texts: Iterable[str]) -> None:
        """Synthesise ahead, so that the words begin at once when they are said."""
        room = asyncio.Semaphore(AT_ONCE)

        async def ahead(words: str) -> None:
            async with room:
                await self._synthesized(words)

        wanted = dict.fromkeys(filter(None, map(without_marks, texts)))
        await asyncio.gather(*map(ahead, wanted))

    async def say(self, text: str, *, resumed: bool = False) -> Spoken | None:
        """Begin to speak as soon as the floor is free.

        None where there is nothing to say, or where somebody asked for silence before the first
        word. `resumed`: what of it is left unsaid then is among what `take_rest` gives.
        """
        marked = read_marks(text)
        if not marked.words:
            return None
        hushes = self._hushes
        speech = await self._synthesized(marked.text)
        async with self._turn:
            await self.finished()
            if not self._silent and self._hushes == hushes:
                await self._each(lambda speaker: speaker.play(speech))
            if not self._silent and self._hushes != hushes:
                await self._each(lambda speaker: speaker.stop())  # silence was asked for as it began
                self._rest += [text] if resumed else []
                return None
            return self._begun(speech, marked, resumed=resumed)

    async def _synthesized(self, words: str) -> Speech:
        """As speech; where the voice fails, as the silence it would have taken the place of."""
        try:
            return await self._voice.synthesize(words)
        except MediaError as exc:
            LOG.warning("nothing is heard of %r: %s", words, exc)
            return await SilentVoice(self._speed * self._pace).synthesize(words)

    def _begun(self, speech: Speech, marked: Marked, *, resumed: bool) -> Spoken:
        start = self._clock()
        duration = 0.0 if self._silent else speech.duration_s
        spoken = Spoken(marked.text, start, duration, speech)
        self.spoken.append(spoken)
        self._current = None if self._silent else _Current(spoken, marked, resumed)
        starts = word_starts(speech, marked.words)
        self._marks = {name: start + starts[index] for name, index in marked.marks}
        self._free_at = start + duration + (0.0 if self._silent else PAUSE_S / (self._speed * self._pace))
        if self._show is not None:
            self._begin_captions(cues_for(spoken.text, start, duration, speech.words))
        return spoken

    # -- falling silent ----------------------------------------------------------------------------

    async def hush(self) -> None:
        """Be silent now: what is being said is cut short, what waits for its turn is not begun."""
        stopping = self._each(lambda speaker: speaker.stop())
        self._hushes += 1
        self._cut_short(self._clock())
        self._cut.set()
        self._cut = asyncio.Event()
        await stopping

    def _cut_short(self, now_s: float) -> None:
        self._marks = {}
        if self._current is None or self._free_at <= now_s:
            return
        current, spoken, marked = self._current, self._current.spoken, self._current.marked
        self._current, self._free_at = None, now_s
        end_s = spoken.start_s + spoken.duration_s
        if now_s >= end_s:
            return  # in the pause after it
        starts = [spoken.start_s + at for at in word_starts(spoken.speech, marked.words)]
        heard = sum(end <= now_s for end in starts[1:])
        if current.resumed and now_s < end_s - TAIL_S:
            self._rest.append(marked.since(marked.sentence_start(heard)))
        spoken.text = " ".join(marked.words[:heard])
        spoken.stop_s, spoken.duration_s = now_s, now_s - spoken.start_s
        if self._show is not None:
            self._begin_captions([])

    def take_rest(self) -> str:
        """What is to be resumed and was left unsaid since this was last asked, from the beginning of the
        sentence that was cut.
        """
        rest, self._rest = " ".join(self._rest), []
        return rest

    def _each(self, do: Callable[[Speaker], Awaitable[None]]) -> Awaitable[None]:
        """All speakers at the same time, from now on; those that nobody hears any more are let go."""
        tasks = [asyncio.ensure_future(self._reached(each, do)) for each in self._speakers]
        self._reaching.update(tasks)
        for task in tasks:
            task.add_done_callback(self._reaching.discard)
        return _all_within(tasks)

    async def _reached(self, speaker: Speaker, do: Callable[[Speaker], Awaitable[None]]) -> None:
        try:
            await do(speaker)
        except SpeakerGone as gone:
            LOG.info("a speaker is gone: %s", gone)
            if speaker in self._speakers:
                self._speakers.remove(speaker)

    # -- waiting -------------------------------------------------------------------------------------

    async def at(self, mark: str, timeout_s: float = LONGEST_WAIT_S, *, lead_s: float = 0.0) -> bool:
        """Return when the word with that mark is heard, or `lead_s` before; at once where no such word is
        still to come. Whether it was heard: False where the words were cut short or it took too long.
        """
        due = self._marks.get(mark)
        if due is None or self._silent:
            return False
        remaining = due - lead_s - self._clock()
        if remaining > 0:
            await self._elapse(min(remaining, timeout_s))
        return remaining <= timeout_s and self._marks.get(mark) == due

    def due(self, marks: Iterable[str]) -> str | None:
        """The first of these marks whose word is still to be heard."""
        now = self._clock()
        return next((mark for mark in marks if self._marks.get(mark, 0.0) > now), None)

    def until(self, marks: Iterable[str]) -> float | None:
        """Seconds until the word with the first of these marks is heard; None where none is to come."""
        mark = self.due(marks)
        return None if mark is None else self._marks[mark] - self._clock()

    async def finished(self) -> None:
        """Wait until nobody speaks: the words are over, or cut short."""
        while (remaining := self.remaining_s) > 0:
            await self._elapse(remaining)

    async def _elapse(self, seconds: float) -> None:
        """So much time, or less where silence is asked for."""
        waits = {asyncio.ensure_future(self._cut.wait()), asyncio.ensure_future(self._sleep(seconds))}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    @property
    def remaining_s(self) -> float:
        """Seconds until the floor is free."""
        return 0.0 if self._silent else max(0.0, self._free_at - self._clock())

    # -- captions ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Nothing is shown any more, and nobody waited for."""
        for task in (self._captions, *self._reaching):
            if task is not None:
                task.cancel()

    def _begin_captions(self, cues: list[Cue]) -> None:
        if self._captions is not None:
            self._captions.cancel()
        self._captions = asyncio.create_task(self._follow(cues), name="captions")

    async def _follow(self, cues: list[Cue]) -> None:
        """Show each caption while its words are heard, then none."""
        assert self._show is not None  # noqa: S101 - only called with somebody to show them
        for cue in cues:
            await self._sleep(max(0.0, cue.start_s - self._clock()))
            await self._show(cue.text.replace("\n", " "))
        if cues:
            await self._sleep(max(0.0, cues[-1].end_s - self._clock()))
        await self._show("")

    # -- for the film ----------------------------------------------------------------------------------

    def utterances(self) -> list[Utterance]:
        """What can be heard, for the film."""
        return [Utterance(s.start_s, s.speech.wav, s.stop_s) for s in self.spoken if s.speech.wav is not None]

    def cues(self, leave_out: Callable[[str], bool] = lambda _text: False) -> list[Cue]:
        """Captions for everything that was said, but for utterances that are to be left out."""
        return [
            cue
            for s in self.spoken
            if not leave_out(s.text)
            for cue in cues_for(
                s.text,
                s.start_s,
                s.duration_s if s.stop_s is not None else s.duration_s or s.speech.duration_s,
                s.speech.words[: len(s.text.split())],
            )
        ]


def word_starts(speech: Speech, words: Sequence[str]) -> list[float]:
    """When each word is first heard, and when the last one is over, in seconds of its speech."""
    if len(speech.words) == len(words):
        return [*(word.start_s for word in speech.words), speech.duration_s]
    lengths = [len(word) + 1 for word in words]
    total = sum(lengths) or 1
    return [speech.duration_s * sum(lengths[:index]) / total for index in range(len(words) + 1)]


async def _all_within(tasks: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all, but not longer than `ANSWER_S`. Raises what one of them raised."""
    if not tasks:
        return
    done, late = await asyncio.wait(tasks, timeout=ANSWER_S)
    if late:
        LOG.warning("%d of %d speakers did not answer within %g s", len(late), len(tasks), ANSWER_S)
    for task in done:
        task.result()
