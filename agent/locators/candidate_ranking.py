"""Decides which element a description means: the one that fits better than every other, or none.

"Not found" and "ambiguous" are valid results; a wrong element is not. The fit decides first. The order of
strategies only decides which strategy is reported for an element that several strategies have found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from agent.locators.discovery_strategies import DEFAULT_ORDER, STRATEGIES, CandidatePool, DiscoveryFit
from agent.locators.element_descriptions import DescriptionReading, ElementDescription, list_readings
from agent.locators.element_texts import ElementTexts
from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.page_regions import find_regions, stands_in
from agent.locators.role_hints import ROLE_HINTS, is_preferred, select_fitting_elements
from agent.locators.word_comparison import normalize_words

MOST_SHOWN = 5
"""Maximum number of candidates listed for an ambiguous description, and of names in a hint."""
_HINT_SIMILARITY = 70
"""Minimum rapidfuzz score (0 to 100) of a name in a hint."""


@dataclass(frozen=True, slots=True)
class DiscoveryCandidate:
    """An element that may be meant, and the strategy that found it."""

    element: IndexedElement
    strategy: str
    confidence: float
    fit: DiscoveryFit
    matched_text: str
    """The text on the page that matched the words."""
    regions: frozenset[int]
    """Positions of the regions that the words named; empty if they named none."""


@dataclass(frozen=True, slots=True)
class DiscoveryRanking:
    """The result of a ranking: `best` if one element is meant, else the `rivals`, else only `hints`."""

    best: DiscoveryCandidate | None
    rivals: tuple[DiscoveryCandidate, ...] = ()
    hints: tuple[str, ...] = ()


def rank_candidates(
    index: PageIndex,
    wanted: ElementDescription,
    order: Sequence[str] = DEFAULT_ORDER,
    texts: ElementTexts | None = None,
) -> DiscoveryRanking:
    """Return the element that is meant, or the equally good rivals, or hints.

    `order` lists the strategies. Pass the same `texts` for several descriptions on one page index, so that
    the texts are sorted once. Raises `KeyError` for an unknown strategy.
    """
    strategies = [STRATEGIES[name] for name in order]
    able = select_fitting_elements(index.interactive, wanted.action)
    sorted_ = texts or ElementTexts(index)
    found: dict[int, DiscoveryCandidate] = {}
    for reading in list_readings(wanted):
        regions = find_regions(index, reading.regions) if reading.regions else frozenset[int]()
        if reading.regions and not regions:
            continue
        elements = tuple(each for each in able if _may_be(index, each, reading, regions))
        among = None if len(elements) == len(index.interactive) else frozenset(each.at for each in elements)
        pool = CandidatePool(index, sorted_, elements, among)
        for strategy in strategies:
            for match in strategy.candidates(reading, pool):
                _keep(
                    found,
                    DiscoveryCandidate(
                        match.element,
                        strategy.name,
                        strategy.confidence,
                        match.fit,
                        match.matched_text,
                        regions,
                    ),
                )
    return _decide(found.values(), wanted) or DiscoveryRanking(None, (), _hints(able, wanted))


def _may_be(
    index: PageIndex, element: IndexedElement, reading: DescriptionReading, regions: frozenset[int]
) -> bool:
    if reading.roles is not None and element.role not in reading.roles:
        return False
    return not regions or stands_in(index, element, regions)


def _keep(found: dict[int, DiscoveryCandidate], candidate: DiscoveryCandidate) -> None:
    known = found.get(candidate.element.at)
    if known is None or candidate.fit > known.fit:
        found[candidate.element.at] = candidate


def _decide(found: Iterable[DiscoveryCandidate], wanted: ElementDescription) -> DiscoveryRanking | None:
    ranked = sorted(found, key=lambda each: -each.fit)
    if not ranked:
        return None
    rivals = [each for each in ranked if each.fit == ranked[0].fit]
    preferred = _preferred(wanted)
    if not any(map(preferred, rivals)):
        # To click: rather a button with this tooltip than a field with this placeholder.
        rivals += [each for each in ranked if each.fit >= DiscoveryFit.PLURAL and preferred(each)]
    for better in (_interactive, preferred, _hinted(wanted)):
        rivals = [each for each in rivals if better(each)] or rivals
    if len(rivals) == 1:
        return DiscoveryRanking(rivals[0])
    return DiscoveryRanking(None, tuple(rivals))


_Better = Callable[[DiscoveryCandidate], bool]


def _interactive(candidate: DiscoveryCandidate) -> bool:
    return candidate.element.interactive


def _preferred(wanted: ElementDescription) -> _Better:
    return lambda candidate: is_preferred(candidate.element, wanted.action)


def _hinted(wanted: ElementDescription) -> _Better:
    words = f" {normalize_words(wanted.words)} "
    roles = {role for word, role in ROLE_HINTS.items() if f" {normalize_words(word)} " in words}
    return lambda candidate: candidate.element.role in roles


def _hints(pool: Iterable[IndexedElement], wanted: ElementDescription) -> tuple[str, ...]:
    names = {text for element in pool if (text := element.name or element.label or element.placeholder)}
    close = process.extract(
        wanted.words, names, scorer=fuzz.WRatio, score_cutoff=_HINT_SIMILARITY, limit=MOST_SHOWN
    )
    return tuple(name for name, _, _ in close)
