"""What of an element lasts: which attributes, classes and words it may be found by, best first.

Left out is what a page changes while it is used (states, values, counts), what says how it looks,
and what was made up by a program (`made_up`). The order follows what is known of how long
attributes live: those made to be found by, then names, words, addresses, kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from kb_schema.pages.selecting.made_up import looks_made_up
from kb_schema.pages.tags import INPUT_BUTTONS
from kb_schema.pages.texts import squeeze
from kb_schema.pages.tree import Element

LONGEST = 80
"""Characters of a text or value; what is longer is content."""

TEST_IDS = ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")
_WORDS = ("aria-label", "placeholder", "title", "alt")
_ADDRESSES = ("href", "action")
_NAMES = (*TEST_IDS, "id", "name", "for")
_KINDS = ("type", "role", "autocomplete", "rel", "scope", "method")
ORDER = (*_NAMES, *_WORDS, *_ADDRESSES, "value", *_KINDS)
"""Attributes in the order in which they are believed; other `data-*` come after the addresses."""
WEAK = frozenset({"value", *_KINDS, *_ADDRESSES})
"""Too common to say where something stands."""

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
    r"dragging|dragover)$|"
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
    r"\d[.,:/]\d|\d\s*%|[$€£¥₹]\s*\d|\d\s*[$€£¥₹]|[(\[]\s*\d+\+?\s*[)\]]|^\+?\d+\+?\s+[^\W\d]|\d\s+of\s+\d|"
    r"\b(?:today|yesterday|tomorrow)\b\W*\w|\b(?:just now|ago)\b|\d{1,2}\.?\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+\d|\b\d+\s*(?:s|sec|min|h|hrs?|d|days?|kb|mb|gb)\b",
    re.IGNORECASE,
)


class Flaw(StrEnum):
    """Why a value is not used."""

    ABSENT = "absent"
    """The element has none."""
    MADE_UP = "looks generated"
    CHANGES = "changes"
    """It says a state, a count or a time."""
    TOO_LONG = "too long"


class Lasting(NamedTuple):
    """An attribute by which an element may be found."""

    name: str
    value: str


def words_flaw(text: str) -> Flaw | None:
    """Why nothing is to be found by these words; None where they may serve."""
    if not squeeze(text):
        return Flaw.ABSENT
    if len(text) > LONGEST:
        return Flaw.TOO_LONG
    return Flaw.CHANGES if _CHANGING_WORDS.search(text) else None


def name_flaw(value: str) -> Flaw | None:
    """The same of an id, a test id or a name."""
    if not value.strip():
        return Flaw.ABSENT
    if len(value) > LONGEST:
        return Flaw.TOO_LONG
    return Flaw.MADE_UP if looks_made_up(value) else None


def attribute_flaw(element: Element, name: str) -> Flaw | None:
    """The same of one attribute of an element."""
    value = element.get(name)
    if value is None:
        return Flaw.ABSENT
    if name in _WORDS:
        return words_flaw(value) or (name_flaw(value) if " " not in value.strip() else None)
    if name in _ADDRESSES:
        return _address_flaw(value)
    if name == "value":
        return words_flaw(value) or name_flaw(value) if _has_fixed_value(element) else Flaw.CHANGES
    return name_flaw(value)


def _address_flaw(value: str) -> Flaw | None:
    text = value.strip()
    if not text or text.startswith("#") or re.match(r"(?:javascript|data|blob):", text, re.IGNORECASE):
        return Flaw.ABSENT
    if len(text) > LONGEST:
        return Flaw.TOO_LONG
    pieces = re.split(r"[/?&=#]", re.sub(r"^[a-z]+:", "", text))
    return Flaw.MADE_UP if any(map(looks_made_up, pieces)) else None


def _has_fixed_value(element: Element) -> bool:
    """Whether its value is its own, not what somebody entered."""
    if element.tag == "input":
        return element.input_type in (*INPUT_BUTTONS, "radio", "checkbox")
    return element.tag in ("option", "button")


def lasting_attributes(element: Element) -> Iterator[Lasting]:
    """Attributes of an element that may serve, best first."""
    for name in ORDER:
        if name in element.attributes and attribute_flaw(element, name) is None:
            yield Lasting(name, element.attributes[name])
        if name == _ADDRESSES[-1]:
            yield from _own_data(element)


def _own_data(element: Element) -> Iterator[Lasting]:
    for name, value in element.attributes.items():
        if (
            not name.startswith("data-")
            or name in TEST_IDS
            or _CHANGING_DATA.match(name)
            or looks_made_up(name)
        ):
            continue
        if re.fullmatch(r"[a-z][a-z0-9-]*", name) and name_flaw(value) is None and words_flaw(value) is None:
            yield Lasting(name, value)


def class_flaw(name: str) -> Flaw | None:
    """Why nothing is to be found by a class: made up, a state, or only looks."""
    if looks_made_up(name):
        return Flaw.MADE_UP
    return Flaw.CHANGES if _STATE_CLASS.search(name) or _LOOKS_CLASS.search(name) else None


def lasting_classes(element: Element) -> list[str]:
    """Classes of an element that say what it is, in their order."""
    names = dict.fromkeys((element.get("class") or "").split())
    return [name for name in names if len(name) <= LONGEST and class_flaw(name) is None]
