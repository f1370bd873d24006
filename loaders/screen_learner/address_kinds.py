"""Groups pages by place, with the names of items of one kind left open: `/users/ada` and `/users/ben`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb_schema.explorations import FAMILY
from kb_schema.url_patterns import ANY, split_glued_id
from loaders.screen_learner.page_comparison import (
    are_of_one_kind,
    are_two_entries,
    have_one_use,
    offer_one_use,
    offer_the_same,
    offers_a_part,
    say_another_thing,
)
from loaders.screen_learner.page_namings import DEEDS, LEAST_DEPTH, names_around_thing
from loaders.screen_learner.page_variants import FEW_PLACES, PageVariant, strip_place
from loaders.screen_learner.url_patterns import place

LEAST_BRANCH = 3
"""So many addresses below two names end in the same words that say no deed, if the names are those of things of one kind."""
SAME_BRANCHES = 0.5
"""The share of these addresses whose pages are alike."""
MOST_KINDS = 150
"""The most different pages of one place that are compared with each other; further ones only with these."""


class _AddressNode:
    """A part of addresses and everything below it."""

    def __init__(self, prefix: tuple[str, ...] = ()) -> None:
        self.prefix = prefix
        self.here: list[int] = []
        self.below: dict[str, _AddressNode] = {}


def find_families(linked: Iterable[str]) -> frozenset[tuple[str, ...]]:
    """Return the places below which links lead to many pages."""
    below: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in linked:
        parts = strip_place(place(path))
        if len(parts) > LEAST_DEPTH:
            below[parts[:-1]].add(parts[-1])
    return frozenset(parts for parts, names in below.items() if len(names) >= FAMILY)


@dataclass(frozen=True, slots=True)
class PageGroup:
    """The pages of one place."""

    numbers: list[int]
    family: bool
    """Whether they are articles."""


def group_by_place(looks: Sequence[PageVariant], families: frozenset[tuple[str, ...]]) -> list[PageGroup]:
    """Group pages by place, with names of items of one kind left open."""
    root = _AddressNode()
    for number, look in enumerate(looks):
        node = root
        for part in look.place:
            node = node.below.setdefault(part, _AddressNode((*node.prefix, part)))
        node.here.append(number)
    found: list[PageGroup] = []
    _collect(looks, [root], found, families)
    return found


def _collect(
    looks: Sequence[PageVariant],
    nodes: Sequence[_AddressNode],
    found: list[PageGroup],
    families: frozenset[tuple[str, ...]],
    *,
    family: bool = False,
) -> None:
    """Traverse nodes that stand for one another as one."""
    here = [number for node in nodes for number in node.here]
    if here:
        found.append(PageGroup(here, family))
    below: dict[str, list[_AddressNode]] = defaultdict(list)
    for node in nodes:
        for part, each in node.below.items():
            below[part].append(each)
    family = any(node.prefix in families for node in nodes)
    for same in _of_one_kind(looks, below, family=family):
        inner = [each for part in same for each in below[part]]
        _collect(looks, inner, found, families, family=family and len(same) > 1)


def _of_one_kind(
    looks: Sequence[PageVariant], below: Mapping[str, Sequence[_AddressNode]], *, family: bool
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
                if len(others) < FEW_PLACES:
                    others.append(addresses)
                break
        else:
            if len(kinds) < MOST_KINDS:
                kinds.append(([part], [addresses]))
            else:
                kinds[-1][0].append(part)
    return [names for names, _ in kinds]


def _namings(looks: Sequence[PageVariant], addresses: Mapping[tuple[str, ...], list[int]]) -> frozenset[str]:
    """Return how the pages at the end of an address are named, those without a name left out."""
    return frozenset(looks[number].naming for number in addresses.get((), ()) if looks[number].naming)


def _are_named_alike(
    looks: Sequence[PageVariant],
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
            and not are_two_entries(looks[a], looks[b])
            and offer_one_use(looks[a], looks[b])
            for a in below_first[rest][:3]
            for b in below_second[rest][:3]
        )
        for rest in shared
    )


def _offer_a_part_everywhere(
    looks: Sequence[PageVariant],
    one: Mapping[tuple[str, ...], list[int]],
    other: Mapping[tuple[str, ...], list[int]],
) -> bool:
    """Return whether pages at the end of two addresses offer the same, or some of it: one of them may be empty."""
    return all(offers_a_part(looks[a], looks[b]) for a in one.get((), ())[:3] for b in other.get((), ())[:3])


def _stem_of(part: str) -> str:
    """Return the word before a number: `issue9`, `issue*`; empty if there is none."""
    glued = split_glued_id(part)
    return glued[0] if glued is not None else part.removesuffix(ANY) if part.endswith(ANY) else ""


def _is_another_word(part: str, names: Iterable[str]) -> bool:
    """Return whether a part is a word and a number, glued without a sign, and a name is another such word and a number."""
    stem = _stem_of(part)
    return stem.isalpha() and any(other.isalpha() and other != stem for other in map(_stem_of, names))


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
    looks: Sequence[PageVariant],
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
            (are_of_one_kind(first, second) and not (by_id and say_another_thing(first, second)))
            or (
                family
                and first.asked == second.asked
                and not are_two_entries(first, second)
                and offer_the_same(first, second)
            )
            for first, second in pairs
        ):
            return False
    return True


def _are_branches_of_one_kind(
    looks: Sequence[PageVariant],
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
        any(have_one_use(looks[a], looks[b]) for a in one[rest][:3] for b in other[rest][:3])
        for rest in shared
    )
    return alike >= SAME_BRANCHES * len(shared)


def _says_a_part(rest: tuple[str, ...]) -> bool:
    """Return whether the end of an address begins with a word that is neither a deed nor an id: the part of a thing."""
    return bool(rest) and ANY not in rest[0] and rest[0] not in DEEDS
