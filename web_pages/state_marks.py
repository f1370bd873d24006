"""The marks by which states of one page differ: messages, refused fields, rows, classes and short texts.

A mark is the kind, the place and the text of a `PageFeature`. Which marks tell two screens apart is decided by the
learner, from the pages that show them, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from web_pages.element_tree import Element
from web_pages.page_texts import own_texts, text_of
from web_pages.selectors.generated_names import looks_generated

Mark = tuple[str, str, str]
"""Kind, place and text."""

STATE_WORDS = frozenset(
    [
        "alert",
        "busy",
        "danger",
        "denied",
        "disabled",
        "empty",
        "error",
        "errors",
        "failed",
        "failure",
        "forbidden",
        "invalid",
        "loading",
        "locked",
        "message",
        "messages",
        "missing",
        "notice",
        "notification",
        "ok",
        "placeholder",
        "readonly",
        "skeleton",
        "spinner",
        "success",
        "toast",
        "warning",
    ]
)
"""Parts of class names that say a state."""
_STATE_ROLES = frozenset({"alert", "status"})
_STATE_ATTRIBUTES = ("aria-invalid", "aria-disabled", "aria-busy")
_SAYING_TAGS = frozenset({"b", "dd", "div", "em", "label", "li", "small", "span", "strong", "td"})
"""Tags whose short texts are marks; the texts of others are features of the page."""
_ROW_TAGS = frozenset({"td", "li", "article"})
_NAME = re.compile(r"[A-Za-z_][\w-]*\Z")
"""A class that needs no escape in CSS."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST = 80
"""The most characters of a text that is a mark."""
_MOST_INNER = 6
"""The most elements in one that only holds a text, such as a chosen value with its icon."""
_MOST_TABLES = 3
"""The most tables around a cell that are looked at."""


def list_state_marks(element: Element, role: str | None, *, in_data: bool) -> Iterator[Mark]:
    """Yield the marks of a visible element. `in_data`: it is in a row or an item, whose texts and classes are data."""
    if role in _STATE_ROLES and element.get("role") == role:
        yield "state", "role", role or ""
    for name in _STATE_ATTRIBUTES:
        if element.get(name) == "true":
            yield "state", name, "true"
    for token in _list_classes(element):
        if says_state(token):
            yield "state", "class", token
        elif not in_data:
            yield "class", "class", token
    if element.tag in _ROW_TAGS:
        yield from _rows(element)
    if not in_data and element.tag in _SAYING_TAGS and own_texts(element):
        said = text_of(element)
        if len(said) <= _LONGEST:
            yield "said", element.tag, said


def list_echoes(element: Element, *, in_data: bool) -> Iterator[Mark]:
    """Yield what `list_state_marks` leaves out though the condition of such a mark holds: of data, and of what only holds a text.

    These are no marks of a state, but a mark of another page with the same text does not tell the two apart.
    """
    if in_data:
        yield from (("class", "class", token) for token in _list_classes(element) if not says_state(token))
    if element.tag in _SAYING_TAGS and (in_data or not own_texts(element)):
        inner = sum(1 for _ in islice(element.descendants(), _MOST_INNER + 1))
        said = text_of(element) if inner <= _MOST_INNER else ""
        if 0 < len(said) <= _LONGEST:
            yield "said", element.tag, said


def _list_classes(element: Element) -> list[str]:
    names = (element.get("class") or "").split()
    return [token for token in names if _NAME.match(token) and not looks_generated(token)]


def says_state(token: str) -> bool:
    """Return whether a class names a state.

    >>> says_state("error-message"), says_state("isInvalid"), says_state("header")
    (True, True, False)
    """
    return any(word.lower() in STATE_WORDS for word in _WORD.findall(token))


def _rows(element: Element) -> Iterator[Mark]:
    """Yield that a table or a list has rows."""
    if element.tag != "td":
        if element.parent is not None:
            yield from (("rows", f"{name} > {element.tag}", "") for name in _names(element.parent))
        return
    around, found = element.parent, 0
    while around is not None and found < _MOST_TABLES:
        if around.tag == "table":
            found += 1
            yield "rows", "table td", ""
            yield from (("rows", f"{name} td", "") for name in _names(around))
        around = around.parent


def _names(holder: Element) -> Iterator[str]:
    """Yield selectors of what holds the rows."""
    own_id = holder.get("id")
    if own_id and _NAME.match(own_id) and not looks_generated(own_id):
        yield f"#{own_id}"
    for token in (holder.get("class") or "").split():
        if _NAME.match(token) and not looks_generated(token):
            yield f".{token}"
