"""Connects a presentation to a room: opened before the first word, closed after the last one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from livekit import rtc
from livekit.agents.stt import STT

from agent.events import Event, EventBus
from agent.media.screencast import Screencast
from agent.presentation.narration.narrator import Narrator
from agent.presentation.turn_manager import TurnManager
from agent.rooms.room_input import RoomInput
from agent.rooms.room_speaker import RoomSpeaker
from agent.rooms.room_topics import EVENTS, render_event
from agent.rooms.screen_track import ScreenTrack
from agent.rooms.speech_transcript import SpeechTranscript

LOG = logging.getLogger(__name__)
LAST_MESSAGES_S = 2.0
"""Seconds for sending the remaining messages at the end."""


class EventAnnouncer:
    """Sends visitors the events of a presentation, one message after the other; later visitors get the latest
    state.
    """

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._waiting: asyncio.Queue[tuple[str, list[str]]] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(), name="announcer")

    def __call__(self, event: Event) -> None:
        """Event bus listener."""
        message = render_event(event)
        if message is not None:
            self.send(message)

    def send(self, message: str, *, to: list[str] | None = None) -> None:
        """Send a message to all visitors, or to some."""
        self._waiting.put_nowait((message, to or []))

    async def close(self) -> None:
        """Send the remaining messages, as far as there are receivers."""
        try:
            async with asyncio.timeout(LAST_MESSAGES_S):
                await self._waiting.join()
        except TimeoutError:
            LOG.info("%d messages were not sent", self._waiting.qsize())
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
                LOG.info("could not send a message: %s", exc)
            finally:
                self._waiting.task_done()


@dataclass
class RoomBroadcast:
    """The open resources of a presentation in a room."""

    speaker: RoomSpeaker
    screen: ScreenTrack
    announcer: EventAnnouncer
    ears: RoomInput
    picture: Screencast
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


@asynccontextmanager
async def open_broadcast(
    room: rtc.Room,
    narrator: Narrator,
    turns: TurnManager,
    bus: EventBus,
    picture: Screencast,
    *,
    size: tuple[int, int],
    stt: STT[Any] | None = None,
) -> AsyncIterator[RoomBroadcast]:
    """Let a room see, hear and interrupt a presentation. `picture` must run already; `size` is its size in
    pixels.
    """
    async with AsyncExitStack() as stack:
        announcer = EventAnnouncer(room)
        stack.push_async_callback(announcer.close)
        speaker, screen = RoomSpeaker(room), ScreenTrack(room, size)
        stack.push_async_callback(speaker.close)
        stack.push_async_callback(screen.close)
        await screen.publish()
        await speaker.publish()
        transcript = SpeechTranscript(room, speaker.track_sid)
        stack.push_async_callback(transcript.close)
        showing = asyncio.create_task(
            screen.follow(picture), name="could not publish the picture in the room"
        )
        stack.push_async_callback(_cancel_task, showing)
        ears = RoomInput(room, turns, stt=stt)
        stack.push_async_callback(ears.close)
        ears.open()
        bus.listen(announcer)
        narrator.add(speaker)
        narrator.add(transcript)
        yield RoomBroadcast(speaker, screen, announcer, ears, picture, [showing])


async def _cancel_task(task: asyncio.Task[None]) -> None:
    task.cancel()
    (outcome,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(outcome, Exception):
        LOG.error("the picture stopped", exc_info=outcome)
