"""A flow player that films: segments with a reusable clip run without being shown."""

from __future__ import annotations

from typing import Any

from agent.media.voice import SilentVoice
from agent.presentation.film.film_builder import FilmBuilder
from agent.presentation.flow_player import FlowPlayer
from agent.presentation.narration.interruptible_narrator import InterruptibleNarrator
from agent.presentation.narration.narrator import Narrator
from agent.presentation.presentation_records import SegmentRecord, SegmentStatus
from agent.presentation.segment_player import SegmentPlayer
from agent.session import Session
from kb_schema.presentation_flows import Segment


class FilmPlayer(FlowPlayer):
    """Plays a flow. With `film`, which is set before playing, it is filmed segment by segment."""

    def __init__(self, session: Session, narrator: Narrator, **options: Any) -> None:
        """Same arguments as `FlowPlayer`."""
        super().__init__(session, narrator, **options)
        self.film: FilmBuilder | None = None
        self._seen = (self._narration, self._segments, self._narrator)
        self._unseen: tuple[InterruptibleNarrator, SegmentPlayer, Narrator] | None = None
        self._last: SegmentRecord | None = None
        self._said_before = 0

    async def show(self, segment: Segment, record: SegmentRecord) -> None:
        """Show a segment as `FlowPlayer.show` does, on film. The transition to it belongs to the previous
        segment.
        """
        if self.film is not None and self._flow is not None:
            await self.wrap_up()
            record.start_s = self._clock()
            unseen = await self.film.begin(self._flow, segment, self.words())
            self._last = record
            self._tell_unseen(unseen)
        await super().show(segment, record)

    async def wrap_up(self) -> None:
        """End the last segment. Call it after everything was shown."""
        last, self._last = self._last, None
        if self.film is None or last is None:
            return
        said = [each.text for each in self._narrator.spoken[self._said_before :]]
        self._tell_unseen(False)
        await self.film.end(shown=last.status is SegmentStatus.SHOWN, said=said)

    def _tell_unseen(self, unseen: bool) -> None:
        """Switch between hidden (no time, no sound, no overlay) and visible."""
        if unseen and self._unseen is None:
            narrator = Narrator(SilentVoice(), self._clock, silent=True)
            narration = InterruptibleNarrator(self._session, narrator, None, self._speed, True)
            self._unseen = (narration, SegmentPlayer(narration), narrator)
        if self._unseen is not None:
            other, own = self._unseen[1], self._seen[1]
            other.language, other.own_language = own.language, own.own_language
        self._narration, self._segments, self._narrator = (
            self._unseen if unseen and self._unseen is not None else self._seen
        )
        self._said_before = len(self._narrator.spoken)
