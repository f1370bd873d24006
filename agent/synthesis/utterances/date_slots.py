"""Makes one slot of a date of which all descriptions share a part: the year of "March 1, 2026" and "April 15, 2026"."""

from __future__ import annotations

from collections.abc import Sequence

from agent.synthesis.utterances.utterance_words import UtteranceWord, text_of_words
from agent.synthesis.utterances.value_forms import is_date

MOST_SHARED = 3
"""Shared words of a date: its month, a comma and its year."""

Span = tuple[int, int]
"""The first word of a part in a sentence, and the end of the part."""


def widen_dates(
    parts: Sequence[UtteranceWord | None],
    spans: Sequence[Sequence[Span]],
    lines: Sequence[Sequence[UtteranceWord]],
    told: Sequence[str],
) -> list[UtteranceWord | None]:
    """Return the parts, with one slot for a slot and the words beside it that make a date of it in every sentence.

    `parts`: words, and None for each slot. `spans`: for each sentence, where each part is. `lines`: the words of each
    sentence.
    """
    made = list(parts)
    places = [list(each) for each in spans]
    at = 0
    while at < len(made):
        found = _find_date(made, at, places, lines, told) if made[at] is None else None
        if found is not None:
            begin, end = found
            made[begin:end] = [None]
            for each in places:
                each[begin:end] = [(each[begin][0], each[end - 1][1])]
            at = begin
        at += 1
    return made


def _find_date(
    parts: Sequence[UtteranceWord | None],
    slot: int,
    places: Sequence[Sequence[Span]],
    lines: Sequence[Sequence[UtteranceWord]],
    told: Sequence[str],
) -> Span | None:
    """Return the first part and the end of the longest run of words around a slot that is a date in every sentence."""
    for shared in range(MOST_SHARED, 0, -1):
        for left in range(shared + 1):
            begin, end = slot - left, slot + shared - left + 1
            if begin < 0 or end > len(parts):
                continue
            beside = [*parts[begin:slot], *parts[slot + 1 : end]]
            if any(word is None or word.quoted for word in beside):
                continue
            said = [
                text_of_words(sentence, words[where[begin][0] : where[end - 1][1]])
                for sentence, words, where in zip(told, lines, places, strict=True)
            ]
            if all(map(is_date, said)):
                return begin, end
    return None
