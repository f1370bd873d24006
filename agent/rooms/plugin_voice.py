"""A speech synthesis plugin of livekit-agents as a `Voice`: synthesised ahead, so that durations are known."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import wave
from pathlib import Path
from typing import Any

from livekit import rtc
from livekit.agents import APIError
from livekit.agents.tts import TTS

from agent.media.tools import MediaError
from agent.media.voice import SilentVoice, Speech, Voice, Word


class PluginVoice:
    """Speaks through a plugin. What was said is kept until the voice is gone, and nowhere else."""

    audible = True

    def __init__(self, tts: TTS[Any], *, instead: Voice | None = None) -> None:
        """`instead` speaks what the plugin cannot; None: nobody, for as long as it would take."""
        self._tts, self._instead = tts, instead or SilentVoice()
        self._folder = tempfile.TemporaryDirectory(prefix="periplus-voice-")
        self._known: dict[str, Speech] = {}
        self._turn = asyncio.Lock()

    def at_pace(self, pace: float) -> Voice:
        """The same voice: plugins have no common way to speak faster, so only what replaces it changes."""
        self._instead = self._instead.at_pace(pace)
        return self

    async def synthesize(self, text: str) -> Speech:
        """Return `text` spoken; where the plugin fails, by who speaks instead of it."""
        text = " ".join(text.split())
        if not text:
            return Speech("", 0.0, ())
        async with self._turn:
            if text not in self._known:
                try:
                    self._known[text] = await self._speak(text)
                except (APIError, TimeoutError, MediaError):
                    return await self._instead.synthesize(text)
            return self._known[text]

    async def _speak(self, text: str) -> Speech:
        frames: list[rtc.AudioFrame] = []
        async with self._tts.synthesize(text) as stream:
            frames = [each.frame async for each in stream]
        if not frames:
            raise MediaError("the plugin said nothing")
        whole = rtc.combine_audio_frames(frames)
        path = Path(self._folder.name) / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.wav"
        await asyncio.to_thread(_write, path, whole)
        duration = whole.samples_per_channel / whole.sample_rate
        return Speech(text, duration, tuple(_placed(text, duration)), path)


def _write(path: Path, whole: rtc.AudioFrame) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(whole.num_channels)
        sound.setsampwidth(2)
        sound.setframerate(whole.sample_rate)
        sound.writeframes(bytes(whole.data))


def _placed(text: str, duration_s: float) -> list[Word]:
    """Words by their length: plugins do not tell when each is heard."""
    words, at = text.split(), 0
    total = sum(len(word) + 1 for word in words)
    placed = []
    for word in words:
        placed.append(Word(word, duration_s * at / total))
        at += len(word) + 1
    return placed
