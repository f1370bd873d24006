"""Finds conditions that distinguish the pages of known screens, best first.

A pure function of page profiles, used by the signature check and the signature learner. Each candidate
carries its evidence: on how many pages it holds as it should, and on how many it should not. What a page
shows is in `page_profiles`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kb_schema.conditions import Combined, Condition
from web_pages.page_masks import page_mask, page_numbers
from web_pages.page_profiles import KINDS, PageFeature, PageProfile

MOST_ALTERNATIVES = 3
"""The most parts of a proposed `any_of` if no single feature is on every page."""


@dataclass(frozen=True, slots=True)
class IndicatorCandidate:
    """A condition, and on how many pages it holds."""

    signs: tuple[PageFeature, ...]
    """One feature, or the alternatives of an `any_of`."""
    holds: int
    of: int
    """The number of pages it should hold on."""
    elsewhere: int
    others: int
    """The number of pages it should not hold on."""

    @property
    def condition(self) -> Condition:
        """The condition to put into a signature."""
        parts = tuple(sign.condition for sign in self.signs)
        return parts[0] if len(parts) == 1 else Combined(type="any_of", conditions=parts)

    @property
    def separates(self) -> bool:
        """Whether it holds on all pages it should hold on, and on no other."""
        return self.holds == self.of and self.elsewhere == 0

    @property
    def stability(self) -> int:
        """The rank of its least stable feature; lower is more stable."""
        return max(KINDS[sign.kind].rank for sign in self.signs)


class PageProfileIndex:
    """The profiles of many pages, indexed by feature. Pages are numbered in the given order."""

    def __init__(self, profiles: Sequence[PageProfile]) -> None:
        self._profiles = tuple(profiles)
        self._exact: dict[PageFeature, int] = defaultdict(int)
        self._steady: dict[PageFeature, int] = defaultdict(int)
        self._texts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._partial: dict[PageFeature, int] = {}
        for number, page in enumerate(self._profiles):
            bit = 1 << number
            for sign in page.signs:
                self._exact[sign] |= bit
                if sign not in page.passing:
                    self._steady[sign] |= bit
            for sign in (*page.states, *page.echoes):
                self._exact[sign] |= bit
            for place, texts in page.texts.items():
                for text in texts:
                    self._texts[place][text] |= bit

    def __len__(self) -> int:
        return len(self._profiles)

    def pages_with(self, sign: PageFeature) -> frozenset[int]:
        """Return the pages on which the feature's condition holds."""
        return frozenset(page_numbers(self._mask(sign)))

    def mask(self, sign: PageFeature) -> int:
        """Return the same as a page mask: bit n stands for page n."""
        return self._mask(sign)

    def exactly(self, sign: PageFeature) -> int:
        """Return the pages that have exactly this feature, as a mask; for most kinds the same."""
        return self._exact.get(sign, 0)

    def steadily(self, sign: PageFeature) -> int:
        """Return those of `exactly` that have it in a stable place."""
        return self._steady.get(sign, 0)

    def rank(
        self, holding: Collection[int], lacking: Collection[int], *, limit: int | None = None
    ) -> list[IndicatorCandidate]:
        """Return conditions of one feature each, best first.

        Best are those that hold on most pages of `holding` and fewest of `lacking`, and of these the most
        stable.
        """
        wanted, unwanted = page_mask(holding), page_mask(lacking)
        ranked = sorted(self._signs(holding), key=lambda sign: self._order(sign, wanted, unwanted))
        return [self._candidate((sign,), wanted, unwanted) for sign in ranked[:limit]]

    def separator(
        self, holding: Collection[int], lacking: Collection[int], *, least: float = 1.0
    ) -> IndicatorCandidate | None:
        """Return the best condition that holds on every page of `holding` and on none of `lacking`.

        If no single feature does, an `any_of` of up to three; None if nothing separates the pages. `least`: the share of the pages
        of `holding` on which an `any_of` must hold.
        """
        if not holding:
            return None
        best = self.rank(holding, lacking, limit=1)
        if best and best[0].separates:
            return best[0]
        return self._alternatives(holding, lacking, least)

    def _alternatives(
        self, holding: Collection[int], lacking: Collection[int], least: float
    ) -> IndicatorCandidate | None:
        """Choose features that are on none of `lacking`, greedily, until every page of `holding` has one.

        If a few pages cannot have one, the share `least` of them suffices.
        """
        wanted, unwanted = page_mask(holding), page_mask(lacking)
        usable = [sign for sign in self._signs(holding) if not self._mask(sign) & unwanted]
        chosen: list[PageFeature] = []
        left = wanted
        while left and usable and len(chosen) < MOST_ALTERNATIVES:
            sign = min(usable, key=lambda each: self._order(each, left, unwanted))
            if not self._mask(sign) & left:
                break
            chosen.append(sign)
            left &= ~self._mask(sign)
        enough = _share(left, wanted) <= 1.0 - least
        return self._candidate(tuple(chosen), wanted, unwanted) if chosen and enough else None

    def _signs(self, pages: Iterable[int]) -> frozenset[PageFeature]:
        return frozenset().union(*(self._profiles[number].signs for number in pages))

    def _mask(self, sign: PageFeature) -> int:
        if not KINDS[sign.kind].partial:
            return self._exact.get(sign, 0)
        if sign not in self._partial:
            by_text = self._texts.get((sign.kind, sign.where), {})
            mask = 0
            for text, pages in by_text.items():
                if sign.text in text:
                    mask |= pages
            self._partial[sign] = mask
        return self._partial[sign]

    def _order(
        self, sign: PageFeature, wanted: int, unwanted: int
    ) -> tuple[float, bool, int, bool, int, str]:
        """Return the sort key of a feature.

        The shares of pages on which it is wrong, whether it was seen only in unstable places, its stability,
        whether it contains digits, its length, and its text.
        """
        mask = self._mask(sign)
        return (
            _share(wanted & ~mask, wanted) + _share(unwanted & mask, unwanted),
            not self._steady.get(sign, 0) & wanted,
            KINDS[sign.kind].rank,
            any(char.isdigit() for char in sign.text),
            len(sign.text),
            f"{sign.where} {sign.text}",
        )

    def _candidate(self, signs: tuple[PageFeature, ...], wanted: int, unwanted: int) -> IndicatorCandidate:
        mask = 0
        for sign in signs:
            mask |= self._mask(sign)
        return IndicatorCandidate(
            signs,
            holds=(mask & wanted).bit_count(),
            of=wanted.bit_count(),
            elsewhere=(mask & unwanted).bit_count(),
            others=unwanted.bit_count(),
        )


def render_condition(condition: Condition) -> str:
    """Return a condition on one line, as in a file of the knowledge base (JSON is YAML, too)."""
    return json.dumps(condition_to_json(condition), ensure_ascii=False)


def condition_to_json(condition: Condition) -> dict[str, object]:
    """Return a condition as in a file of the knowledge base: its type, and every value that is not a default."""
    return {"type": condition.type, **condition.to_json()}


def _share(part: int, whole: int) -> float:
    return part.bit_count() / whole.bit_count() if whole else 0.0
