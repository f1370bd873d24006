"""Groups pages into screens, by their actions and by the nesting of their elements.

Addresses that differ only in ids are one place. So are addresses that differ in a name, if everything below
the names is alike; the pages of two models of one application are not, however similar some of them are.
Pages of one place with little in common are several screens: steps of a wizard, an error page. Equal pages at
unrelated places are one screen.

Rows, dates and names of data do not count, so thousands of pages have few variants, and only these are compared.
The order of the pages and duplicates make no difference.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar
from urllib.parse import unquote

from kb_schema.explorations import FAMILY
from kb_schema.url_patterns import ANY, split_glued_id
from loaders.screen_learner.error_pages import is_error_page
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_layers import group_layers
from loaders.screen_learner.page_namings import (
    DEEDS,
    LEAST_DEPTH,
    PIECES,
    name_with_thing_last,
    names_around_thing,
)
from loaders.screen_learner.page_views import name_views
from loaders.screen_learner.url_patterns import place, segments
from web_pages.page_profiles import PageFeature

SAME_PLACE = 0.3
"""The weighted share of common features from which two pages of one place are one screen."""
SAME_STEP = 0.6
"""The same for pages of different places on which different runs performed the same action."""
SAME_TOOLS = 0.7
"""The share of common fields, columns and buttons from which two names are of one kind."""
SAME_BUILD = 0.7
"""The same for the nesting of elements."""
LEAST_BRANCH = 3
"""So many addresses below two names end in the same words that say no deed, if the names are those of things of one kind."""
SAME_BRANCHES = 0.5
"""The share of these addresses whose pages are alike."""
SAME_BRANCH = 0.9
"""The same for all features, if one page is deeper in the same tree: folders, categories."""
SAME_LOOK = 0.95
"""The same for all features, if equal pages at two places are one screen."""
MOST_COMPARED = 150
"""The most different pages of one place that are compared with each other; further ones only with these."""

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
_OFFERED = frozenset({"label", "field", "control"})
_CALLED = frozenset({"heading", "title"})
SAME_PART = 0.7
"""The share of the smaller page's features from which it shows a part of the other: to somebody with fewer rights."""
UNFOLDED = 0.95
"""The same at a place without an id: of one page, before and after something unfolded in it."""
LEAST_IN_COMMON = 4.0
"""The weight of common features that this takes: a heading and a title are the same on any two pages of one kind."""
LEAST_UNFOLDED = 2.5
"""The same at a place without an id: a heading and something beside it."""
_COMMON = 0.6
"""The share of places from which a feature belongs to the site's frame."""
_FEW_PLACES = 4
_MANY_PLACES = 8
"""From so many places a part of a site has a frame of its own."""
_WITHOUT_DIGITS = str.maketrans("0123456789", "ghijklmnop")
"""A part of an address with a number would be an id."""
_ASKED_WORD = re.compile(r"[^\W\d_](?:[^\W\d]|[.:/-])*")
"""A value in a query that may name what is shown: `history`, `com_users`, `site/about`."""
_GLUED = re.compile(rf"([a-z]+)(?:\d+|{re.escape(ANY)})")
_VARIES = re.compile(r"\d+|(?<!\S)/\S*")
"""Numbers, and addresses in texts."""

_Part = TypeVar("_Part")
SignRole = tuple[str, str, str]
"""A feature without its varying parts."""


def cluster_pages(
    pages: Sequence[ObservedPage], linked: Iterable[str] = (), entries: Iterable[str] = ()
) -> list[list[int]]:
    """Return the page numbers of each screen, in the order of their first page.

    `entries`: the paths to which the site's menus lead: two of them that say another thing are never of one kind.
    `linked`: the paths to which links outside of menus lead. Where these are many below one path, the pages there are
    of one kind if they offer the same, however their contents are built: articles. Pages on which a dialog or a menu
    lies are screens of their own (`page_layers`).
    """
    plain = [number for number, page in enumerate(pages) if not page.layer]
    layered = [number for number, page in enumerate(pages) if page.layer]
    usual = [pages[at] for at in plain]
    viewed = [_at_view(page, view) for page, view in zip(usual, name_views(usual), strict=True)]
    shown = {after.path for before, after in zip(usual, viewed, strict=True) if before is not after}
    groups = _cluster_plain(viewed, linked, frozenset(_bare(place(each)) for each in (*entries, *shown)))
    found = [[plain[at] for at in group] for group in groups]
    one_path = {place(pages[at].path): pages[group[0]].path for group in reversed(found) for at in group}
    below = [replace(page, path=one_path.get(place(page.path), page.path)) for page in pages]
    return sorted([*found, *group_layers(below, layered)])


def _at_view(page: ObservedPage, view: str) -> ObservedPage:
    """Return a page of a view at a route of its own: views are compared as addresses are."""
    if not view:
        return page
    base, _, fragment = page.path.partition("#")
    route = fragment.rstrip("/") if fragment.startswith(("/", "!/")) else ""
    letters = hashlib.sha256(view.encode("utf-8", "replace")).hexdigest().translate(_WITHOUT_DIGITS)
    return replace(page, path=f"{base}#{route}/view-{letters}")


def _cluster_plain(
    pages: Sequence[ObservedPage], linked: Iterable[str], entries: frozenset[tuple[str, ...]]
) -> list[list[int]]:
    looks = _build_variants(pages, entries)
    joined = _DisjointSets(len(looks))
    places = _places(looks, _families(linked))
    strangers = _find_strangers(looks)
    for at in places:
        _join_place(looks, sorted(set(at.numbers) - strangers), joined, family=at.family)
    _join_steps(pages, looks, joined)
    _join_everywhere(looks, joined)
    found: dict[int, list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        found[joined.leader(number)] += look.pages
    return sorted(sorted(group) for group in found.values())


@dataclass(frozen=True, slots=True)
class _PageVariant:
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


class _DisjointSets:
    """Sets of numbers that are joined; the least of a set represents it."""

    def __init__(self, count: int) -> None:
        self._leaders = list(range(count))

    def leader(self, number: int) -> int:
        while self._leaders[number] != number:
            self._leaders[number] = self._leaders[self._leaders[number]]
            number = self._leaders[number]
        return number

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.leader(one), self.leader(other)))
        self._leaders[second] = first


# -- relevant features -----------------------------------------------------------------------------------


def _build_variants(
    pages: Sequence[ObservedPage], entries: frozenset[tuple[str, ...]] = frozenset()
) -> list[_PageVariant]:
    data = frozenset().union(*(page.profile.data for page in pages))
    known: dict[tuple[PageFeature, bool], tuple[SignRole, ...]] = {}
    seen: dict[tuple[tuple[str, ...], frozenset[SignRole]], list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        roles: set[SignRole] = set()
        at = _bare(place(page.path))
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
        _PageVariant(
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
    least = _COMMON * len(by_place) if len(by_place) >= _FEW_PLACES else len(by_place) - 0.5
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
    if len(beside) < _FEW_PLACES:
        return frozenset()
    weights: Counter[str] = Counter()
    for at, built_there in by_place.items():
        weights.update(dict.fromkeys(built_there, 1 / beside[at[:-1]]))
    return frozenset(each for each, weight in weights.items() if weight > _COMMON * len(beside))


def _bare(parts: tuple[str, ...]) -> tuple[str, ...]:
    return (parts[:-1] if len(parts) > 1 and parts[-1] == "" else parts)[:DEEPEST]


def _weight(roles: Iterable[SignRole]) -> float:
    return sum(
        _LINK if role[0] == "control" and role[1] == "link" else _WEIGHTS[role[0]] for role in sorted(roles)
    )


def _role_similarity(one: frozenset[SignRole], other: frozenset[SignRole]) -> float:
    together = one | other
    return _weight(one & other) / _weight(together) if together else 1.0


def _fixed(signs: frozenset[PageFeature]) -> tuple[int, list[str]]:
    return len(signs), sorted(f"{sign.kind} {sign.where} {sign.text}" for sign in signs)


def _share(one: frozenset[_Part], other: frozenset[_Part]) -> float:
    together = one | other
    return len(one & other) / len(together) if together else 1.0


# -- places ----------------------------------------------------------------------------------------------


class _AddressNode:
    """A part of addresses and everything below it."""

    def __init__(self, prefix: tuple[str, ...] = ()) -> None:
        self.prefix = prefix
        self.here: list[int] = []
        self.below: dict[str, _AddressNode] = {}


def _families(linked: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """Return the places below which links lead to many pages."""
    below: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in linked:
        parts = _bare(place(path))
        if len(parts) > LEAST_DEPTH:
            below[parts[:-1]].add(parts[-1])
    return frozenset(parts for parts, names in below.items() if len(names) >= FAMILY)


@dataclass(frozen=True, slots=True)
class _Place:
    """The pages of one place."""

    numbers: list[int]
    family: bool
    """Whether they are articles."""


def _places(looks: Sequence[_PageVariant], families: frozenset[tuple[str, ...]]) -> list[_Place]:
    """Group pages by place, with names of items of one kind left open."""
    root = _AddressNode()
    for number, look in enumerate(looks):
        node = root
        for part in look.place:
            node = node.below.setdefault(part, _AddressNode((*node.prefix, part)))
        node.here.append(number)
    found: list[_Place] = []
    _collect(looks, [root], found, families)
    return found


def _collect(
    looks: Sequence[_PageVariant],
    nodes: Sequence[_AddressNode],
    found: list[_Place],
    families: frozenset[tuple[str, ...]],
    *,
    family: bool = False,
) -> None:
    """Traverse nodes that stand for one another as one."""
    here = [number for node in nodes for number in node.here]
    if here:
        found.append(_Place(here, family))
    below: dict[str, list[_AddressNode]] = defaultdict(list)
    for node in nodes:
        for part, each in node.below.items():
            below[part].append(each)
    family = any(node.prefix in families for node in nodes)
    for same in _of_one_kind(looks, below, family=family):
        inner = [each for part in same for each in below[part]]
        _collect(looks, inner, found, families, family=family and len(same) > 1)


def _of_one_kind(
    looks: Sequence[_PageVariant], below: Mapping[str, Sequence[_AddressNode]], *, family: bool
) -> list[list[str]]:
    """Group parts of addresses that are names of items of one kind. `family`: there are links to many of them."""
    kinds: list[tuple[list[str], list[dict[tuple[str, ...], list[int]]]]] = []
    for part in sorted(below):
        addresses = _group_by_remaining_path(below[part])
        for names, others in kinds:
            by_id = any(ANY in name for name in names)
            stem = _stem_of(part)
            if stem in names or any(_stem_of(name) == part for name in names):
                continue  # `keyword` is the list of `keyword2`, or where one is made
            if _is_another_word(part, names):
                continue  # `user1` and `issue9`: the word tells the kind
            if part in DEEDS and any(name in DEEDS for name in names):
                continue  # what is done with a thing: the form for a new one may be that for changing one
            same_word = bool(stem) and any(_stem_of(name) == stem for name in names)
            named = _namings(looks, addresses)
            same_name = any(
                named & _namings(looks, other) and _offer_a_part_everywhere(looks, addresses, other)
                for other in others
            ) or any(
                _are_named_alike(looks, (part, addresses), (name, other))
                for name, other in zip(names, others, strict=False)
            )
            if (
                same_word
                or same_name
                or any(
                    _stand_for_another(looks, addresses, other, by_id=by_id, family=family)
                    for other in others
                )
            ):
                names.append(part)
                if len(others) < _FEW_PLACES:
                    others.append(addresses)
                break
        else:
            if len(kinds) < MOST_COMPARED:
                kinds.append(([part], [addresses]))
            else:
                kinds[-1][0].append(part)
    return [names for names, _ in kinds]


def _namings(looks: Sequence[_PageVariant], addresses: Mapping[tuple[str, ...], list[int]]) -> frozenset[str]:
    """Return how the pages at the end of an address are named, those without a name left out."""
    return frozenset(looks[number].naming for number in addresses.get((), ()) if looks[number].naming)


def _are_named_alike(
    looks: Sequence[_PageVariant],
    one: tuple[str, Mapping[tuple[str, ...], list[int]]],
    other: tuple[str, Mapping[tuple[str, ...], list[int]]],
) -> bool:
    """Return whether everywhere below two names a page has the name in its title in one way, and the same actions: `Ada's orders`.

    Their lists may be full or empty, so the nesting of those with actions of their own may differ.
    """
    (first, below_first), (second, below_second) = one, other
    shared = below_first.keys() & below_second.keys()
    return bool(shared) and all(
        any(
            names_around_thing(first, looks[a].signs) & names_around_thing(second, looks[b].signs)
            and not _are_two_entries(looks[a], looks[b])
            and _offer_one_use(looks[a], looks[b])
            for a in below_first[rest][:3]
            for b in below_second[rest][:3]
        )
        for rest in shared
    )


def _offer_a_part_everywhere(
    looks: Sequence[_PageVariant],
    one: Mapping[tuple[str, ...], list[int]],
    other: Mapping[tuple[str, ...], list[int]],
) -> bool:
    """Return whether pages at the end of two addresses offer the same, or some of it: one of them may be empty."""
    return all(_offers_a_part(looks[a], looks[b]) for a in one.get((), ())[:3] for b in other.get((), ())[:3])


def _offers_a_part(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether one page offers all that the other does."""
    first, second = (frozenset(role for role in look.tools if role[0] in _OFFERED) for look in (one, other))
    return one.error == other.error and (first <= second or second <= first)


def _stem_of(part: str) -> str:
    """Return the word before a number: `issue9`, `issue*`; empty if there is none."""
    glued = split_glued_id(part)
    return glued[0] if glued is not None else part.removesuffix(ANY) if part.endswith(ANY) else ""


def _is_another_word(part: str, names: Iterable[str]) -> bool:
    """Return whether a part is a word and a number, glued without a sign, and a name is another such word and a number."""
    glued = _GLUED.fullmatch(part)
    others = (_GLUED.fullmatch(name) for name in names)
    return glued is not None and any(each is not None and each[1] != glued[1] for each in others)


def _group_by_remaining_path(nodes: Sequence[_AddressNode]) -> dict[tuple[str, ...], list[int]]:
    """Group pages by the rest of their addresses."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    stack: list[tuple[tuple[str, ...], _AddressNode]] = [((), node) for node in nodes]
    while stack:
        rest, node = stack.pop()
        found[rest] += node.here
        stack += [((*rest, part), each) for part, each in node.below.items()]
    return {rest: numbers for rest, numbers in found.items() if numbers}


def _stand_for_another(
    looks: Sequence[_PageVariant],
    one: Mapping[tuple[str, ...], list[int]],
    other: Mapping[tuple[str, ...], list[int]],
    *,
    by_id: bool,
    family: bool,
) -> bool:
    """Return whether two names are of one kind: everywhere below both, actions and nesting are alike, or both have many pages
    that are called alike (`_are_branches_of_one_kind`).

    `by_id`: the others are ids, so a word is probably an action (`add`) and not a name; its page must match
    more closely. `family`: pages here may be built in any way.
    """
    shared = one.keys() & other.keys()
    if not shared:
        return False
    if _are_branches_of_one_kind(looks, one, other):
        return True
    for rest in shared:
        pairs = [(looks[a], looks[b]) for a in one[rest][:3] for b in other[rest][:3]]
        if not any(
            (_same_kind(first, second) and not (by_id and _say_another_thing(first, second)))
            or (
                family
                and first.asked == second.asked
                and not _are_two_entries(first, second)
                and _offer_the_same(first, second)
            )
            for first, second in pairs
        ):
            return False
    return True


def _are_branches_of_one_kind(
    looks: Sequence[_PageVariant],
    one: Mapping[tuple[str, ...], list[int]],
    other: Mapping[tuple[str, ...], list[int]],
) -> bool:
    """Return whether most addresses below two names end in the same words, and most pages there are alike: `/projects/NAME/wiki`,
    `/projects/NAME/settings`. A menu may lead to both, which bear the names of the things, and some pages may be full or empty.
    """
    first, second = ({rest for rest in each if _says_a_part(rest)} for each in (one, other))
    shared = first & second
    if len(shared) < LEAST_BRANCH:
        return False
    alike = sum(
        any(_have_one_use(looks[a], looks[b]) for a in one[rest][:3] for b in other[rest][:3])
        for rest in shared
    )
    return alike >= SAME_BRANCHES * len(shared)


def _says_a_part(rest: tuple[str, ...]) -> bool:
    """Return whether the end of an address begins with a word that is neither a deed nor an id: the part of a thing."""
    return bool(rest) and ANY not in rest[0] and rest[0] not in DEEDS


def _say_another_thing(one: _PageVariant, other: _PageVariant) -> bool:
    return bool(one.called - other.called) and bool(other.called - one.called)


def _are_two_entries(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether menus lead to two pages that are called differently: they are no articles of one kind."""
    return one.in_menu and other.in_menu and one.called != other.called


def _same_kind(one: _PageVariant, other: _PageVariant) -> bool:
    if one.error != other.error or _are_two_entries(one, other):
        return False
    if one.in_menu is not other.in_menu and one.called != other.called and not _has_own_tools(one, other):
        return False
    return _have_one_use(one, other)


def _offer_one_use(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether the actions of two pages are alike, and their nesting, if they have none of their own."""
    return (
        one.error == other.error
        and _role_similarity(one.tools, other.tools) >= SAME_TOOLS
        and (_has_own_tools(one, other) or _share(one.built, other.built) >= SAME_BUILD)
    )


def _have_one_use(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether actions and nesting of two pages are alike."""
    return (
        one.error == other.error
        and _share(one.built, other.built) >= SAME_BUILD
        and (_role_similarity(one.tools, other.tools) >= SAME_TOOLS or _differ_in_labels(one, other))
    )


def _has_own_tools(*looks: _PageVariant) -> bool:
    """Return whether a page has two fields, columns or buttons beside those of its part of the site: those say nothing about it."""
    return any(len(look.tools - look.usual) > 1 for look in looks)


def _differ_in_labels(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether two pages have the same fields by name, and are built alike: labels of boxes may be data, such as people."""
    first, second = (frozenset(role for role in look.tools if role[0] != "label") for look in (one, other))
    return (
        first == second
        and any(role[0] == "field" for role in first)
        and _share(one.built, other.built) >= SAME_LOOK
    )


def _offer_the_same(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether two pages have the same fields and buttons. Tables and sections may be part of an article."""
    first, second = (frozenset(role for role in look.tools if role[0] in _OFFERED) for look in (one, other))
    return one.error == other.error and _role_similarity(first, second) >= SAME_TOOLS


# -- joining ---------------------------------------------------------------------------------------------


def _join_place(
    looks: Sequence[_PageVariant], numbers: Sequence[int], joined: _DisjointSets, *, family: bool
) -> None:
    """Join the pages of one place that have enough in common. `family`: articles, of which only the actions count."""
    for one, other in _pairs(numbers):
        first, second = looks[one], looks[other]
        alike = _role_similarity(first.roles, second.roles) >= SAME_PLACE
        named = first.naming != "" and first.naming == second.naming and _offers_a_part(first, second)
        if (
            first.error == second.error
            and not _ask_for_two_things(first, second)
            and (
                alike
                or named
                or _are_built_alike(first, second)
                or _shows_a_part(first, second)
                or (family and first.asked == second.asked and _offer_the_same(first, second))
            )
        ):
            joined.join(one, other)


def _ask_for_two_things(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether the query of one address asks by a word for another page than the other's: `index.php?action=history`.

    Pages of one name are two if they have actions, and none of these in common: a list, and the form for one more.
    """
    apart = bool(one.tools and other.tools) and not one.tools & other.tools
    return (
        one.asked != other.asked
        and (apart or _say_another_thing(one, other))
        and not _have_one_use(one, other)
    )


def _are_built_alike(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether two pages of one of many things are built alike: the names of their controls may have data."""
    return any(ANY in part for part in one.place) and _share(one.built, other.built) >= SAME_LOOK


def _shows_a_part(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether two pages have a name in common, and one shows a part of the other: of one of many things most of it, of another
    place all of it, as before something unfolded there.
    """
    if not (one.called & other.called):
        return False
    share, enough = (
        (SAME_PART, LEAST_IN_COMMON) if any(ANY in part for part in one.place) else (UNFOLDED, LEAST_UNFOLDED)
    )
    common = _weight(one.roles & other.roles)
    least = min(_weight(one.roles), _weight(other.roles))
    return common >= enough and common >= share * least and _offers_a_part(one, other)


def _pairs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    yield from combinations(numbers[:MOST_COMPARED], 2)
    for number in numbers[MOST_COMPARED:]:
        yield from ((other, number) for other in numbers[:MOST_COMPARED])


def _join_steps(pages: Sequence[ObservedPage], looks: Sequence[_PageVariant], joined: _DisjointSets) -> None:
    """Join pages of different places on which different runs performed the same action."""
    by_step: dict[tuple[int, int], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for number, look in enumerate(looks):
        for at in look.pages:
            step = pages[at].step
            if step is not None:
                by_step[step, len(segments(pages[at].path))][number].add(pages[at].run)
    for same in by_step.values():
        for one, other in _pairs(sorted(same)):
            several = len(same[one] | same[other]) > 1
            if several and _role_similarity(looks[one].roles, looks[other].roles) >= SAME_STEP:
                joined.join(one, other)


def _find_strangers(looks: Sequence[_PageVariant]) -> set[int]:
    """Return the pages that equal a page of another place, and are called otherwise than all others of their own: the address
    changed after or before what is shown.
    """
    here: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        here[look.place].append(number)
    return {
        one
        for pair in _pairs_of_one_name(looks)
        for one, other in (pair, pair[::-1])
        if looks[one].place != looks[other].place
        and _are_equal(looks[one], looks[other])
        and (beside := [each for each in here[looks[one].place] if each != one])
        and all(looks[each].called != looks[one].called for each in beside)
        and all(looks[each].called == looks[other].called for each in here[looks[other].place])
    }


def _join_everywhere(looks: Sequence[_PageVariant], joined: _DisjointSets) -> None:
    """Join equal pages at any places: error pages, pages with two addresses."""
    for one, other in _pairs_of_one_name(looks):
        first, second = looks[one], looks[other]
        errors = first.error and second.error and not _fields(first) and not _fields(second)
        if errors or _are_equal(first, second) or _of_one_tree(first, second):
            joined.join(one, other)


def _pairs_of_one_name(looks: Sequence[_PageVariant]) -> Iterator[tuple[int, int]]:
    by_name: dict[frozenset[SignRole], list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        if look.called:
            by_name[look.called].append(number)
    for same in by_name.values():
        yield from _pairs(same)


def _are_equal(one: _PageVariant, other: _PageVariant) -> bool:
    return one.signs == other.signs and _share(one.shape, other.shape) >= SAME_LOOK


def _of_one_tree(one: _PageVariant, other: _PageVariant) -> bool:
    """Return whether one page is deeper in the same tree, with equal names and nesting: a folder in a folder."""
    upper, lower = sorted((one, other), key=lambda look: len(look.place))
    return (
        len(upper.place) < len(lower.place)
        and lower.place[: len(upper.place) - 1] == upper.place[:-1]
        and one.error == other.error
        and _role_similarity(one.roles, other.roles) >= SAME_BRANCH
        and _share(one.built, other.built) >= SAME_BRANCH
    )


def _fields(look: _PageVariant) -> frozenset[SignRole]:
    return frozenset(role for role in look.roles if role[0] in ("field", "label"))
