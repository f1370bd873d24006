"""Hearing visitors: what they type, which button they press, and that they speak.

Text and buttons always work. Microphones are listened to for voices (a small model that runs here); what is
said is recognised only where there is a plugin for it. Sound is never kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from livekit import rtc
from livekit.agents import inference
from livekit.agents.stt import STT, SpeechEventType, StreamAdapter
from livekit.agents.vad import VADEventType, VADStream

from agent.presenting.floor import Floor
from agent.rooms.topics import ASK, BUTTON_WORDS, BUTTONS, CHAT

LOG = logging.getLogger(__name__)
LONGEST_TEXT = 500
"""Characters of one message; what is longer is cut."""
MOST_WAITING = 5
"""Messages of one visitor that are being read at a time: a flood is not listened to."""
RATE = 16_000
SPEECH_S, SILENCE_S = 0.06, 0.5
"""So long a voice is heard before it interrupts, and is silent before it is over."""


class Ears:
    """Hears everybody in a room but other presenters, and tells the floor."""

    def __init__(self, room: rtc.Room, floor: Floor, *, stt: STT[Any] | None = None) -> None:
        """`stt` recognises words; None: a voice only interrupts, and the words are typed."""
        self._room, self._floor = room, floor
        self._vad = inference.VAD(min_speech_duration=SPEECH_S, min_silence_duration=SILENCE_S)
        self._stt = (
            stt if stt is None or stt.capabilities.streaming else StreamAdapter(stt=stt, vad=self._vad)
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: dict[str, int] = {}
        self._open = False

    def open(self) -> None:
        """Listen, to those who are there and those who come."""
        self._open = self._floor.visited = True
        self._room.register_text_stream_handler(CHAT, self._typed)
        self._room.on("data_received", self._pressed)
        self._room.on("track_published", self._published)
        self._room.on("track_subscribed", self._subscribed)
        for participant in self._room.remote_participants.values():
            for publication in participant.track_publications.values():
                self._published(publication, participant)

    async def close(self) -> None:
        """Listen no longer. May be called again."""
        if self._open:
            self._open = False
            self._room.unregister_text_stream_handler(CHAT)
            self._room.off("data_received", self._pressed)
            self._room.off("track_published", self._published)
            self._room.off("track_subscribed", self._subscribed)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- text and buttons ----------------------------------------------------------------------------

    @staticmethod
    def _concerns(sender: rtc.RemoteParticipant | None) -> bool:
        """Who has just come may write before we are told of them: only known others are not listened to."""
        return sender is None or is_visitor(sender)

    def _typed(self, reader: rtc.TextStreamReader, identity: str) -> None:
        if self._concerns(self._room.remote_participants.get(identity)):
            if self._reading.get(identity, 0) >= MOST_WAITING:
                LOG.warning("a visitor sends more than can be read: a message is left out")
                return
            self._begin(self._read(reader, identity), "chat")

    async def _read(self, reader: rtc.TextStreamReader, identity: str) -> None:
        self._reading[identity] = self._reading.get(identity, 0) + 1
        try:
            text = " ".join((await reader.read_all()).split())[:LONGEST_TEXT]
        except rtc.StreamError as exc:
            LOG.info("a message broke off: %s", exc)
            return
        finally:
            self._reading[identity] -= 1
        if text:
            self._floor.hear(text, by="text")

    def _pressed(self, packet: rtc.DataPacket) -> None:
        if packet.topic != BUTTONS or not self._concerns(packet.participant):
            return
        button = packet.data.decode(errors="replace").strip()
        if button == ASK:
            self._floor.barge_in()
        elif button in BUTTON_WORDS:
            self._floor.hear(BUTTON_WORDS[button], by="button")
        else:
            LOG.info("a button that there is not was pressed")

    # -- voices ------------------------------------------------------------------------------------

    def _published(self, publication: rtc.RemoteTrackPublication, participant: rtc.RemoteParticipant) -> None:
        if is_visitor(participant) and publication.source == rtc.TrackSource.SOURCE_MICROPHONE:
            publication.set_subscribed(True)

    def _subscribed(self, track: rtc.Track, _: Any, participant: rtc.RemoteParticipant) -> None:
        if isinstance(track, rtc.RemoteAudioTrack) and is_visitor(participant):
            self._begin(self._listen(track), "microphone")

    async def _listen(self, track: rtc.RemoteAudioTrack) -> None:
        """Listen to a microphone until it is gone."""
        sound = rtc.AudioStream(track, sample_rate=RATE, num_channels=1)
        voices = self._vad.stream()
        words = self._stt.stream() if self._stt is not None else None
        followers = [asyncio.create_task(self._notice(voices), name="voices")]
        if words is not None:
            followers.append(asyncio.create_task(self._recognise(words), name="words"))
        try:
            async for event in sound:
                voices.push_frame(event.frame)
                if words is not None:
                    words.push_frame(event.frame)
        finally:
            for follower in followers:
                follower.cancel()
            await asyncio.gather(*followers, return_exceptions=True)
            await sound.aclose()
            await voices.aclose()
            if words is not None:
                await words.aclose()

    async def _notice(self, voices: VADStream) -> None:
        async for event in voices:
            if event.type is VADEventType.START_OF_SPEECH:
                self._floor.barge_in(speaking=True)
            elif event.type is VADEventType.END_OF_SPEECH:
                self._floor.fell_silent()

    async def _recognise(self, words: Any) -> None:
        async for event in words:
            if event.type is SpeechEventType.FINAL_TRANSCRIPT and event.alternatives:
                text = event.alternatives[0].text.strip()[:LONGEST_TEXT]
                if text:
                    self._floor.hear(text, by="voice")

    def _begin(self, coro: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(coro, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            LOG.error("listening to a visitor failed (%s)", task.get_name(), exc_info=failure)


def is_visitor(participant: rtc.RemoteParticipant | None) -> bool:
    """Whether it is a person: not a presenter, a recorder or whatever else may be in a room."""
    return participant is not None and participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_STANDARD
