"""Captions: narration cut into readable cues, written as WebVTT and SRT.

A cue is at most two lines of 42 characters (the broadcasters' rule); where the words' times are known
each cue starts with its first word.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent.media.voice import Word

LINE_CHARS = 42
CUE_LINES = 2
MIN_CUE_S = 0.2  # nothing shorter can be seen; keeps start < end in every file

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s+")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Cue:
    """A caption on screen from `start_s` to `end_s`; `text` may have a line break."""

    start_s: float
    end_s: float
    text: str


def cues_for(text: str, start_s: float, duration_s: float, words: Sequence[Word] = ()) -> list[Cue]:
    """Cut `text`, spoken for `duration_s` seconds from `start_s` on, into cues without gaps.

    `words` are the words of the same text with their times from the beginning of the speech; without
    them time is shared out by length.
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


def cut_at(cues: Iterable[Cue], end_s: float) -> list[Cue]:
    """Return what of `cues` is seen before `end_s`: for speech that was interrupted there."""
    return [replace(cue, end_s=min(cue.end_s, end_s)) for cue in cues if cue.start_s < end_s]


def to_webvtt(cues: Iterable[Cue]) -> str:
    """Write cues as a WebVTT file."""
    parts = ["WEBVTT\n"]
    parts += [
        f"{number}\n{_stamp(cue.start_s, '.')} --> {_stamp(cue.end_s, '.')}\n{_vtt_text(cue.text)}\n"
        for number, cue in enumerate(_in_order(cues), start=1)
    ]
    return "\n".join(parts)


def to_srt(cues: Iterable[Cue]) -> str:
    """Write cues as a SubRip file."""
    return "\n".join(
        f"{number}\n{_stamp(cue.start_s, ',')} --> {_stamp(cue.end_s, ',')}\n{_srt_text(cue.text)}\n"
        for number, cue in enumerate(_in_order(cues), start=1)
    )


def _blocks(text: str) -> Iterable[list[str]]:
    """Cut text into cue-sized blocks of lines; a sentence begins a block of its own."""
    for sentence in _SENTENCE_END.split(" ".join(text.split())):
        lines = _even_lines(sentence)
        for first in range(0, len(lines), CUE_LINES):
            yield lines[first : first + CUE_LINES]


def _even_lines(sentence: str) -> list[str]:
    """Wrap into as few lines as fit, of about the same length: a full line and a leftover read badly."""
    lines = textwrap.wrap(sentence, LINE_CHARS, break_on_hyphens=False)
    for width in range(len(sentence) // max(1, len(lines)), LINE_CHARS):
        even = textwrap.wrap(sentence, max(1, width), break_on_hyphens=False, break_long_words=False)
        if len(even) <= len(lines) and all(len(line) <= width for line in even):
            return even
    return lines


def _block_starts(blocks: Sequence[Sequence[str]], duration_s: float, words: Sequence[Word]) -> list[float]:
    """Return when each block is first heard, in seconds from the beginning of the speech."""
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
    """Drop blank lines: in both formats one ends the cue."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _vtt_text(text: str) -> str:
    return _lines(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _srt_text(text: str) -> str:
    """SubRip knows no escapes: an invisible joiner keeps `<b>` from being a tag and `-->` from being a time."""
    return _lines(text).replace("<", "<\N{WORD JOINER}").replace("-->", "--\N{WORD JOINER}>")
