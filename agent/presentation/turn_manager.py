"""Manages turns between the presenter and a visitor.

The code that hears a visitor (a room, a web page, a test) calls `TurnManager.hear`, or `barge_in` as soon as
the visitor begins to speak. The speech stops at once. The player soon reaches a safe point: between two
sentences or before the next action. There the host handles the request in the player's own task, and the flow
continues or takes the requested detour.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from agent.events import Event, EventBus
from agent.presentation.visitor_rate import VisitorRate

HeardBy = Literal["text", "voice", "button"]
"""Channel of a visitor's words."""
SLOWEST, FASTEST = 0.6, 1.6
"""Limits of the pace a visitor may choose, as a factor of the presentation's speed."""


@dataclass(frozen=True, slots=True)
class Heard(Event):
    """A visitor said something. The words are personal data: listeners need consent to store them."""

    personal: ClassVar[frozenset[str]] = frozenset({"text"})
    lasting: ClassVar[bool] = True

    text: str
    by: HeardBy
    at_s: float
    """Seconds of the presentation."""


@dataclass(frozen=True, slots=True)
class SpeechStopped(Event):
    """The presenter stopped speaking because a visitor interrupted."""

    lasting: ClassVar[bool] = True

    after_s: float
    """Seconds from the interruption until silence."""


@dataclass(frozen=True, slots=True)
class PaceChanged(Event):
    """The pace of the presentation changed."""

    lasting: ClassVar[bool] = True

    pace: float
    """A factor of the presentation's speed."""


@dataclass(frozen=True, slots=True)
class Detour:
    """A request to continue the flow elsewhere.

    `back` and `skip` refer to the current segment. `segment` names the segment to continue with. `aside`
    shows a segment, task or screen that need not be in the flow, and then returns to the resume point.
    """

    kind: Literal["back", "skip", "segment", "aside", "stop"]
    segment_id: str | None = None
    task_id: str | None = None
    screen_id: str | None = None
    values: Mapping[str, str | list[str]] | None = None
    """Inputs of a task that the visitor runs; None: it is only shown."""


class DetourRequested(BaseException):
    """Raised at a safe point. It is a `BaseException`, so that no handler on the way to the player treats it
    as a failure.
    """

    def __init__(self, detour: Detour) -> None:
        super().__init__(detour.kind)
        self.detour = detour


class VisitorHost(Protocol):
    """Handles a visitor's words: understands, answers, decides what comes next."""

    async def attend(self, heard: Heard) -> Detour | None:
        """Handle a request. Return the detour to take; None: the flow continues.

        It is called at a safe point, so it may speak and wait for the visitor's next words
        (`TurnManager.listen`).
        """


class SpeechStopper(Protocol):
    """The speech output that can be stopped."""

    async def stop_speaking(self) -> None:
        """Stop speaking now. Does nothing if there is no speech."""


@dataclass(frozen=True, slots=True)
class TurnTimeouts:
    """How long the turn manager waits for words, in seconds."""

    words_s: float = 1.5
    """After the end of speech, or without any: the time until recognised words must arrive."""
    utterance_s: float = 20.0
    """Longest time to wait while a visitor keeps speaking."""


class TurnManager:
    """Tells the player about visitors' requests, and passes their words to the host.

    Without a host, words are queued for callers of `listen`.
    """

    def __init__(
        self,
        silencer: SpeechStopper,
        clock: Callable[[], float],
        bus: EventBus,
        host: VisitorHost | None = None,
        *,
        patience: TurnTimeouts | None = None,
    ) -> None:
        self._silencer, self._clock, self._bus = silencer, clock, bus
        self._patience = patience or TurnTimeouts()
        self.host = host
        self.visited = False
        """Whether a visitor is known to be present: heard before, or set by the caller."""
        self.pace = 1.0
        """The pace the visitor chose, as a factor of the presentation's speed (`want_pace`)."""
        self.rate = VisitorRate()
        """How often visitors may say something. Who passes it on asks first."""
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._stopping: asyncio.Task[None] | None = None
        self._attending = False
        self._pending = asyncio.Event()
        self._speaking = False
        self._words_until = 0.0

    # -- for visitors: may be called at any time, returns at once

    def hear(self, text: str, *, by: HeardBy = "text") -> None:
        """Receive a visitor's words, spoken, written, or sent with a button."""
        self.visited = True
        heard = Heard(text, by, self._clock())
        self._heard.put_nowait(heard)
        self._bus.tell(heard)
        self.barge_in()
        self._speaking, self._words_until = False, 0.0

    def barge_in(self, *, speaking: bool = False) -> None:
        """Receive the start of a visitor's speech or typing: the presenter stops speaking at once.

        The words may follow a little later; with `speaking`, the wait lasts until `fell_silent` and a little
        longer.
        """
        self.visited = True
        self._speaking = speaking
        self._expect_words()
        self._pending.set()
        if self._stopping is None or self._stopping.done():
            self._stopping = asyncio.create_task(self._stop_speech(), name="hush")

    def fell_silent(self) -> None:
        """Receive the end of a visitor's speech; its words may still follow."""
        self._speaking = False
        self._expect_words()

    def _expect_words(self) -> None:
        patience = self._patience.utterance_s if self._speaking else self._patience.words_s
        self._words_until = asyncio.get_running_loop().time() + patience

    async def _stop_speech(self) -> None:
        began = self._clock()
        await self._silencer.stop_speaking()
        self._bus.tell(SpeechStopped(self._clock() - began))

    # -- for the presenter

    @property
    def has_words(self) -> bool:
        """Whether words of a visitor are waiting."""
        return not self._heard.empty()

    @property
    def pending(self) -> bool:
        """Whether a request was not handled yet, with or without words."""
        return self._pending.is_set()

    def want_pace(self, pace: float) -> float:
        """Set the pace as a factor of the presentation's speed; return it within the limits."""
        wanted = min(FASTEST, max(SLOWEST, pace))
        if wanted != self.pace:
            self.pace = wanted
            self._bus.tell(PaceChanged(wanted))
        return self.pace

    async def interrupted(self) -> None:
        """Return as soon as a visitor interrupts."""
        await self._pending.wait()

    async def safe_point(self) -> None:
        """Handle pending requests; return at once if there are none.

        Raises `DetourRequested` if the flow is to continue elsewhere.
        """
        if self._attending or not self.pending:
            return
        if self._stopping is not None:
            await self._stopping  # otherwise it would stop the next utterance
        if self.host is None:
            self._pending.clear()
            return
        self._attending = True
        try:
            while (heard := await self._take_words()) is not None:
                detour = await self.host.attend(heard)
                if detour is not None:
                    raise DetourRequested(detour)
        finally:
            self._attending = False
            self._clear_if_handled()

    async def listen(self, timeout_s: float) -> Heard | None:
        """Return the visitor's next words as an answer to a question; None if none arrive in time."""
        try:
            return await self._wait_for_words(asyncio.get_running_loop().time() + timeout_s)
        finally:
            self._clear_if_handled()

    async def _take_words(self) -> Heard | None:
        """Return the words of a pending request; None if there are no more."""
        if self.has_words:
            return self._heard.get_nowait()
        return await self._wait_for_words(0.0) if self.pending else None

    async def _wait_for_words(self, until: float) -> Heard | None:
        """Wait for the next words until the loop time `until`, or longer while the visitor is speaking."""
        loop = asyncio.get_running_loop()
        while not self.has_words:
            remaining = max(until, self._words_until) - loop.time()
            if remaining <= 0:
                return None
            try:
                return await asyncio.wait_for(self._heard.get(), min(remaining, self._patience.words_s))
            except TimeoutError:
                continue  # a visitor may have started or stopped speaking meanwhile
        return self._heard.get_nowait()

    def _clear_if_handled(self) -> None:
        if not self.has_words:
            self._pending.clear()
            self._words_until = 0.0
