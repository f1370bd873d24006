"""Is what passed the gate the element that is known? Asked on every use, before anything is done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.async_api import ElementHandle, Page

from agent.healing.judging import Judgement, judge
from agent.locating.fingerprints import Fingerprints, kept_attributes
from agent.locating.index import PageIndex
from agent.locating.looking import read_index
from agent.page import library
from agent.page.errors import ElementChanged
from kb_schema.fingerprints import Fingerprint

MOST_DIFFERING = 6


@dataclass(frozen=True)
class Sighting:
    """An element as it was just before something was done to it."""

    index: PageIndex
    at: int
    fingerprint: Fingerprint


def unchanged(said: Mapping[str, Any] | None, known: Fingerprint) -> bool:
    """Whether a glance at the element alone shows it to be the very one that is known.

    True only where everything of its own is to the letter what it was; where anything differs, or what
    tells it from its twins is not seen at once, a whole look must judge. The gate's answer brings it.
    """
    if said is None:
        return False
    attributes = kept_attributes(said["attributes"])
    own = (said["role"], said["tag"], said["name"] or None, said["label"] or None)
    if own != (known.role, known.tag, known.name, known.label):
        return False
    if not known.name and (said["text"] or None) != known.text:
        return False
    if {**attributes, "class": ""} != {**known.attributes, "class": ""}:
        return False
    seen = Fingerprint(
        role=known.role, tag=known.tag, name=known.name, label=known.label, text=said["text"] or None,
        attributes=attributes, before=said["before"] or None, after=said["after"] or None,
        row=tuple(said["around"]), place=known.place, twins=known.twins,
    )  # fmt: skip
    return judge(known.model_copy(update={"region": (), "neighbours": (), "row": ()}), seen).same


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
