"""Tells which controls of a dialog close it and do nothing else.

The names are those of closing. In some dialogs they name a deed: `Cancel` below "Cancel the booking?", `No` below "Save your changes?",
`Decline` below an invitation. Whatever is in doubt is left.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agent.dangers.danger_words import speaks_of_agreeing
from agent.dangers.press_surroundings import PressSurroundings, agrees, find_harm_around
from agent.healing.control_markup import does_by_markup
from kb_schema.determiners import DETERMINERS
from kb_schema.text_similarity import words

_CLOSING = frozenset(
    {
        "close",
        "dismiss",
        "x",
        "later",
        "skip",
        "no thanks",
        "not now",
        "maybe later",
        "got it",
        "cancel",
        "decline",
        "refuse",
        "hide",
        "continue without accepting",
        "close dialog",
        "close this message",
        "no",
    }
)
"""Names of controls that close something without agreeing to anything."""
_CROSSES = frozenset("\u00d7\u2715\u2716\u2a2f")
"""Multiplication signs and crosses."""
_DECLINING = frozenset({"decline", "refuse"})
_DECLINED = frozenset(
    {"ads", "advertising", "analytics", "newsletter", "notifications", "partners", "privacy", "tracking"}
)
"""What websites ask for that is declined without any loss, beside what is agreed to (`dangers.yaml`): an invitation is none."""
_KEEPING = frozenset({"keep", "remain", "retain", "save", "stay", "still", "store"})
"""Words of a question to which `No` loses something."""
_ITSELF = frozenset(
    {"banner", "dialog", "hint", "message", "note", "notice", "popup", "tip", "tour", "window"}
)
"""What a dialog calls itself: `Close this message to go on`."""
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_NEAR = 3
"""Words after a verb in which its object is looked for."""


def is_called_closing(name: str) -> bool:
    """Return whether a control has the name of one that closes something without agreeing to anything."""
    return name.strip() in _CROSSES or " ".join(words(name)) in _CLOSING


def only_closes(name: str, called: str, around: PressSurroundings) -> bool:
    """Return whether a control with the name of closing does nothing else. `called`: the name of the dialog around it.

    It sends no form, nothing in its markup sends something or names a deed, a person reads no other words on it, no harm is told around
    it, and the dialog does not use its word for something else.
    """
    if not is_called_closing(name) or around.method.casefold() not in ("", "dialog", "get"):
        return False
    if does_by_markup(around, _CLOSING):
        return False
    said = "\n".join((called, around.heading, around.dialog or around.layers))
    verb = " ".join(words(name))
    if verb in _DECLINING and _DECLINED.isdisjoint(words(said)) and not speaks_of_agreeing(said):
        return False
    # what the dialog offers is not done by a control that declines it
    own = around if agrees(name) else replace(around, dialog="", layers="", beside="")
    harmless = find_harm_around(name, own) is None
    return harmless and not any(_is_meant(verb, each) for each in _SENTENCE.findall(said))


def _is_meant(verb: str, sentence: str) -> bool:
    """Whether a sentence of a dialog uses the word of a control for a deed: it asks for it, begins with it, or says of what.

    A name of more words than one says no deed.
    """
    said, asks = words(sentence), sentence.endswith("?")
    if verb == "no":
        return asks and not _KEEPING.isdisjoint(said)
    for at in (at for at, each in enumerate(said) if each == verb):
        follows = said[at + 1 : at + 1 + _NEAR]
        means_a_thing = bool(follows) and (asks or at == 0 or follows[0] in DETERMINERS)
        if means_a_thing and _ITSELF.isdisjoint(follows):
            return True
    return False
