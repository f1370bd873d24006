"""Steps whose element the description names by a word of its markup: the icon with the class `reply` for "Reply".

Such steps are one step, whichever word they have. A word names a class only if in every trace a step with the same action
acts on an element of one tag that has it, with the same text around it (`fa-reply`, `fa-share`), and at least two
different words were shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from agent.synthesis.utterances.value_forms import FIRST_WORD, FORMS
from kb_schema.execution_traces import TraceStep
from web_pages.element_tree import Element
from web_pages.selectors.stable_attributes import list_stable_classes

StepPosition = tuple[int, int]
"""Index of the trace and of its step."""

LEAST_WORDS = 2
"""Different words that must be shown before a word is taken for the name of a class."""
SHORTEST = 3
"""Letters of a word, at least: shorter ones are in the markup by chance."""


def find_markup_mentions(
    steps: Sequence[Sequence[TraceStep]],
    elements: Sequence[Sequence[Element | None]],
    values: Sequence[Mapping[str, str | list[str]]],
) -> dict[StepPosition, tuple[str, str]]:
    """Return the key of the word, and the word, for each step whose element has a class that the word names."""
    chosen: dict[StepPosition, tuple[str, str]] = {}
    for key in sorted(set.intersection(*(set(each) for each in values)) if values else ()):
        words = [_read_word(each[key]) for each in values]
        if not all(words) or len(set(words)) < LEAST_WORDS:
            continue
        found: dict[tuple[str, str, str, str], set[StepPosition]] = defaultdict(set)
        for number, trace in enumerate(steps):
            for at, (step, element) in enumerate(zip(trace, elements[number], strict=True)):
                for around in _list_affixes(element, words[number]):
                    found[step.action_type, "" if element is None else element.tag, *around].add((number, at))
        for places in found.values():
            if {number for number, _ in places} == set(range(len(steps))):
                for number, at in places:
                    chosen.setdefault((number, at), (f"{key}_{FIRST_WORD}", words[number]))
    return chosen


def _read_word(value: str | list[str]) -> str:
    word = FORMS[FIRST_WORD](value) if isinstance(value, str) else None
    return word if word is not None and len(word) >= SHORTEST else ""


def _list_affixes(element: Element | None, word: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after a word in the element's classes, apart from it by a mark."""
    for name in () if element is None else list_stable_classes(element):
        affixes = split_class(name, word)
        if affixes is not None:
            yield affixes


def split_class(name: str, word: str) -> tuple[str, str] | None:
    """Return what stands before and after a word in a class; None if it is no word of it.

    >>> split_class("fa-reply", "reply"), split_class("reply", "reply"), split_class("replyto", "reply")
    (('fa-', ''), ('', ''), None)
    """
    before, there, after = name.partition(word)
    if not there or (before and before[-1] not in "-_") or (after and after[0] not in "-_"):
        return None
    return before, after
