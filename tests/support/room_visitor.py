"""A visitor of a LiveKit room: a real client that keeps what it hears, sees and reads, and when."""

from __future__ import annotations

import asyncio
import json
import time
import wave
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from livekit import rtc

from agent.rooms.room_topics import BUTTONS, CHAT, EVENTS, TRANSCRIPTION
from periplus.rooms.room_tickets import RoomTicket

PATIENCE_S = 90.0


@dataclass
class Utterance:
    """What the presenter said, word by word as it came."""

    text: str = ""
    began_at: float = 0.0
    over: bool = False
    cut: bool = False


@dataclass
class RoomVisitor:
    """Times are of `time.monotonic`."""

    room: rtc.Room
    loudness: list[tuple[float, float]] = field(default_factory=list)
    """When a frame of 10 ms came, and how loud it is (root mean square of 16-bit samples)."""
    pictures: list[tuple[float, bytes]] = field(default_factory=list)
    """When a frame came, and it in small: 32 x 18 levels of grey."""
    newest: np.ndarray[Any, Any] | None = None
    """The newest frame as height x width x RGB."""
    said: list[Utterance] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    over: bool = False
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    # -- what a visitor does

    async def type(self, text: str) -> None:
        await self.room.local_participant.send_text(text, topic=CHAT)

    async def press(self, button: str) -> None:
        await self.room.local_participant.publish_data(button.encode(), topic=BUTTONS)

    async def speak(self, wav: Path) -> float:
        """Say it into a microphone; when it begins."""
        with wave.open(str(wav), "rb") as sound:
            rate, data = sound.getframerate(), sound.readframes(sound.getnframes())
        source = rtc.AudioSource(rate, 1, queue_size_ms=30_000)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", source)
        await self.room.local_participant.publish_track(
            track, rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        )
        step = rate // 100 * 2 * 100
        data = data[: len(data) // step * step]
        began = time.monotonic()
        await source.capture_frame(rtc.AudioFrame(data, rate, 1, len(data) // 2))
        return began

    # -- what a visitor waits for

    async def until(self, holds: Callable[[], Any], what: str, timeout_s: float = PATIENCE_S) -> Any:
        """Wait for something heard, seen or read; what `holds` gives."""
        try:
            async with asyncio.timeout(timeout_s):
                while not (found := holds()):
                    self._changed.clear()
                    await self._changed.wait()
                return found
        except TimeoutError:
            said = [each.text for each in self.said]
            raise AssertionError(f"waited in vain for: {what}\n{self.events}\n{said}") from None

    async def event(self, kind: str, /, **values: Any) -> dict[str, Any]:
        """The first event of a kind, with these values."""
        return await self.until(lambda: self.find(kind, **values), f"{kind} {values}")

    async def another_picture(self) -> None:
        """Wait for a frame later than those by now."""
        count = len(self.pictures)
        await self.until(lambda: len(self.pictures) > count, "another frame")

    def find(self, kind: str, /, **values: Any) -> dict[str, Any] | None:
        wanted = {"event": kind, **values}
        return next((e for e in self.events if wanted.items() <= e.items()), None)

    def loud(self, since: float, until: float) -> float:
        """How loud it was in a time, on average."""
        levels = [level for at, level in self.loudness if since <= at < until]
        return float(np.mean(levels)) if levels else 0.0

    # -- what comes

    def _came(self, track: rtc.Track, publication: Any, _: Any) -> None:
        self.sources.append(publication.source)
        listen = self._hear if track.kind == rtc.TrackKind.KIND_AUDIO else self._see
        self._begin(listen(track))

    async def _hear(self, track: rtc.Track) -> None:
        async for event in rtc.AudioStream(track, sample_rate=24_000, num_channels=1):
            samples = np.frombuffer(event.frame.data, dtype=np.int16).astype(np.float64)
            self.loudness.append((time.monotonic(), float(np.sqrt(np.mean(samples**2)))))
            self._changed.set()

    async def _see(self, track: rtc.Track) -> None:
        async for event in rtc.VideoStream(track, format=rtc.VideoBufferType.RGB24, capacity=1):
            frame = event.frame
            self.newest = np.frombuffer(frame.data, dtype=np.uint8).reshape(frame.height, frame.width, 3)
            self.pictures.append((time.monotonic(), small(self.newest).tobytes()))
            self._changed.set()

    def _read(self, reader: rtc.TextStreamReader, _: str) -> None:
        utterance = Utterance(began_at=time.monotonic())
        self.said.append(utterance)

        async def read() -> None:
            try:
                async for part in reader:
                    utterance.text += part
                    self._changed.set()
                utterance.cut = (reader.info.attributes or {}).get("periplus.cut") == "true"
            except rtc.StreamError:
                utterance.cut = True
            utterance.over = True
            self._changed.set()

        self._begin(read())

    def _told(self, reader: rtc.TextStreamReader, _: str) -> None:
        async def read() -> None:
            try:
                self.events.append(json.loads(await reader.read_all()))
            except rtc.StreamError:
                return  # the presenter left in the middle of it
            self._changed.set()

        self._begin(read())

    def _door(self, _: str, metadata: str) -> None:
        """What the room's metadata says."""
        if metadata:
            self.events.append(json.loads(metadata))
            self._changed.set()

    def _ended(self, *_: Any) -> None:
        self.over = True
        self._changed.set()

    def _begin(self, coro: Any) -> None:
        self._tasks.append(asyncio.create_task(coro))


def small(picture: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """32 x 18 levels of grey."""
    height, width, _ = picture.shape
    grey = picture[: height // 18 * 18, : width // 32 * 32].mean(axis=2)
    blocks = grey.reshape(18, height // 18, 32, width // 32)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)


@asynccontextmanager
async def entered(ticket: RoomTicket) -> AsyncIterator[RoomVisitor]:
    """A visitor in the room of a ticket."""
    room = rtc.Room()
    visitor = RoomVisitor(room)
    room.on("track_subscribed", visitor._came)
    room.on("room_metadata_changed", visitor._door)
    room.on("disconnected", visitor._ended)
    room.on("participant_connected", lambda _: visitor._changed.set())
    room.on("participant_disconnected", lambda _: visitor._changed.set())
    room.register_text_stream_handler(TRANSCRIPTION, visitor._read)
    room.register_text_stream_handler(EVENTS, visitor._told)
    await room.connect(ticket.url, ticket.token)
    visitor._door("", room.metadata)
    try:
        yield visitor
    finally:
        await room.disconnect()
        for task in visitor._tasks:
            task.cancel()
        await asyncio.gather(*visitor._tasks, return_exceptions=True)
