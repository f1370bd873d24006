"""Whether a page is about the thing whose address a task opened: a website can lead from `/harbors/kiel/boats/new` to another harbor's form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
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

    def find_other_thing(self, url: str, *, sent: bool = False) -> tuple[str, str] | None:
        """Return what was asked for and what the address `url` of a page has in its place; None if it is not known to be another thing.

        Addresses are compared part by part: all parts without an input must be the same. `7` and `7-heron` are one thing.
        `sent`: of a request that was sent, or the page after it: it may end otherwise (`/harbors/bremen/boats` for
        `/harbors/{harbor}/add`), but goes on behind the input if the address of the task does (`/boats/save` is no boat).
        """
        template, asked, shown = (_split(each) for each in (self.template, self.address, url))
        places = [each.parts for each in (template, asked, shown)]
        if sent:
            last = max((at for at, part in enumerate(template.parts) if variables(part)), default=-1)
            if len(template.parts) > last + 1 == len(shown.parts):
                return None
            places = [each[: last + 1] for each in places]
        if len({len(each) for each in places}) > 1:
            return None
        pairs = [*zip(*places, strict=True)]
        if any(mine != its for part, mine, its in pairs if not variables(part)):
            return None
        pairs += [
            (part, mine, its)
            for name, (part, *_) in template.query.items()
            for mine, its in zip(asked.query.get(name, ()), shown.query.get(name, ()), strict=False)
        ]
        others = ((unquote(mine), unquote(its)) for part, mine, its in pairs if variables(part))
        return next((each for each in others if not _are_one(*each)), None)

    def names_all(self, url: str, names: Iterable[str], lines: Iterable[str] = ()) -> bool:
        """Whether the address of a page, its title or headings (`names`) have each value, or a line that says nothing but it (`Harbor: Kiel`)."""
        shown = [
            _as_words(unquote(urlsplit(url)._replace(scheme="", netloc="").geturl())),
            *map(_as_words, names),
        ]
        short = [text for each in lines if (text := _as_words(each))]
        return all(
            any(stands_in(each, text) for text in shown)
            or any(stands_in(each, text) and len(text.split()) <= len(each.split()) + 1 for text in short)
            for each in self.values
        )


class _Split(NamedTuple):
    """An address: the parts of its path and of a path in its fragment (`#/harbors/kiel`), and its query."""

    parts: list[str]
    query: dict[str, list[str]]


def _split(url: str) -> _Split:
    address = urlsplit(url)
    fragment = address.fragment.lstrip("!")
    route = urlsplit(fragment if fragment.startswith("/") else "")
    parts = address.path.strip("/").split("/") + (
        ["#", *route.path.strip("/").split("/")] if route.path else []
    )
    return _Split(parts, parse_qs(route.query) | parse_qs(address.query))


def read_asked_address(template: str | None, values: Mapping[str, Any]) -> AskedAddress | None:
    """Return the address that a step opens; None if no input stands in it."""
    names = variables(template) if template else frozenset()
    if not template or not names:
        return None
    said = tuple(text for name in sorted(names) if (text := _as_words(str(values.get(name, "")))))
    return AskedAddress(template, fill(template, values), said)


def _are_one(asked: str, shown: str) -> bool:
    """Whether two parts name one thing: they are the same, or one is the other's number or has a number before it (`7`, `7-heron`, `heron`)."""
    mine, its = words(re.sub(r"[+_]", " ", asked)), words(re.sub(r"[+_]", " ", shown))
    if mine == its:
        return True
    short, long = sorted((mine, its), key=len)
    if len(short) == 1 and short[0].isdigit():
        return short[0] in {long[0], long[-1]}
    return bool(short) and long[0].isdigit() and long[1:] == short


def _as_words(text: str) -> str:
    return " ".join(words(re.sub(r"[+_]", " ", text)))
