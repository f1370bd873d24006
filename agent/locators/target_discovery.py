"""Discovers elements on a live page: one scan, one ranking per description, one check of the selectors.

Takes one round trip for any number of elements, and a second one if an element can only be found by CSS.
Every returned selector leads to exactly one element, as shown by the page index or confirmed by the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playwright.async_api import Page

from agent.locators.candidate_ranking import MOST_SHOWN, DiscoveryCandidate, DiscoveryRanking, rank_candidates
from agent.locators.discovery_strategies import DEFAULT_ORDER
from agent.locators.element_descriptions import ElementDescription, build_scan_query
from agent.locators.element_texts import ElementTexts
from agent.locators.page_index import IndexedElement, PageIndex
from agent.locators.page_scan import check_selectors, scan_page
from agent.locators.scan_query import ScanQuery
from agent.locators.selector_strategies import NameCollisions, build_selector, propose_strategies
from kb_schema.selectors import Selector, Strategy


@dataclass(frozen=True, slots=True)
class DiscoveredElement:
    """The element that a description means."""

    wanted: ElementDescription
    candidate: DiscoveryCandidate
    selector: Selector
    """Strategies that lead only to this element; the strategy that found it comes first if it is unique."""

    @property
    def element(self) -> IndexedElement:
        """The element at the time of the scan."""
        return self.candidate.element

    @property
    def strategy(self) -> str:
        """The strategy that found it."""
        return self.candidate.strategy

    @property
    def confidence(self) -> float:
        """The confidence in that strategy, 0 to 1 (PACTS 5.1)."""
        return self.candidate.confidence


@dataclass(frozen=True, slots=True)
class AmbiguousElement:
    """Several elements fit equally well; a person or an inferencer decides."""

    wanted: ElementDescription
    candidates: tuple[DiscoveryCandidate, ...]
    places: tuple[str, ...]
    """For each candidate the name of the nearest region that no other candidate shares; empty if none."""

    @property
    def reason(self) -> str:
        """A message that lists the candidates and suggests regions."""
        shown = "; ".join(_describe_candidate(each) for each in self.candidates[:MOST_SHOWN])
        more = len(self.candidates) - MOST_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        named = ", ".join(f"{self.wanted.words}@{place}" for place in self.places[:MOST_SHOWN] if place)
        advice = f". Name a region: {named}" if named else ""
        return f"{str(self.wanted)!r} may mean {len(self.candidates)} elements: {shown}{rest}{advice}"


@dataclass(frozen=True, slots=True)
class UndiscoveredElement:
    """No element on the page fits."""

    wanted: ElementDescription
    reason: str
    hints: tuple[str, ...] = ()
    """Names on the page with a similar spelling."""


Discovery = DiscoveredElement | AmbiguousElement | UndiscoveredElement


async def discover_element(
    page: Page, wanted: ElementDescription, *, order: Sequence[str] = DEFAULT_ORDER
) -> Discovery:
    """Return the discovery of one element. Raises `PageGone`, `ScriptFailed`."""
    return (await discover_elements(page, [wanted], order=order))[0]


async def discover_elements(
    page: Page, wanted: Sequence[ElementDescription], *, order: Sequence[str] = DEFAULT_ORDER
) -> list[Discovery]:
    """Return the discoveries of several elements, in the given order.

    All are searched in one scan. If one is not found, a second, complete scan collects names for the hints.
    Raises `PageGone`, `ScriptFailed`.
    """
    index, ranked = await _rank_descriptions(page, wanted, order, build_scan_query(wanted))
    if index.query is not None and any(each.best is None and not each.rivals for each in ranked):
        index, ranked = await _rank_descriptions(page, wanted, order, None)
    confirmed = await _confirm_strategies(
        page, index, [result.best for result in ranked if result.best is not None]
    )
    answers: list[Discovery] = []
    for each, result in zip(wanted, ranked, strict=True):
        if result.best is not None:
            answers.append(_build_discovery(index, each, result.best, confirmed[result.best.element.at]))
        elif result.rivals:
            answers.append(AmbiguousElement(each, result.rivals, _name_rival_regions(index, result.rivals)))
        else:
            answers.append(UndiscoveredElement(each, "no element on the page has this name", result.hints))
    return answers


async def _rank_descriptions(
    page: Page, wanted: Sequence[ElementDescription], order: Sequence[str], query: ScanQuery | None
) -> tuple[PageIndex, list[DiscoveryRanking]]:
    index = await scan_page(page, query=query)
    texts = ElementTexts(index)
    return index, [rank_candidates(index, each, order, texts) for each in wanted]


async def _confirm_strategies(
    page: Page, index: PageIndex, meant: Sequence[DiscoveryCandidate]
) -> dict[int, tuple[Strategy, ...]]:
    """Return for each element the strategies that lead only to it.

    The page index decides first. For elements without a strategy so far, the page checks all others at once.
    """
    collisions = NameCollisions(index)
    known: dict[int, tuple[Strategy, ...]] = {}
    unchecked: list[tuple[IndexedElement, Strategy]] = []
    for each in meant:
        proposed = [
            (strategy, collisions.is_unique(each.element, strategy))
            for strategy in propose_strategies(index, each)
        ]
        known[each.element.at] = tuple(strategy for strategy, unique in proposed if unique)
        if not known[each.element.at]:
            unchecked += [(each.element, strategy) for strategy, unique in proposed if unique is None]
    pairs = [(element.at, build_selector(index, element, (strategy,))) for element, strategy in unchecked]
    for (element, strategy), leads in zip(unchecked, await check_selectors(page, index, pairs), strict=True):
        if leads:
            known[element.at] = (*known[element.at], strategy)
    return known


def _build_discovery(
    index: PageIndex, wanted: ElementDescription, best: DiscoveryCandidate, strategies: tuple[Strategy, ...]
) -> Discovery:
    if not strategies:
        return UndiscoveredElement(wanted, f"no selector leads only to {_describe_candidate(best)}")
    return DiscoveredElement(wanted, best, build_selector(index, best.element, strategies))


def _describe_candidate(candidate: DiscoveryCandidate) -> str:
    element = candidate.element
    name = element.name or element.label or element.placeholder or candidate.matched_text
    heading = f" under {element.near.heading!r}" if element.near.heading else ""
    row = f" beside {element.near.row!r}" if element.near.row else ""
    return f"{element.role or element.tag} {name!r}{row}{heading}"


def _name_rival_regions(index: PageIndex, rivals: Sequence[DiscoveryCandidate]) -> tuple[str, ...]:
    """Return for each rival the region to write after `@`; empty if no region distinguishes it."""
    names = [_region_names(index, rival.element) for rival in rivals]
    return tuple(
        next((name for name in own if sum(name in others for others in names) == 1), "") for own in names
    )


def _region_names(index: PageIndex, element: IndexedElement) -> list[str]:
    own = {"", element.name, element.text}
    return [
        name
        for region in index.regions_of(element)
        for name in (*region.texts, region.name)
        if name not in own
    ]
