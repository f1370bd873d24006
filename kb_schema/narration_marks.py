"""Marks in narration: `[[at:NAME]]` starts the action of that name when the word after it is heard.

Pure text. The narrator decides when a word is heard; the presenter decides which action waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from kb_schema.action_calls import ActionCall

_MARK = re.compile(r"\[\[at:([A-Za-z0-9_.-]+)\]\]")
_CLOSING = ".,;:!?…"
_SENTENCE_END = re.compile(r"[.!?…][\"')\]]*$")


@dataclass(frozen=True, slots=True)
class MarkedNarration:
    """Narration as words, and the words that have marks."""

    words: tuple[str, ...]
    marks: tuple[tuple[str, int], ...] = ()
    """Name and word index of each mark; a mark after the last word has the number of words."""

    @property
    def text(self) -> str:
        """The spoken text: without marks, white space normalised."""
        return " ".join(self.words)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The spoken text, sentence by sentence; the last one may have no end.

        >>> read_marks("One [[at:two]] two. Three").sentences
        ('One two.', 'Three')
        """
        ends = [at + 1 for at, word in enumerate(self.words) if _SENTENCE_END.search(word)]
        bounds = [0, *ends, len(self.words)]
        parts = (" ".join(self.words[begin:end]) for begin, end in pairwise(bounds))
        return tuple(part for part in parts if part)

    def since(self, index: int) -> str:
        """Return the narration from a word on, with its marks."""
        named = [(at, f"[[at:{name}]]") for name, at in self.marks if at >= index]
        parts: list[str] = []
        for at, word in enumerate(self.words[index:], start=index):
            parts += [*(mark for place, mark in named if place == at), word]
        return " ".join([*parts, *(mark for place, mark in named if place >= len(self.words))])

    def sentence_start(self, index: int) -> int:
        """Return the index of the first word of the sentence that contains a word.

        >>> read_marks("One two. Three four.").sentence_start(3)
        2
        """
        before = (at for at in range(min(index, len(self.words)), 0, -1))
        return next((at for at in before if _SENTENCE_END.search(self.words[at - 1])), 0)


def rename_marks(text: str, new_name: Callable[[str], str]) -> str:
    """Return narration with the name of each mark replaced.

    >>> rename_marks("Press [[at:save]] save.", str.upper)
    'Press [[at:SAVE]] save.'
    """
    return _MARK.sub(lambda found: f"[[at:{new_name(found[1])}]]", text)


def read_marks(text: str) -> MarkedNarration:
    """Parse narration. A mark attached to the end of a word is on that word, any other on the next one.

    >>> read_marks("Press [[at:save]] save now.")
    MarkedNarration(words=('Press', 'save', 'now.'), marks=(('save', 1),))
    >>> read_marks("Press save[[at:save]].").marks
    (('save', 1),)
    """
    words: list[str] = []
    marks: list[tuple[str, int]] = []
    glued = False  # whether the last word continues after a mark
    pieces = _MARK.split(text)
    for number, piece in enumerate(pieces):
        if number % 2:
            before = pieces[number - 1]
            glued = bool(before) and not before[-1].isspace()
            marks.append((piece, len(words) - 1 if glued else len(words)))
            continue
        fresh = piece.split()
        if fresh and words and ((glued and not piece[0].isspace()) or not fresh[0].strip(_CLOSING)):
            words[-1] += fresh.pop(0)
        words += fresh
    return MarkedNarration(tuple(words), tuple(marks))


def without_marks(text: str) -> str:
    """Return narration without `[[at:NAME]]`, white space normalised."""
    return read_marks(text).text


def list_mark_names(call: ActionCall, step_id: str | None = None) -> tuple[str, ...]:
    """Return the names a mark for an action may have: its step, its element, its action type."""
    target = call.target if isinstance(call.target, str) else None
    names = (step_id, target, call.action_type, call.canonical_type)
    return tuple(dict.fromkeys(name for name in names if name))
