"""Speaks one utterance after the other while actions run on the page.

`say` returns when an utterance starts, not when it ends, so that actions run meanwhile; the next `say` waits
for its turn. Utterances are recorded for the film, and live listeners hear them through a `Speaker`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.media.captions import Cue, build_cues
from agent.media.film_assembly import FilmUtterance
from agent.media.media_tools import MediaError
from agent.media.voice import SilentVoice, Speech, Voice
from kb_schema.narration_marks import MarkedNarration, read_marks, without_marks

__all__ = ["Narrator", "Speaker", "SpeakerGone", "SpokenUtterance", "without_marks"]

LOG = logging.getLogger(__name__)
PAUSE_S = 0.25
"""Pause between two utterances in seconds, at speed 1."""
ANSWER_S = 0.2
"""Longest time in seconds to wait for a speaker to start or stop."""
TAIL_S = 0.3
"""An utterance that is stopped this many seconds before its end counts as complete."""
SLOWEST, FASTEST = 0.5, 2.0
"""Limits of the pace a visitor may choose."""
AT_ONCE = 4
"""Number of texts that are synthesised concurrently."""
LONGEST_WAIT_S = 30.0
"""Longest time in seconds to wait for a word."""


class SpeakerGone(Exception):
    """A speaker has no listener any more; the other speakers continue."""


class Speaker(Protocol):
    """Plays speech to a live listener, in a room or on a web page. Implemented outside of this package.

    It needs no queue: the narrator starts an utterance when the previous one has ended.
    """

    async def play(self, speech: Speech) -> None:
        """Start playing and return at once. Raises `SpeakerGone` if there is no listener any more."""

    async def stop(self) -> None:
        """Stop playing; does nothing if there is no speech. Raises `SpeakerGone`."""


@dataclass(slots=True)
class SpokenUtterance:
    """One utterance, in seconds of the film. If it is interrupted, it is updated and gets `stop_s`."""

    text: str
    """The words that were heard; after an interruption, those before it."""
    start_s: float
    duration_s: float
    speech: Speech
    stop_s: float | None = None


@dataclass(frozen=True, slots=True)
class _CurrentUtterance:
    """The utterance that is being spoken."""

    spoken: SpokenUtterance
    marked: MarkedNarration
    resumed: bool


class Narrator:
    """Speaks utterances in turn, with captions and speakers."""

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
        """`clock` returns seconds of film, `sleep` waits for seconds of film. `silent`: utterances take no
        time and are only recorded. `show` displays a caption; "" removes it.
        """
        self._own_voice = self._voice = voice
        self._clock, self._speed, self._silent = clock, speed, silent
        self._show, self._sleep = show, sleep
        self._pace = 1.0
        self._speakers = list(speakers)
        self._turn = asyncio.Lock()
        self._free_at = 0.0
        self._current: _CurrentUtterance | None = None
        self._marks: dict[str, float] = {}
        self._stops = 0
        self._cut = asyncio.Event()
        self._rest: list[str] = []
        self._captions: asyncio.Task[None] | None = None
        self._speaker_calls: set[asyncio.Future[None]] = set()
        self.spoken: list[SpokenUtterance] = []

    def add(self, speaker: Speaker) -> None:
        """Add a speaker; it plays from the next utterance on."""
        self._speakers.append(speaker)

    @property
    def now(self) -> float:
        """Seconds of film."""
        return self._clock()

    @property
    def pace(self) -> float:
        """The visitor's pace: 1 is the presentation's own speed.

        It can be set within `SLOWEST` and `FASTEST`, and takes effect with the next utterance.
        """
        return self._pace

    @pace.setter
    def pace(self, pace: float) -> None:
        wanted = min(FASTEST, max(SLOWEST, pace))
        if wanted != self._pace:
            self._pace, self._voice = wanted, self._own_voice.at_pace(wanted)

    async def prepare(self, texts: Iterable[str]) -> None:
        """Synthesise texts ahead, so that they can start without delay."""
        room = asyncio.Semaphore(AT_ONCE)

        async def ahead(words: str) -> None:
            async with room:
                await self._synthesize(words)

        wanted = dict.fromkeys(filter(None, map(without_marks, texts)))
        await asyncio.gather(*map(ahead, wanted))

    async def say(self, text: str, *, resumed: bool = False) -> SpokenUtterance | None:
        """Start an utterance as soon as the previous one has ended.

        Returns None if the text is empty, or if speech was stopped before the first word. `resumed`: if it is
        interrupted, `take_rest` returns the part that was not heard.
        """
        marked = read_marks(text)
        if not marked.words:
            return None
        hushes = self._stops
        speech = await self._synthesize(marked.text)
        async with self._turn:
            await self.finished()
            if not self._silent and self._stops == hushes:
                await self._call_speakers(lambda speaker: speaker.play(speech))
            if not self._silent and self._stops != hushes:
                await self._call_speakers(
                    lambda speaker: speaker.stop()
                )  # speech was stopped while it started
                self._rest += [text] if resumed else []
                return None
            return self._begin(speech, marked, resumed=resumed)

    async def _synthesize(self, words: str) -> Speech:
        """Return the words as speech, or as silence of the same length if the voice fails."""
        try:
            return await self._voice.synthesize(words)
        except MediaError as exc:
            LOG.warning("could not synthesise %r, it stays silent: %s", words, exc)
            return await SilentVoice(self._speed * self._pace).synthesize(words)

    def _begin(self, speech: Speech, marked: MarkedNarration, *, resumed: bool) -> SpokenUtterance:
        start = self._clock()
        duration = 0.0 if self._silent else speech.duration_s
        spoken = SpokenUtterance(marked.text, start, duration, speech)
        self.spoken.append(spoken)
        self._current = None if self._silent else _CurrentUtterance(spoken, marked, resumed)
        starts = word_starts(speech, marked.words)
        self._marks = {name: start + starts[index] for name, index in marked.marks}
        self._free_at = start + duration + (0.0 if self._silent else PAUSE_S / (self._speed * self._pace))
        if self._show is not None:
            self._begin_captions(build_cues(spoken.text, start, duration, speech.words))
        return spoken

    # -- stopping --------------------------------------------------------------------------------

    async def stop_speaking(self) -> None:
        """Stop speaking now: interrupt the current utterance and drop the waiting ones."""
        stopping = self._call_speakers(lambda speaker: speaker.stop())
        self._stops += 1
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
            return  # in the pause after the utterance
        starts = [spoken.start_s + at for at in word_starts(spoken.speech, marked.words)]
        heard = sum(end <= now_s for end in starts[1:])
        if current.resumed and now_s < end_s - TAIL_S:
            self._rest.append(marked.since(marked.sentence_start(heard)))
        spoken.text = " ".join(marked.words[:heard])
        spoken.stop_s, spoken.duration_s = now_s, now_s - spoken.start_s
        if self._show is not None:
            self._begin_captions([])

    def take_rest(self) -> str:
        """Return and clear the unheard text of interrupted utterances, from the start of the interrupted
        sentence.
        """
        rest, self._rest = " ".join(self._rest), []
        return rest

    def _call_speakers(self, do: Callable[[Speaker], Awaitable[None]]) -> Awaitable[None]:
        """Call all speakers concurrently, starting now; remove those without a listener."""
        tasks = [asyncio.ensure_future(self._call_speaker(each, do)) for each in self._speakers]
        self._speaker_calls.update(tasks)
        for task in tasks:
            task.add_done_callback(self._speaker_calls.discard)
        return _all_within(tasks)

    async def _call_speaker(self, speaker: Speaker, do: Callable[[Speaker], Awaitable[None]]) -> None:
        try:
            await do(speaker)
        except SpeakerGone as gone:
            LOG.info("removed a speaker without listeners: %s", gone)
            if speaker in self._speakers:
                self._speakers.remove(speaker)

    # -- waiting -------------------------------------------------------------------------------------

    async def wait_for_mark(
        self, mark: str, timeout_s: float = LONGEST_WAIT_S, *, lead_s: float = 0.0
    ) -> bool:
        """Wait until the word with that mark is spoken, or `lead_s` before it. Return whether it was.

        Returns False at once if no such word is coming, and after an interruption or a timeout.
        """
        due = self._marks.get(mark)
        if due is None or self._silent:
            return False
        remaining = due - lead_s - self._clock()
        if remaining > 0:
            await self._elapse(min(remaining, timeout_s))
        return remaining <= timeout_s and self._marks.get(mark) == due

    def next_mark(self, marks: Iterable[str]) -> str | None:
        """Return the first of these marks whose word is still coming."""
        now = self._clock()
        return next((mark for mark in marks if self._marks.get(mark, 0.0) > now), None)

    def seconds_until_mark(self, marks: Iterable[str]) -> float | None:
        """Return the seconds until the word with the first of these marks; None if none is coming."""
        mark = self.next_mark(marks)
        return None if mark is None else self._marks[mark] - self._clock()

    async def finished(self) -> None:
        """Wait until the current utterance has ended or was stopped."""
        while (remaining := self.remaining_s) > 0:
            await self._elapse(remaining)

    async def _elapse(self, seconds: float) -> None:
        """Wait for that many seconds, or until speech is stopped."""
        waits = {asyncio.ensure_future(self._cut.wait()), asyncio.ensure_future(self._sleep(seconds))}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    @property
    def remaining_s(self) -> float:
        """Seconds until the next utterance can start."""
        return 0.0 if self._silent else max(0.0, self._free_at - self._clock())

    # -- captions ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Cancel captions and pending speaker calls."""
        for task in (self._captions, *self._speaker_calls):
            if task is not None:
                task.cancel()

    def _begin_captions(self, cues: list[Cue]) -> None:
        if self._captions is not None:
            self._captions.cancel()
        self._captions = asyncio.create_task(self._follow(cues), name="captions")

    async def _follow(self, cues: list[Cue]) -> None:
        """Show each caption while its words are spoken, then remove it."""
        assert self._show is not None  # noqa: S101 - only called with a `show` function
        for cue in cues:
            await self._sleep(max(0.0, cue.start_s - self._clock()))
            await self._show(cue.text.replace("\n", " "))
        if cues:
            await self._sleep(max(0.0, cues[-1].end_s - self._clock()))
        await self._show("")

    # -- for the film ----------------------------------------------------------------------------------

    def utterances(self) -> list[FilmUtterance]:
        """Return the audible utterances for the film."""
        return [
            FilmUtterance(s.start_s, s.speech.wav, s.stop_s) for s in self.spoken if s.speech.wav is not None
        ]

    def cues(self, leave_out: Callable[[str], bool] = lambda _text: False) -> list[Cue]:
        """Return captions for all utterances, except those for which `leave_out` is true."""
        return [
            cue
            for s in self.spoken
            if not leave_out(s.text)
            for cue in build_cues(
                s.text,
                s.start_s,
                s.duration_s if s.stop_s is not None else s.duration_s or s.speech.duration_s,
                s.speech.words[: len(s.text.split())],
            )
        ]


def word_starts(speech: Speech, words: Sequence[str]) -> list[float]:
    """Return the start of each word and the end of the last one, in seconds of the speech."""
    if len(speech.words) == len(words):
        return [*(word.start_s for word in speech.words), speech.duration_s]
    lengths = [len(word) + 1 for word in words]
    total = sum(lengths) or 1
    return [speech.duration_s * sum(lengths[:index]) / total for index in range(len(words) + 1)]


async def _all_within(tasks: Sequence[asyncio.Future[None]]) -> None:
    """Wait for all tasks, at most `ANSWER_S` seconds. Raises the exception of a task."""
    if not tasks:
        return
    done, late = await asyncio.wait(tasks, timeout=ANSWER_S)
    if late:
        LOG.warning("%d of %d speakers did not answer within %g s", len(late), len(tasks), ANSWER_S)
    for task in done:
        task.result()
