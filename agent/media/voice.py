"""Narration as sound, or as the time it would take.

A `Voice` turns a text into `Speech`: how long it lasts, when each word is heard and, if it can be heard
at all, a WAV file. Who speaks when is the player's business, mixing is `agent.media.mux`'s.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.media.tools import ESPEAK, run_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

# Measured for English at 165 words a minute.
SECONDS_PER_CHAR = 0.0526
SECONDS_PER_TEXT = 0.31

WORDS_PER_MINUTE = 165
SPEED_LIMITS_WPM = (80, 450)  # what espeak-ng can do
SENTENCE_PAUSE_S = 0.28  # between two sentences of one text

_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"')\]]*(?=\s)|$)", re.DOTALL)
_PAUSES = {",": 3, ";": 4, ":": 4, "-": 2, "\N{EN DASH}": 3, "\N{EM DASH}": 3}  # in characters' worth of time


@dataclass(frozen=True)
class Word:
    """A word and when it is heard, in seconds from the beginning of its speech."""

    text: str
    start_s: float


@dataclass(frozen=True)
class Speech:
    """A spoken text. `wav` is mono 16-bit PCM, None where nothing can be heard."""

    text: str
    duration_s: float
    words: tuple[Word, ...]
    wav: Path | None = None


class Voice(Protocol):
    """Something that speaks. Implemented by EspeakVoice and SilentVoice; a cloud voice would be another."""

    @property
    def audible(self) -> bool:
        """Whether its speech has sound."""

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech. The same text gives the same speech; text without words lasts 0 s."""


class SilentVoice:
    """Says nothing, for as long as saying it would take; `speed` 2 takes half as long."""

    audible = False

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = _positive(speed)

    async def synthesize(self, text: str) -> Speech:
        """Return the time `text` would take, without sound."""
        text = _plain(text)
        if not text:
            return Speech("", 0.0, ())
        duration = (SECONDS_PER_CHAR * len(text) + SECONDS_PER_TEXT) / self._speed
        return Speech(text, duration, tuple(_spread(text, 0.0, duration)))


class EspeakVoice:
    """Speaks through the program espeak-ng; what was said once is kept in `folder` and said again at once.

    Each sentence is spoken by itself, so a sentence's start is exact; the words within it are placed by
    their length. Raises MediaToolMissing where espeak-ng is not installed.
    """

    audible = True

    def __init__(
        self, folder: Path | None = None, *, speed: float = 1.0, voice: str = "en-us", pitch: int = 45
    ) -> None:
        ESPEAK.require()
        self._own_folder = tempfile.TemporaryDirectory(prefix="periplus-voice-") if folder is None else None
        self._folder = Path(self._own_folder.name) if self._own_folder else folder or Path()
        self._folder.mkdir(parents=True, exist_ok=True)
        slowest, fastest = SPEED_LIMITS_WPM
        wpm = min(fastest, max(slowest, round(WORDS_PER_MINUTE * _positive(speed))))
        self._settings = ("-v", voice, "-s", str(wpm), "-p", str(pitch))
        self._pause_s = SENTENCE_PAUSE_S * WORDS_PER_MINUTE / wpm
        self._known: dict[str, asyncio.Task[Speech]] = {}

    async def synthesize(self, text: str) -> Speech:
        """Return `text` spoken. Raises MediaToolFailed when espeak-ng does."""
        text = _plain(text)
        if not text:
            return Speech("", 0.0, ())
        task = self._known.get(text)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._known[text] = asyncio.create_task(self._speak(text))
        return await asyncio.shield(task)

    async def _speak(self, text: str) -> Speech:
        sentences = _SENTENCE.findall(text)
        wavs = [await self._sentence(sentence) for sentence in sentences]
        words: list[Word] = []
        at = 0.0
        for sentence, wav in zip(sentences, wavs, strict=True):
            duration = await asyncio.to_thread(_wav_seconds, wav)
            words += _spread(sentence, at, duration)
            at += duration + self._pause_s
        joined = self._path(text, "speech")
        await asyncio.to_thread(_join_wavs, wavs, self._pause_s, joined)
        return Speech(text, await asyncio.to_thread(_wav_seconds, joined), tuple(words), joined)

    async def _sentence(self, sentence: str) -> Path:
        wav = self._path(sentence, "sentence")
        if not wav.exists():
            part = wav.with_suffix(".part")
            # `[[` would begin phonemes; text goes through stdin, so that none of it is read as an option.
            spoken = sentence.replace("[[", "[ [")
            await run_tool(
                ESPEAK, *self._settings, "-b", "1", "-z", "-w", str(part), "--stdin", stdin=spoken.encode()
            )
            part.replace(wav)
        return wav

    def _path(self, text: str, kind: str) -> Path:
        digest = hashlib.sha256("\0".join((kind, *self._settings, text)).encode()).hexdigest()
        return self._folder / f"{digest[:24]}.wav"


def find_voice(enabled: bool, *, folder: Path | None = None, speed: float = 1.0) -> Voice:
    """Return the best voice there is: espeak-ng where `enabled` and installed, else silence of the same length.

    `folder` keeps what was spoken between runs; without one it is gone when the voice is.
    """
    if enabled and ESPEAK.find():
        return EspeakVoice(folder, speed=speed)
    return SilentVoice(speed)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _positive(speed: float) -> float:
    if speed <= 0:
        raise ValueError(f"speed must be above 0, not {speed}")
    return speed


def _spread(text: str, start_s: float, duration_s: float) -> list[Word]:
    """Place the words of `text` over `duration_s` seconds by their length and the pauses after them."""
    words = text.split()
    weights = [len(word) + 1 + _PAUSES.get(word[-1], 0) for word in words]
    total = sum(weights) or 1
    placed = []
    before = 0
    for word, weight in zip(words, weights, strict=True):
        placed.append(Word(word, start_s + duration_s * before / total))
        before += weight
    return placed


def _wav_seconds(wav: Path) -> float:
    with wave.open(str(wav), "rb") as sound:
        return sound.getnframes() / sound.getframerate()


def _join_wavs(wavs: Sequence[Path], pause_s: float, target: Path) -> None:
    """Write the sentences one after the other, with a pause between them."""
    part = target.with_suffix(".part")
    with wave.open(str(part), "wb") as joined:
        for index, wav in enumerate(wavs):
            with wave.open(str(wav), "rb") as sound:
                if index == 0:
                    joined.setparams(sound.getparams())
                else:
                    joined.writeframes(bytes(2 * round(pause_s * sound.getframerate())))
                joined.writeframes(sound.readframes(sound.getnframes()))
    part.replace(target)
