"""A show as a room has it: opened before the first word, closed after the last, leaving nothing behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from livekit import rtc
from livekit.agents.stt import STT

from agent.events import Bus, Event
from agent.media.picture import Picture
from agent.presenting.floor import Floor
from agent.presenting.narrator import Narrator
from agent.rooms.ears import Ears
from agent.rooms.screen import ScreenTrack
from agent.rooms.topics import EVENTS, message_of
from agent.rooms.transcript import Transcript
from agent.rooms.voice import RoomSpeaker

LOG = logging.getLogger(__name__)
LAST_MESSAGES_S = 2.0
"""What waits to be told may take so long when the show is over."""


class Announcer:
    """Tells visitors what happens, one message after the other; those who come later hear what was last."""

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._waiting: asyncio.Queue[tuple[str, list[str]]] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(), name="announcer")

    def __call__(self, event: Event) -> None:
        """A listener of the bus."""
        message = message_of(event)
        if message is not None:
            self.tell(message)

    def tell(self, message: str, *, to: list[str] | None = None) -> None:
        """Say it to everybody, or to some."""
        self._waiting.put_nowait((message, to or []))

    async def close(self) -> None:
        """Tell what is left, as far as anybody hears it."""
        try:
            async with asyncio.timeout(LAST_MESSAGES_S):
                await self._waiting.join()
        except TimeoutError:
            LOG.info("%d messages were not told any more", self._waiting.qsize())
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            message, to = await self._waiting.get()
            try:
                if self._room.isconnected():
                    await self._room.local_participant.send_text(
                        message, topic=EVENTS, destination_identities=to
                    )
            except rtc.StreamError as exc:
                LOG.info("a message was not told: %s", exc)
            finally:
                self._waiting.task_done()


@dataclass
class Broadcast:
    """What is open while a show is in a room."""

    speaker: RoomSpeaker
    screen: ScreenTrack
    announcer: Announcer
    ears: Ears
    picture: Picture
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


@asynccontextmanager
async def on_air(
    room: rtc.Room,
    narrator: Narrator,
    floor: Floor,
    bus: Bus,
    picture: Picture,
    *,
    size: tuple[int, int],
    stt: STT[Any] | None = None,
) -> AsyncIterator[Broadcast]:
    """Let a room see, hear and interrupt a show. `picture` runs already; `size` is its own, in pixels."""
    async with AsyncExitStack() as stack:
        announcer = Announcer(room)
        stack.push_async_callback(announcer.close)
        speaker, screen = RoomSpeaker(room), ScreenTrack(room, size)
        stack.push_async_callback(speaker.close)
        stack.push_async_callback(screen.close)
        await screen.publish()
        await speaker.publish()
        transcript = Transcript(room, speaker.track_sid)
        stack.push_async_callback(transcript.close)
        showing = asyncio.create_task(screen.follow(picture), name="picture into the room")
        stack.push_async_callback(_ended, showing)
        ears = Ears(room, floor, stt=stt)
        stack.push_async_callback(ears.close)
        ears.open()
        bus.listen(announcer)
        narrator.add(speaker)
        narrator.add(transcript)
        yield Broadcast(speaker, screen, announcer, ears, picture, [showing])


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(outcome, Exception):
        LOG.error("the picture broke off", exc_info=outcome)
