"""Tells apart the views of a document at one address: those to which different entries of a menu lead.

Some applications show all of their views at one address. What a menu calls by different names, and what then has
another heading, is as different as two addresses are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from loaders.screen_learner.observed_pages import ObservedPage

COMMON = 0.6
"""The share of views from which a feature belongs to the frame of the document."""
_NUMBERS = re.compile(r"\d+")
_CALLED = ("heading", "title")
_Features = frozenset[tuple[str, str, str]]


def name_views(pages: Sequence[ObservedPage]) -> list[str]:
    """Return the view of each page: the first name of its menu entries; empty where an address has one view only.

    A page to which no entry leads is a state of the view that it resembles most, if it has a name of it, or none;
    else it is a view of its own: the first page of a document, for example.
    """
    found = [""] * len(pages)
    by_address: dict[str, list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        by_address[page.path].append(number)
    for numbers in by_address.values():
        views = _find_views({at: pages[at] for at in numbers if pages[at].entries})
        if len(views) > 1:
            for at, view in _assign(pages, numbers, views):
                found[at] = view
    return found


def _find_views(entered: Mapping[int, ObservedPage]) -> dict[str, list[int]]:
    """Group pages by the entries that lead to them; views with equal names are one."""
    views: list[tuple[set[str], list[int]]] = []
    for at, page in entered.items():
        same = [each for each in views if each[0] & page.entries or not _differ(entered, each[1], at)]
        views = [each for each in views if each not in same]
        views.append(
            (set(page.entries).union(*(names for names, _ in same)), [*(n for _, ns in same for n in ns), at])
        )
    return {min(names): sorted(numbers) for names, numbers in views}


def _differ(pages: Mapping[int, ObservedPage], numbers: Iterable[int], at: int) -> bool:
    """Return whether a page is called something else than each of the others."""
    called = _features(pages[at], _CALLED)
    return all(
        bool(called - other) and bool(other - called)
        for other in (_features(pages[each], _CALLED) for each in numbers)
    )


def _assign(
    pages: Sequence[ObservedPage], numbers: Sequence[int], views: Mapping[str, Sequence[int]]
) -> Iterable[tuple[int, str]]:
    shown = {view: frozenset().union(*(_features(pages[at]) for at in own)) for view, own in views.items()}
    counted = Counter(feature for features in shown.values() for feature in features)
    frame = {feature for feature, times in counted.items() if times > COMMON * len(views)}
    known = {at: view for view, own in views.items() for at in own}
    for at in numbers:
        own = _features(pages[at]) - frame
        called = sorted(each for each in own if each[0] in _CALLED)
        alone = called and not any(each in features for each in called for features in shown.values())
        alike = called[0][2] if alone else max(sorted(shown), key=lambda view: len(own & shown[view]))
        yield at, known.get(at) or alike


def _features(page: ObservedPage, kinds: Sequence[str] = ()) -> _Features:
    return frozenset(
        (sign.kind, sign.where, _NUMBERS.sub("#", sign.text.casefold()))
        for sign in page.profile.signs
        if not kinds or sign.kind in kinds
    )
