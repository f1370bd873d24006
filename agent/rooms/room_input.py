"""Receives visitors' input: typed text, buttons, and speech.

Text and buttons always work. A small local model detects voices on microphones; words are only recognised
with a plugin. Sound is never stored.
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

from agent.presentation.turn_manager import TurnManager
from agent.rooms.room_topics import ASK_BUTTON, BUTTON_WORDS, BUTTONS, CHAT

LOG = logging.getLogger(__name__)
LONGEST_TEXT = 500
"""Most characters of one message; longer ones are cut."""
MOST_WAITING = 5
"""Most messages of one visitor read concurrently, to limit floods."""
RATE = 16_000
SPEECH_S, SILENCE_S = 0.06, 0.5
"""Seconds of voice before it interrupts, and seconds of silence before it counts as ended."""


class RoomInput:
    """Listens to everyone in a room except other presenters, and informs the turn manager."""

    def __init__(self, room: rtc.Room, turns: TurnManager, *, stt: STT[Any] | None = None) -> None:
        """`stt` recognises words; None: a voice only interrupts, and the visitor types the words."""
        self._room, self._turns = room, turns
        self._vad = inference.VAD(min_speech_duration=SPEECH_S, min_silence_duration=SILENCE_S)
        self._stt = (
            stt if stt is None or stt.capabilities.streaming else StreamAdapter(stt=stt, vad=self._vad)
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: dict[str, int] = {}
        self._open = self._late = False

    def open(self) -> None:
        """Start listening to current and future visitors."""
        self._open = self._turns.visited = True
        self._room.register_text_stream_handler(CHAT, self._on_text)
        self._room.on("data_received", self._on_button)
        self._room.on("track_published", self._on_track_published)
        self._room.on("track_subscribed", self._on_track_subscribed)
        for participant in self._room.remote_participants.values():
            for publication in participant.track_publications.values():
                self._on_track_published(publication, participant)

    async def close(self) -> None:
        """Stop listening. May be called again."""
        if self._open:
            self._open = False
            self._room.unregister_text_stream_handler(CHAT)
            self._room.off("data_received", self._on_button)
            self._room.off("track_published", self._on_track_published)
            self._room.off("track_subscribed", self._on_track_subscribed)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- text and buttons ----------------------------------------------------------------------------

    @staticmethod
    def _accepts(sender: rtc.RemoteParticipant | None) -> bool:
        """Return whether to accept a sender. A new visitor's message may arrive before the notice of joining,
        so unknown senders are accepted.
        """
        return sender is None or is_visitor(sender)

    def _on_text(self, reader: rtc.TextStreamReader, identity: str) -> None:
        if self._accepts(self._room.remote_participants.get(identity)):
            if self._reading.get(identity, 0) >= MOST_WAITING:
                LOG.warning("dropped a message, because a visitor sends faster than messages can be read")
                return
            if not self._may_say():
                return
            self._begin(self._read(reader, identity), "chat")

    async def _read(self, reader: rtc.TextStreamReader, identity: str) -> None:
        self._reading[identity] = self._reading.get(identity, 0) + 1
        try:
            text = " ".join((await reader.read_all()).split())[:LONGEST_TEXT]
        except rtc.StreamError as exc:
            LOG.info("a message was incomplete: %s", exc)
            return
        finally:
            self._reading[identity] -= 1
        if text:
            self._turns.hear(text, by="text")

    def _on_button(self, packet: rtc.DataPacket) -> None:
        if packet.topic != BUTTONS or not self._accepts(packet.participant):
            return
        if not self._may_say():
            return
        button = packet.data[:LONGEST_TEXT].decode(errors="replace").strip()
        if button == ASK_BUTTON:
            self._turns.barge_in()
        elif button in BUTTON_WORDS:
            self._turns.hear(BUTTON_WORDS[button], by="button")
        else:
            LOG.info("ignored an unknown button")

    def _may_say(self) -> bool:
        """Count a message or press; return False if visitors sent too many within a minute. The log says it once."""
        late = self._turns.rate.wait() > 0
        if late and not self._late:
            LOG.warning("dropping what visitors send: too many messages and presses within a minute")
        self._late = late
        return not late

    # -- voices ------------------------------------------------------------------------------------

    def _on_track_published(
        self, publication: rtc.RemoteTrackPublication, participant: rtc.RemoteParticipant
    ) -> None:
        if is_visitor(participant) and publication.source == rtc.TrackSource.SOURCE_MICROPHONE:
            publication.set_subscribed(True)

    def _on_track_subscribed(self, track: rtc.Track, _: Any, participant: rtc.RemoteParticipant) -> None:
        if isinstance(track, rtc.RemoteAudioTrack) and is_visitor(participant):
            self._begin(self._listen(track), "microphone")

    async def _listen(self, track: rtc.RemoteAudioTrack) -> None:
        """Listen to a microphone until its track ends."""
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
                self._turns.barge_in(speaking=True)
            elif event.type is VADEventType.END_OF_SPEECH:
                self._turns.fell_silent()

    async def _recognise(self, words: Any) -> None:
        async for event in words:
            if event.type is SpeechEventType.FINAL_TRANSCRIPT and event.alternatives:
                text = event.alternatives[0].text.strip()[:LONGEST_TEXT]
                if text:
                    self._turns.hear(text, by="voice")

    def _begin(self, coro: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(coro, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            LOG.error("stopped listening to a visitor (%s)", task.get_name(), exc_info=failure)


def is_visitor(participant: rtc.RemoteParticipant | None) -> bool:
    """Return whether a participant is a person, not a presenter, a recorder or another service."""
    return participant is not None and participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_STANDARD
