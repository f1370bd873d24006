"""Speaking by the clock: one utterance after the other, while the page is being worked on.

`say` returns when the words begin, not when they end, so that acting goes on meanwhile; the next
`say` waits for its turn. Nothing is played here: what was said when is kept for the film.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.media.captions import Cue, cues_for
from agent.media.mux import Utterance
from agent.media.voice import Speech, Voice

_MARK = re.compile(r"\s*\[\[at:[A-Za-z0-9_.-]+\]\]")
PAUSE_S = 0.25
"""Between two utterances, at speed 1."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """One utterance, in seconds of the film."""

    text: str
    start_s: float
    duration_s: float
    speech: Speech


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
    ) -> None:
        """`clock` gives seconds of film. `silent`: words take no time and are only noted."""
        self._voice, self._clock, self._speed, self._silent = voice, clock, speed, silent
        self._show = show
        self._free_at = 0.0
        self._captions: asyncio.Task[None] | None = None
        self.spoken: list[Spoken] = []

    async def say(self, text: str) -> float:
        """Begin to speak as soon as the floor is free; the seconds it will take."""
        words = without_marks(text)
        if not words:
            return 0.0
        speech = await self._voice.synthesize(words)
        await self.finished()
        start = self._clock()
        duration = 0.0 if self._silent else speech.duration_s
        self.spoken.append(Spoken(words, start, duration, speech))
        self._free_at = start + duration + (0.0 if self._silent else PAUSE_S / self._speed)
        if self._show is not None:
            self._begin_captions(cues_for(words, start, duration, speech.words))
        return duration

    def close(self) -> None:
        """Stop showing captions."""
        if self._captions is not None:
            self._captions.cancel()

    def _begin_captions(self, cues: list[Cue]) -> None:
        self.close()
        self._captions = asyncio.create_task(self._follow(cues), name="captions")

    async def _follow(self, cues: list[Cue]) -> None:
        """Show each caption while its words are heard, then none."""
        assert self._show is not None  # noqa: S101 - only called with somebody to show them
        for cue in cues:
            await asyncio.sleep(max(0.0, cue.start_s - self._clock()))
            await self._show(cue.text.replace("\n", " "))
        if cues:
            await asyncio.sleep(max(0.0, cues[-1].end_s - self._clock()))
        await self._show("")

    async def finished(self) -> None:
        """Wait until nobody speaks."""
        remaining = self._free_at - self._clock()
        if remaining > 0 and not self._silent:
            await asyncio.sleep(remaining)  # speech takes its time: there is no event but the clock

    @property
    def remaining_s(self) -> float:
        """Seconds until the floor is free."""
        return 0.0 if self._silent else max(0.0, self._free_at - self._clock())

    def utterances(self) -> list[Utterance]:
        """What can be heard, for the film."""
        return [Utterance(s.start_s, s.speech.wav) for s in self.spoken if s.speech.wav is not None]

    def cues(self) -> list[Cue]:
        """Captions for everything that was said."""
        return [
            cue
            for s in self.spoken
            for cue in cues_for(s.text, s.start_s, s.duration_s or s.speech.duration_s, s.speech.words)
        ]


def without_marks(text: str) -> str:
    """Narration without `[[at:NAME]]`, white space in order."""
    return " ".join(_MARK.sub("", text).split())
