"""Names of controls without words, such as icons: what a tooltip says, else what the page's own markup calls them.

Developers name what a control does (`data-action="likePost"`, `class="bookmark-btn"`). Such a name is no text that a person sees; it is
only asked for where there is none. Pure.
"""

from __future__ import annotations

import re

from agent.locators.page_index import TEST_ID_ATTRIBUTES, IndexedElement

TOOLTIPS = (
    "title",
    "data-tooltip",
    "data-title",
    "data-original-title",
    "data-bs-original-title",
    "data-tip",
)
"""Attributes that a page shows under the pointer."""
DEEDS = ("data-action", "data-command", *TEST_ID_ATTRIBUTES)
"""Attributes that say what a control does, or what it is called in tests."""
KINDS = frozenset({"btn", "button", "icon", "link"})
"""Parts of ids and class names that say that the other parts name a control."""
UNTELLING = KINDS | {
    "action", "click", "control", "custom", "danger", "default", "ghost", "handle", "inline", "js", "large", "lg", "md", "medium", "on",
    "outline", "primary", "round", "secondary", "sm", "small", "square", "success", "svg", "text", "toggle", "ui", "warning", "xl", "xs",
}  # fmt: skip
"""Parts of such names that do not say what a control does."""
SWITCH_CLASSES = frozenset({"switch", "toggle", "checkbox"})
"""Parts of class names by which a control without words is taken for a switch."""
ON_CLASSES = frozenset({"on", "active", "checked", "enabled", "selected"})
"""Parts of class names by which a switch that is only drawn is on."""
FIELD_ROLES = frozenset({"textbox", "searchbox", "combobox", "listbox", "spinbutton", "checkbox", "switch"})
"""Roles of what is named by a label or by its row, not by its markup."""
MOST_WORDS = 4
_DRAWN = "drawing "
"""Begins the name of an icon that is only drawn (`agent/page/js/8_icons.js`)."""
_NAME = re.compile(r"[A-Za-z][\w:.-]*")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LETTER = re.compile(r"[^\W\d_]")


def has_letters(text: str) -> bool:
    """Whether a text has a letter; a number or a sign names no control."""
    return _LETTER.search(text) is not None


def call_control(element: IndexedElement) -> str:
    """Return what a control is called: its words; if it has none, or only a number beside a picture, what the picture, a tooltip or
    the markup calls it.
    """
    name = element.label or element.name or element.placeholder or element.text
    if has_letters(name) or (name and not element.icon) or element.role in FIELD_ROLES or is_switch(element):
        return name or element.icon
    pictured = "" if element.icon.startswith(_DRAWN) else element.icon
    return pictured or name_by_markup(element) or name or element.icon


def is_switch(element: IndexedElement) -> bool:
    """Whether it turns something on and off, by its role or its classes: the text beside it says what. Other controls without
    words may do anything, for example delete what the text names.
    """
    return element.role in ("switch", "checkbox") or not list_class_parts(element).isdisjoint(SWITCH_CLASSES)


def list_class_parts(element: IndexedElement) -> set[str]:
    """Return the words of the class names of an element, folded."""
    return {part for each in element.classes for part in re.split(r"[-_]", each.casefold())}


def name_by_markup(element: IndexedElement) -> str:
    """Return what tooltips or the markup call a control, in lower case; empty if they do not.

    >>> from types import SimpleNamespace as Made
    >>> name_by_markup(Made(attributes={"data-action": "likePost"}, classes=(), id=None))
    'like post'
    >>> name_by_markup(Made(attributes={}, classes=("icon-btn", "bookmark-btn", "saved"), id=None))
    'bookmark'
    """
    attributes = element.attributes
    tooltip = next((text for each in TOOLTIPS if has_letters(text := attributes.get(each, ""))), "")
    if tooltip:
        return " ".join(tooltip.split()).casefold()
    for each in DEEDS:
        if words := _read_name(attributes.get(each, ""), marked=False):
            return words
    own = (element.id or "", attributes.get("name", ""), *element.classes)
    return next((words for each in own if (words := _read_name(each, marked=True))), "")


def _read_name(name: str, *, marked: bool) -> str:
    """Return the telling words of a name. `marked`: only if a part says that it is that of a control."""
    if _NAME.fullmatch(name) is None:
        return ""
    parts = [each.casefold() for each in _PARTS.findall(name)]
    told = [each for each in parts if each not in UNTELLING]
    if (marked and KINDS.isdisjoint(parts)) or not told or len(told) > MOST_WORDS:
        return ""
    return " ".join(told) if all(each.isalpha() and len(each) > 1 for each in told) else ""
