"""The stable attributes, classes and texts of an element that selectors may use, best first.

Left out: what changes while a page is used (states, values, counts), presentation, and generated names
(`generated_names`). The order follows how long attributes live: test ids first, then names, texts, addresses,
kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from web_pages.element_tree import Element
from web_pages.html_tags import INPUT_BUTTONS
from web_pages.page_texts import squeeze
from web_pages.selectors.generated_names import looks_generated

LONGEST = 80
"""The most characters of a text or value; longer ones are content."""

TEST_IDS = ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")
_WORDS = ("aria-label", "placeholder", "title", "alt")
_ADDRESSES = ("href", "action")
_NAMES = (*TEST_IDS, "id", "name", "for")
_KINDS = ("type", "role", "autocomplete", "rel", "scope", "method")
ORDER = (*_NAMES, *_WORDS, *_ADDRESSES, "value", *_KINDS)
"""Attributes in the order of trust; other `data-*` come after the addresses."""
WEAK = frozenset({"value", *_KINDS, *_ADDRESSES})
"""Attributes that are too common to identify a place."""

_CHANGING_DATA = re.compile(
    r"^data-(?:pp-|react|v-|s-|n-|astro|turbo|hydr|ssr|state|status|open|active|selected|checked|expanded|focus|hover|"
    r"loading|loaded|disabled|theme|value|count|total|index|idx|row-?index|col-?index|position|offset|size|width|height|"
    r"time|date|timestamp|headlessui-state|side|align|orientation|popper|aria-|original|bs-|drift)"
)
_STATE_CLASS = re.compile(
    r"^(?:is-|has-|Mui-|ng-|js-(?:is|has)-|--)|"
    r"(?:^|[-_])(?:active|selected|current|open|opened|closed|shown|hidden|visible|invisible|collapsed|collapsing|"
    r"expanded|disabled|enabled|checked|focus|focused|focus-visible|hover|hovered|pressed|loading|loaded|busy|dirty|"
    r"pristine|touched|valid|invalid|unread|entering|entered|leaving|animated|sorted|ascending|descending|sticky|"
    r"dragging|dragover|highlight|highlighted|hovering|above|below)$|"
    r"^(?:show|fade|in|out|on|off|new|read|first|last|odd|even|error|errors|success|warning|danger)$",
    re.IGNORECASE,
)
_SIZES = r"(?:\d+|xs|sm|md|lg|xl|xxl|\d?xl|auto|full|screen|fit|px|none|start|end|center|between|around|evenly|stretch)"
_LOOKS_CLASS = re.compile(
    r"[:/\[\]().%!@&]|^-?[a-z]{1,3}(?:-[a-z]{1,2})?-?\d+(?:px|rem|em|xl)?$|"
    r"^(?:col|row|g|gap|order|offset|w|h|m[trblxy]?|p[trblxy]?|d|fs|fw|lh|text|bg|border|rounded|shadow|flex|grid|justify|"
    r"justify-content|align-items|items|align|self|float|font|leading|tracking|space|inset|top|left|right|bottom|min|max|overflow|opacity|tint|size)"
    r"(?:-[a-z]{1,2})?-(?:"
    + _SIZES
    + r"|flex|block|inline|row|col|column|wrap|nowrap|reverse|left|right|hidden|scroll|"
    r"bold|italic|muted|white|black|gray|grey|red|green|blue|primary|secondary|uppercase|truncate)(?:-\d+)?$|"
    r"^(?:flex|grid|block|inline|inline-block|hidden|container|clearfix|row|col|left|right|center|small|large|big|tiny|"
    r"bold|italic|muted|relative|absolute|fixed|static|truncate|uppercase|lowercase|capitalize|underline|antialiased|"
    r"rounded|border|shadow)$"
)
_CHANGING_WORDS = re.compile(
    r"\d[.,:/]\d|\b\d{4}-\d\d-\d\d|\d\s*%|[$€£¥₹]\s*\d|\d\s*[$€£¥₹]|[(\[]\s*\d+\+?\s*[)\]]|^\+?\d+\+?\s+[^\W\d]|\d\s+of\s+\d|"
    r"\b(?:today|yesterday|tomorrow)\b\W*\w|\b(?:just now|ago)\b|\d{1,2}\.?\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d|\b\d+\s*(?:s|sec|min|h|hrs?|d|days?|kb|mb|gb)\b",
    re.IGNORECASE,
)


class ValueFlaw(StrEnum):
    """Why a value is not used."""

    ABSENT = "absent"
    """The element has none."""
    MADE_UP = "looks generated"
    CHANGES = "changes"
    """It is a state, a count or a time."""
    TOO_LONG = "too long"


class StableAttribute(NamedTuple):
    """An attribute that a selector may use."""

    name: str
    value: str


def find_text_flaw(text: str) -> ValueFlaw | None:
    """Return why a text must not be used in a selector; None if it may."""
    if not squeeze(text):
        return ValueFlaw.ABSENT
    if len(text) > LONGEST:
        return ValueFlaw.TOO_LONG
    return ValueFlaw.CHANGES if _CHANGING_WORDS.search(text) else None


def find_name_flaw(value: str) -> ValueFlaw | None:
    """Return why an id, a test id or a name must not be used; None if it may."""
    if not value.strip():
        return ValueFlaw.ABSENT
    if len(value) > LONGEST:
        return ValueFlaw.TOO_LONG
    return ValueFlaw.MADE_UP if looks_generated(value) else None


def find_attribute_flaw(element: Element, name: str) -> ValueFlaw | None:
    """Return why an attribute of an element must not be used; None if it may."""
    value = element.get(name)
    if value is None:
        return ValueFlaw.ABSENT
    if name in _WORDS:
        return find_text_flaw(value) or (find_name_flaw(value) if " " not in value.strip() else None)
    if name in _ADDRESSES:
        return _address_flaw(value)
    if name == "value":
        return (
            find_text_flaw(value) or find_name_flaw(value) if _has_fixed_value(element) else ValueFlaw.CHANGES
        )
    return find_name_flaw(value)


def _address_flaw(value: str) -> ValueFlaw | None:
    text = value.strip()
    if not text or text.startswith("#") or re.match(r"(?:javascript|data|blob):", text, re.IGNORECASE):
        return ValueFlaw.ABSENT
    if len(text) > LONGEST:
        return ValueFlaw.TOO_LONG
    pieces = re.split(r"[/?&=#]", re.sub(r"^[a-z]+:", "", text))
    return ValueFlaw.MADE_UP if any(map(looks_generated, pieces)) else None


def _has_fixed_value(element: Element) -> bool:
    """Return whether its value is fixed, not entered by a user."""
    if element.tag == "input":
        return element.input_type in (*INPUT_BUTTONS, "radio", "checkbox")
    return element.tag in ("option", "button")


def list_stable_attributes(element: Element) -> Iterator[StableAttribute]:
    """Return the attributes of an element that may be used, best first."""
    for name in ORDER:
        if name in element.attributes and find_attribute_flaw(element, name) is None:
            yield StableAttribute(name, element.attributes[name])
        if name == _ADDRESSES[-1]:
            yield from _own_data(element)


def _own_data(element: Element) -> Iterator[StableAttribute]:
    for name, value in element.attributes.items():
        if (
            not name.startswith("data-")
            or name in TEST_IDS
            or _CHANGING_DATA.match(name)
            or looks_generated(name)
        ):
            continue
        if (
            re.fullmatch(r"[a-z][a-z0-9-]*", name)
            and find_name_flaw(value) is None
            and find_text_flaw(value) is None
        ):
            yield StableAttribute(name, value)


def find_class_flaw(name: str) -> ValueFlaw | None:
    """Return why a class must not be used: generated, a state, or presentation; None if it may."""
    if looks_generated(name):
        return ValueFlaw.MADE_UP
    return ValueFlaw.CHANGES if _STATE_CLASS.search(name) or _LOOKS_CLASS.search(name) else None


def list_stable_classes(element: Element) -> list[str]:
    """Return the classes of an element that may be used, in their order."""
    names = dict.fromkeys((element.get("class") or "").split())
    return [name for name in names if len(name) <= LONGEST and find_class_flaw(name) is None]
