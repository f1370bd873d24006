"""The browser's own question (`confirm()`) right after the press of a control that does what the person allowed.

A map presses no control that does harm, so a drafted task does not know what its page asks. Tasks that were recorded or written say how
they answer (`on_dialog`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from agent.dangers.danger_words import (
    HARM,
    find_danger_in_words,
    find_money_words,
    find_wider_words,
    is_around_question,
    is_general_question,
    is_quantity,
    list_harms_in_dialog,
    list_words_in_order,
    names_a_thing,
    tells_a_sum,
)
from agent.page import in_page_library
from agent.page.actionability_gate import PassedElement
from agent.page.errors import PageError
from kb_schema.base import Model
from kb_schema.explorations import Danger
from kb_schema.screens import UIElement

ASKED: frozenset[Danger] = frozenset({"deletes", "pays"})
"""What a person may allow: the harm by which a map calls a control destructive."""


_AND = re.compile(r"\b(?:and|then|und|dann|et|puis|y|luego|e|poi|en|dan|oraz|a také)\b|;", re.IGNORECASE)
"""Before another thing that is done."""
_NUMBERING = frozenset({"no", "nr", "number", "nummer", "id", "num"})
"""Before the number by which a thing is called."""


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
    record: PressedRecord | None = None
    """What the page says of the record that the control is for; None: it was not read."""

    async def look(self, passed: PassedElement) -> None:
        """Read what the page says of the record, right before the press: no script runs while a question is open."""
        with suppress(PageError):
            element = (await passed.gated()).element
            said = await in_page_library.call_on(passed.page, "recordOfControl", element)
            self.record = None if said is None else PressedRecord.model_validate(said)

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

        `Delete boat` asks of `the boat Skua`, not of `300 boats`, `the boat owner`, a boat that the page does not show there, or of the boat
        `and` something else.
        """
        ours = {each.casefold() for each in list_words_in_order(self.label) if names_a_thing(each)}
        if all(map(is_quantity, ours)):  # `Delete`, `Delete all`
            return ""
        others: list[str] = []
        for clause, part in enumerate(_AND.split(text)):
            said = list_words_in_order(part)
            named = self._list_names(said, ours) if clause == 0 else frozenset()
            others += [
                word.casefold()
                for at, word in enumerate(said)
                if at not in named and word.casefold() not in ours and _names_another(word)
            ]
        return ", ".join(sorted({*others}))

    def _list_names(self, said: Sequence[str], ours: Collection[str]) -> frozenset[int]:
        """Return the places of the words beside the control's thing by which a question calls it: `the boat Skua`, `ticket #12`."""
        found: set[int] = set()
        for at, word in enumerate(said):
            if word.casefold() in ours:
                for step in (1, -1):
                    found.update(self._walk_name(said, at, step))
        return frozenset(found)

    def _walk_name(self, said: Sequence[str], at: int, step: int) -> Iterator[int]:
        at += step
        while 0 <= at < len(said):
            word = said[at]
            length = 1 if word.casefold() in _NUMBERING else self._measure_name(said, at, step)
            if not length:
                return
            yield from range(at, at + length)
            at += length if step > 0 else step

    def _measure_name(self, said: Sequence[str], at: int, step: int) -> int:
        """Return how many words from a place on are a name of the record; 0 if they are none."""
        word = said[at]
        is_number = word[-1].isdigit()
        if self.record is None:  # what is written as a name is believed to be one, behind the thing
            return int(step > 0 and not is_number and not word.islower())
        if step > 0 and (length := self.record.measure_text(said[at:])):
            return length
        is_name = step > 0 if is_number else not word.islower()
        return int(is_name and word.casefold() in self.record.words)


class PressedRecord(Model):
    """What a page says of the record that a pressed control is for."""

    texts: tuple[str, ...] = ()
    """The texts of the control's row, card or item; the headings of the page if it stands in none."""
    said: str = ""
    """All that the row says, or the page."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of what is said."""
        return frozenset(each.casefold() for each in list_words_in_order(self.said))

    def measure_text(self, said: Sequence[str]) -> int:
        """Return how many words at the beginning of a list are a whole text of the record."""
        spoken = [each.casefold() for each in said]
        texts = ([each.casefold() for each in list_words_in_order(text)] for text in self.texts)
        return max((len(each) for each in texts if each and spoken[: len(each)] == each), default=0)


def _names_another(word: str) -> bool:
    """Return whether a word of a question names a thing; one of anything is no number of things."""
    from agent.sentences.goal_sentences import list_base_forms  # noqa: PLC0415 - decision 0140

    if word[-1].isdigit():
        return not word.isdigit() or int(word) > 1
    if not names_a_thing(word) or is_around_question(word):
        return False
    said = word.casefold()
    going_on = (said.removesuffix("ing"), said.removesuffix("ing") + "e") if said.endswith("ing") else ()
    return all(map(names_a_thing, (*list_base_forms(said), *going_on)))  # `deleting`, `erased`
