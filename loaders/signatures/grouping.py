"""Which of the pages that were seen are the same screen.

Pages of one address are, unless what lasts on them has little in common; pages of addresses of one form
are, where different runs did the same on them and they are much alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from kb_schema.pages.sketch import Sign
from loaders.signatures.addresses import place, segments
from loaders.signatures.seen import ObservedPage

SAME_ADDRESS = 0.3
"""Share of lasting signs that two pages of one address have in common if they are one screen."""
SAME_STEP = 0.6
"""... and two pages of addresses that differ, on which the same was done."""
_LASTING = frozenset({"test_id", "heading", "landmark", "label", "column", "id"})


def grouped(pages: Sequence[ObservedPage]) -> list[list[int]]:
    """Numbers of pages, one list for each screen, in the order in which they were seen first."""
    structures = _structures(pages)
    leaders = list(range(len(pages)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = leaders[leaders[number]]
            number = leaders[number]
        return number

    for one, other, least in _pairs(pages):
        if leader(one) != leader(other) and _likeness(structures[one], structures[other]) >= least:
            first, second = sorted((leader(one), leader(other)))
            leaders[second] = first
    found: dict[int, list[int]] = defaultdict(list)
    for number in range(len(pages)):
        found[leader(number)].append(number)
    return list(found.values())


def _pairs(pages: Sequence[ObservedPage]) -> Iterator[tuple[int, int, float]]:
    by_place: dict[object, list[int]] = defaultdict(list)
    by_step: dict[object, list[int]] = defaultdict(list)
    for number, page in enumerate(pages):
        by_place[place(page.path)].append(number)
        if page.step is not None:
            by_step[page.step, len(segments(page.path))].append(number)
    for numbers in by_place.values():
        yield from ((one, other, SAME_ADDRESS) for one, other in combinations(numbers, 2))
    for numbers in by_step.values():
        for one, other in combinations(numbers, 2):
            if pages[one].run != pages[other].run:
                yield one, other, SAME_STEP


def _structures(pages: Sequence[ObservedPage]) -> list[frozenset[Sign]]:
    """What lasts on each page, without what all of them show: the frame of the site."""
    own = [_lasting(page.sketch.signs - page.sketch.passing) for page in pages]
    if len({place(page.path) for page in pages}) < 2:
        return own
    frame = frozenset.intersection(*own)
    return [signs - frame for signs in own]


def _lasting(signs: Iterable[Sign]) -> frozenset[Sign]:
    return frozenset(sign for sign in signs if sign.kind in _LASTING)


def _likeness(one: frozenset[Sign], other: frozenset[Sign]) -> float:
    together = one | other
    return len(one & other) / len(together) if together else 1.0
