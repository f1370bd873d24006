"""What everybody who tells a story shares: to whom, with which voice, on what, how fast; and where the
visitor is let in.

Speaking goes through here rather than straight to the narrator: each sentence is a safe point, and what
a visitor cut short is taken up again where the story goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent.events import Event
from agent.presenting.floor import Detoured, Floor, PaceChanged
from agent.presenting.narrator import Narrator, Spoken
from agent.presenting.records import Narrated
from agent.presenting.stage import Stage
from agent.session import Session
from kb_schema.templates import MissingVariable, fill


class Telling:
    """Speaks for the player and the presenter, and attends to the visitor in between.

    While `holding`, a visitor's detour is kept for later rather than taken: what is being done on the site
    comes to its end, without words. It is raised at the first safe point after that.
    """

    def __init__(
        self,
        session: Session,
        narrator: Narrator,
        stage: Stage | None,
        speed: float,
        instant: bool,
        floor: Floor | None = None,
    ) -> None:
        """`stage` None: nothing is drawn. `instant`: no words that take time, no pauses: only the work."""
        self.session, self.narrator, self.stage = session, narrator, stage
        self.instant, self.floor = instant, floor
        self.holding = False
        self.attended_s = 0.0
        """Seconds that visitors took by now."""
        self._speed = speed
        self._attending = False
        self._held: Detoured | None = None
        session.bus.listen(self._follow)

    @property
    def speed(self) -> float:
        """How fast everything goes now: as the show was begun, and as a visitor wishes."""
        return self._speed * self.narrator.pace

    @property
    def hurried(self) -> bool:
        """A visitor wants to be elsewhere: what has to be finished is finished, and nothing is told of it."""
        return self._held is not None

    async def say(self, text: str, values: Mapping[str, Any]) -> Spoken | None:
        """Fill and begin to speak, after a safe point; a sentence whose variable has no value is left
        unsaid. None where nothing was begun. Raises `Detoured`.
        """
        words = self._filled(text, values)
        if not words:
            return None
        await self.safe_point()
        return None if self.hurried else await self._speak(words)

    async def prepare(self, texts: Iterable[str], values: Mapping[str, Any]) -> None:
        """Have sentences synthesised before their turn, as far as they can be filled by now."""
        if not self.instant:
            await self.narrator.prepare([self._filled(text, values) for text in texts])

    async def finished(self) -> None:
        """Wait until everything is said, whoever interrupts. Raises `Detoured`."""
        while True:
            await self.narrator.finished()
            await self.safe_point()
            if self.narrator.remaining_s <= 0:
                return

    async def safe_point(self) -> None:
        """Attend to whoever wants something, then take up what was cut short. Raises `Detoured`."""
        if self.stage is not None:
            self.stage.follow(self.session.page)  # a step may have led into another tab
        if self._attending:
            return  # whoever attends speaks, too
        if self._held is not None and not self.holding:
            held, self._held = self._held, None
            raise held
        if self.floor is None:
            return
        began = self.narrator.now
        self._attending = True
        try:
            await self.floor.safe_point()
        except Detoured as detoured:
            self.narrator.take_rest()
            if not self.holding:
                raise
            self._held = detoured
        finally:
            self._attending = False
            self.attended_s += max(0.0, self.narrator.now - began)
        rest = self.narrator.take_rest()
        if rest and not self.hurried:
            await self._speak(rest)

    def forget(self) -> None:
        """No detour is kept any more."""
        self._held, self.holding = None, False

    async def _speak(self, words: str) -> Spoken | None:
        spoken = await self.narrator.say(words, resumed=not self._attending)
        if spoken is not None:
            self.session.bus.tell(Narrated(spoken.text, spoken.start_s))
        return spoken

    def _filled(self, text: str, values: Mapping[str, Any]) -> str:
        try:
            return str(self.session.context.redact(fill(text, values)))
        except MissingVariable:
            return ""

    def _follow(self, event: Event) -> None:
        """A visitor wants it faster or slower: from the next words on it is."""
        if isinstance(event, PaceChanged):
            self.narrator.pace = event.pace
