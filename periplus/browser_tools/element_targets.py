"""Which element of a page an element id of the knowledge base means, by role and accessible name.

For clients whose tools take something else than our ids: a reference of their own snapshot, or a selector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb_schema.tool_answers import ElementAction

_FIELDS = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})
_CHOSEN_FROM = frozenset({"combobox", "listbox", "radiogroup"})
_TICKED = frozenset({"checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"})
_PRESSED = _TICKED | {"button", "link", "menuitem", "tab", "option", "treeitem", "combobox"}
ENTERED = _FIELDS | _CHOSEN_FROM | frozenset({"checkbox", "radio", "switch"})
_ROLES = {
    "fill": _FIELDS,
    "type": _FIELDS,
    "clear": _FIELDS,
    "select_option": _CHOSEN_FROM,
    "check": _TICKED,
    "uncheck": _TICKED,
    "click": _PRESSED,
}
"""Canonical action -> the roles of elements that take it; others take any of these."""
_KINDS = frozenset(
    {"field", "input", "dropdown", "select", "button", "link", "checkbox", "radio", "option", "tab"}
)
"""Last words of ids that say what kind of element it is."""
_ANY = _FIELDS | _CHOSEN_FROM | _PRESSED


@dataclass(frozen=True, slots=True)
class NamedElement:
    """An element of a page, with what a client calls it."""

    role: str
    name: str
    target: str


def find_targets(actions: Iterable[ElementAction], elements: Iterable[NamedElement]) -> dict[str, str]:
    """Return element id -> target for each element that exactly one element of the page fits.

    An element whose name is on the page twice is left out: none is better than the wrong one.
    """
    fitting = find_fitting(actions, elements)
    return {element_id: found[0].target for element_id, found in fitting.items() if len(found) == 1}


def find_fitting(
    actions: Iterable[ElementAction], elements: Iterable[NamedElement]
) -> dict[str, list[NamedElement]]:
    """Return element id -> the elements of the page that fit it, where there are any.

    Their name is the label, or begins with the label's words, as that of a card does.
    """
    found: dict[str, list[NamedElement]] = {}
    by_name: dict[str, list[NamedElement]] = {}
    for element in elements:
        by_name.setdefault(_plain(element.name), []).append(element)
    for action in actions:
        if not action.element_id or len(found.get(action.element_id, ())) == 1:
            continue
        roles = _ROLES.get(action.action_type, _ANY)
        for words in map(_plain, list_names(action)):
            fitting = [each for each in by_name.get(words, ()) if words and each.role in roles]
            if not fitting and words and roles is _PRESSED:
                begun = [name for name in by_name if name.startswith(f"{words} ")]
                fitting = [each for name in begun for each in by_name[name] if each.role in roles]
            if fitting and (len(fitting) == 1 or action.element_id not in found):
                found[action.element_id] = fitting
            if len(fitting) == 1:
                break
    return found


def list_other_fields(
    elements: Iterable[NamedElement], fitting: Mapping[str, Sequence[NamedElement]]
) -> list[NamedElement]:
    """Return the fields of a page that fit no element of the knowledge base."""
    known = {id(each) for found in fitting.values() for each in found}
    return [each for each in elements if each.role in ENTERED and id(each) not in known]


def list_names(action: ElementAction) -> tuple[str, ...]:
    """Return what an element may be called on its page: its label, its id in words, and that without its kind (`_field`)."""
    words = action.element_id.replace("_", " ")
    first, _, kind = words.rpartition(" ")
    names = (action.label, words, first if kind in _KINDS else "")
    return tuple(dict.fromkeys(each for each in names if each))


def role_selector(role: str, name: str) -> str:
    """Return the selector of Playwright's role engine for an element: `role=button[name="Save"s]`."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'role={role}[name="{escaped}"s]'


def _plain(words: str) -> str:
    return " ".join(words.replace("_", " ").casefold().strip(" *:").split())
