"""Infers the condition under which a branch is taken.

Three sources are tried in this order: the branch's target element is present exactly on the pages on which the
branch was taken; an indicator on the page separates the pages, confirmed by leave-one-out validation; an
input value separates the runs. If none of them applies, the choice stays undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.synthesis.traces.trace_pages import TracePages
from kb_schema.conditions import Combined, Condition, ContextEquals, ElementVisible
from kb_schema.selectors import Selector, SessionStrategy
from web_pages.indicator_candidates import IndicatorCandidate, PageProfileIndex
from web_pages.page_profiles import PageProfile

MOST_PAGES = 12
"""Maximum number of pages per side that are examined."""
LEAVE_ONE_OUT = 2
"""Minimum number of pages per side for leave-one-out validation."""


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """The page on which a branch was chosen."""

    html: str
    url: str | None


@dataclass(frozen=True, slots=True)
class InferredCondition:
    """A condition that separates the branches, with its evidence."""

    condition: Condition
    source: str
    """`target`, `page` or `input`."""
    evidence: str


class BranchConditionFinder:
    """Finds branch conditions on the pages of traces."""

    def __init__(self, pages: TracePages) -> None:
        self._pages = pages

    def by_target(
        self, target: Selector, taken: Sequence[DecisionPage], other: Sequence[DecisionPage]
    ) -> InferredCondition | None:
        """Return the condition that the target is visible, if it is visible exactly on the `taken` pages."""
        if not taken or not other or not is_queryable(target):
            return None
        here, there = self._sightings(target, taken), self._sightings(target, other)
        if not all(here) or any(there):
            return None
        told = f"its element was present on {len(here)} of {len(here)} pages and on 0 of {len(there)} others"
        return InferredCondition(ElementVisible(type="element_visible", element=target), "target", told)

    def ignored(self, target: Selector, other: Sequence[DecisionPage]) -> bool:
        """Whether the target was present on every page of the traces that did not act on it."""
        return bool(other) and is_queryable(target) and all(self._sightings(target, other))

    def by_page(
        self, taken: Sequence[DecisionPage], other: Sequence[DecisionPage]
    ) -> InferredCondition | None:
        """Return an indicator that all pages of one side show and no page of the other, also when held out."""
        here, there = self._profiles(taken), self._profiles(other)
        if min(len(here), len(there)) < LEAVE_ONE_OUT:
            return None
        found = _separator(here, there)
        if found is not None and _passes_leave_one_out(here, there):
            return _build_condition(found.condition, found, len(here), len(there))
        # An indicator that only the other pages show separates them as well.
        opposite = _separator(there, here)
        if opposite is None or not _passes_leave_one_out(there, here):
            return None
        condition = Combined(type="none_of", conditions=(opposite.condition,))
        return _build_condition(condition, opposite, len(there), len(here))

    def by_input(
        self, taken: Sequence[Mapping[str, Any]], other: Sequence[Mapping[str, Any]]
    ) -> InferredCondition | None:
        """Return the condition that an input has a value which all runs of one side and no other runs have."""
        if min(len(taken), len(other)) < LEAVE_ONE_OUT:
            return None
        names = set.intersection(*(set(data) for data in taken))
        for name in sorted(names):
            values = [data[name] for data in taken]
            plain = isinstance(values[0], str | int | bool) and values[0] not in ("", None)
            if plain and all(each == values[0] for each in values):
                if any(data.get(name) == values[0] for data in other):
                    continue
                told = (
                    f"{name} is {values[0]!r} in these {len(taken)} runs and in none of {len(other)} others"
                )
                return InferredCondition(
                    ContextEquals(type="context_equals", name=name, value=values[0]), "input", told
                )
        return None

    def _sightings(self, target: Selector, sights: Sequence[DecisionPage]) -> list[bool]:
        pages = (self._pages.get(sight.html, sight.url) for sight in _limit_pages(sights))
        return [page.shows(target) for page in pages if page is not None]

    def _profiles(self, sights: Sequence[DecisionPage]) -> list[PageProfile]:
        found = (self._pages.profile(sight.html, sight.url) for sight in _limit_pages(sights))
        return [each for each in found if each is not None]


def is_queryable(target: Selector) -> bool:
    """Whether a target can be looked up on a page."""
    return any(not isinstance(each, SessionStrategy) for each in target.strategies)


def _limit_pages(sights: Sequence[DecisionPage]) -> Iterable[DecisionPage]:
    return sorted(dict.fromkeys(sights), key=lambda each: (each.html, each.url or ""))[:MOST_PAGES]


def _separator(taken: Sequence[PageProfile], other: Sequence[PageProfile]) -> IndicatorCandidate | None:
    book = PageProfileIndex([*taken, *other])
    return book.separator(range(len(taken)), range(len(taken), len(taken) + len(other)))


def _passes_leave_one_out(taken: Sequence[PageProfile], other: Sequence[PageProfile]) -> bool:
    """Whether the indicator that is chosen without a page classifies this page correctly, for every page."""
    for number, held_back in enumerate(taken):
        chosen = _separator([*taken[:number], *taken[number + 1 :]], other)
        if chosen is None or not any(map(held_back.shows, chosen.signs)):
            return False
    for number, held_back in enumerate(other):
        chosen = _separator(taken, [*other[:number], *other[number + 1 :]])
        if chosen is None or any(map(held_back.shows, chosen.signs)):
            return False
    return True


def _build_condition(
    condition: Condition, found: IndicatorCandidate, showing: int, others: int
) -> InferredCondition:
    said = ", ".join(f"{sign.kind} {sign.text!r}" for sign in found.signs)
    told = f"{said} on {showing} of {showing} pages and on 0 of {others}; each held-out page was classified correctly"
    return InferredCondition(condition, "page", told)
