"""Finds when each word begins in speech whose engine does not say it: pauses of the sound are matched with the punctuation.

Pure. Between two matched pauses, words are placed by their length.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Sequence
from itertools import pairwise

from agent.media.media_tools import MediaInputError

FRAME_S = 0.02
SHORTEST_PAUSE_S = 0.12
QUIET = 0.06
"""Loudness of a pause, as a share of the loudest frame."""
_PAUSED = re.compile(r"[.!?…,;:\N{EN DASH}\N{EM DASH}][\"')\]]*$")


def read_wav(data: bytes) -> tuple[bytes, int]:
    """Return the samples (16-bit mono) of a WAV file, and how many there are a second.

    The length of a streamed file may be missing. Raises `MediaInputError` for anything else.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise MediaInputError(f"expected a WAV file from the speech endpoint, found {data[:12]!r}")
    at, rate = 12, 0
    while at + 8 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from("<I", data, at + 4)[0]
        if name == b"fmt " and at + 24 <= len(data):
            kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", data, at + 8)
            if kind not in (1, 0xFFFE) or channels != 1 or bits != 16 or not 8_000 <= rate <= 192_000:
                raise MediaInputError(
                    f"expected 16-bit mono sound, found {channels} channels of {bits} bits at {rate} Hz (format {kind})"
                )
        if name == b"data":
            if not rate:
                break
            samples = data[at + 8 : at + 8 + size]
            return samples[: len(samples) // 2 * 2], rate
        at += 8 + size + size % 2
    raise MediaInputError("expected a WAV file from the speech endpoint, found one without sound")


def start_of_words(text: str, characters: Sequence[float]) -> list[float]:
    """Return the start of each word, given that of each character, in seconds."""
    return [characters[found.start()] for found in re.finditer(r"\S+", text)]


def align_words(text: str, samples: bytes, rate: int) -> list[float]:
    """Return the start of each word in seconds. `samples`: 16-bit mono, `rate` of them a second."""
    words = text.split()
    if not words:
        return []
    begin, end, pauses = find_pauses(samples, rate)
    breaks = [at + 1 for at, word in enumerate(words[:-1]) if _PAUSED.search(word)]
    heard = sorted(sorted(pauses, key=lambda each: each[0] - each[1])[: len(breaks)])
    if len(heard) < len(breaks):
        breaks, heard = [], []
    bounds = [0, *breaks, len(words)]
    begins, ends = [begin, *(over for _, over in heard)], [*(since for since, _ in heard), end]
    weights = [len(word) + 1 for word in words]
    starts: list[float] = []
    for (first, after), said, over in zip(pairwise(bounds), begins, ends, strict=True):
        total, before = sum(weights[first:after]) or 1, 0
        for weight in weights[first:after]:
            starts.append(said + (over - said) * before / total)
            before += weight
    return starts


def find_pauses(samples: bytes, rate: int) -> tuple[float, float, list[tuple[float, float]]]:
    """Return where speech begins and ends, and the pauses between, each with begin and end, in seconds."""
    sound = array("h", samples)
    size = max(1, round(FRAME_S * rate))
    loudness = [max(map(abs, sound[at : at + size])) for at in range(0, len(sound), size)]
    limit = max(loudness, default=0) * QUIET
    spoken = [at for at, loud in enumerate(loudness) if loud > limit]
    if not spoken:
        return 0.0, len(sound) / rate, []
    pauses = [
        ((left + 1) * size / rate, right * size / rate)
        for left, right in pairwise(spoken)
        if (right - left - 1) * size / rate >= SHORTEST_PAUSE_S
    ]
    return spoken[0] * size / rate, min(len(sound), (spoken[-1] + 1) * size) / rate, pauses
