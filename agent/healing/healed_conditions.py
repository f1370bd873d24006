"""Conditions about healed elements: which elements they refer to, and the note in their evidence.

CSS in a condition refers to the element of the screen with the same selector, else to the element on which
this session acted by that CSS. Other CSS refers to no known element and is not healed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.page.live_selectors import summarize_selector
from kb_schema.conditions import BaseCondition
from kb_schema.fingerprints import TEST_IDS, Fingerprint
from kb_schema.nested_models import walk
from kb_schema.probes import Verdict
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, ValueStrategy, looks_like_css


def list_element_references(condition: BaseCondition) -> frozenset[str]:
    """Return the elements that a condition refers to: ids of the current screen, and CSS."""
    return frozenset(
        reference
        for _, node in walk(condition)
        for reference in (
            getattr(node, "element", None),
            getattr(node, "field_id", None),
            *getattr(node, "fields", ()),
        )
        if isinstance(reference, str)
    )


def list_css_references(conditions: Iterable[BaseCondition]) -> frozenset[str]:
    """Return the CSS by which conditions refer to elements."""
    named = frozenset[str]().union(*map(list_element_references, conditions))
    return frozenset(reference for reference in named if looks_like_css(reference))


def find_stored_element(
    text: str, elements: Mapping[str, UIElement], known: Mapping[str, Fingerprint | None]
) -> str | None:
    """Return the one element of a screen that this CSS refers to; None if there is none, or several.

    The element's selector contains this CSS, or its last fingerprint has this id, test id or name.
    """
    found = [
        name
        for name, element in elements.items()
        if _matches_css(element.selector, text) or _has_identity(known.get(name), text)
    ]
    return found[0] if len(found) == 1 else None


def _matches_css(selector: Selector, text: str) -> bool:
    return any(
        isinstance(each, ValueStrategy) and (each.type, each.value) == ("css", text)
        for each in selector.strategies
    )


_IDENTITIES = frozenset({"id", "name", *TEST_IDS})
_BY_IDENTITY = re.compile(
    r"(?P<tag>[a-z][\w-]*)?(?:#(?P<id>[\w-]+)|\[(?P<attribute>[\w-]+)=(?P<quote>[\"']?)(?P<value>[^\"'\]]+)(?P=quote)\])"
)
"""CSS that contains only an identity: `#save`, `input[name="mail"]`."""


def _has_identity(known: Fingerprint | None, text: str) -> bool:
    said = _BY_IDENTITY.fullmatch(text.strip())
    if known is None or said is None or said["tag"] not in (None, known.tag):
        return False
    attribute = said["attribute"] or "id"
    if attribute not in _IDENTITIES:
        return False
    return known.attributes.get(attribute) == (said["id"] or said["value"])


def add_healing_evidence(
    verdict: Verdict, condition: BaseCondition, healed: Mapping[str, Selector]
) -> Verdict:
    """Return the verdict with the healed elements it rests on in its evidence."""
    again = [
        f"{name} could not be evaluated as it is written; healed: found again by {summarize_selector(healed[name])}"
        for name in sorted(list_element_references(condition) & healed.keys())
    ]
    return replace(verdict, evidence="; ".join([verdict.evidence, *again])) if again else verdict
