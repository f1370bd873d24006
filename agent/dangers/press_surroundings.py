"""Judges a press by what is around its control: its form, its title, and the dialog in which it stands."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Page

from agent.dangers.danger_addresses import find_danger_in_address
from agent.dangers.danger_words import (
    find_harm_in_dialog,
    find_harm_in_words,
    load_danger_words,
    normalize_text,
)
from agent.page import in_page_library
from kb_schema.explorations import Danger
from kb_schema.selectors import Selector
from kb_schema.text_similarity import words

_HARM = frozenset({"deletes", "pays", "sends", "signs_out"})
_SAFE_METHODS = frozenset({"", "get", "post", "dialog"})
_LONGEST_TEXT = 80
"""Words of a title or a dialog that are looked at."""
_SHORT_TEXT = 25
"""Words of a dialog that asks one thing: each of its buttons answers it, whatever it is called."""
_ENDINGS = (("s", ""), ("d", ""), ("ed", ""), ("ing", ""), ("ing", "e"), ("ion", "e"))


@dataclass(frozen=True, slots=True)
class PressSurroundings:
    """What decides what a press does beside the words of the control. The page tells it."""

    title: str = ""
    action: str = ""
    """Address to which the press submits its form."""
    method: str = ""
    """The method of that form, or of its hidden field `_method`."""
    deed: str = ""
    """What hidden fields of that form say it does, such as `@action=retire`."""
    dialog: str = ""
    """The text of the dialog around it, without that of its controls."""


NOTHING_AROUND = PressSurroundings()


async def read_surroundings(page: Page, selector: Selector) -> PressSurroundings | None:
    """Return what the page tells of a press of an element; None if the selector leads to none. Raises `PageError`."""
    seen = await in_page_library.call(page, "pressSurroundings", selector.model_dump_json())
    return None if seen is None else PressSurroundings(**{name: text or "" for name, text in seen.items()})


def find_harm_around(name: str, around: PressSurroundings) -> tuple[Danger, str] | None:
    """Return the danger that the surroundings of a press tell, and what shows it; None if they tell none.

    The dialog around a control counts if its own name only agrees, such as `OK`, or if it has none; in a dialog with a short
    text, each name counts that does not decline, such as `Cancel`. Both are words of `dangers.yaml`, in many languages.
    """
    danger = find_danger_in_address(around.action) if around.action else None
    if danger is not None and danger[0] in _HARM:
        return danger[0], f"its form goes to {danger[1]}"
    method = around.method.casefold()
    if method not in _SAFE_METHODS:
        return "deletes" if method == "delete" else "submits", f"by {around.method.upper()[:20]}"
    deed = find_harm_in_words(around.deed) if around.deed else None
    if deed is not None:
        return deed[0], f"its form says {around.deed!r}"
    if (harm := _find_harm_in_text(around.title)) is not None:
        return harm
    if not around.dialog or not _answers(name, around.dialog):
        return None
    return _find_harm_in_text(around.dialog) or find_harm_in_dialog(around.dialog)


def _answers(name: str, dialog: str) -> bool:
    """Return whether a control does what the dialog around it says."""
    known, said = load_danger_words().dialogs, words(normalize_text(name).replace("İ", "i"))
    if (said[:1] and said[0] in known.decline) or name.strip() in known.decline:
        return False
    return known.agree.issuperset(said) or len(dialog.split()) <= _SHORT_TEXT


def _find_harm_in_text(text: str) -> tuple[Danger, str] | None:
    """Return the danger that a sentence tells: its verbs may be inflected, and stand anywhere in it."""
    said = text.split()[:_LONGEST_TEXT]
    for number, first in enumerate(said):
        for verb in _list_verbs(first):
            if (harm := find_harm_in_words(" ".join([verb, *said[number + 1 : number + 5]]))) is not None:
                return harm[0], f"{first!r} is said with it"
    return None


def _list_verbs(word: str) -> list[str]:
    """Return a word and the verbs that it may be a form of: `deletes`, `deleted`, `removing`."""
    plain = word.strip(".,:;!?\"'()").casefold()
    found = [plain]
    for ending, whole in _ENDINGS:
        if plain.endswith(ending) and len(plain) > len(ending) + 2:
            found.append(plain.removesuffix(ending) + whole)
    return found
