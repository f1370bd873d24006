"""Converts narration to speech, or to silence of the same length.

A `Voice` turns a text into `Speech`: its duration, the time of each word and, if it is audible, a WAV file.
The player decides when it is spoken, and `agent.media.film_assembly` mixes it.

`PersonalTextVoice` speaks personal texts without storing them between demos.
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
from agent.media.media_tools import ESPEAK, MediaError, MediaTool, MediaToolFailed, run_tool
from kb_schema.owner_folders import make_owner_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
from collections.abc import Callable
from functools import cached_property
from typing import Any

# Measured for English at 165 words a minute.
SECONDS_PER_CHAR = 0.0526
SECONDS_PER_TEXT = 0.31

WORDS_PER_MINUTE = 165
SPEED_LIMITS_WPM = (80, 450)  # range supported by espeak-ng
SENTENCE_PAUSE_S = 0.28  # between two sentences of one text

DEFAULT_VOICES = {"en": "en-us"}
"""Voice of a language, where its name differs from the language code."""
WORDS_PROGRAM = Path(__file__).with_name("espeak_words.py")
PYTHON = MediaTool(sys.executable, "python3", "the time of each word")

WordTimes = list[tuple[int, float]]
"""Start of each word in a sentence (characters), and in its sound (milliseconds)."""
_WORD = re.compile(r"\S+")
_SENTENCE = re.compile(r"\S.*?(?:[.!?…][\"')\]]*(?=\s)|$)", re.DOTALL)
_PAUSES = {
    ",": 3,
    ";": 4,
    ":": 4,
    "-": 2,
    "\N{EN DASH}": 3,
    "\N{EM DASH}": 3,
}  # in units of one character's duration


class VoiceMissing(MediaError):
    """espeak-ng has no voice of that name; `voice` is the requested one."""

    def __init__(self, voice: str) -> None:
        self.voice = voice
        super().__init__(f"espeak-ng has no voice {voice!r}; `espeak-ng --voices` lists the available ones")


@dataclass(frozen=True)
class SpokenWord:
    """A word and its start, in seconds from the beginning of its speech."""

    text: str
    start_s: float


@dataclass(frozen=True)
class Speech:
    """A spoken text. `wav` is mono 16-bit PCM, None if it is silent."""

    text: str
    duration_s: float
    words: tuple[SpokenWord, ...]
    wav: Path | None = None


class Voice(Protocol):
    """Synthesises speech. Implemented by EspeakVoice, SilentVoice, `periplus.voices` and plugins."""

    @property
    def audible(self) -> bool:
        """Whether its speech has sound."""

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech. Equal texts give equal speech; a text without words lasts 0 s."""

    def at_pace(self, pace: float) -> Voice:
        """Return the same voice at this factor of its speed."""


class SilentVoice:
    """Silence for the duration of the speech; `speed` 2 takes half as long."""

    audible = False

    def __init__(self, speed: float = 1.0) -> None:
        self._speed = _positive(speed)

    async def synthesize(self, text: str) -> Speech:
        """Return the duration `text` would take, without sound."""
        text = _clean_spoken_text(text)
        if not text:
            return Speech("", 0.0, ())
        duration = (SECONDS_PER_CHAR * len(text) + SECONDS_PER_TEXT) / self._speed
        return Speech(text, duration, tuple(_spread_words(text, 0.0, duration)))

    def at_pace(self, pace: float) -> SilentVoice:
        """Return a silent voice at another speed."""
        return SilentVoice(self._speed * _positive(pace))


class EspeakVoice:
    """Speaks through espeak-ng; speech is cached in `folder`.

    espeak-ng's library reports word times, in a process of its own. If only the program is installed, words
    are placed within their sentence by length. Raises MediaToolMissing if espeak-ng is not installed.
    """

    audible = True

    def __init__(
        self, folder: Path | None = None, *, speed: float = 1.0, voice: str = "en-us", pitch: int = 45
    ) -> None:
        """`voice`: as espeak-ng names it: a language (`de`), optionally with a variant (`de+f3`)."""
        ESPEAK.require()
        self._own_folder = tempfile.TemporaryDirectory(prefix="periplus-voice-") if folder is None else None
        self._folder = Path(self._own_folder.name) if self._own_folder else folder or Path()
        make_owner_folder(self._folder)
        slowest, fastest = SPEED_LIMITS_WPM
        wpm = min(fastest, max(slowest, round(WORDS_PER_MINUTE * _positive(speed))))
        self._voice, self._wpm, self._pitch, self._speed = voice, wpm, pitch, speed
        self._pause_s = SENTENCE_PAUSE_S * WORDS_PER_MINUTE / wpm
        self._known: dict[str, asyncio.Task[Speech]] = {}

    def at_pace(self, pace: float) -> EspeakVoice:
        """Return the same voice at another speed; both share the cache."""
        other = EspeakVoice(
            self._folder, speed=self._speed * _positive(pace), voice=self._voice, pitch=self._pitch
        )
        other._own_folder = self._own_folder
        return other

    async def check(self) -> None:
        """Raise VoiceMissing if espeak-ng has no such voice."""
        await self.synthesize(".")

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech. Raises VoiceMissing and MediaToolFailed."""
        text = _clean_spoken_text(text)
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
        words: list[SpokenWord] = []
        at = 0.0
        for sentence, wav in zip(sentences, wavs, strict=True):
            duration = await asyncio.to_thread(_wav_seconds, wav)
            times = await asyncio.to_thread(_read_times, wav.with_suffix(".json"))
            words += _time_words(sentence, at, duration, times)
            at += duration + self._pause_s
        joined = self._path(text, "speech")
        await asyncio.to_thread(_join_wavs, wavs, self._pause_s, joined)
        return Speech(text, await asyncio.to_thread(_wav_seconds, joined), tuple(words), joined)

    async def _have(self, sentences: Sequence[str]) -> None:
        """Write every sentence as a WAV, with the times of its words beside it."""
        missing = [
            (sentence, path)
            for sentence in dict.fromkeys(sentences)
            if not (path := self._path(sentence, "sentence")).with_suffix(".json").exists()
        ]
        if not missing:
            return
        parts = [_build_partial_path(wav) for _, wav in missing]
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
        # `[[` would begin phonemes. The text is passed on stdin, so that it is not parsed as an option.
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
    """Return the best available voice: espeak-ng if `enabled` and installed, otherwise silence of the same
    length.

    `folder` caches speech between runs; without it the cache is deleted with the voice. `voice`: as espeak-ng
    names it; None: the default of the language.
    """
    if enabled and ESPEAK.find():
        return EspeakVoice(
            folder, speed=speed, voice=voice or DEFAULT_VOICES.get(language.lower(), language.lower())
        )
    return SilentVoice(speed)


def _clean_spoken_text(text: str) -> str:
    return " ".join(text.split())


def _positive(speed: float) -> float:
    if speed <= 0:
        raise ValueError(f"speed must be above 0, not {speed}")
    return speed


def _spread_words(text: str, start_s: float, duration_s: float) -> list[SpokenWord]:
    """Return the words of `text` over `duration_s` seconds, by their length and the pauses after them."""
    words = text.split()
    weights = [len(word) + 1 + _PAUSES.get(word[-1], 0) for word in words]
    total = sum(weights) or 1
    placed = []
    before = 0
    for word, weight in zip(words, weights, strict=True):
        placed.append(SpokenWord(word, start_s + duration_s * before / total))
        before += weight
    return placed


def _time_words(sentence: str, start_s: float, duration_s: float, times: WordTimes) -> list[SpokenWord]:
    """Return the words of a sentence with espeak-ng's times; words without one are placed between the others
    by length.

    espeak-ng splits words differently (a number is several, a dash none): a word starts with the first of its
    parts.
    """
    placed = _spread_words(sentence, start_s, duration_s)
    known: list[tuple[int, float]] = [(0, start_s)]
    spans = [match.span() for match in _WORD.finditer(sentence)]
    for index, (begin, end) in enumerate(spans):
        said = next((start_s + ms / 1000 for at, ms in times if begin <= at < end), None)
        if index and said is not None and known[-1][1] < said < start_s + duration_s:
            known.append((index, said))
    known.append((len(placed), start_s + duration_s))
    by_length = [word.start_s for word in placed] + [start_s + duration_s]
    words: list[SpokenWord] = []
    for (first, said), (after, then) in pairwise(known):
        stretch = (then - said) / ((by_length[after] - by_length[first]) or 1.0)
        words += [
            SpokenWord(placed[index].text, said + (by_length[index] - by_length[first]) * stretch)
            for index in range(first, after)
        ]
    return words


def _read_times(path: Path) -> WordTimes:
    return [(int(at), float(ms)) for at, ms in json.loads(path.read_text(encoding="utf-8"))]


def _build_partial_path(path: Path) -> Path:
    """Return a unique name for a file while it is written, because other processes may write the same one."""
    return path.with_suffix(f".{uuid4().hex}.part")


def _write_whole(path: Path, text: str) -> None:
    part = _build_partial_path(path)
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _wav_seconds(wav: Path) -> float:
    with wave.open(str(wav), "rb") as sound:
        return sound.getnframes() / sound.getframerate()


def _join_wavs(wavs: Sequence[Path], pause_s: float, target: Path) -> None:
    """Write the sentences one after the other, with a pause between them."""
    part = _build_partial_path(target)
    with wave.open(str(part), "wb") as joined:
        for index, wav in enumerate(wavs):
            with wave.open(str(wav), "rb") as sound:
                if index == 0:
                    joined.setparams(sound.getparams())
                else:
                    joined.writeframes(bytes(2 * round(pause_s * sound.getframerate())))
                joined.writeframes(sound.readframes(sound.getnframes()))
    part.replace(target)


class PersonalTextVoice:
    """Combines two voices: texts without personal data use `common` and its cache, the others use `own`.

    `redact` removes personal data: a text that it changes is personal. `own` is created when it is first
    needed.
    """

    def __init__(self, common: Voice, own: Callable[[], Voice], redact: Callable[[Any], Any]) -> None:
        self._common, self._make_own, self._redact = common, own, redact

    @cached_property
    def _own(self) -> Voice:
        return self._make_own()

    @property
    def audible(self) -> bool:
        """Whether the common voice has sound."""
        return self._common.audible

    async def synthesize(self, text: str) -> Speech:
        """Return `text` as speech. Raises as the voices do."""
        voice = self._common if self._redact(text) == text else self._own
        return await voice.synthesize(text)

    def at_pace(self, pace: float) -> PersonalTextVoice:
        """Return both at another pace."""
        return PersonalTextVoice(self._common.at_pace(pace), lambda: self._own.at_pace(pace), self._redact)
