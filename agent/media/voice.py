"""Narration as sound, or as the time it would take.

A `Voice` turns a text into `Speech`: how long it lasts, when each word is heard and, if it can be heard
at all, a WAV file. Who speaks when is the player's business, mixing is `agent.media.mux`'s.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import tempfile
import wave
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from agent.media.espeak_words import NO_VOICE
from agent.media.tools import ESPEAK, MediaError, MediaToolFailed, Tool, run_tool

if TYPE_CHECKING:
    from collections.abc import Sequence

# Measured for English at 165 words a minute.
SECONDS_PER_CHAR = 0.0526
SECONDS_PER_TEXT = 0.31

WORDS_PER_MINUTE = 165
SPEED_LIMITS_WPM = (80, 450)  # what espeak-ng can do
SENTENCE_PAUSE_S = 0.28  # between two sentences of one text

USUAL = {"en": "en-us"}
"""The voice of a language, where it is not simply called after it."""
WORDS_PROGRAM = Path(__file__).with_name("espeak_words.py")
PYTHON = Tool(sys.executable, "python3", "knowing when a word is heard")

WordTimes = list[tuple[int, float]]
"""Where words begin in a sentence (characters), and in its sound (milliseconds)."""
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"')\]]*(?=\s)|$)", re.DOTALL)
_PAUSES = {",": 3, ";": 4, ":": 4, "-": 2, "\N{EN DASH}": 3, "\N{EM DASH}": 3}  # in characters' worth of time


class VoiceMissing(MediaError):
    """espeak-ng has no voice of that name; `voice` is what was asked for."""

    def __init__(self, voice: str) -> None:
        self.voice = voice
        super().__init__(f"espeak-ng has no voice {voice!r}; `espeak-ng --voices` lists those it has")


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

    def at_pace(self, pace: float) -> Voice:
        """The same voice, so many times as fast as this one."""


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

    def at_pace(self, pace: float) -> SilentVoice:
        """As silent, in a shorter time."""
        return SilentVoice(self._speed * _positive(pace))


class EspeakVoice:
    """Speaks through espeak-ng; what was said once is kept in `folder` and said again at once.

    When each word is heard is told by espeak-ng's library, in a process of its own; where only the program
    is installed, words are placed within their sentence by their length. Raises MediaToolMissing where
    espeak-ng is not installed.
    """

    audible = True

    def __init__(
        self, folder: Path | None = None, *, speed: float = 1.0, voice: str = "en-us", pitch: int = 45
    ) -> None:
        """`voice`: as espeak-ng names it: a language (`de`), with a variant where one is wanted (`de+f3`)."""
        ESPEAK.require()
        self._own_folder = tempfile.TemporaryDirectory(prefix="periplus-voice-") if folder is None else None
        self._folder = Path(self._own_folder.name) if self._own_folder else folder or Path()
        self._folder.mkdir(parents=True, exist_ok=True)
        slowest, fastest = SPEED_LIMITS_WPM
        wpm = min(fastest, max(slowest, round(WORDS_PER_MINUTE * _positive(speed))))
        self._voice, self._wpm, self._pitch, self._speed = voice, wpm, pitch, speed
        self._pause_s = SENTENCE_PAUSE_S * WORDS_PER_MINUTE / wpm
        self._known: dict[str, asyncio.Task[Speech]] = {}

    def at_pace(self, pace: float) -> EspeakVoice:
        """The same voice at another speed; both keep what they said in the same folder."""
        other = EspeakVoice(
            self._folder, speed=self._speed * _positive(pace), voice=self._voice, pitch=self._pitch
        )
        other._own_folder = self._own_folder
        return other

    async def check(self) -> None:
        """Raise VoiceMissing where espeak-ng has no such voice."""
        await self.synthesize(".")

    async def synthesize(self, text: str) -> Speech:
        """Return `text` spoken. Raises VoiceMissing, and MediaToolFailed when espeak-ng does."""
        text = _plain(text)
        if not text:
            return Speech("", 0.0, ())
        task = self._known.get(text)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = self._known[text] = asyncio.create_task(self._speak(text))
        return await asyncio.shield(task)

    async def _speak(self, text: str) -> Speech:
        sentences = _SENTENCE.findall(text)
        await self._have(sentences)
        wavs = [self._path(sentence, "sentence") for sentence in sentences]
        words: list[Word] = []
        at = 0.0
        for sentence, wav in zip(sentences, wavs, strict=True):
            duration = await asyncio.to_thread(_wav_seconds, wav)
            times = await asyncio.to_thread(_read_times, wav.with_suffix(".json"))
            words += _timed(sentence, at, duration, times)
            at += duration + self._pause_s
        joined = self._path(text, "speech")
        await asyncio.to_thread(_join_wavs, wavs, self._pause_s, joined)
        return Speech(text, await asyncio.to_thread(_wav_seconds, joined), tuple(words), joined)

    async def _have(self, sentences: Sequence[str]) -> None:
        """Every sentence as a WAV, with the times of its words beside it."""
        missing = [
            (sentence, path)
            for sentence in dict.fromkeys(sentences)
            if not (path := self._path(sentence, "sentence")).with_suffix(".json").exists()
        ]
        if not missing:
            return
        parts = [_part(wav) for _, wav in missing]
        try:
            times = await self._by_library([text for text, _ in missing], parts)
        except MediaToolFailed as exc:
            if exc.returncode == NO_VOICE:
                raise VoiceMissing(self._voice) from exc
            times = [
                await self._by_program(text, part) for (text, _), part in zip(missing, parts, strict=True)
            ]
        for (_, wav), part, words in zip(missing, parts, times, strict=True):
            part.replace(wav)
            _write_whole(wav.with_suffix(".json"), json.dumps(words))

    async def _by_library(self, sentences: Sequence[str], wavs: Sequence[Path]) -> list[WordTimes]:
        asked = {
            "voice": self._voice,
            "rate": self._wpm,
            "pitch": self._pitch,
            "sentences": [{"text": text, "wav": str(wav)} for text, wav in zip(sentences, wavs, strict=True)],
        }
        said = await run_tool(PYTHON, "-I", "-S", str(WORDS_PROGRAM), stdin=json.dumps(asked).encode())
        return [[(at, ms) for at, ms in words] for words in json.loads(said)]

    async def _by_program(self, sentence: str, wav: Path) -> WordTimes:
        # `[[` would begin phonemes; text goes through stdin, so that none of it is read as an option.
        spoken = sentence.replace("[[", "[ [")
        settings = ("-v", self._voice, "-s", str(self._wpm), "-p", str(self._pitch))
        try:
            await run_tool(
                ESPEAK, *settings, "-b", "1", "-z", "-w", str(wav), "--stdin", stdin=spoken.encode()
            )
        except MediaToolFailed as exc:
            if "voice does not exist" in exc.stderr:
                raise VoiceMissing(self._voice) from exc
            raise
        return []

    def _path(self, text: str, kind: str) -> Path:
        settings = (self._voice, str(self._wpm), str(self._pitch))
        digest = hashlib.sha256("\0".join((kind, "2", *settings, text)).encode()).hexdigest()
        return self._folder / f"{digest[:24]}.wav"


def find_voice(
    enabled: bool,
    *,
    folder: Path | None = None,
    speed: float = 1.0,
    language: str = "en",
    voice: str | None = None,
) -> Voice:
    """Return the best voice there is: espeak-ng where `enabled` and installed, else silence of the same length.

    `folder` keeps what was spoken between runs; without one it is gone when the voice is. `voice`: as
    espeak-ng names it; None: its usual one of the language.
    """
    if enabled and ESPEAK.find():
        return EspeakVoice(folder, speed=speed, voice=voice or USUAL.get(language.lower(), language.lower()))
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


def _timed(sentence: str, start_s: float, duration_s: float, times: WordTimes) -> list[Word]:
    """The words of a sentence, where espeak-ng says them; what it tells of none by length between the others.

    It counts words differently (numbers are several, dashes none): a word begins with the first of its own.
    """
    placed = _spread(sentence, start_s, duration_s)
    known: list[tuple[int, float]] = [(0, start_s)]
    spans = [match.span() for match in _WORD.finditer(sentence)]
    for index, (begin, end) in enumerate(spans):
        said = next((start_s + ms / 1000 for at, ms in times if begin <= at < end), None)
        if index and said is not None and known[-1][1] < said < start_s + duration_s:
            known.append((index, said))
    known.append((len(placed), start_s + duration_s))
    by_length = [word.start_s for word in placed] + [start_s + duration_s]
    words: list[Word] = []
    for (first, said), (after, then) in pairwise(known):
        stretch = (then - said) / ((by_length[after] - by_length[first]) or 1.0)
        words += [
            Word(placed[index].text, said + (by_length[index] - by_length[first]) * stretch)
            for index in range(first, after)
        ]
    return words


def _read_times(path: Path) -> WordTimes:
    return [(int(at), float(ms)) for at, ms in json.loads(path.read_text(encoding="utf-8"))]


def _part(path: Path) -> Path:
    """A name of its own for what is being written: others may write the same."""
    return path.with_suffix(f".{uuid4().hex}.part")


def _write_whole(path: Path, text: str) -> None:
    part = _part(path)
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _wav_seconds(wav: Path) -> float:
    with wave.open(str(wav), "rb") as sound:
        return sound.getnframes() / sound.getframerate()


def _join_wavs(wavs: Sequence[Path], pause_s: float, target: Path) -> None:
    """Write the sentences one after the other, with a pause between them."""
    part = _part(target)
    with wave.open(str(part), "wb") as joined:
        for index, wav in enumerate(wavs):
            with wave.open(str(wav), "rb") as sound:
                if index == 0:
                    joined.setparams(sound.getparams())
                else:
                    joined.writeframes(bytes(2 * round(pause_s * sound.getframerate())))
                joined.writeframes(sound.readframes(sound.getnframes()))
    part.replace(target)
