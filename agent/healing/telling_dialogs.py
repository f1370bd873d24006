"""Finds how to go through dialogs that only tell something, as applications greet who has signed in.

Such a dialog greets: it says so by its words. It asks nothing, takes nothing and sends no form; its text says nothing that is done, paid or
agreed to. News of the program itself (`which features will be added or removed`) are nothing done. Whatever is in doubt is left.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from agent.dangers.danger_rules import find_danger_in_marks
from agent.dangers.danger_words import (
    find_danger_in_words,
    find_harm_in_words,
    greets,
    remove_program_news,
    tells_of_anything_done,
)
from agent.dangers.press_surroundings import PressSurroundings, find_harm_around
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from kb_schema.text_similarity import words

ADVANCING = frozenset({"continue", "done", "finish", "next", "ok", "okay", "start"})
"""Names of controls that go on: in a dialog that has no other way, nothing is agreed to."""
_BACK = frozenset({"back", "previous"})
LEAST_TOLD = 2
"""Words of a dialog that tells something; one with fewer may be drawn otherwise than as text."""


def find_ways_on(index: PageIndex, *, begun: bool) -> list[int]:
    """Return the position of the control that goes on in each open dialog that only tells something: its only one.

    `begun`: a step before went on; then a dialog may end with several controls whose words do nothing, the last of which closes it, and
    says no greeting again.
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
        ways = [each for each in own if _said(each) not in _BACK]
        told = " ".join(each.text for each in elements if each.at not in controls or each.tag == "a")
        plain = bool(ways) and all(_is_plain_button(each, index) for each in ways)
        if not plain or len(words(told)) < LEAST_TOLD or not _only_tells(f"{called[dialog]} {told}"):
            continue
        if not begun and not greets(f"{called[dialog]} {told}"):
            continue
        harmless = all(find_danger_in_words(_said(each), pressed=True) is None for each in ways)
        if (len(ways) == 1 and _said(ways[0]) in ADVANCING) or (begun and harmless):
            found.append(ways[-1].at)
    return found


def _is_plain_button(element: IndexedElement, index: PageIndex) -> bool:
    """Whether an element is a button that sends no form."""
    in_form = any(region.kind is RegionKind.FORM for region in index.regions_of(element))
    return (element.tag == "button" or element.role == "button") and not in_form


def does_more(around: PressSurroundings) -> bool:
    """Whether what is around a control that goes on says that it does more: it sends something, or its title or description tells of it."""
    marks = dict(line.split("\t", 1) for line in around.marks.splitlines() if "\t" in line)
    said = f"{around.title} {around.described}"
    sends = around.method.casefold() not in ("", "dialog") or find_danger_in_marks(marks) is not None
    without_news = replace(around, dialog=remove_program_news(around.dialog))
    harms = find_harm_in_words(said) is not None or find_harm_around("", without_news) is not None
    return sends or harms or not _only_tells(said)


def _only_tells(text: str) -> bool:
    return "?" not in text and not tells_of_anything_done(text)


def _said(element: IndexedElement) -> str:
    return " ".join(words(element.name or element.text))
