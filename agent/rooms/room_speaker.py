"""Plays the presenter's voice on an audio track: converts WAV files to frames, and can stop at once."""

from __future__ import annotations

import asyncio
import wave
from collections import OrderedDict
from pathlib import Path

from livekit import rtc

from agent.media.voice import Speech
from agent.presentation.narration.narrator import SpeakerGone

RATE = 24_000
"""Sample rate of the track; WebRTC frames of 10 ms are a whole number of samples."""
LONGEST_QUEUED_MS = 60_000
"""Seconds of the library's queue: a whole utterance fits, so that a busy event loop causes no gaps."""
SLICE_S = 10
CACHED_FILES = 32
"""Number of utterances cached as samples, so that repeated ones start at once."""


class RoomSpeaker:
    """A `Speaker` on an audio track."""

    def __init__(self, room: rtc.Room) -> None:
        self._room = room
        self._source = rtc.AudioSource(RATE, 1, queue_size_ms=LONGEST_QUEUED_MS)
        self._known: OrderedDict[Path, bytes] = OrderedDict()
        self._pushing: asyncio.Task[None] | None = None
        self.track_sid = ""

    async def publish(self) -> None:
        """Publish the track in the room."""
        track = rtc.LocalAudioTrack.create_audio_track("voice", self._source)
        options = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE)
        publication = await self._room.local_participant.publish_track(track, options)
        self.track_sid = publication.sid

    async def play(self, speech: Speech) -> None:
        """Start playing, in place of the current utterance. Raises `SpeakerGone` if the room was left."""
        self._check()
        await self.stop()
        if speech.wav is None:
            return
        samples = await self._samples(speech.wav)
        self._pushing = asyncio.create_task(
            self._push(samples), name="could not publish the voice in the room"
        )

    async def stop(self) -> None:
        """Stop playing and clear the queue. Raises `SpeakerGone`."""
        if self._pushing is not None:
            self._pushing.cancel()
            self._pushing = None
        self._source.clear_queue()
        self._check()

    async def close(self) -> None:
        """Close the track. May be called again."""
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
            self._known[wav] = await asyncio.to_thread(resample_wav, wav)
            while len(self._known) > CACHED_FILES:
                self._known.popitem(last=False)
        self._known.move_to_end(wav)
        return self._known[wav]


def resample_wav(wav: Path) -> bytes:
    """Return a mono 16-bit WAV file's samples at `RATE`."""
    with wave.open(str(wav), "rb") as sound:
        rate, data = sound.getframerate(), sound.readframes(sound.getnframes())
    if rate == RATE or not data:
        return data
    resampler = rtc.AudioResampler(rate, RATE)
    frames = [*resampler.push(bytearray(data)), *resampler.flush()]
    return b"".join(bytes(frame.data) for frame in frames)
