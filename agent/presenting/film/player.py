"""A player whose show is filmed: segments of which a good clip exists are carried out, but nobody sees them."""

from __future__ import annotations

from typing import Any

from agent.media.voice import SilentVoice
from agent.presenting.film.reel import Reel
from agent.presenting.narrator import Narrator
from agent.presenting.player import Player
from agent.presenting.records import SegmentRecord, SegmentStatus
from agent.presenting.segments import Segments
from agent.presenting.telling import Telling
from agent.session import Session
from kb_schema.presentation import Segment


class FilmPlayer(Player):
    """Tells one flow; with a `reel`, which is given before it is played, it is filmed segment by segment."""

    def __init__(self, session: Session, narrator: Narrator, **options: Any) -> None:
        """As `Player`."""
        super().__init__(session, narrator, **options)
        self.reel: Reel | None = None
        self._seen = (self._telling, self._segments, self._narrator)
        self._unseen: tuple[Telling, Segments, Narrator] | None = None
        self._last: SegmentRecord | None = None
        self._said_before = 0

    async def show(self, segment: Segment, record: SegmentRecord) -> None:
        """As `Player.show`, on film: what led here belongs to the segment before."""
        if self.reel is not None and self._flow is not None:
            await self.wrap_up()
            record.start_s = self._clock()
            unseen = await self.reel.begin(self._flow, segment, self.words())
            self._last = record
            self._tell_unseen(unseen)
        await super().show(segment, record)

    async def wrap_up(self) -> None:
        """The segment that was told last is over, and nothing leads on: call it once all has been seen."""
        last, self._last = self._last, None
        if self.reel is None or last is None:
            return
        said = [each.text for each in self._narrator.spoken[self._said_before :]]
        self._tell_unseen(False)
        await self.reel.end(shown=last.status is SegmentStatus.SHOWN, said=said)

    def _tell_unseen(self, unseen: bool) -> None:
        """Whether what is told from now on takes no time, is not heard, and nothing is drawn."""
        if unseen and self._unseen is None:
            narrator = Narrator(SilentVoice(), self._clock, silent=True)
            telling = Telling(self._session, narrator, None, self._speed, True)
            self._unseen = (telling, Segments(telling), narrator)
        if self._unseen is not None:
            other, own = self._unseen[1], self._seen[1]
            other.language, other.own_language = own.language, own.own_language
        self._telling, self._segments, self._narrator = (
            self._unseen if unseen and self._unseen is not None else self._seen
        )
        self._said_before = len(self._narrator.spoken)
