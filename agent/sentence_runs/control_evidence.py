"""What shows that a press did its job where only the pressed control says so: its name, its state or its number is another one.

`Follow` becomes `Following`, a star is pressed, 12 likes are 13. The control must stand beside the texts of the sentence, in a card or on a page with
such a heading, and must still say so when the page is opened again. A number or a state must have moved in the direction that the
plan says: a press of what was pressed already undoes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from playwright.async_api import Page

from agent.locators.control_cards import NO_CARD, ControlCard, read_cards
from agent.locators.control_names import ON_CLASSES, call_control, has_letters, list_class_parts
from agent.locators.page_index import IndexedElement, PageIndex
from agent.sentences.sentence_words import stem
from kb_schema.sentence_plans import ControlChange, SentencePlan, describe_change, fold
from kb_schema.text_similarity import words

_NUMBER = re.compile(r"\d[\d.,]*")
SAME_TEXTS = 0.8
"""The share of the texts of a card by which it is known again."""
_ENDINGS = ("ed", "d", "red", "ned", "ted", "ged", "ped")
"""Endings of a class by which a state is called as the deed: `saved`, `starred`, `pinned`."""


@dataclass(frozen=True, slots=True)
class ControlFace:
    """What a control says of itself."""

    tag: str
    name: str
    """Folded, without numbers."""
    number: int | None
    on: bool | None
    """Whether it is pressed, by its state or a class; None if nothing says that it can be."""

    @property
    def key(self) -> tuple[str, str]:
        """Return what tells it from its fellows."""
        return self.tag, self.name


@dataclass(frozen=True, slots=True)
class _Press:
    """A control before its press, among those of its card or page."""

    url: str
    faces: tuple[ControlFace, ...]
    at: int
    """Its position among `faces`."""
    texts: frozenset[str] | None
    """The texts of its card, folded, without numbers; None: it lies in none."""


@dataclass(slots=True)
class ControlEvidence:
    """The controls of one run's plan that are to change, and what they were before they were pressed."""

    plan: SentencePlan
    sentence: str
    _presses: dict[int, _Press] = field(default_factory=dict)
    """Position in the plan -> the first press of it that the application accepted."""

    async def look(self, page: Page, index: PageIndex, pressed: IndexedElement) -> dict[int, _Press]:
        """Return for each change of the plan that a press may make what the control is before it. Raises `PageError`."""
        changes = [
            (at, each) for at, each in enumerate(self.plan.changed_when_done) if at not in self._presses
        ]
        meant = [(at, each) for at, each in changes if self._is_called(pressed, each)]
        if not meant:
            return {}
        cards = await _read_all_cards(page, index)
        number = cards.get(pressed.at, NO_CARD).number
        fellows = [each for each in index.interactive if cards.get(each.at, NO_CARD).number == number]
        found: dict[int, _Press] = {}
        for at, change in meant:
            called = [each for each in index.interactive if self._is_called(each, change)]
            if _choose(index, cards, called, change) is not pressed:
                continue
            faces = tuple(_read_face(each) for each in fellows)
            place = next(place for place, each in enumerate(fellows) if each.at == pressed.at)
            found[at] = _Press(index.url, faces, place, _read_texts(cards.get(pressed.at, NO_CARD)))
        return found

    def note(self, seen: dict[int, _Press]) -> None:
        """Keep what was seen before a press that the application accepted."""
        for at, press in seen.items():
            self._presses.setdefault(at, press)

    def list_unpressed(self) -> list[str]:
        """Return the changes of the plan that no accepted press made, in words."""
        changes = enumerate(self.plan.changed_when_done)
        return [describe_change(each) for at, each in changes if at not in self._presses]

    def list_pages(self) -> dict[str, list[int]]:
        """Return the addresses that have to be opened again -> the positions of the changes that are to be seen there."""
        pages: dict[str, list[int]] = {}
        for at, press in self._presses.items():
            pages.setdefault(press.url, []).append(at)
        return pages

    async def find_unchanged(self, page: Page, index: PageIndex, positions: Sequence[int]) -> list[str]:
        """Return the changes that a page which was opened again does not show, in words. Raises `PageError`."""
        cards = await _read_all_cards(page, index)
        changes = [(self.plan.changed_when_done[at], self._presses[at]) for at in positions]
        return [
            describe_change(change) for change, press in changes if not _shows(index, cards, change, press)
        ]

    def _is_called(self, element: IndexedElement, change: ControlChange) -> bool:
        """Whether a control has all words of a change, and no other that the sentence does not have."""
        told, wanted = _stems(call_control(element)), _stems(change.control)
        return bool(wanted) and wanted <= told and told - wanted <= _stems(self.sentence)


async def _read_all_cards(page: Page, index: PageIndex) -> dict[int, ControlCard]:
    return dict(await read_cards(page, index, [each.at for each in index.interactive if not each.behind]))


def _choose(
    index: PageIndex, cards: dict[int, ControlCard], called: Sequence[IndexedElement], change: ControlChange
) -> IndexedElement | None:
    """Return the only control of those that stands where a change says; None if there is none, or several.

    In a card with these texts; without a card, below headings with them. Without texts it is the only one of the page.
    """
    headings = [
        fold(each.text or each.name) for each in index.elements if each.role == "heading" and each.visible
    ]
    found = []
    for each in called:
        card = cards.get(each.at, NO_CARD)
        if each.behind or not _stands_beside(headings if card.number is None else card.texts, change):
            continue
        found.append(each)
    return found[0] if len(found) == 1 else None


def _stands_beside(texts: Sequence[str], change: ControlChange) -> bool:
    """Whether each text of a change is one of these, or begins one."""
    said = [fold(each) for each in texts]
    return all(any(_begins(each, fold(beside)) for each in said) for beside in change.beside)


def _begins(text: str, beginning: str) -> bool:
    return text.startswith(beginning) and not text[len(beginning) :][:1].isalnum()


def _shows(index: PageIndex, cards: dict[int, ControlCard], change: ControlChange, press: _Press) -> bool:
    """Whether an opened page shows the pressed control changed, at the same place among its fellows."""
    headings = [
        fold(each.text or each.name) for each in index.elements if each.role == "heading" and each.visible
    ]
    if press.texts is None and not _stands_beside(headings, change):
        return False
    places: dict[int | None, list[IndexedElement]] = {}
    for each in index.interactive:
        card = cards.get(each.at, NO_CARD)
        if not each.behind and (card.number is None) == (press.texts is None):
            places.setdefault(card.number, []).append(each)
    found = [face for each in places.values() if (face := _find_fellow(press, each, cards)) is not None]
    return len(found) == 1 and _is_changed(press.faces[press.at], found[0], on=change.on)


def _find_fellow(
    press: _Press, controls: Sequence[IndexedElement], cards: dict[int, ControlCard]
) -> ControlFace | None:
    """Return the control at the place of the pressed one, by those before and after it; None if that is not certain.

    Its card is the one with the same texts; numbers, such as ages, may be others, and a fifth of the texts.
    """
    faces = list(map(_read_face, controls))
    matched = SequenceMatcher(
        None, [each.key for each in press.faces], [each.key for each in faces], autojunk=False
    )
    for kind, first, last, begin, end in matched.get_opcodes():
        if not first <= press.at < last or (
            kind != "equal" and (kind, last - first, end - begin) != ("replace", 1, 1)
        ):
            continue
        at = begin + press.at - first
        texts = _read_texts(cards.get(controls[at].at, NO_CARD))
        alike = press.texts is None or len(press.texts & (texts or set())) >= SAME_TEXTS * len(press.texts)
        return faces[at] if alike and faces[at].tag == press.faces[press.at].tag else None
    return None


def _is_changed(before: ControlFace, after: ControlFace, *, on: bool) -> bool:
    """Whether a control says of itself that it was pressed.

    >>> star = ControlFace("button", "star", 12, on=False)
    >>> [_is_changed(star, ControlFace("button", "star", number, on=None), on=True) for number in (13, 12, 11)]
    [True, False, False]
    """
    if before.name != after.name:
        return has_letters(before.name) and has_letters(after.name)
    if before.on is not None and after.on is not None and before.on is not after.on:
        return after.on is on
    if before.number is None and after.number is None:
        return False
    return (after.number or 0) - (before.number or 0) == (1 if on else -1)


def _read_face(element: IndexedElement) -> ControlFace:
    name = call_control(element)
    shown = element.name or element.text
    numbers = _NUMBER.findall(shown)
    number = int(re.sub(r"\D", "", numbers[0])) if len(numbers) == 1 else None
    return ControlFace(
        element.tag, fold(_NUMBER.sub(" ", name)).strip(" ()"), number, _read_state(element, name)
    )


def _read_texts(card: ControlCard) -> frozenset[str] | None:
    return None if card.number is None else frozenset(fold(_NUMBER.sub(" ", each)) for each in card.texts)


def _read_state(element: IndexedElement, name: str) -> bool | None:
    """Return whether a control is pressed: by its markup, else by a class that says so, as `saved` does of `save`."""
    if element.checked is not None:
        return element.checked
    pressed = element.attributes.get("aria-pressed")
    if pressed in ("true", "false"):
        return pressed == "true"
    deeds = {f"{word}{ending}" for word in words(name) for ending in _ENDINGS}
    return not list_class_parts(element).isdisjoint(ON_CLASSES | deeds)


def _stems(text: str) -> set[str]:
    return {stem(each) for each in words(text) if has_letters(each)}
