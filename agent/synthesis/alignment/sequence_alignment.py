"""Aligns any number of symbol sequences into columns; each column has one symbol.

It scales to many sequences: equal sequences are aligned once, and pairs are compared with rapidfuzz's bit-parallel
longest common subsequence. The symbols that most sequences share form the backbone; the gaps between its
columns are aligned recursively. The result depends only on the set of sequences, not on their order or count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import LCSseq

Column = dict[int, int]
"""Maps a sequence to the index of its symbol in this column."""

MOST_COMPARED = 64
"""Number of sequences that each one is compared with to choose the central sequence."""
REFINED = 3
"""Maximum number of times that the backbone is recomputed, as long as this improves the columns."""
_FIRST = 0x10000
"""First code point for symbols: rapidfuzz compares strings fastest."""


def align_sequences(sequences: Sequence[Sequence[int]]) -> list[Column]:
    """Return the columns in order; every symbol of every sequence is in exactly one."""
    numbers = {symbol: at for at, symbol in enumerate(sorted({s for row in sequences for s in row}))}
    texts = ["".join(chr(_FIRST + numbers[symbol]) for symbol in row) for row in sequences]
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        rows_of[text].append(row)
    distinct = sorted(rows_of)
    return [
        {row: at for text, at in column.items() for row in rows_of[distinct[text]]}
        for column in _aligned(distinct)
    ]


def _aligned(texts: Sequence[str]) -> list[Column]:
    """Return the columns of distinct texts."""
    if len(texts) < 2:
        return [{0: at} for text in texts for at in range(len(text))]
    columns, letters = _progressive(texts)
    for _ in range(REFINED):
        kept = [number for number, column in enumerate(columns) if 2 * len(column) > len(texts)]
        if not kept or len(kept) == len(columns):
            break
        again = _along("".join(letters[number] for number in kept), texts)
        if _pairs(again) <= _pairs(columns):
            break
        columns = again
        letters = [_letter(column, texts) for column in columns]
    return columns


def _pairs(columns: Sequence[Column]) -> int:
    return sum(len(column) * (len(column) - 1) for column in columns)


def _letter(column: Column, texts: Sequence[str]) -> str:
    text, at = next(iter(column.items()))
    return texts[text][at]


def _progressive(texts: Sequence[str]) -> tuple[list[Column], list[str]]:
    """Align the texts one by one, the most similar to the central one first; return columns and letters."""
    middle = _middle(texts)
    likeness = {text: LCSseq.similarity(texts[middle], text) for text in texts}
    order = sorted(range(len(texts)), key=lambda each: (each != middle, -likeness[texts[each]], texts[each]))
    columns: list[Column] = [{order[0]: at} for at in range(len(texts[order[0]]))]
    letters = list(texts[order[0]])
    for each in order[1:]:
        columns, letters = _added(columns, letters, each, texts[each])
    return columns, letters


def _middle(texts: Sequence[str]) -> int:
    """Return the index of the text that is most similar to the others."""
    step = max(1, len(texts) // MOST_COMPARED)
    sample = texts[::step]
    return max(
        range(len(texts)),
        key=lambda each: (sum(LCSseq.similarity(texts[each], other) for other in sample), -each),
    )


def _added(
    columns: list[Column], letters: list[str], number: int, text: str
) -> tuple[list[Column], list[str]]:
    """Add a text to the columns; symbols without a column get a new one."""
    made: list[Column] = []
    said: list[str] = []
    for tag, begin, end, first, last in _alike("".join(letters), text):
        if tag == "equal":
            for column, at in zip(columns[begin:end], range(first, last), strict=True):
                column[number] = at
        made += columns[begin:end]
        said += letters[begin:end]
        if tag in ("insert", "replace"):
            made += [{number: at} for at in range(first, last)]
            said += text[first:last]
    return made, said


def _alike(known: str, text: str) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the edit operations between two texts: operation, and begin and end in each text."""
    for each in LCSseq.opcodes(known, text):
        yield each.tag, each.src_start, each.src_end, each.dest_start, each.dest_end


def _along(backbone: str, texts: Sequence[str]) -> list[Column]:
    """Align every text along the backbone, and the gaps between its columns separately."""
    spine: list[Column] = [{} for _ in backbone]
    between: list[dict[str, list[tuple[int, int]]]] = [defaultdict(list) for _ in range(len(backbone) + 1)]
    for number, text in enumerate(texts):
        for tag, begin, end, first, last in _alike(backbone, text):
            if tag == "equal":
                for step in range(end - begin):
                    spine[begin + step][number] = first + step
            elif last > first:
                between[end][text[first:last]].append((number, first))
    columns: list[Column] = []
    for place, stretches in enumerate(between):
        columns += _stretch(stretches)
        if place < len(spine) and spine[place]:
            columns.append(spine[place])
    return columns


def _stretch(stretches: dict[str, list[tuple[int, int]]]) -> list[Column]:
    distinct = sorted(stretches)
    if not distinct:
        return []
    return [
        {number: first + at for text, at in column.items() for number, first in stretches[distinct[text]]}
        for column in _aligned(distinct)
    ]
