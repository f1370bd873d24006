"""Finds how to go through dialogs that only tell something, as applications greet who has signed in.

Such a dialog asks nothing, takes nothing and sends no form; its text says nothing that is done, paid or agreed to. Whatever is in doubt is
left.
"""

from __future__ import annotations

from collections import defaultdict

from agent.dangers.danger_words import find_danger_in_words, tells_of_anything_done
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from kb_schema.text_similarity import words

ADVANCING = frozenset({"continue", "done", "finish", "next", "ok", "okay", "start"})
"""Names of controls that go on: in a dialog that has no other way, nothing is agreed to."""
_BACK = frozenset({"back", "previous"})
LEAST_TOLD = 2
"""Words of a dialog that tells something; one with fewer may be drawn otherwise than as text."""


def find_ways_on(index: PageIndex, *, begun: bool) -> list[int]:
    """Return the position of the control that goes on in each open dialog that only tells something: its only one.

    `begun`: a step before went on; then a dialog may end with several controls whose words do nothing, the last of which closes it.
    """
    controls = {each.at for each in index.interactive}
    inside: defaultdict[int, list[IndexedElement]] = defaultdict(list)
    for element in index.elements:
        for region in index.regions_of(element):
            if region.kind is RegionKind.DIALOG:
                inside[region.element].append(element)
    found = []
    for elements in inside.values():
        own = [each for each in elements if each.at in controls and each.tag != "a"]
        ways = [each for each in own if _said(each) not in _BACK]
        told = " ".join(each.text for each in elements if each.at not in controls or each.tag == "a")
        if not ways or not all(_is_plain_button(each, index) for each in ways) or not _only_tells(told):
            continue
        harmless = all(find_danger_in_words(_said(each), pressed=True) is None for each in ways)
        if (len(ways) == 1 and _said(ways[0]) in ADVANCING) or (begun and harmless):
            found.append(ways[-1].at)
    return found


def _is_plain_button(element: IndexedElement, index: PageIndex) -> bool:
    """Whether an element is a button that sends no form."""
    in_form = any(region.kind is RegionKind.FORM for region in index.regions_of(element))
    return (element.tag == "button" or element.role == "button") and not in_form


def _only_tells(text: str) -> bool:
    return len(words(text)) >= LEAST_TOLD and "?" not in text and not tells_of_anything_done(text)


def _said(element: IndexedElement) -> str:
    return " ".join(words(element.name or element.text))
