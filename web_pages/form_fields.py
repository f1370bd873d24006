"""Reads the fields of a stored page: their values, and whether they can be used.

Values come from the annotations of our own snapshots, else from the markup; secrets have none.
`agent/page/js/1_roots.js` does the same on a live page.
"""

from __future__ import annotations

import re

from kb_schema.page_snapshots import CHECKED_ATTRIBUTE, VALUE_ATTRIBUTE
from web_pages.element_tree import Element
from web_pages.html_tags import FIELD_TAGS, TOGGLE_ROLES
from web_pages.page_texts import text_of
from web_pages.visibility import is_chosen

_TELLING = ("aria-label", "placeholder", "name", "id", "data-testid", "class")
_SEARCH = re.compile(
    r"(?<![a-z])(?:search|filter|find|suche?n?|buscar|cerca|recherche)(?![a-z])", re.IGNORECASE
)
"""Words of search fields; also inside names such as `issueSearchInput`, by their capitals."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def is_editing_host(element: Element) -> bool:
    """Return whether the element itself is editable."""
    flag = element.get("contenteditable")
    return flag is not None and flag.lower() != "false"


def is_toggle(element: Element) -> bool:
    """Return whether it is a checkbox or radio button."""
    return element.tag == "input" and element.input_type in ("checkbox", "radio")


def value_of(element: Element) -> str | None:
    """Return a field's value; `true` / `false` if it is checkable; None if it is no field, or secret."""
    if element.root.annotated:
        ticked = element.get(CHECKED_ATTRIBUTE)
        if element.tag != "option" and ticked is not None:
            return ticked
        return element.get(VALUE_ATTRIBUTE)
    return _markup_value(element)


def _markup_value(element: Element) -> str | None:
    if is_toggle(element):
        return "true" if "checked" in element.attributes else "false"
    if element.tag == "input":
        return "" if element.input_type == "file" else element.get("value") or ""
    if element.tag == "textarea":
        return "".join(child for child in element.children if isinstance(child, str)).removeprefix("\n")
    if element.tag == "select":
        chosen = [node for node in element.descendants() if node.tag == "option" and is_chosen(node)]
        return ", ".join(_option_value(node) for node in chosen)
    if element.get("role") in TOGGLE_ROLES:
        return "true" if element.get("aria-checked") == "true" else "false"
    return text_of(element, everything=True) if is_editing_host(element) else None


def _option_value(option: Element) -> str:
    given = option.get("value")
    return text_of(option, everything=True) if given is None else given


def is_search_field(element: Element, label: str = "") -> bool:
    """Whether a text field searches or filters what the page shows, by its type, role, words or label."""
    if element.input_type == "search" or element.get("role") == "searchbox":
        return True
    if any(each.get("role") == "search" or each.tag == "search" for each in element.ancestors()):
        return True
    told = (_CAMEL.sub(" ", element.get(name) or "") for name in _TELLING)
    return any(_SEARCH.search(each) for each in (label, *told))


def is_secret(element: Element) -> bool:
    """Return whether it is a field of our own snapshot whose value was left out because it is secret."""
    return (
        element.root.annotated
        and (element.tag in ("input", "select", "textarea") or is_editing_host(element))
        and value_of(element) is None
    )


def disabled_natively(element: Element) -> bool:
    """Return whether it matches HTML's `:disabled`."""
    if element.tag not in (*FIELD_TAGS, "option", "optgroup", "fieldset"):
        return False
    if "disabled" in element.attributes:
        return True
    if element.tag == "option":
        return any(up.tag == "optgroup" and "disabled" in up.attributes for up in element.ancestors())
    child = element
    for up in element.ancestors():
        if up.tag == "fieldset" and "disabled" in up.attributes:
            legend = next((node for node in up.elements() if node.tag == "legend"), None)
            if child is not legend:
                return True
        child = up
    return False


def enabled(element: Element) -> bool:
    """Return whether it is not disabled, `aria-disabled` or `inert`, itself or by an ancestor."""
    if disabled_natively(element):
        return False
    node: Element | None = element
    while node is not None:
        if node.get("aria-disabled") == "true" or "inert" in node.attributes:
            return False
        node = node.parent or (node.root.host if node.root.kind == "shadow" else None)
    return True
