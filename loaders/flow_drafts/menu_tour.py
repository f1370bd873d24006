"""Chooses the screens of a tour: those that the main menu leads to, in its order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest

from kb_schema import KnowledgeBase
from kb_schema.conditions import DomContains
from kb_schema.graph_documents import Transition
from kb_schema.screens import LAYER, Screen, UIElement
from kb_schema.url_patterns import resolve

MOST_STOPS = 6
"""The most screens of a tour."""
MOST_HIGHLIGHTS = 3
"""The most controls that are named on one screen."""
LONGEST_LABEL = 32
"""The most characters of a control's name that is spoken."""
MOST_WORDS = 3
"""The most words of a control's name; a longer one is usually the name of a thing, such as an issue's title."""
ERROR_PAGES = "error_pages"
"""The group of an exploration's error pages, which no tour shows."""
SIGNED_IN_PAGES = "authenticated_pages"
"""The group of what an exploration saw only while it was signed in."""

_FIRST = ("search", "button", "tab", "link", "textbox", "input", "combobox", "select")
_FAILED = re.compile(r"\b(?:error|not found|forbidden|denied|not allowed)\b", re.IGNORECASE)
_SIGNS_OUT = re.compile(r"\b(?:log|sign)[ -]?out\b", re.IGNORECASE)


def find_start(knowledge: KnowledgeBase) -> Screen | None:
    """Return the screen at the website's base URL; else the one to which most transitions lead."""
    base = knowledge.website.base_url
    for screen in shown_screens(knowledge):
        if screen.url is not None and resolve(screen.url, authored_base=base, base=base).rstrip("/") == base:
            return screen
    arrivals = Counter(edge.to_screen for edge in knowledge.transitions.values())
    return max(shown_screens(knowledge), key=lambda each: arrivals[each.screen_id], default=None)


def choose_stops(knowledge: KnowledgeBase, most: int = MOST_STOPS) -> list[Screen]:
    """Return the screens of a tour without the start screen, in the order of the menu.

    The menu is the layout whose elements lead to most screens. Without one, the screens that the start
    screen leads to are taken. Of a menu that must be opened first its entries are, and of
    several such menus some of each.
    """
    start = find_start(knowledge)
    left = {each.screen_id: each for each in shown_screens(knowledge)}
    if start is not None:
        left.pop(start.screen_id, None)
    shown_signed_in = _find_signed_in_screens(knowledge)
    parts: list[list[str]] = []
    known: set[str] = set()
    for edge in (*_menu_edges(knowledge), *_edges_from(knowledge, start)):
        part = []
        for entry in (edge, *_edges_behind(knowledge, edge)):
            to_screen = shown_signed_in.get(entry.to_screen, entry.to_screen)
            if to_screen in left and to_screen not in known and not _signs_out(knowledge, entry):
                known.add(to_screen)
                part.append(to_screen)
        parts.append(part)
    in_turns = [each for row in zip_longest(*parts) for each in row if each is not None]
    chosen = set(in_turns[:most])
    return [left[each] for part in parts for each in part if each in chosen]


def _edges_behind(knowledge: KnowledgeBase, edge: Transition) -> Iterator[Transition]:
    """Yield the transitions of the entries if a transition opens a menu or dialog."""
    opened = knowledge.screens.get(edge.to_screen)
    if opened is not None and opened.metadata.get(LAYER):
        yield from _edges_from(knowledge, opened)


def _find_signed_in_screens(knowledge: KnowledgeBase) -> dict[str, str]:
    """Return what an address shows to who is signed in, for each screen that it shows to others; nothing without a sign-in."""
    if knowledge.website.login_task_id not in knowledge.tasks:
        return {}
    signed_in = {
        screen.url: screen.screen_id
        for screen in knowledge.screens.values()
        if screen.url is not None and SIGNED_IN_PAGES in knowledge.groups_of(screen.screen_id)
    }
    return {
        screen.screen_id: signed_in[screen.url]
        for screen in knowledge.screens.values()
        if screen.url in signed_in and SIGNED_IN_PAGES not in knowledge.groups_of(screen.screen_id)
    }


def choose_highlights(
    knowledge: KnowledgeBase, screen: Screen, most: int = MOST_HIGHLIGHTS
) -> list[UIElement]:
    """Return controls of the screen itself that are worth pointing at: named, single, and not dangerous."""
    shared = Counter(name for each in knowledge.screens for name in knowledge.elements(each))
    linked = Counter(
        label
        for each in knowledge.screens.values()
        for label in {link.label.casefold() for link in each.ui_elements if "link" in link.type}
    )
    named = [
        each
        for each in screen.ui_elements
        if _is_shown(each)
        and shared[each.element_id] <= _FEW
        and ("link" not in each.type or linked[each.label.casefold()] <= _FEW)
    ]
    named.sort(key=lambda each: next((n for n, kind in enumerate(_FIRST) if kind in each.type), len(_FIRST)))
    once: dict[str, UIElement] = {}
    for each in named:
        once.setdefault(each.label.casefold(), each)
    return list(once.values())[:most]


_FEW = 2
"""Screens on which a control may be and still be one of the screen's own."""


def heading_of(screen: Screen) -> str:
    """Return what the screen is called on its pages: the heading that identifies it, else its name.

    Of several headings one that is the screen's name, or in it, is preferred, then a first heading: others may be of a part.
    """
    signature = screen.state_signature
    headings = {
        each.value: (
            each.value == screen.name,
            each.value in screen.name,
            (each.selector or "").startswith("h1"),
        )
        for each in (() if signature is None else signature.positive)
        if isinstance(each, DomContains)
        and (each.selector or "").startswith(("h1", "h2"))
        and "{" not in each.value
    }
    return max(headings, key=lambda each: headings[each], default=screen.name)


def _is_shown(element: UIElement) -> bool:
    label = element.metadata.get("label")
    return (
        isinstance(label, str)
        and 1 < len(label) <= LONGEST_LABEL
        and label[0].isalpha()
        and not label[0].islower()
        and not re.search(r"\d", label)
        and len(label.split()) <= MOST_WORDS
        and element.type not in ("file", "file_input")
        and not _SIGNS_OUT.search(label)
        and not element.selector.parameterized
        and "shown_by" not in element.metadata
        and not any(each.destructive for each in element.affordances)
    )


def _signs_out(knowledge: KnowledgeBase, edge: Transition) -> bool:
    """Return whether a transition ends the session, by the words of its control."""
    element = knowledge.elements(edge.from_screen).get(str(edge.triggered_by.target))
    label = "" if element is None else element.label
    return _SIGNS_OUT.search(f"{label} {edge.description}") is not None


def shown_screens(knowledge: KnowledgeBase) -> Iterator[Screen]:
    """Yield the screens that a demo may show: no error pages, no pages for signing in, no dialogs and menus."""
    for screen in knowledge.screens.values():
        asks = any("password" in f"{each.element_id} {each.type}".lower() for each in screen.ui_elements)
        failed = ERROR_PAGES in knowledge.groups_of(screen.screen_id) or _FAILED.search(screen.name)
        lies_on_others = bool(screen.metadata.get(LAYER))
        if not failed and not lies_on_others and not (asks and len(screen.ui_elements) <= _LOGIN):
            yield screen


_LOGIN = 12
"""The most controls of a page for signing in; a larger page with a password is another one."""


def _menu_edges(knowledge: KnowledgeBase) -> Sequence[Transition]:
    """Return the transitions of the layout that leads to most screens, one for each element, in its order."""
    menus = [
        [edge for element in elements for edge in _edges_by(knowledge, element.element_id)]
        for elements in knowledge.website.layouts.values()
    ]
    return max(menus, key=lambda edges: len({edge.to_screen for edge in edges}), default=[])


def _edges_by(knowledge: KnowledgeBase, element: str) -> Iterator[Transition]:
    targets: Collection[str] = {
        edge.to_screen: None
        for edge in knowledge.transitions.values()
        if edge.triggered_by.target == element and edge.triggered_by.canonical_type == "click"
    }
    for edge in knowledge.transitions.values():
        if edge.triggered_by.target == element and edge.to_screen in targets and len(targets) == 1:
            yield edge
            return


def _edges_from(knowledge: KnowledgeBase, start: Screen | None) -> Iterator[Transition]:
    here = "" if start is None else start.screen_id
    elements = list(knowledge.elements(here))
    edges = [each for each in knowledge.transitions.values() if each.from_screen == here]
    place = {name: number for number, name in enumerate(elements)}
    yield from sorted(edges, key=lambda each: place.get(str(each.triggered_by.target), len(place)))
