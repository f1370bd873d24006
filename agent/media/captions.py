"""Cuts narration into captions and writes them as WebVTT and SRT.

A cue has at most two lines of 42 characters, as broadcasters use. If the times of the words are known, each
cue starts with its first word.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent.media.voice import SpokenWord

LINE_CHARS = 42
CUE_LINES = 2
MIN_CUE_S = 0.2  # shorter cues are not visible; keeps start < end in every file

_CLOSING = "[\"')\\]]"
_SENTENCE_END = re.compile(rf"(?:(?<=[.!?…])|(?<=[.!?…]{_CLOSING})|(?<=[.!?…]{_CLOSING}{_CLOSING}))\s+")
"""The space behind a sentence; up to two closing quotes or brackets belong to the sentence."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Cue:
    """A caption from `start_s` to `end_s`; `text` may have a line break."""

    start_s: float
    end_s: float
    text: str


def build_cues(text: str, start_s: float, duration_s: float, words: Sequence[SpokenWord] = ()) -> list[Cue]:
    """Return `text`, spoken from `start_s` for `duration_s` seconds, as cues without gaps.

    `words`: the words of the text with their times from the beginning of the speech; without them, time is
    distributed by length.
    """
    blocks = list(_blocks(text))
    if not blocks:
        return []
    starts = [start_s + at for at in _block_starts(blocks, duration_s, words)]
    ends = [*starts[1:], start_s + duration_s]
    return [
        Cue(start, max(end, start + MIN_CUE_S), "\n".join(block))
        for start, end, block in zip(starts, ends, blocks, strict=True)
    ]


def cut_cues(cues: Iterable[Cue], end_s: float) -> list[Cue]:
    """Return the part of `cues` before `end_s`, for interrupted speech."""
    return [replace(cue, end_s=min(cue.end_s, end_s)) for cue in cues if cue.start_s < end_s]


def render_webvtt(cues: Iterable[Cue]) -> str:
    """Write cues as a WebVTT file."""
    parts = ["WEBVTT\n"]
    parts += [
        f"{number}\n{_stamp(cue.start_s, '.')} --> {_stamp(cue.end_s, '.')}\n{_vtt_text(cue.text)}\n"
        for number, cue in enumerate(_in_order(cues), start=1)
    ]
    return "\n".join(parts)


def render_srt(cues: Iterable[Cue]) -> str:
    """Write cues as a SubRip file."""
    return "\n".join(
        f"{number}\n{_stamp(cue.start_s, ',')} --> {_stamp(cue.end_s, ',')}\n{_srt_text(cue.text)}\n"
        for number, cue in enumerate(_in_order(cues), start=1)
    )


def _blocks(text: str) -> Iterable[list[str]]:
    """Return text in blocks of lines that fit a cue; a sentence begins a new block."""
    for sentence in _SENTENCE_END.split(" ".join(text.split())):
        lines = _even_lines(sentence)
        for first in range(0, len(lines), CUE_LINES):
            yield lines[first : first + CUE_LINES]


def _even_lines(sentence: str) -> list[str]:
    """Return the fewest lines that fit, of similar length: a full line with a short rest is hard to read."""
    lines = textwrap.wrap(sentence, LINE_CHARS, break_on_hyphens=False)
    for width in range(len(sentence) // max(1, len(lines)), LINE_CHARS):
        even = textwrap.wrap(sentence, max(1, width), break_on_hyphens=False, break_long_words=False)
        if len(even) <= len(lines) and all(len(line) <= width for line in even):
            return even
    return lines


def _block_starts(
    blocks: Sequence[Sequence[str]], duration_s: float, words: Sequence[SpokenWord]
) -> list[float]:
    """Return the start of each block in seconds from the beginning of the speech."""
    counts = [len(_WORD.findall(" ".join(block))) for block in blocks]
    first_words = [sum(counts[:index]) for index in range(len(blocks))]
    if len(words) == sum(counts):
        return [words[index].start_s for index in first_words]
    lengths = [sum(len(line) + 1 for line in block) for block in blocks]
    return [duration_s * sum(lengths[:index]) / sum(lengths) for index in range(len(blocks))]


def _in_order(cues: Iterable[Cue]) -> list[Cue]:
    return sorted((cue for cue in cues if cue.text.strip()), key=lambda cue: (cue.start_s, cue.end_s))


def _stamp(seconds: float, decimal_mark: str) -> str:
    milliseconds = max(0, round(seconds * 1000))
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    whole, rest = divmod(milliseconds, 1000)
    return f"{hours:02}:{minutes:02}:{whole:02}{decimal_mark}{rest:03}"


def _lines(text: str) -> str:
    """Return the text without blank lines, which would end the cue in both formats."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _vtt_text(text: str) -> str:
    return _lines(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _srt_text(text: str) -> str:
    """Return the text for SubRip, which has no escapes: an invisible joiner keeps `<b>` from being a tag and
    `-->` from being a time.
    """
    return _lines(text).replace("<", "<\N{WORD JOINER}").replace("-->", "--\N{WORD JOINER}>")
