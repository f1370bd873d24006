"""The browser's own question (`confirm()`) right after the press of a control that does what the person allowed.

A map presses no control that does harm, so a drafted task does not know what its page asks. Tasks that were recorded or written say how
they answer (`on_dialog`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from agent.dangers.danger_words import (
    HARM,
    find_danger_in_words,
    find_money_words,
    find_wider_words,
    is_general_question,
    list_harms_in_dialog,
    list_named_words,
    tells_a_sum,
)
from kb_schema.explorations import Danger
from kb_schema.screens import UIElement

ASKED: frozenset[Danger] = frozenset({"deletes", "pays"})
"""What a person may allow: the harm by which a map calls a control destructive."""


_AND = re.compile(r"\b(?:and|then|und|dann|et|puis|y|luego|e|poi|en|dan|oraz|a také)\b|;", re.IGNORECASE)
"""Before another thing that is done."""


def list_deeds(element: UIElement | None) -> frozenset[Danger] | None:
    """Return the harm that a control does by its words, none if they do not say which; None for a control that does none."""
    if element is None or not any(each.destructive for each in element.affordances):
        return None
    told = (element.label, str(element.metadata.get("not_tried", "")))
    found = (find_danger_in_words(each, pressed=True) for each in told if each)
    return frozenset(each[0] for each in found if each is not None) & HARM


def list_harms_of_question(text: str) -> frozenset[Danger]:
    """Return every harm that a question tells, also in the passive: "will be deleted"."""
    from agent.sentences.goal_sentences import list_base_forms  # noqa: PLC0415 - decision 0140

    words = [word.strip(".,;:!?") for word in text.split()]
    paid: frozenset[Danger] = frozenset({"pays"}) if tells_a_sum(text) else frozenset()
    return paid.union(
        list_harms_in_dialog(text),
        *(list_harms_in_dialog(verb) for word in words for verb in list_base_forms(word)),
    )


@dataclass
class PressedQuestion:
    """The question that the page may ask of one press; it is agreed to at most once."""

    deeds: Collection[Danger]
    """What the pressed control does."""
    allowed: Collection[Danger]
    label: str = ""
    """What the pressed control is called."""
    asked: str = ""
    """The question that was agreed to."""

    def object_to(self, text: str) -> str | None:
        """Return why the question is not agreed to, with what to do; None if it is."""
        told = list_harms_of_question(text)
        if find_money_words(text) - find_money_words(self.label):
            told |= {"pays"}
        named = {*told, *(self.deeds if told or is_general_question(text) else ())}
        if self.asked:
            return "is a second question of one press"
        if not named:
            return "does not say what it does"
        if refused := sorted(named - {*self.allowed}):
            return f"{' and '.join(refused)}; allow it with --allow {' --allow '.join(refused)}"
        if wider := sorted(find_wider_words(text) - find_wider_words(self.label)):
            return f"speaks of more than the control ({', '.join(wider)})"
        if other := self._find_other_thing(text):
            return f"speaks of something else than the control ({other})"
        self.asked = text
        return None

    def _find_other_thing(self, text: str) -> str:
        """Return what a question names that the control does not; "" if it names the control's thing, nothing, or the control names none.

        `Delete boat` asks of `the boat Skua`, not of `300 boats`, `the database`, or of the boat `and` something else.
        """
        ours = list_named_words(self.label)
        if not ours:
            return ""
        first, *more = (list_named_words(each) for each in _AND.split(text))
        rest = next((each for each in more if each - ours), frozenset())
        numbers = sorted(each for each in first if each.isdigit() and each not in ours and int(each) > 1)
        theirs = frozenset(numbers) or (first if first and not first & ours else rest - ours)
        return ", ".join(sorted(theirs))
