"""Finds how to go through dialogs that only tell something, as applications greet who has signed in.

Such a dialog greets: it says so by its words. It asks nothing, takes nothing and sends no form; its text says nothing that is done, paid or
agreed to. News of the program itself (`which features will be added or removed`) are nothing done. Whatever is in doubt is left.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from agent.dangers.danger_words import (
    find_harm_in_words,
    greets,
    remove_program_news,
    tells_of_anything_done,
)
from agent.dangers.press_surroundings import PressSurroundings, find_harm_around
from agent.healing.control_markup import does_by_markup
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from kb_schema.text_similarity import words

ADVANCING = frozenset({
    "begin", "continue", "dive in", "done", "explore", "finish", "get started", "got it", "let s go", "lets go", "next", "ok", "okay", "start", "take a look", "understood",
})  # fmt: skip
"""Names of controls that go on: in a dialog that has no other way, nothing is agreed to. Any other name can be that of a deed."""
_INFORMING = frozenset({
    "about", "changelog", "docs", "documentation", "guide", "help", "imprint", "learn more", "license", "manual", "more", "more information", "privacy", "privacy policy", "read more",
    "release notes", "see what s new", "support", "what s new",
})  # fmt: skip
"""Names of links that tell more. Any other link can be another way."""
_BACK = frozenset({"back", "previous", "read again", "show again", "start again", "start over"})
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_PAGE = re.compile(rf"\b(\d{{1,2}}|{'|'.join(_NUMBERS)}) ?(?:/|of|von|de|sur|di|van|av|af|z|из) ?(\d{{1,2}}|{'|'.join(_NUMBERS)})\b", re.IGNORECASE)  # fmt: skip
"""Which page of how many a dialog is."""
LEAST_TOLD = 2
"""Words of a dialog that tells something; one with fewer may be drawn otherwise than as text."""


@dataclass(frozen=True, slots=True)
class WayOn:
    """The control that goes on in a dialog that only tells something."""

    at: int
    """Its position in the index."""
    told: str
    """The dialog's name and text."""


def find_ways_on(index: PageIndex, *, after: str | None = None) -> list[WayOn]:
    """Return the control that goes on in each open dialog that only tells something: its only one, beside those that go back.

    `after`: what the dialog told that was gone through before; then a dialog may be the next page of that one. The control is called as
    one that goes on (`ADVANCING`): no list knows what the others do. Several controls are a choice, and left to a person; so is a
    link that does not only tell more.
    """
    controls = {each.at for each in index.interactive}
    inside: defaultdict[int, list[IndexedElement]] = defaultdict(list)
    called: dict[int, str] = {}
    for element in index.elements:
        for region in index.regions_of(element):
            if region.kind is RegionKind.DIALOG:
                inside[region.element].append(element)
                called[region.element] = region.name
    found = []
    for dialog, elements in inside.items():
        own = [each for each in elements if each.at in controls and each.tag != "a"]
        links = [each for each in elements if each.tag == "a" and _is_other_way(each, index)]
        ways = [each for each in [*own, *links] if not _goes_back(each)]
        text = " ".join(each.text for each in elements if each.at not in controls or each.tag == "a")
        told = f"{called[dialog]} {text}"
        plain = all(_is_plain_button(each, index) for each in own)
        if len(ways) != 1 or not plain or len(words(text)) < LEAST_TOLD or not _only_tells(told):
            continue
        begun = after is not None and (len(own) > 1 or _is_next_page(told, after))
        if not (begun or greets(told)):
            continue
        if _said(ways[0]) in ADVANCING:
            found.append(WayOn(ways[0].at, told))
    return found


def _is_other_way(link: IndexedElement, index: PageIndex) -> bool:
    """Whether a link can be another way than the dialog's button: it leads to the same website, and is not known to tell more."""
    where = urlsplit(link.attributes.get("href", ""))
    away = where.scheme in ("http", "https") and where.netloc != urlsplit(index.url).netloc
    return not away and _said(link) not in _INFORMING


def _goes_back(element: IndexedElement) -> bool:
    return _said(element) in _BACK


def _is_next_page(told: str, before: str) -> bool:
    """Whether a dialog says that it is the next page of one: `2 of 3` after `1 of 3`."""
    pages, earlier = _list_pages(told), _list_pages(before)
    return any((number - 1, total) in earlier for number, total in pages)


def _list_pages(text: str) -> list[tuple[int, int]]:
    return [(_read_number(number), _read_number(total)) for number, total in _PAGE.findall(text)]


def _read_number(said: str) -> int:
    return int(said) if said.isdecimal() else _NUMBERS.index(said.casefold()) + 1


def _is_plain_button(element: IndexedElement, index: PageIndex) -> bool:
    """Whether an element is a button that sends no form."""
    in_form = any(region.kind is RegionKind.FORM for region in index.regions_of(element))
    return (element.tag == "button" or element.role == "button") and not in_form


def does_more(around: PressSurroundings) -> bool:
    """Whether what is around a control that goes on says that it does more: it sends something, or its title or description tells of it, or
    its dialog has fields, hidden ones too.
    """
    said = f"{around.title} {around.described}"
    sends = around.method.casefold() not in ("", "dialog") or does_by_markup(around, ADVANCING)
    without_news = replace(around, dialog=remove_program_news(around.dialog))
    harms = find_harm_in_words(said) is not None or find_harm_around("", without_news) is not None
    return sends or harms or bool(around.fields) or not _only_tells(said)


def _only_tells(text: str) -> bool:
    return "?" not in text and not tells_of_anything_done(text)


def _said(element: IndexedElement) -> str:
    return " ".join(words(element.name or element.text))
