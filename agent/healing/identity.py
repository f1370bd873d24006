"""Is what passed the gate the element that is known? Asked on every use, before anything is done."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle, Page

from agent.healing.judging import Judgement, judge
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import PageIndex
from agent.locating.looking import read_index
from agent.page import library
from agent.page.errors import ElementChanged
from agent.page.gate import Gated
from kb_schema.fingerprints import Fingerprint

MOST_DIFFERING = 6

Inspect = Callable[[Gated], Awaitable[None]]


@dataclass(frozen=True)
class Sighting:
    """An element as it was just before something was done to it."""

    index: PageIndex
    at: int
    fingerprint: Fingerprint


async def sight(page: Page, element: ElementHandle) -> Sighting | None:
    """A look at the page with the element in it, in one round trip; None where it is gone."""
    for everything in (False, True):  # what nobody operates may not be in a usual look
        said: dict[str, Any] | None = await library.call_on(page, "lookFrom", element, everything)
        if said is None:
            return None
        at = said.pop("at")
        if at >= 0:
            index = read_index(said)
            return Sighting(index, at, Fingerprints(index).of(at))
    return None


def check(known: Fingerprint, seen: Fingerprint | None, selector: str) -> Judgement:
    """That they are of one element. Raises `ElementChanged`, which says what differs."""
    if seen is None:
        raise ElementChanged(selector, "it left the page before it could be compared")
    judgement = judge(known, seen)
    if not judgement.same:
        differing = tuple(str(each) for each in judgement.similarity.differing[:MOST_DIFFERING])
        raise ElementChanged(selector, judgement.evidence, differing, score=judgement.similarity.score)
    return judgement


def without_values(known: Fingerprint, values: Mapping[str, Any]) -> Fingerprint:
    """What stays the same of an element that a parameter chooses: the row of another name is another row.

    Words that hold one of the values are left out, and so is what stands around it and where it leads.
    """
    said = [str(value).casefold() for value in values.values() if isinstance(value, str | int) and str(value)]

    def kept(words: str | None) -> str | None:
        return None if words is None or any(value in words.casefold() for value in said) else words

    fixed = {"type", "class", "role"}
    data = json.loads(known.model_dump_json(exclude={
        "row", "key", "neighbours", "before", "after", "place", "twins", "box", "xpath", "column",
    }))  # fmt: skip
    data["attributes"] = {
        name: value for name, value in known.attributes.items()
        if name in fixed or (name not in ("id", "href", "for") and not name.startswith("data-") and kept(value))
    }  # fmt: skip
    for field in ("name", "text", "label", "heading"):
        data[field] = kept(data[field])
    data["region"] = [words for words in data["region"] if kept(words)]
    return Fingerprint.model_validate(data)
