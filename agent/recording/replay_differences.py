"""Finds in what a page of a replay differs from the recorded one: in visible words, and in controls and their states."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent.recording.recorded_actions import read_words_and_controls

LONGEST = 80
"""Characters of each side."""
_MOST_WORDS = 4_000
"""Longer pages are compared by their sets of words."""


@dataclass(frozen=True, slots=True)
class PageDifference:
    """The first difference of two pages, one side each; a side may be empty."""

    recorded: str
    repeated: str


def find_difference(recorded: str, repeated: str, url: str) -> PageDifference | None:
    """Compare two snapshots' HTML of one address; None if words, controls and their states are the same."""
    (words, controls), (other_words, other_controls) = (
        read_words_and_controls(html, url) for html in (recorded, repeated)
    )
    if words != other_words:
        return PageDifference(*(_shorten(each) for each in _find_words(words.split(), other_words.split())))
    if controls == other_controls:
        return None
    here, there = Counter(controls), Counter(other_controls)
    return PageDifference(
        *(_shorten(", ".join(map(_describe_control, side))) for side in (here - there, there - here))
    )


def _find_words(here: list[str], there: list[str]) -> tuple[str, str]:
    if len(here) > _MOST_WORDS or len(there) > _MOST_WORDS:
        sides = (Counter(here) - Counter(there), Counter(there) - Counter(here))
        return " ".join(sides[0]), " ".join(sides[1])
    changes = SequenceMatcher(None, here, there, autojunk=False).get_opcodes()
    changed = next((each for each in changes if each[0] != "equal"), None)
    if changed is None:
        return "", ""
    _, begins, ends, other_begins, other_ends = changed
    return " ".join(here[begins:ends]), " ".join(there[other_begins:other_ends])


def _describe_control(control: tuple[str | None, ...]) -> str:
    tag, *states = control
    told = [each for each in states if each]
    return f"{tag} {'/'.join(told)}" if told else str(tag)


def _shorten(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
