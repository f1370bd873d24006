"""A speech synthesis plugin of livekit-agents as a `Voice`: it synthesises ahead, so that durations are
known.
"""

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

from agent.media.media_tools import MediaError
from agent.media.voice import SilentVoice, Speech, SpokenWord, Voice


class PluginVoice:
    """Speaks through a plugin. Speech is only kept in memory, as long as the voice exists."""

    audible = True

    def __init__(self, tts: TTS[Any], *, instead: Voice | None = None) -> None:
        """`instead`: the voice used if the plugin fails; None: silence of the same length."""
        self._tts, self._instead = tts, instead or SilentVoice()
        self._folder = tempfile.TemporaryDirectory(prefix="periplus-voice-")
        self._known: dict[str, Speech] = {}
        self._turn = asyncio.Lock()

    def at_pace(self, pace: float) -> Voice:
        """Return a voice at this pace. Plugins have no common speed option, so only the replacement voice
        changes.
        """
        self._instead = self._instead.at_pace(pace)
        return self

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech, from the replacement voice if the plugin fails."""
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
            raise MediaError("the plugin returned no sound")
        whole = rtc.combine_audio_frames(frames)
        path = Path(self._folder.name) / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.wav"
        await asyncio.to_thread(_write_wav, path, whole)
        duration = whole.samples_per_channel / whole.sample_rate
        return Speech(text, duration, tuple(_estimate_word_times(text, duration)), path)


def _write_wav(path: Path, whole: rtc.AudioFrame) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(whole.num_channels)
        sound.setsampwidth(2)
        sound.setframerate(whole.sample_rate)
        sound.writeframes(bytes(whole.data))


def _estimate_word_times(text: str, duration_s: float) -> list[SpokenWord]:
    """Return words with times by their length, because plugins do not report word times."""
    words, at = text.split(), 0
    total = sum(len(word) + 1 for word in words)
    placed = []
    for word in words:
        placed.append(SpokenWord(word, duration_s * at / total))
        at += len(word) + 1
    return placed
