"""Roles: what an action can be done to, and what words say of them (PACTS 5.4)."""

from __future__ import annotations

from collections.abc import Iterable

from agent.locating.index import IndexedElement
from kb_schema.vocabulary import canonical

ROLE_HINTS = {
    "login": "button", "submit": "button", "sign in": "button", "continue": "button", "next": "button",
    "ok": "button", "search": "button", "menu": "button", "tab": "tab", "link": "link",
}  # fmt: skip
"""Words that make one role likelier than others for something to be clicked (PACTS 5.4)."""

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
"""What the last word of a description says of the element's role."""

_TEXT = frozenset({"textbox", "searchbox", "spinbutton", "combobox"})
_TICK = frozenset({"checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio", "option", "treeitem"})
_CHOICE = frozenset({"combobox", "listbox"})
_PRESSED = frozenset({"button", "link", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "switch"})
_UNTOLD_FIELDS = frozenset({"date", "datetime-local", "month", "time", "week", "color"})
"""Input types that have no role in ARIA."""


def fitting(elements: Iterable[IndexedElement], action: str | None) -> tuple[IndexedElement, ...]:
    """The elements the action can be done to. No action: anything that can be operated."""
    kind = None if action is None else _KINDS.get(canonical(action) or action)
    return tuple(elements) if kind is None else tuple(each for each in elements if kind(each))


def prefers(element: IndexedElement, action: str | None) -> bool:
    """Whether the element is what one would rather do the action to, among several that fit."""
    if action is None or _KINDS.get(canonical(action) or action) is not None:
        return True
    return element.role in _PRESSED or element.role is None


def _types_text(element: IndexedElement) -> bool:
    if element.tag == "input":
        kind = element.attributes.get("type", "text").lower()
        return element.role in _TEXT or element.role == "slider" or kind in _UNTOLD_FIELDS
    return element.tag == "textarea" or (element.role in _TEXT and element.tag != "select")


def _chooses(element: IndexedElement) -> bool:
    return element.role in _CHOICE


def _ticks(element: IndexedElement) -> bool:
    return element.checked is not None or element.role in _TICK


def _takes_file(element: IndexedElement) -> bool:
    return element.tag == "input" and element.attributes.get("type", "").lower() == "file"


_KINDS = {
    "fill": _types_text, "clear": _types_text, "append_text": _types_text, "select_option": _chooses,
    "check": _ticks, "uncheck": _ticks, "upload_file": _takes_file,
}  # fmt: skip
