"""Groups pages on which something lies: the same dialog is one screen wherever it was opened, another dialog another."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.url_patterns import place

SAME_LAYER = 0.5
"""The share of common signs from which two layers at one place are one screen."""
SAME_ANYWHERE = 0.8
"""The same at different places."""
SAME_PART = 0.7
"""The share of the signs of the smaller of two layers with a common heading, from which it is a part of the other."""
COMMON = 0.5
"""A sign that more of the layers have does not count: a button that closes them."""
HEADINGS, FIELDS = ("heading ",), ("fill ", "select_option ", "check ", "upload_file ")
"""How signs of these kinds begin."""
NAMED_FIELDS = ("fill ", "select_option ", "upload_file ")
"""Fields that the application names: boxes may be called by data."""
FEW = 3
"""So few layers have no common signs."""


def group_layers(pages: Sequence[ObservedPage], numbers: Sequence[int]) -> list[list[int]]:
    """Return the given pages, on all of which something lies, in groups, in the order of their first page."""
    kinds: dict[frozenset[str], list[int]] = defaultdict(list)
    for number in numbers:
        kinds[pages[number].layer].append(number)
    counted = Counter(sign for layer in kinds for sign in layer)
    common = {sign for sign, times in counted.items() if len(kinds) > FEW and times > COMMON * len(kinds)}
    groups: list[list[int]] = []
    for number in numbers:
        for group in groups:
            if any(_are_same(pages[number], pages[other], common) for other in group):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _are_same(one: ObservedPage, other: ObservedPage, common: set[str]) -> bool:
    if one.layer == other.layer:
        return True
    if _ask_for_another_thing(one.layer, other.layer):
        return False
    first, second = one.layer - common, other.layer - common
    together = first | second
    alike = len(first & second) / len(together) if together else 0.0
    here = place(one.path) == place(other.path)
    return alike >= (SAME_LAYER if here else SAME_ANYWHERE) or (here and _shows_a_part(first, second))


def _shows_a_part(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two layers have a heading in common, and one most of the signs and of the fields of the other.

    While a dialog moves in, controls of the page below may count to it.
    """
    fields = _list_begun(one, NAMED_FIELDS), _list_begun(other, NAMED_FIELDS)
    return bool(_list_begun(one & other, HEADINGS)) and all(
        len(mine & others) >= SAME_PART * min(len(mine), len(others)) > 0
        for mine, others in (fields, (one, other))
    )


def _ask_for_another_thing(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two layers have headings and fields, and none in common: one with the name of a thing in its heading has."""
    return all(
        mine and others and not mine & others
        for mine, others in (
            (_list_begun(one, kind), _list_begun(other, kind)) for kind in (HEADINGS, FIELDS)
        )
    )


def _list_begun(layer: frozenset[str], kinds: tuple[str, ...]) -> frozenset[str]:
    return frozenset(sign for sign in layer if sign.startswith(kinds))
