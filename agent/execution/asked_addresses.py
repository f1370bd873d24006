"""Whether a page is about the thing whose address a task opened: a website can lead from `/harbors/kiel/boats/new` to another harbor's form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kb_schema.sentence_plans import stands_in
from kb_schema.templates import fill, variables
from kb_schema.text_similarity import words


@dataclass(frozen=True, slots=True)
class AskedAddress:
    """The address that a step opened, with the inputs in it."""

    template: str
    """As the task has it: `/harbors/{harbor}/boats/new`."""
    address: str
    """With the values of the run."""
    values: tuple[str, ...]
    """The values that stand in it, as words."""

    def find_other_thing(self, url: str) -> tuple[str, str] | None:
        """Return what was asked for and what the address `url` of a page has in its place; None if it is not known to be another thing.

        Addresses are compared part by part: all parts without an input must be the same. `7` and `7-heron` are one thing.
        """
        asked, shown, template = urlsplit(self.address), urlsplit(url), urlsplit(self.template)
        places = [each.path.strip("/").split("/") for each in (template, asked, shown)]
        if len({len(each) for each in places}) > 1:
            return None
        pairs = [*zip(*places, strict=True)]
        if any(mine != its for part, mine, its in pairs if not variables(part)):
            return None
        shown_query = parse_qs(shown.query)
        pairs += [
            (part, mine, its)
            for name, (part, *_) in parse_qs(template.query).items()
            for mine, its in zip(parse_qs(asked.query).get(name, ()), shown_query.get(name, ()), strict=False)
        ]
        others = ((unquote(mine), unquote(its)) for part, mine, its in pairs if variables(part))
        return next((each for each in others if not _are_one(*each)), None)

    def names_all(self, url: str, texts: str) -> bool:
        """Whether the address or the texts of a page have each value."""
        shown = _as_words(f"{unquote(urlsplit(url)._replace(scheme='', netloc='').geturl())} {texts}")
        return all(stands_in(each, shown) for each in self.values)


def read_asked_address(template: str | None, values: Mapping[str, Any]) -> AskedAddress | None:
    """Return the address that a step opens; None if no input stands in it."""
    names = variables(template) if template else frozenset()
    if not template or not names:
        return None
    said = tuple(text for name in sorted(names) if (text := _as_words(str(values.get(name, "")))))
    return AskedAddress(template, fill(template, values), said)


def _are_one(asked: str, shown: str) -> bool:
    mine, its = _as_words(asked), _as_words(shown)
    return mine == its or (bool(mine) and bool(its) and (stands_in(mine, its) or stands_in(its, mine)))


def _as_words(text: str) -> str:
    return " ".join(words(re.sub(r"[+_]", " ", text)))
