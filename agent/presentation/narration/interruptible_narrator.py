"""Speech shared by the player and the presenter, with the points at which a visitor can interrupt.

All speech goes through this module rather than directly to the narrator: each sentence is a safe point, and
an interrupted utterance is resumed when the flow continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.events import Event
from agent.presentation.narration.narrator import Narrator, SpokenUtterance
from agent.presentation.page_overlay import PageOverlay
from agent.presentation.presentation_records import Narrated
from agent.presentation.turn_manager import DetourRequested, PaceChanged, TurnManager
from agent.session import Session
from kb_schema.narration_marks import read_marks
from kb_schema.templates import MissingVariable, fill


class InterruptibleNarrator:
    """Speaks for the player and the presenter, and handles visitors' requests in between.

    While `holding`, a detour is delayed: the running task ends first, without words. The detour is raised at
    the first safe point after that.
    """

    def __init__(
        self,
        session: Session,
        narrator: Narrator,
        overlay: PageOverlay | None,
        speed: float,
        instant: bool,
        turns: TurnManager | None = None,
    ) -> None:
        """`overlay` None: nothing is drawn. `instant`: no speech and no pauses, only the actions."""
        self.session, self.narrator, self.overlay = session, narrator, overlay
        self.instant, self.turns = instant, turns
        self.holding = False
        self._heard: frozenset[str] = frozenset()
        self.attended_s = 0.0
        """Seconds spent on visitors so far."""
        self._speed = speed
        self._attending = False
        self._delayed: DetourRequested | None = None
        session.bus.listen(self._apply_pace)

    @property
    def speed(self) -> float:
        """Current speed: the presentation's speed times the visitor's pace."""
        return self._speed * self.narrator.pace

    @property
    def hurried(self) -> bool:
        """Whether a detour is delayed. Then the current task is finished without narration."""
        return self._delayed is not None

    async def say(self, text: str, values: Mapping[str, Any]) -> SpokenUtterance | None:
        """Fill in the values, pass a safe point, and start to speak.

        Returns None if nothing was started: for instance, a variable has no value. Raises `DetourRequested`.
        """
        words = self._without_heard(self._fill(text, values))
        if not words:
            return None
        await self.safe_point()
        return None if self.hurried else await self._speak(words)

    async def prepare(self, texts: Iterable[str], values: Mapping[str, Any]) -> None:
        """Synthesise sentences ahead, as far as their values are known."""
        if not self.instant:
            await self.narrator.prepare([self._fill(text, values) for text in texts])

    async def finished(self) -> None:
        """Wait until all speech has ended, also after interruptions. Raises `DetourRequested`."""
        while True:
            await self.narrator.finished()
            await self.safe_point()
            if self.narrator.remaining_s <= 0:
                return

    async def safe_point(self) -> None:
        """Handle visitors' requests, then resume an interrupted utterance. Raises `DetourRequested`."""
        if self.overlay is not None:
            self.overlay.follow(self.session.page)  # a step may have opened another tab
        if self._attending:
            return  # the host speaks while it handles a request
        if self._delayed is not None and not self.holding:
            held, self._delayed = self._delayed, None
            raise held
        if self.turns is None:
            return
        began = self.narrator.now
        self._attending = True
        try:
            await self.turns.safe_point()
        except DetourRequested as detoured:
            self.narrator.take_rest()
            if not self.holding:
                raise
            self._delayed = detoured
        finally:
            self._attending = False
            self.attended_s += max(0.0, self.narrator.now - began)
        rest = self.narrator.take_rest()
        if rest and not self.hurried:
            await self._speak(rest)

    def leave_out(self, heard: frozenset[str]) -> None:
        """Do not say these sentences again where an utterance begins with them."""
        self._heard = heard

    def _without_heard(self, words: str) -> str:
        if not self._heard:
            return words
        marked, at = read_marks(words), 0
        for sentence in marked.sentences:
            if sentence not in self._heard:
                break
            at += len(sentence.split())
        return marked.since(at) if at < len(marked.words) else ""

    def discard_detour(self) -> None:
        """Discard a delayed detour."""
        self._delayed, self.holding = None, False

    async def _speak(self, words: str) -> SpokenUtterance | None:
        spoken = await self.narrator.say(words, resumed=not self._attending)
        if spoken is not None:
            self.session.bus.tell(Narrated(spoken.text, spoken.start_s))
        return spoken

    def _fill(self, text: str, values: Mapping[str, Any]) -> str:
        try:
            return str(self.session.context.redact(fill(text, values)))
        except MissingVariable:
            return ""

    def _apply_pace(self, event: Event) -> None:
        """Apply a pace chosen by the visitor, from the next words on."""
        if isinstance(event, PaceChanged):
            self.narrator.pace = event.pace
