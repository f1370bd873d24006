"""Tells which controls of a dialog close it and do nothing else.

The names are those of closing. In some dialogs they name a deed: `Cancel` below "Cancel the booking?", `No` below "Save your changes?",
`Decline` below an invitation. Whatever is in doubt is left.
"""

from __future__ import annotations

import re
from dataclasses import replace

from agent.dangers.danger_words import find_harm_in_words, speaks_of_agreeing
from agent.dangers.press_surroundings import PressSurroundings, agrees, find_harm_around
from agent.healing.control_markup import does_by_markup
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
_LAYERS = _ITSELF | {
    "alert", "all", "box", "cookie", "cookies", "drawer", "layer", "lightbox", "me", "menu", "modal", "overlay", "panel", "popover", "self", "sidebar", "this", "toast",
}  # fmt: skip
"""What code calls a dialog: `closeModal()`."""
_GOING_ON = frozenset({"continue", "go", "proceed"})
"""Words of a question that is about nothing: `Do you want to go on?`."""
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_NAMES = re.compile(r"[A-Za-z][\w-]*(?=\s*\()|^[\w:-]+$")
"""Functions that code calls, or a value that is a name."""
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_STEM = 4
"""Letters by which a word is another form of a verb: `cancelled`, `closure`."""
_NEAR = 3
"""Words after a verb in which it is said what a dialog is: `Close this message`."""


def is_called_closing(name: str) -> bool:
    """Return whether a control has the name of one that closes something without agreeing to anything."""
    return name.strip() in _CROSSES or " ".join(words(name)) in _CLOSING


def only_closes(name: str, called: str, around: PressSurroundings) -> bool:
    """Return whether a control with the name of closing does nothing else. `called`: the name of the dialog around it.

    It sends no form and stands in no row, nothing in its markup sends something or names a deed or a thing, a person reads no other
    words on it, no harm is told around it, and the dialog does not use its word in another sense.
    """
    if not is_called_closing(name) or around.method.casefold() not in ("", "dialog", "get"):
        return False
    verb = " ".join(words(name))
    if around.row or around.action or does_by_markup(around, _CLOSING) or _names_a_thing(around.marks):
        return False
    said = "\n".join((called, around.heading, around.dialog or around.layers))
    if verb in _DECLINING and _DECLINED.isdisjoint(words(said)) and not speaks_of_agreeing(said):
        return False
    # what the dialog offers is not done by a control that declines it
    own = around if agrees(name) else replace(around, dialog="", layers="", beside="")
    harmless = find_harm_around(name, own) is None
    return harmless and not any(_is_meant(verb, each) for each in _SENTENCE.findall(said))


def _names_a_thing(marks: str) -> bool:
    """Whether the code or the markup of a control closes a thing that is no dialog: `closeAccount()`, `data-action=cancel-booking`."""
    for line in marks.splitlines():
        mark, _, value = line.partition("\t")
        if not mark.startswith(("on", "@", "x-on", "v-on", "data-")):
            continue
        for each in _NAMES.findall(value):
            named = set(words(_CAPITAL.sub(" ", each).replace("_", " ")))
            if not named.isdisjoint(_CLOSING) and not named <= _CLOSING | _LAYERS:
                return True
    return False


def _is_meant(verb: str, sentence: str) -> bool:
    """Whether a sentence of a dialog uses the word of a control for a deed, in any form: `The booking will be cancelled` for `Cancel`.

    A name of more words than one says no deed. `No` loses nothing where a yes does harm or agrees, or the question is about nothing.
    """
    said, asks = words(sentence), sentence.endswith("?")
    if verb == "no":
        harmless = find_harm_in_words(sentence) is not None or not _GOING_ON.isdisjoint(said)
        harmless = harmless or speaks_of_agreeing(sentence) or not _DECLINED.isdisjoint(said)
        return asks and (not harmless or not _KEEPING.isdisjoint(said))
    if " " in verb or len(verb) < _STEM:
        return False
    forms = [at for at, each in enumerate(said) if each[:_STEM] == verb[:_STEM]]
    return any(_ITSELF.isdisjoint(said[at + 1 : at + 1 + _NEAR]) for at in forms)
