"""The variants of pages: those of one place that have the same relevant features, and how alike two of them are.

Rows, dates and names of data do not count, nor does the site's frame, so thousands of pages have few variants.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

from loaders.screen_learner.error_pages import is_error_page
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_namings import PIECES, name_with_thing_last
from loaders.screen_learner.url_patterns import place
from web_pages.page_profiles import PageFeature

DEEPEST = 60
"""The most parts of an address that are compared."""
_WEIGHTS = {
    "heading": 1.5,
    "title": 1.0,
    "label": 2.0,
    "field": 2.0,
    "column": 1.5,
    "landmark": 1.0,
    "test_id": 1.0,
    "control": 1.0,
    "id": 0.5,
    "marker": 1.0,
    "current": 0.5,
}
"""The weight of a feature of each kind; others count nothing."""
_LINK = 0.25
_TOOLS = frozenset({"label", "field", "column", "landmark", "test_id", "marker"})
_CALLED = frozenset({"heading", "title"})
_COMMON = 0.6
"""The share of places from which a feature belongs to the site's frame."""
FEW_PLACES = 4
_MANY_PLACES = 8
"""From so many places a part of a site has a frame of its own."""
_ASKED_WORD = re.compile(r"[^\W\d_](?:[^\W\d]|[.:/-])*")
"""A value in a query that may name what is shown: `history`, `com_users`, `site/about`."""
_VARIES = re.compile(r"\d+|(?<!\S)/\S*")
"""Numbers, and addresses in texts."""
_Part = TypeVar("_Part")
SignRole = tuple[str, str, str]
"""A feature without its varying parts."""


@dataclass(frozen=True, slots=True)
class PageVariant:
    """The pages of one place that have the same relevant features."""

    place: tuple[str, ...]
    roles: frozenset[SignRole]
    """Their features without the site's frame."""
    shape: frozenset[str]
    """Their nesting of elements."""
    built: frozenset[str]
    """The same without the site's frame."""
    signs: frozenset[PageFeature]
    """All features of one of them, including texts and data."""
    error: bool
    naming: str
    """Its heading with `#` for the name that its address ends with: `milestone #`; empty if it has none."""
    pages: tuple[int, ...]
    in_menu: bool = False
    """Whether a menu of the site leads to it."""
    asked: frozenset[str] = frozenset()
    """What all its addresses ask for by a word: `action=history`."""
    usual: frozenset[SignRole] = frozenset()
    """What most places of its part of the site show."""

    @property
    def tools(self) -> frozenset[SignRole]:
        """The actions and the data of the page."""
        return frozenset(
            role for role in self.roles if role[0] in _TOOLS or (role[0] == "control" and role[1] == "button")
        )

    @property
    def called(self) -> frozenset[SignRole]:
        """The names of the page."""
        return frozenset(role for role in self.roles - self.usual if role[0] in _CALLED)


def build_variants(
    pages: Sequence[ObservedPage], entries: frozenset[tuple[str, ...]] = frozenset()
) -> list[PageVariant]:
    """Return the variants of pages, without what is the site's frame. `entries`: the places to which its menus lead."""
    data = frozenset().union(*(page.profile.data for page in pages))
    known: dict[tuple[PageFeature, bool], tuple[SignRole, ...]] = {}
    seen: dict[tuple[tuple[str, ...], frozenset[SignRole]], list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        roles: set[SignRole] = set()
        at = strip_place(place(page.path))
        for sign in page.profile.signs - page.profile.passing:
            # what a menu calls a page is in the rows of the menu, too
            names = sign.kind in _CALLED and at in entries
            if (sign, names) not in known:
                known[sign, names] = tuple(_roles(sign, frozenset() if names else data))
            roles.update(known[sign, names])
        seen[at, frozenset(roles)].append(number)
    frame, frames = _frame(seen), _frames_of_parts(seen)
    found: dict[tuple[tuple[str, ...], frozenset[SignRole]], list[int]] = defaultdict(list)
    for (at, whole), where in seen.items():
        found[at, whole - frame].extend(where)
    order = sorted(found, key=lambda key: (key[0], sorted(key[1])))
    shapes: dict[tuple[tuple[str, ...], frozenset[SignRole]], frozenset[str]] = {
        key: frozenset[str]().union(*(pages[number].profile.shape for number in numbers))
        for key, numbers in found.items()
    }
    frame_built = _frame_built((at, shapes[at, roles]) for at, roles in order)
    fewest = {key: min((pages[number].profile.signs for number in found[key]), key=_fixed) for key in order}
    return [
        PageVariant(
            at,
            roles,
            shapes[at, roles],
            shapes[at, roles] - frame_built,
            fewest[at, roles],
            any(is_error_page(pages[number].profile) for number in found[at, roles]),
            name_with_thing_last(at, fewest[at, roles]),
            tuple(found[at, roles]),
            at in entries,
            frozenset.intersection(*(_list_asked(pages[number].path) for number in found[at, roles])),
            frames.get(at[:2], frozenset()),
        )
        for at, roles in order
    ]


def _list_asked(path: str) -> frozenset[str]:
    query = path.partition("#")[0].partition("?")[2]
    return frozenset(
        each for each in query.split("&") if _ASKED_WORD.fullmatch(unquote(each.partition("=")[2]))
    )


def _roles(sign: PageFeature, data: frozenset[str]) -> Iterator[SignRole]:
    """Return a feature by its role: of texts the parts that name no data, without numbers."""
    if sign.kind not in _WEIGHTS:
        return
    pieces = PIECES.split(sign.text) if sign.kind in _CALLED else [sign.text]
    for piece in pieces:
        folded = piece.casefold().strip(" :*")
        named = folded in data and sign.kind in ("heading", "title", "control", "current")
        plain = _VARIES.sub("#", folded)
        if plain.strip("# ") and not named:
            yield sign.kind, sign.where, plain


def _frame(seen: Iterable[tuple[tuple[str, ...], frozenset[SignRole]]]) -> frozenset[SignRole]:
    """Return what most of the places show."""
    by_place: dict[tuple[str, ...], set[SignRole]] = defaultdict(set)
    for at, roles in seen:
        by_place[at] |= roles
    counted = Counter(role for roles in by_place.values() for role in roles)
    least = _COMMON * len(by_place) if len(by_place) >= FEW_PLACES else len(by_place) - 0.5
    return frozenset(role for role, number in counted.items() if number > least and len(by_place) > 1)


def _frames_of_parts(
    seen: Iterable[tuple[tuple[str, ...], frozenset[SignRole]]],
) -> dict[tuple[str, ...], frozenset[SignRole]]:
    """Return the same for the parts of a site with many places, by the beginning of their addresses: an application and its
    administration have a frame each.
    """
    of_part: dict[tuple[str, ...], list[tuple[tuple[str, ...], frozenset[SignRole]]]] = defaultdict(list)
    for at, roles in seen:
        of_part[at[:2]].append((at, roles))
    return {
        part: _frame(inside)
        for part, inside in of_part.items()
        if len({at for at, _ in inside}) >= _MANY_PLACES
    }


def _frame_built(built: Iterable[tuple[tuple[str, ...], frozenset[str]]]) -> frozenset[str]:
    """Return the nesting of most of the places; siblings, which may be items of one kind, count once."""
    by_place: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for at, shape in built:
        by_place[at] |= shape
    beside = Counter(at[:-1] for at in by_place)
    if len(beside) < FEW_PLACES:
        return frozenset()
    weights: Counter[str] = Counter()
    for at, built_there in by_place.items():
        weights.update(dict.fromkeys(built_there, 1 / beside[at[:-1]]))
    return frozenset(each for each, weight in weights.items() if weight > _COMMON * len(beside))


def strip_place(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return a place without a slash at its end, in at most `DEEPEST` parts."""
    return (parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts)[:DEEPEST]


def weigh(roles: Iterable[SignRole]) -> float:
    """Return the sum of the weights of features."""
    return sum(
        _LINK if role[0] == "control" and role[1] == "link" else _WEIGHTS[role[0]] for role in sorted(roles)
    )


def role_similarity(one: frozenset[SignRole], other: frozenset[SignRole]) -> float:
    """Return the weighted share of common features, 1 where there are none."""
    together = one | other
    return weigh(one & other) / weigh(together) if together else 1.0


def _fixed(signs: frozenset[PageFeature]) -> tuple[int, list[str]]:
    return len(signs), sorted(f"{sign.kind} {sign.where} {sign.text}" for sign in signs)


def share_of(one: frozenset[_Part], other: frozenset[_Part]) -> float:
    """Return the share of common parts, 1 where there are none."""
    together = one | other
    return len(one & other) / len(together) if together else 1.0
