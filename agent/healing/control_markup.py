"""Tells whether the markup of a control of a dialog, or what is drawn on it, says more than its name: that it sends something, or a deed."""

from __future__ import annotations

import re
from collections.abc import Collection

from agent.dangers.danger_rules import find_danger_in_marks
from agent.dangers.danger_words import find_danger_in_code, find_harm_in_words
from agent.dangers.press_surroundings import PressSurroundings
from kb_schema.text_similarity import words

_SENDS = re.compile(r"fetch|xmlhttp|beacon|submit|location|ajax|axios|post|socket|open\s*\(", re.IGNORECASE)
"""Code of an attribute that may send something."""
_SCRIPTED = ("hx", "ic", "up", "wire", "phx", "ping")
"""How attributes begin by which libraries send something on a press."""


def does_by_markup(around: PressSurroundings, names: Collection[str]) -> bool:
    """Return whether a control does more than one with a name of `names`: its attributes send something or name a deed, or a person
    reads other words on it.
    """
    marks = dict(line.split("\t", 1) for line in around.marks.splitlines() if "\t" in line)
    known = {word for each in names for word in each.split()}
    return (
        find_danger_in_marks(marks) is not None
        or any(_does_by_mark(name, value) for name, value in marks.items())
        or not known.issuperset(words(around.drawn))
    )


def _does_by_mark(name: str, value: str) -> bool:
    """Whether an attribute that scripts read says of a button more than that it goes on."""
    if not name.startswith("data-"):
        return (
            name.startswith(_SCRIPTED)
            or find_danger_in_code(value) is not None
            or _SENDS.search(value) is not None
        )
    said = (name.removeprefix("data-"), value)
    return value.startswith(("/", "http", "{")) or any(find_harm_in_words(each) is not None for each in said)
