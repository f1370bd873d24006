"""`[[at:NAME]]` in narration: the action of that name happens when the word after it is heard.

Pure text. When a word is heard is the narrator's business, which action waits for it the presenter's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kb_schema.calls import ActionCall
from kb_schema.tasks import TaskStep

_MARK = re.compile(r"\[\[at:([A-Za-z0-9_.-]+)\]\]")
_CLOSING = ".,;:!?…"
_SENTENCE_END = re.compile(r"[.!?…][\"')\]]*$")


@dataclass(frozen=True, slots=True)
class Marked:
    """Narration in words, and which of them a mark is on."""

    words: tuple[str, ...]
    marks: tuple[tuple[str, int], ...] = ()
    """Name and index of the word; a mark after the last word has the number of words."""

    @property
    def text(self) -> str:
        """What is spoken: no marks, white space in order."""
        return " ".join(self.words)

    def since(self, index: int) -> str:
        """The narration from that word on, its marks in place."""
        named = [(at, f"[[at:{name}]]") for name, at in self.marks if at >= index]
        parts: list[str] = []
        for at, word in enumerate(self.words[index:], start=index):
            parts += [*(mark for place, mark in named if place == at), word]
        return " ".join([*parts, *(mark for place, mark in named if place >= len(self.words))])

    def sentence_start(self, index: int) -> int:
        """The first word of the sentence that the word of that index is in.

        >>> read_marks("One two. Three four.").sentence_start(3)
        2
        """
        before = (at for at in range(min(index, len(self.words)), 0, -1))
        return next((at for at in before if _SENTENCE_END.search(self.words[at - 1])), 0)


def read_marks(text: str) -> Marked:
    """Take narration apart. A mark glued to the end of a word is on that word, any other on the next.

    >>> read_marks("Press [[at:save]] save now.")
    Marked(words=('Press', 'save', 'now.'), marks=(('save', 1),))
    >>> read_marks("Press save[[at:save]].").marks
    (('save', 1),)
    """
    words: list[str] = []
    marks: list[tuple[str, int]] = []
    glued = False  # whether the last word goes on after a mark
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
    return Marked(tuple(words), tuple(marks))


def without_marks(text: str) -> str:
    """Narration without `[[at:NAME]]`, white space in order."""
    return read_marks(text).text


def names_of(call: ActionCall, step_id: str | None = None) -> tuple[str, ...]:
    """What a mark for that action may be called: its step, its element, its action type."""
    target = call.target if isinstance(call.target, str) else None
    names = (step_id, target, call.action_type, call.canonical_type)
    return tuple(dict.fromkeys(name for name in names if name))


def names_in(steps: Iterable[TaskStep]) -> frozenset[str]:
    """Every mark that an action of these steps listens to."""
    return frozenset(name for step in steps for name in names_of(step.action, step.step_id))
