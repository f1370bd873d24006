"""Checks that the element that passed the gate is the known one; on every use, before anything is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle, Page

from agent.healing.fingerprint_comparison import (
    FingerprintComparison,
    compare_fingerprints,
    find_kind_conflict,
)
from agent.healing.recorded_words import RecordedElement
from agent.locators.page_fingerprints import PageFingerprints, describe_fingerprint, select_attributes
from agent.locators.page_index import PageIndex
from agent.locators.page_scan import check_selectors, parse_page_index
from agent.page import in_page_library
from agent.page.action_requests import CheckedElement
from agent.page.actionability_gate import PassedElement
from agent.page.errors import ElementChanged
from agent.page.live_selectors import summarize_selector
from kb_schema.fingerprints import Fingerprint
from kb_schema.selectors import Selector

MOST_DIFFERING = 6


@dataclass(frozen=True)
class ElementSighting:
    """An element with the page index it was seen in, just before an action."""

    index: PageIndex
    at: int
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class ElementIdentity:
    """What an element must be before it is acted on (an `agent.page.action_requests.IdentityCheck`)."""

    known: Fingerprint | None = None
    """None: nothing is known, and the element is only looked at, so that its fingerprint can be stored."""
    same_kind_only: bool = False
    """The selector means the first (or last) of a list: the element must be of the same kind, no more."""
    count_agreeing: bool = False
    """Count the strategies that lead to the element, where no fingerprint and no postcondition proves it."""
    recorded: RecordedElement | None = None
    """The element as a recording shows it: its words must not contradict, whatever else is known."""
    always_looks: bool = False
    """Return the fingerprint also where a glance shows that the element is the known one: a trace wants it."""

    async def check(self, passed: PassedElement, selector: Selector) -> CheckedElement:
        """Compare the element with what is known. Raises `ElementChanged`."""
        known = self.known
        unchanged = known is not None and not self.same_kind_only and is_unchanged(passed.glance, known)
        if unchanged and self.recorded is None and not self.always_looks:
            return CheckedElement(recognised=True)
        seen = await take_sighting(passed.page, (await passed.gated()).element)
        self._check_words(seen, selector)
        fingerprint = None if seen is None else seen.fingerprint
        if known is not None and self.same_kind_only:
            conflict = None if fingerprint is None else find_kind_conflict(known, fingerprint)
            if conflict is not None:
                raise ElementChanged(summarize_selector(selector), conflict)
        elif known is not None:
            check_identity(known, fingerprint, summarize_selector(selector))
        elif self.count_agreeing and not self.same_kind_only and seen is not None:
            return CheckedElement(fingerprint, agreeing=await _count_agreeing(passed, seen, selector))
        return CheckedElement(fingerprint, recognised=known is not None)

    def _check_words(self, seen: ElementSighting | None, selector: Selector) -> None:
        if self.recorded is None or seen is None:
            return
        conflict = self.recorded.find_conflict(seen.index, seen.at, seen.fingerprint)
        if conflict is not None:
            raise ElementChanged(summarize_selector(selector), conflict, by_words=True)


def describe_element(seen: Fingerprint | None) -> dict[str, Any]:
    """Return what a trace has of an element: its fingerprint, and the element in words. Empty if it was not seen."""
    if seen is None:
        return {}
    return {
        "fingerprint": seen.model_dump(mode="json", exclude_defaults=True),
        "said": describe_fingerprint(seen),
    }


async def _count_agreeing(passed: PassedElement, seen: ElementSighting, selector: Selector) -> int:
    single = [Selector(strategies=(each,), frame=selector.frame) for each in selector.strategies]
    return sum(await check_selectors(passed.page, seen.index, [(seen.at, each) for each in single]))


def is_unchanged(said: Mapping[str, Any] | None, known: Fingerprint) -> bool:
    """Whether the gate's glance at the element alone already proves that it is the known one.

    True only if all its own features are exactly the stored ones. If any differs, or its surroundings are
    needed to distinguish it from similar elements, a whole page index must decide.
    """
    if said is None:
        return False
    attributes = select_attributes(said["attributes"])
    own = (said["role"], said["tag"], said["name"] or None, said["label"] or None)
    if own != (known.role, known.tag, known.name, known.label):
        return False
    if not known.name and (said["text"] or None) != known.text:
        return False
    if {**attributes, "class": ""} != {**known.attributes, "class": ""}:
        return False
    seen = Fingerprint(
        role=known.role,
        tag=known.tag,
        name=known.name,
        label=known.label,
        text=said["text"] or None,
        attributes=attributes,
        before=said["before"] or None,
        after=said["after"] or None,
        row=tuple(said["around"]),
        place=known.place,
        twins=known.twins,
    )
    return compare_fingerprints(
        known.model_copy(update={"region": (), "neighbours": (), "row": ()}), seen
    ).same


async def take_sighting(page: Page, element: ElementHandle) -> ElementSighting | None:
    """Return the element with a page index that contains it, in one round trip; None if it is gone."""
    for everything in (False, True):  # an element that cannot be operated may be missing in the usual index
        said: dict[str, Any] | None = await in_page_library.call_on(page, "lookFrom", element, everything)
        if said is None:
            return None
        at = said.pop("at")
        if at >= 0:
            index = parse_page_index(said)
            return ElementSighting(index, at, PageFingerprints(index).of(at))
    return None


def check_identity(known: Fingerprint, seen: Fingerprint | None, selector: str) -> FingerprintComparison:
    """Compare two fingerprints. Raises `ElementChanged`, with the differing fields, if they are of two elements."""
    if seen is None:
        raise ElementChanged(selector, "it left the page before it could be compared")
    judgement = compare_fingerprints(known, seen)
    if not judgement.same:
        differing = tuple(str(each) for each in judgement.similarity.differing[:MOST_DIFFERING])
        raise ElementChanged(selector, judgement.evidence, differing, score=judgement.similarity.score)
    return judgement


def remove_parameter_values(known: Fingerprint, values: Mapping[str, Any]) -> Fingerprint:
    """Return the part of a fingerprint that stays the same for every value of the selector's parameters.

    Words that contain one of the values are left out, and so are the surroundings and the link's target.
    """
    said = [str(value).casefold() for value in values.values() if isinstance(value, str | int) and str(value)]

    def kept(words: str | None) -> str | None:
        return None if words is None or any(value in words.casefold() for value in said) else words

    fixed = {"type", "class", "role"}
    data = json.loads(
        known.model_dump_json(
            exclude={
                "row",
                "key",
                "neighbours",
                "before",
                "after",
                "place",
                "twins",
                "box",
                "xpath",
                "column",
            }
        )
    )
    data["attributes"] = {
        name: value
        for name, value in known.attributes.items()
        if name in fixed
        or (name not in ("id", "href", "for") and not name.startswith("data-") and kept(value))
    }
    for field in ("name", "text", "label", "heading"):
        data[field] = kept(data[field])
    data["region"] = [words for words in data["region"] if kept(words)]
    return Fingerprint.model_validate(data)
