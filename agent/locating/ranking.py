"""Decides which element is meant: one that fits better than every other, or none.

Not found is an answer, and so is ambiguous; the wrong element is not. Fit comes first; the order of
strategies only says which of them speaks for an element that several have found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from agent.locating.index import IndexedElement, PageIndex
from agent.locating.regions import meant_regions, stands_in
from agent.locating.roles import ROLE_HINTS, fitting, prefers
from agent.locating.strategies import DEFAULT_ORDER, STRATEGIES, Fit, Pool
from agent.locating.texts import Texts
from agent.locating.wanted import Reading, Wanted, readings
from agent.locating.words import plain

MOST_SHOWN = 5
"""Candidates named in an ambiguous answer, and names in a hint."""
_ALIKE = 70


@dataclass(frozen=True, slots=True)
class Candidate:
    """An element that may be meant, and who says so."""

    element: IndexedElement
    strategy: str
    confidence: float
    fit: Fit
    said: str
    """The text of the page that fitted the words."""
    regions: frozenset[int]
    """The regions the words named; empty where they named none."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """What ranking says: `best` where one is meant, else the `rivals`, else nothing but `hints`."""

    best: Candidate | None
    rivals: tuple[Candidate, ...] = ()
    hints: tuple[str, ...] = ()


def rank(
    index: PageIndex, wanted: Wanted, order: Sequence[str] = DEFAULT_ORDER, texts: Texts | None = None
) -> Ranked:
    """The element that is meant. `texts` spares sorting them for every question to one look.

    Raises `KeyError` for a strategy there is not.
    """
    ladder = [STRATEGIES[name] for name in order]
    able = fitting(index.interactive, wanted.action)
    sorted_ = texts or Texts(index)
    found: dict[int, Candidate] = {}
    for reading in readings(wanted):
        regions = meant_regions(index, reading.regions) if reading.regions else frozenset[int]()
        if reading.regions and not regions:
            continue
        elements = tuple(each for each in able if _may_be(index, each, reading, regions))
        among = None if len(elements) == len(index.interactive) else frozenset(each.at for each in elements)
        pool = Pool(index, sorted_, elements, among)
        for rung in ladder:
            for match in rung.candidates(reading, pool):
                _keep(
                    found,
                    Candidate(match.element, rung.name, rung.confidence, match.fit, match.said, regions),
                )
    return _decide(found.values(), wanted) or Ranked(None, (), _hints(able, wanted))


def _may_be(index: PageIndex, element: IndexedElement, reading: Reading, regions: frozenset[int]) -> bool:
    if reading.roles is not None and element.role not in reading.roles:
        return False
    return not regions or stands_in(index, element, regions)


def _keep(found: dict[int, Candidate], candidate: Candidate) -> None:
    known = found.get(candidate.element.at)
    if known is None or candidate.fit > known.fit:
        found[candidate.element.at] = candidate


def _decide(found: Iterable[Candidate], wanted: Wanted) -> Ranked | None:
    ranked = sorted(found, key=lambda each: -each.fit)
    if not ranked:
        return None
    rivals = [each for each in ranked if each.fit == ranked[0].fit]
    for better in (_interactive, _preferred(wanted), _hinted(wanted)):
        rivals = [each for each in rivals if better(each)] or rivals
    if len(rivals) == 1:
        return Ranked(rivals[0])
    return Ranked(None, tuple(rivals))


_Better = Callable[[Candidate], bool]


def _interactive(candidate: Candidate) -> bool:
    return candidate.element.interactive


def _preferred(wanted: Wanted) -> _Better:
    return lambda candidate: prefers(candidate.element, wanted.action)


def _hinted(wanted: Wanted) -> _Better:
    said = f" {plain(wanted.words)} "
    roles = {role for word, role in ROLE_HINTS.items() if f" {plain(word)} " in said}
    return lambda candidate: candidate.element.role in roles


def _hints(pool: Iterable[IndexedElement], wanted: Wanted) -> tuple[str, ...]:
    names = {text for element in pool if (text := element.name or element.label or element.placeholder)}
    close = process.extract(wanted.words, names, scorer=fuzz.WRatio, score_cutoff=_ALIKE, limit=MOST_SHOWN)
    return tuple(name for name, _, _ in close)
