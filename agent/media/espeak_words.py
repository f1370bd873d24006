"""A program that speaks sentences through espeak-ng's library and returns the times of their words.

It runs in a process of its own, the only one that loads the library: the library keeps its state in globals,
and its licence differs from ours. The input is JSON on standard input: `{"voice": "de", "rate": 165, "pitch":
45, "sentences": [{"text": "...", "wav": "PATH"}]}`. The program writes the WAV files (mono, 16-bit) and
prints `[[character, milliseconds], ...]` for each sentence: the start of each word in the text (from 0) and
in the sound. Exit codes: 3 if the library is not installed, 4 if it does not have the voice.
"""

from __future__ import annotations

import ctypes
import json
import sys
import wave
from typing import Any

NAMES = ("libespeak-ng.so.1", "libespeak-ng.so", "libespeak-ng.1.dylib", "libespeak-ng.dylib")
NO_LIBRARY, NO_VOICE = 3, 4
SYNCHRONOUS, POS_CHARACTER, CHARS_UTF8 = 2, 1, 1
RATE, PITCH = 1, 3
LIST_TERMINATED, WORD = 0, 1


class _Id(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8))


class _Event(ctypes.Structure):
    """`espeak_EVENT` of `speak_lib.h`."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _Id),
    )


class _Voice(ctypes.Structure):
    """`espeak_VOICE`: selects a voice by its known properties."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_char_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)


def main() -> int:
    """Process the request on standard input."""
    asked = json.load(sys.stdin)
    library = _library()
    if library is None:
        return NO_LIBRARY
    sample_rate = library.espeak_Initialize(SYNCHRONOUS, 0, None, 0)
    if sample_rate <= 0:
        return NO_LIBRARY
    if not _chosen(library, asked["voice"].encode()):
        return NO_VOICE
    library.espeak_SetParameter(RATE, asked["rate"], 0)
    library.espeak_SetParameter(PITCH, asked["pitch"], 0)
    answer = []
    for sentence in asked["sentences"]:
        sound, words = _spoken(library, sentence["text"])
        with wave.open(sentence["wav"], "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(sample_rate)
            file.writeframes(sound)
        answer.append(words)
    json.dump(answer, sys.stdout)
    return 0


def _library() -> Any:
    for name in NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _chosen(library: Any, voice: bytes) -> bool:
    """Return whether there is a voice of that name or for that language."""
    if library.espeak_SetVoiceByName(voice) == 0:
        return True
    return bool(library.espeak_SetVoiceByProperties(ctypes.byref(_Voice(languages=voice))) == 0)


def _spoken(library: Any, text: str) -> tuple[bytes, list[tuple[int, int]]]:
    """Return a sentence as samples, with the times of its words."""
    parts: list[bytes] = []
    words: list[tuple[int, int]] = []

    def take(samples: Any, count: int, events: Any) -> int:
        if samples and count > 0:
            parts.append(ctypes.string_at(samples, 2 * count))
        index = 0
        while events[index].type != LIST_TERMINATED:
            if events[index].type == WORD:
                words.append((events[index].text_position - 1, events[index].audio_position))
            index += 1
        return 0

    callback = _Callback(take)
    library.espeak_SetSynthCallback(callback)
    raw = text.encode()
    failed = library.espeak_Synth(
        raw, ctypes.c_size_t(len(raw) + 1), 0, POS_CHARACTER, 0, CHARS_UTF8, None, None
    )
    library.espeak_Synchronize()
    if failed:
        raise SystemExit(f"espeak-ng could not speak {text!r}")
    return b"".join(parts), words


if __name__ == "__main__":
    sys.exit(main())
