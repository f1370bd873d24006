"""Builds the film of one presentation from new clips and stored ones."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.media.media_tools import MediaError
from agent.media.screen_recorder import ScreenRecorder, ScreenRecording
from agent.presentation.film.clip_keys import are_dependencies_unchanged, compute_clip_key, hash_dependencies
from agent.presentation.film.clip_store import Clip, ClipStore
from agent.presentation.film.page_appearance import capture_appearance
from agent.presentation.narration.narrator import Narrator, SpokenUtterance
from agent.session import Session
from kb_schema.base import Document
from kb_schema.presentation_flows import PresentationFlow, Segment

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class FilmedSegment:
    """One segment of the film."""

    segment: Segment
    key: str
    start_s: float
    """Its start in seconds of the film."""
    clip: Clip | None = None
    """The stored clip; None: it is being filmed."""
    said_before: int = 0
    """Number of the presentation's utterances at its start."""
    read: dict[tuple[str, str], Document] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilmStyle:
    """How the film is made; clips are only reused for the same manner."""

    size: tuple[int, int]
    fps: int = 30
    voice: str = ""
    """The voice, its language and its speed."""
    drawn: str = ""
    """A hash of what is drawn over the page."""

    def as_key(self) -> dict[str, Any]:
        """Return it as part of a clip's key."""
        return {"size": list(self.size), "fps": self.fps, "voice": self.voice, "drawn": self.drawn}


class FilmBuilder:
    """Films one session's page in clips; without a clip store, in one piece.

    `now` is the presentation's clock: it stops while nothing is filmed, and advances by the length of each
    reused clip.
    """

    def __init__(
        self,
        session: Session,
        narrator: Narrator,
        recorder: ScreenRecorder,
        folder: Path,
        *,
        style: FilmStyle,
        clip_store: ClipStore | None = None,
    ) -> None:
        """`folder`: for new clips. `clip_store` None: everything is filmed and no clip is kept."""
        self._session, self._narrator, self._recorder = session, narrator, recorder
        self._folder, self._style, self._clip_store = folder, style, clip_store
        self._take: FilmedSegment | None = None
        self._number = 0
        self.clips: list[ScreenRecording] = []
        """The film so far."""
        self.taken: list[str] = []
        """Segments whose stored clips were reused."""
        self.stale: list[str] = []
        """Reused segments whose page turned out to differ from the clip; the next film records them again."""

        self._of_no_use: list[FilmedSegment] = []
        self.broken: MediaError | None = None
        """Why filming stopped; the presentation continues without a film."""
        self._broke_at = (0.0, 0.0)

    def now(self) -> float:
        """Seconds of film; after filming stopped, seconds of the presentation."""
        if self.broken is None:
            return self._recorder.now()
        film_s, then = self._broke_at
        return film_s + time.monotonic() - then

    async def start(self) -> None:
        """Start filming. Raises `MediaToolMissing` if a tool is missing."""
        first = None if self._clip_store is not None else self._file()
        await self._recorder.start(self._session.page, first, size=self._style.size, fps=self._style.fps)

    async def begin(self, flow: PresentationFlow, segment: Segment, values: Mapping[str, Any]) -> bool:
        """Start a segment; return whether its stored clip is reused, so that it need not be seen.

        The previous segment must have been ended with `end`.
        """
        if self._clip_store is None or self.broken is not None:
            return False
        look = await self._measure_appearance()
        key = compute_clip_key(
            flow, segment, style=self._style.as_key(), look=look, values=self._redact(values)
        )
        clip = await asyncio.to_thread(self._clip_store.find, segment.segment_id, key) if look else None
        if clip is not None and not await are_dependencies_unchanged(
            clip.record.needs, self._session.knowledge
        ):
            clip = None
        take = self._take = FilmedSegment(segment, key, self.now(), clip, len(self._narrator.spoken))
        if clip is None:
            await self._cut(self._file())
            self._session.knowledge.on_read = lambda read: take.read.update(
                {(read.kind, read.local_id): read}
            )
            return False
        self._recorder.lay(clip.recording.duration_s)
        self._narrator.spoken += clip.spoken(take.start_s)
        self.clips.append(clip.recording)
        self.taken.append(segment.segment_id)
        return True

    async def end(self, *, shown: bool, said: Collection[str]) -> None:
        """End the current segment, including its transition.

        `shown`: it was shown to its end. `said`: the words of a segment whose clip was reused.
        """
        take, self._take = self._take, None
        if take is None or self._clip_store is None:
            return
        self._session.knowledge.on_read = None
        if take.clip is not None:
            # Only the segment's own words count. Words that fill silence or bridge a wait are only spoken
            # while time passes, which is on film.
            same = shown and set(said) <= {each.text for each in take.clip.record.speech}
            if not same or await self._measure_appearance() != take.clip.record.ends_as:
                self.stale.append(take.segment.segment_id)
                self._of_no_use.append(take)
            return
        await self._narrator.finished()
        recording = await self._cut(None)
        if recording is not None and shown:
            await self._store_clip(self._clip_store, take, recording)

    async def _cut(self, path: Path | None) -> ScreenRecording | None:
        """Stop filming; the presentation continues."""
        film_s = self.now()
        try:
            recording = await self._recorder.cut(path)
        except MediaError as exc:
            self.broken, self._broke_at = self.broken or exc, (film_s, time.monotonic())
            return None
        if recording is not None:
            self.clips.append(recording)
        return recording

    async def _store_clip(
        self, clip_store: ClipStore, take: FilmedSegment, recording: ScreenRecording
    ) -> None:
        spoken = [
            _at(each, each.start_s - take.start_s) for each in self._narrator.spoken[take.said_before :]
        ]
        own = self._session.context.personal.redact
        if any(each.stop_s is not None or own(each.text) != each.text for each in spoken):
            return  # not reusable, and it contains personal data of the visitor
        known = {"needs": hash_dependencies(take.read.values()), "ends_as": await self._measure_appearance()}
        try:
            await asyncio.to_thread(
                clip_store.keep, take.segment.segment_id, take.key, recording, spoken, **known
            )
        except OSError as exc:
            LOG.warning("could not store the clip of %s: %s", take.segment.segment_id, exc)

    async def finish(self) -> list[ScreenRecording]:
        """End the film and return its clips in order. Raises `MediaError` if filming stopped early; `clips`
        then has what was filmed.
        """
        self._session.knowledge.on_read = None
        self._take = None
        await self._cut(None)
        if self.broken is not None:
            raise self.broken
        return self.clips

    async def close(self) -> None:
        """Stop filming and delete outdated clips, which the film no longer needs. May be called again."""
        while self._clip_store is not None and self._of_no_use:
            take = self._of_no_use.pop()
            self._clip_store.drop(take.segment.segment_id, take.key)
        try:
            await self._recorder.stop()
        except MediaError as exc:
            LOG.debug("filming had already ended: %s", exc)

    def _file(self) -> Path:
        self._number += 1
        return self._folder / f"take-{self._number}.mp4"

    def _redact(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the text without secrets and without values that differ between presentations."""
        own = {"run_id", "now", "today", "base_url", "current_url"}
        return {name: self._session.context.redact(each) for name, each in values.items() if name not in own}

    async def _measure_appearance(self) -> str:
        brought = [str(each) for each in self._session.context.session.values() if isinstance(each, str)]
        return await capture_appearance(self._session.page, brought)


def _at(spoken: SpokenUtterance, start_s: float) -> SpokenUtterance:
    return SpokenUtterance(spoken.text, start_s, spoken.duration_s, spoken.speech, spoken.stop_s)
