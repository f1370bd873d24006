"""Groups pages into screens, by their actions and by the nesting of their elements.

Addresses that differ only in ids are one place. So are addresses that differ in a name, if everything below
the names is alike; the pages of two models of one application are not, however similar some of them are (`address_kinds`).
Pages of one place with little in common are several screens: steps of a wizard, an error page. Equal pages at
unrelated places are one screen.

Only variants of pages are compared (`page_variants`). The order of the pages and duplicates make no difference.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from kb_schema.url_patterns import ANY
from loaders.screen_learner.address_kinds import find_families, group_by_place
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_comparison import (
    SAME_LOOK,
    have_one_use,
    offer_the_same,
    offers_a_part,
    say_another_thing,
)
from loaders.screen_learner.page_layers import group_layers
from loaders.screen_learner.page_variants import (
    PageVariant,
    SignRole,
    build_variants,
    role_similarity,
    share_of,
    strip_place,
    weigh,
)
from loaders.screen_learner.page_views import name_views
from loaders.screen_learner.url_patterns import place, segments

SAME_PLACE = 0.3
"""The weighted share of common features from which two pages of one place are one screen."""
SAME_STEP = 0.6
"""The same for pages of different places on which different runs performed the same action."""
SAME_BRANCH = 0.9
"""The same for all features, if one page is deeper in the same tree: folders, categories."""
MOST_COMPARED = 150
"""The most different pages of one place that are compared with each other; further ones only with these."""
SAME_PART = 0.7
"""The share of the smaller page's features from which it shows a part of the other: to somebody with fewer rights."""
UNFOLDED = 0.95
"""The same at a place without an id: of one page, before and after something unfolded in it."""
LEAST_IN_COMMON = 4.0
"""The weight of common features that this takes: a heading and a title are the same on any two pages of one kind."""
LEAST_UNFOLDED = 2.5
"""The same at a place without an id: a heading and something beside it."""
_WITHOUT_DIGITS = str.maketrans("0123456789", "ghijklmnop")
"""A part of an address with a number would be an id."""


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
    groups = _cluster_plain(
        viewed, linked, frozenset(strip_place(place(each)) for each in (*entries, *shown))
    )
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
    looks = build_variants(pages, entries)
    joined = _DisjointSets(len(looks))
    places = group_by_place(looks, find_families(linked))
    strangers = _find_strangers(looks)
    for at in places:
        _join_place(looks, sorted(set(at.numbers) - strangers), joined, family=at.family)
    _join_steps(pages, looks, joined)
    _join_everywhere(looks, joined)
    found: dict[int, list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        found[joined.leader(number)] += look.pages
    return sorted(sorted(group) for group in found.values())


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


def _join_place(
    looks: Sequence[PageVariant], numbers: Sequence[int], joined: _DisjointSets, *, family: bool
) -> None:
    """Join the pages of one place that have enough in common. `family`: articles, of which only the actions count."""
    for one, other in _pairs(numbers):
        first, second = looks[one], looks[other]
        alike = role_similarity(first.roles, second.roles) >= SAME_PLACE
        named = first.naming != "" and first.naming == second.naming and offers_a_part(first, second)
        if (
            first.error == second.error
            and not _ask_for_two_things(first, second)
            and (
                alike
                or named
                or _are_built_alike(first, second)
                or _shows_a_part(first, second)
                or (family and first.asked == second.asked and offer_the_same(first, second))
            )
        ):
            joined.join(one, other)


def _ask_for_two_things(one: PageVariant, other: PageVariant) -> bool:
    """Return whether the query of one address asks by a word for another page than the other's: `index.php?action=history`.

    Pages of one name are two if they have actions, and none of these in common: a list, and the form for one more.
    """
    apart = bool(one.tools and other.tools) and not one.tools & other.tools
    return (
        one.asked != other.asked and (apart or say_another_thing(one, other)) and not have_one_use(one, other)
    )


def _are_built_alike(one: PageVariant, other: PageVariant) -> bool:
    """Return whether two pages of one of many things are built alike: the names of their controls may have data."""
    return any(ANY in part for part in one.place) and share_of(one.built, other.built) >= SAME_LOOK


def _shows_a_part(one: PageVariant, other: PageVariant) -> bool:
    """Return whether two pages have a name in common, and one shows a part of the other: of one of many things most of it, of another
    place all of it, as before something unfolded there.
    """
    if not (one.called & other.called):
        return False
    share, enough = (
        (SAME_PART, LEAST_IN_COMMON) if any(ANY in part for part in one.place) else (UNFOLDED, LEAST_UNFOLDED)
    )
    common = weigh(one.roles & other.roles)
    least = min(weigh(one.roles), weigh(other.roles))
    return common >= enough and common >= share * least and offers_a_part(one, other)


def _pairs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    yield from combinations(numbers[:MOST_COMPARED], 2)
    for number in numbers[MOST_COMPARED:]:
        yield from ((other, number) for other in numbers[:MOST_COMPARED])


def _join_steps(pages: Sequence[ObservedPage], looks: Sequence[PageVariant], joined: _DisjointSets) -> None:
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
            if several and role_similarity(looks[one].roles, looks[other].roles) >= SAME_STEP:
                joined.join(one, other)


def _find_strangers(looks: Sequence[PageVariant]) -> set[int]:
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


def _join_everywhere(looks: Sequence[PageVariant], joined: _DisjointSets) -> None:
    """Join equal pages at any places: error pages, pages with two addresses."""
    for one, other in _pairs_of_one_name(looks):
        first, second = looks[one], looks[other]
        errors = first.error and second.error and not _fields(first) and not _fields(second)
        if errors or _are_equal(first, second) or _of_one_tree(first, second):
            joined.join(one, other)


def _pairs_of_one_name(looks: Sequence[PageVariant]) -> Iterator[tuple[int, int]]:
    by_name: dict[frozenset[SignRole], list[int]] = defaultdict(list)
    for number, look in enumerate(looks):
        if look.called:
            by_name[look.called].append(number)
    for same in by_name.values():
        yield from _pairs(same)


def _are_equal(one: PageVariant, other: PageVariant) -> bool:
    return one.signs == other.signs and share_of(one.shape, other.shape) >= SAME_LOOK


def _of_one_tree(one: PageVariant, other: PageVariant) -> bool:
    """Return whether one page is deeper in the same tree, with equal names and nesting: a folder in a folder."""
    upper, lower = sorted((one, other), key=lambda look: len(look.place))
    return (
        len(upper.place) < len(lower.place)
        and lower.place[: len(upper.place) - 1] == upper.place[:-1]
        and one.error == other.error
        and role_similarity(one.roles, other.roles) >= SAME_BRANCH
        and share_of(one.built, other.built) >= SAME_BRANCH
    )


def _fields(look: PageVariant) -> frozenset[SignRole]:
    return frozenset(role for role in look.roles if role[0] in ("field", "label"))
