"""Conditions about elements that are found again: which elements they mean, and saying so in their evidence.

CSS written into a condition means the element of the screen whose selector says the same, else what this
session itself once acted on by that CSS; anything else is nobody's element and is not healed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agent.page.locating import summary
from kb_schema.conditions import BaseCondition
from kb_schema.fingerprints import TEST_IDS, Fingerprint
from kb_schema.probes import Verdict
from kb_schema.rules.references import looks_like_css, walk
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, ValueStrategy


def references(condition: BaseCondition) -> frozenset[str]:
    """The elements a condition is about: ids of the current screen, and CSS."""
    return frozenset(
        reference
        for _, node in walk(condition)
        for reference in (
            getattr(node, "element", None), getattr(node, "field_id", None), *getattr(node, "fields", ())
        )
        if isinstance(reference, str)
    )  # fmt: skip


def css_named(conditions: Iterable[BaseCondition]) -> frozenset[str]:
    """The CSS that conditions name elements by."""
    named = frozenset[str]().union(*map(references, conditions))
    return frozenset(reference for reference in named if looks_like_css(reference))


def stored_as(
    text: str, elements: Mapping[str, UIElement], known: Mapping[str, Fingerprint | None]
) -> str | None:
    """The one element of a screen that this CSS means: its own selector says the same, or its id, its test
    id or its name was that when it was last seen.
    """
    found = [
        name for name, element in elements.items()
        if _says(element.selector, text) or _bore(known.get(name), text)
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _says(selector: Selector, text: str) -> bool:
    return any(
        isinstance(each, ValueStrategy) and (each.type, each.value) == ("css", text)
        for each in selector.strategies
    )


_IDENTITIES = frozenset({"id", "name", *TEST_IDS})
_BY_IDENTITY = re.compile(
    r"(?P<tag>[a-z][\w-]*)?(?:#(?P<id>[\w-]+)|\[(?P<attribute>[\w-]+)=(?P<quote>[\"']?)(?P<value>[^\"'\]]+)(?P=quote)\])"
)
"""`#save`, `input[name="mail"]`: CSS that says nothing but which element is meant."""


def _bore(known: Fingerprint | None, text: str) -> bool:
    said = _BY_IDENTITY.fullmatch(text.strip())
    if known is None or said is None or said["tag"] not in (None, known.tag):
        return False
    attribute = said["attribute"] or "id"
    if attribute not in _IDENTITIES:
        return False
    return known.attributes.get(attribute) == (said["id"] or said["value"])


def told(verdict: Verdict, condition: BaseCondition, healed: Mapping[str, Selector]) -> Verdict:
    """The verdict, saying which elements are not where they were written to be: it rests on healing."""
    again = [
        f"{name} could not be evaluated as it is written; healed: found again by {summary(healed[name])}"
        for name in sorted(references(condition) & healed.keys())
    ]
    return replace(verdict, evidence="; ".join([verdict.evidence, *again])) if again else verdict
