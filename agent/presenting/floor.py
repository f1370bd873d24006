"""Who has the floor: the presenter, until a visitor wants something.

Whoever hears a visitor (a room, a web page, a test) calls `Floor.hear`, or `barge_in` as soon as somebody
begins to speak. Speech stops at once. The player reaches a safe point soon after: between two sentences,
before the next action, never within one. There the visitor is attended to, in the player's own task, and
the story then goes on, or takes the detour that was asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from agent.events import Bus, Event

HeardBy = Literal["text", "voice", "button"]
"""How a visitor said something."""
SLOWEST, FASTEST = 0.6, 1.6
"""Bounds of the pace a visitor may ask for, as a factor of the show's own speed."""


@dataclass(frozen=True, slots=True)
class Heard(Event):
    """A visitor said something. The words are personal data: listeners that keep them ask first."""

    personal: ClassVar[frozenset[str]] = frozenset({"text"})
    lasting: ClassVar[bool] = True

    text: str
    by: HeardBy
    at_s: float
    """Seconds of the show."""


@dataclass(frozen=True, slots=True)
class SpeechStopped(Event):
    """The presenter fell silent because a visitor wanted something."""

    lasting: ClassVar[bool] = True

    after_s: float
    """Seconds from the interruption until nothing was heard any more."""


@dataclass(frozen=True, slots=True)
class PaceChanged(Event):
    """From now on it is told faster or more slowly."""

    lasting: ClassVar[bool] = True

    pace: float
    """A factor of the show's own speed."""


@dataclass(frozen=True, slots=True)
class Detour:
    """Where the story goes instead of on.

    `back` and `skip` are about the segment the player is in; `segment` names one to go to and to go on from;
    `aside` shows a segment, task or screen that need not be in the flow, and comes back to the resume point.
    """

    kind: Literal["back", "skip", "segment", "aside", "stop"]
    segment_id: str | None = None
    task_id: str | None = None
    screen_id: str | None = None


class Detoured(BaseException):
    """Raised at a safe point; nothing on the way up to the player is to take it for a failure."""

    def __init__(self, detour: Detour) -> None:
        super().__init__(detour.kind)
        self.detour = detour


class Host(Protocol):
    """Looks after the visitor: understands, answers, says what comes next."""

    async def attend(self, heard: Heard) -> Detour | None:
        """Do what was asked for; None: the story goes on where it was.

        Called at a safe point, so it may speak and wait for the visitor's next words (`Floor.listen`).
        """


class Silencer(Protocol):
    """Who speaks, as far as the floor needs to know."""

    async def hush(self) -> None:
        """Be silent now: what was being said is cut short. Nothing happens where nobody speaks."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited for words, in seconds."""

    words_s: float = 1.5
    """Somebody fell silent, or never spoke aloud: so long their words may still come (recognising them
    takes its time)."""
    utterance_s: float = 20.0
    """Somebody goes on speaking: so long at most."""


class Floor:
    """Lets the visitor in, and the presenter know.

    Without a host nobody is attended to: what is heard is kept for who calls `listen`.
    """

    def __init__(
        self,
        silencer: Silencer,
        clock: Callable[[], float],
        bus: Bus,
        host: Host | None = None,
        *,
        patience: Patience | None = None,
    ) -> None:
        self._silencer, self._clock, self._bus = silencer, clock, bus
        self._patience = patience or Patience()
        self.host = host
        self.visited = False
        """Somebody is there to be asked: who watches was heard, or is known to be there by whoever set this."""
        self.pace = 1.0
        """How fast the visitor wants it told, as a factor of the show's own speed (`want_pace`)."""
        self._heard: asyncio.Queue[Heard] = asyncio.Queue()
        self._quiet: asyncio.Task[None] | None = None
        self._attending = False
        self._raised = asyncio.Event()
        self._speaking = False
        self._words_until = 0.0

    # -- the visitor's side: may be called at any time, returns at once

    def hear(self, text: str, *, by: HeardBy = "text") -> None:
        """A visitor said something, or pressed the button with these words."""
        self.visited = True
        heard = Heard(text, by, self._clock())
        self._heard.put_nowait(heard)
        self._bus.tell(heard)
        self.barge_in()
        self._speaking, self._words_until = False, 0.0  # here they are

    def barge_in(self, *, speaking: bool = False) -> None:
        """Somebody begins to speak or to write: the presenter falls silent, before it is known what is
        wanted. The words are waited for a little; `speaking`: until `fell_silent`, and a little longer.
        """
        self.visited = True
        self._speaking = speaking
        self._expect_words()
        self._raised.set()
        if self._quiet is None or self._quiet.done():
            self._quiet = asyncio.create_task(self._hush(), name="hush")

    def fell_silent(self) -> None:
        """Who was `speaking` is not any more; the words may still be on their way."""
        self._speaking = False
        self._expect_words()

    def _expect_words(self) -> None:
        patience = self._patience.utterance_s if self._speaking else self._patience.words_s
        self._words_until = asyncio.get_running_loop().time() + patience

    async def _hush(self) -> None:
        began = self._clock()
        await self._silencer.hush()
        self._bus.tell(SpeechStopped(self._clock() - began))

    # -- the presenter's side

    @property
    def wanted(self) -> bool:
        """Whether somebody waits to be attended to."""
        return not self._heard.empty()

    @property
    def raised(self) -> bool:
        """Whether somebody wants something that has not been looked after yet, said or not."""
        return self._raised.is_set()

    def want_pace(self, pace: float) -> float:
        """Go so much faster or more slowly than the show's own speed; the pace it is now, within bounds."""
        wanted = min(FASTEST, max(SLOWEST, pace))
        if wanted != self.pace:
            self.pace = wanted
            self._bus.tell(PaceChanged(wanted))
        return self.pace

    async def interrupted(self) -> None:
        """Return as soon as a visitor wants something: for who waits while words are spoken."""
        await self._raised.wait()

    async def safe_point(self) -> None:
        """Attend to whoever wants something; return at once where nobody does.

        Raises `Detoured` where the story is not to go on from here.
        """
        if self._attending or not self.raised:
            return
        if self._quiet is not None:
            await self._quiet  # or it would cut short what is said next
        if self.host is None:
            self._raised.clear()
            return
        self._attending = True
        try:
            while (heard := await self._words()) is not None:
                detour = await self.host.attend(heard)
                if detour is not None:
                    raise Detoured(detour)
        finally:
            self._attending = False
            self._settled()

    async def listen(self, timeout_s: float) -> Heard | None:
        """The visitor's next words, as an answer to what was asked; None where none come in time."""
        try:
            return await self._next(asyncio.get_running_loop().time() + timeout_s)
        finally:
            self._settled()

    async def _words(self) -> Heard | None:
        """What somebody who wants something says; None where there are no (more) words."""
        if self.wanted:
            return self._heard.get_nowait()
        return await self._next(0.0) if self.raised else None

    async def _next(self, until: float) -> Heard | None:
        """The next words, waited for until a time of the loop, or for as long as somebody is at them."""
        loop = asyncio.get_running_loop()
        while not self.wanted:
            remaining = max(until, self._words_until) - loop.time()
            if remaining <= 0:
                return None
            try:
                return await asyncio.wait_for(self._heard.get(), min(remaining, self._patience.words_s))
            except TimeoutError:
                continue  # somebody may have begun to speak, or to be silent, meanwhile
        return self._heard.get_nowait()

    def _settled(self) -> None:
        if not self.wanted:
            self._raised.clear()
            self._words_until = 0.0
