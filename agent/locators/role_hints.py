"""Roles of elements: which roles fit an action, and which roles words suggest (PACTS 5.4)."""

from __future__ import annotations

from collections.abc import Iterable

from agent.locators.page_index import IndexedElement
from kb_schema.action_types import canonical

ROLE_HINTS = {
    "login": "button",
    "submit": "button",
    "sign in": "button",
    "continue": "button",
    "next": "button",
    "ok": "button",
    "search": "button",
    "menu": "button",
    "tab": "tab",
    "link": "link",
}
"""Words that suggest the role of an element to click (PACTS 5.4)."""

ROLE_WORDS: dict[str, frozenset[str]] = {
    "button": frozenset({"button"}),
    "link": frozenset({"link"}),
    "tab": frozenset({"tab"}),
    "checkbox": frozenset({"checkbox", "switch", "menuitemcheckbox"}),
    "check box": frozenset({"checkbox", "switch", "menuitemcheckbox"}),
    "switch": frozenset({"switch", "checkbox"}),
    "toggle": frozenset({"switch", "checkbox", "button"}),
    "radio button": frozenset({"radio", "menuitemradio"}),
    "radio": frozenset({"radio", "menuitemradio"}),
    "field": frozenset({"textbox", "searchbox", "spinbutton", "combobox"}),
    "text field": frozenset({"textbox", "searchbox"}),
    "input": frozenset({"textbox", "searchbox", "spinbutton", "combobox"}),
    "box": frozenset({"textbox", "searchbox", "checkbox", "combobox", "listbox"}),
    "dropdown": frozenset({"combobox", "listbox"}),
    "list": frozenset({"combobox", "listbox"}),
    "slider": frozenset({"slider"}),
    "menu item": frozenset({"menuitem", "menuitemcheckbox", "menuitemradio"}),
}
"""The last word of a description, and the roles that it means."""

_TEXT = frozenset({"textbox", "searchbox", "spinbutton", "combobox"})
_TICK = frozenset({"checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio", "option", "treeitem"})
_CHOICE = frozenset({"combobox", "listbox"})
_PRESSED = frozenset({"button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "switch"})
_FIELD_TYPES_WITHOUT_ROLE = frozenset({"date", "datetime-local", "month", "time", "week", "color"})
"""Input types that have no role in ARIA."""


ENTER = "enter_value"
"""Stands for whatever enters a value: typing, choosing, ticking or naming a file."""


def select_fitting_elements(
    elements: Iterable[IndexedElement], action: str | None
) -> tuple[IndexedElement, ...]:
    """Return the elements that the action can be performed on; all elements if `action` is None."""
    kind = None if action is None else _KINDS.get(canonical(action) or action)
    return tuple(elements) if kind is None else tuple(each for each in elements if kind(each))


def is_preferred(element: IndexedElement, action: str | None) -> bool:
    """Return whether the element is a likely target of the action among several that fit."""
    if action is None or _KINDS.get(canonical(action) or action) is not None:
        return True
    return element.role in _PRESSED or element.role is None


def _types_text(element: IndexedElement) -> bool:
    if element.tag == "input":
        kind = element.attributes.get("type", "text").lower()
        return element.role in _TEXT or element.role == "slider" or kind in _FIELD_TYPES_WITHOUT_ROLE
    return element.tag == "textarea" or (element.role in _TEXT and element.tag != "select")


def _chooses(element: IndexedElement) -> bool:
    return element.role in _CHOICE


def _ticks(element: IndexedElement) -> bool:
    return element.checked is not None or element.role in _TICK


def _takes_file(element: IndexedElement) -> bool:
    return element.tag == "input" and element.attributes.get("type", "").lower() == "file"


def _takes_value(element: IndexedElement) -> bool:
    return any(kind(element) for kind in (_types_text, _chooses, _ticks, _takes_file))


_KINDS = {
    ENTER: _takes_value,
    "fill": _types_text,
    "clear": _types_text,
    "append_text": _types_text,
    "select_option": _chooses,
    "check": _ticks,
    "uncheck": _ticks,
    "upload_file": _takes_file,
}
