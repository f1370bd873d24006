"""The presenter's voice as an audio track: WAV files become frames, and silence is immediate."""

from __future__ import annotations

import asyncio
import wave
from collections import OrderedDict
from pathlib import Path

from livekit import rtc

from agent.media.voice import Speech
from agent.presenting.narrator import SpeakerGone

RATE = 24_000
"""Samples a second of the track; WebRTC's frames of 10 ms are whole numbers of them."""
LONGEST_QUEUED_MS = 60_000
"""A whole utterance waits in the library's own queue, so that a busy event loop never makes it stutter."""
SLICE_S = 10
KEPT = 32
"""Utterances kept as samples: what is said again begins at once."""


class RoomSpeaker:
    """A `Speaker` that is heard on an audio track."""

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._source = rtc.AudioSource(RATE, 1, queue_size_ms=LONGEST_QUEUED_MS)
        self._known: OrderedDict[Path, bytes] = OrderedDict()
        self._pushing: asyncio.Task[None] | None = None
        self.track_sid = ""

    async def publish(self) -> None:
        """Be heard by who is in the room."""
        track = rtc.LocalAudioTrack.create_audio_track("voice", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        publication = await self._room.local_participant.publish_track(track, options)
        self.track_sid = publication.sid

    async def play(self, speech: Speech) -> None:
        """Begin to be heard, in place of what was. Raises `SpeakerGone` where the room is left."""
        self._check()
        await self.stop()
        if speech.wav is None:
            return
        samples = await self._samples(speech.wav)
        self._pushing = asyncio.create_task(self._push(samples), name="voice into the room")

    async def stop(self) -> None:
        """Silent now: what waits in the queue is thrown away. Raises `SpeakerGone`."""
        if self._pushing is not None:
            self._pushing.cancel()
            self._pushing = None
        self._source.clear_queue()
        self._check()

    async def close(self) -> None:
        """The track is over. May be called again."""
        if self._pushing is not None:
            self._pushing.cancel()
        await self._source.aclose()

    def _check(self) -> None:
        if not self._room.isconnected():
            raise SpeakerGone("the room was left")

    async def _push(self, samples: bytes) -> None:
        step = SLICE_S * RATE * 2
        for at in range(0, len(samples), step):
            part = samples[at : at + step]
            await self._source.capture_frame(rtc.AudioFrame(part, RATE, 1, len(part) // 2))

    async def _samples(self, wav: Path) -> bytes:
        """Mono 16-bit samples at `RATE`."""
        if wav not in self._known:
            self._known[wav] = await asyncio.to_thread(resampled, wav)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(wav)
        return self._known[wav]


def resampled(wav: Path) -> bytes:
    """A mono 16-bit WAV file's samples at `RATE`."""
    with wave.open(str(wav), "rb") as sound:
        rate, data = sound.getframerate(), sound.readframes(sound.getnframes())
    if rate == RATE or not data:
        return data
    resampler = rtc.AudioResampler(rate, RATE)
    frames = [*resampler.push(bytearray(data)), *resampler.flush()]
    return b"".join(bytes(frame.data) for frame in frames)
