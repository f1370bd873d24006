"""From pages of known screens to the conditions that tell them apart, best first.

A pure question over sketches: whoever has labelled pages (the check of signatures, the learner of
signatures) asks it. Each answer carries its evidence: on how many pages the condition holds where
it should, and where it should not.

Not here: what a page shows (`sketch`), and what is done with a proposal.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from kb_schema.conditions import Combined, Condition
from kb_schema.pages.sketch import KINDS, Sign, Sketch

MOST_ALTERNATIVES = 3
"""Parts of an `any_of` that is proposed where no single sign is on every page."""


@dataclass(frozen=True, slots=True)
class IndicatorCandidate:
    """A condition, and on how many pages it was seen to hold."""

    signs: tuple[Sign, ...]
    """One, or the alternatives of an `any_of`."""
    holds: int
    of: int
    """Pages it should hold on."""
    elsewhere: int
    others: int
    """Pages it should not hold on."""

    @property
    def condition(self) -> Condition:
        """What goes into a signature."""
        parts = tuple(sign.condition for sign in self.signs)
        return parts[0] if len(parts) == 1 else Combined(type="any_of", conditions=parts)

    @property
    def separates(self) -> bool:
        """Whether it holds on all pages it should and on none that it should not."""
        return self.holds == self.of and self.elsewhere == 0

    @property
    def stability(self) -> int:
        """The rank of its least stable sign; lower is more stable."""
        return max(KINDS[sign.kind].rank for sign in self.signs)


class SketchBook:
    """Sketches of many pages, asked which of them show a sign. Pages are numbered as given."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        self._sketches = tuple(sketches)
        self._exact: dict[Sign, int] = defaultdict(int)
        self._steady: dict[Sign, int] = defaultdict(int)
        self._said: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._partial: dict[Sign, int] = {}
        for number, page in enumerate(self._sketches):
            bit = 1 << number
            for sign in page.signs:
                self._exact[sign] |= bit
                if sign not in page.passing:
                    self._steady[sign] |= bit
            for place, texts in page.said.items():
                for text in texts:
                    self._said[place][text] |= bit

    def __len__(self) -> int:
        return len(self._sketches)

    def pages_with(self, sign: Sign) -> frozenset[int]:
        """The pages on which the sign's condition holds."""
        return frozenset(_numbers(self._mask(sign)))

    def mask(self, sign: Sign) -> int:
        """The same as bits of a number: bit n stands for page n."""
        return self._mask(sign)

    def exactly(self, sign: Sign) -> int:
        """The pages that have the very sign, as bits; for most kinds the same."""
        return self._exact.get(sign, 0)

    def steadily(self, sign: Sign) -> int:
        """Those of `exactly` that have it where nothing comes and goes."""
        return self._steady.get(sign, 0)

    def rank(
        self, holding: Collection[int], lacking: Collection[int], *, limit: int | None = None
    ) -> list[IndicatorCandidate]:
        """Conditions of one sign each, best first: those that hold on most of the pages in `holding`
        and on fewest in `lacking`, of these the most stable.
        """
        wanted, unwanted = _bits(holding), _bits(lacking)
        ranked = sorted(self._signs(holding), key=lambda sign: self._order(sign, wanted, unwanted))
        return [self._candidate((sign,), wanted, unwanted) for sign in ranked[:limit]]

    def separator(self, holding: Collection[int], lacking: Collection[int]) -> IndicatorCandidate | None:
        """The best condition that holds on every page of `holding` and on none of `lacking`.

        An `any_of` of up to three signs where no single one does; None where nothing separates them.
        """
        if not holding:
            return None
        best = self.rank(holding, lacking, limit=1)
        if best and best[0].separates:
            return best[0]
        return self._alternatives(holding, lacking)

    def _alternatives(self, holding: Collection[int], lacking: Collection[int]) -> IndicatorCandidate | None:
        """Signs that are on none of `lacking`, taken greedily until every page of `holding` has one."""
        wanted, unwanted = _bits(holding), _bits(lacking)
        usable = [sign for sign in self._signs(holding) if not self._mask(sign) & unwanted]
        chosen: list[Sign] = []
        left = wanted
        while left and usable and len(chosen) < MOST_ALTERNATIVES:
            sign = min(usable, key=lambda each: self._order(each, left, unwanted))
            if not self._mask(sign) & left:
                return None
            chosen.append(sign)
            left &= ~self._mask(sign)
        return self._candidate(tuple(chosen), wanted, unwanted) if chosen and not left else None

    def _signs(self, pages: Iterable[int]) -> frozenset[Sign]:
        return frozenset().union(*(self._sketches[number].signs for number in pages))

    def _mask(self, sign: Sign) -> int:
        if not KINDS[sign.kind].partial:
            return self._exact.get(sign, 0)
        if sign not in self._partial:
            said = self._said.get((sign.kind, sign.where), {})
            mask = 0
            for text, pages in said.items():
                if sign.text in text:
                    mask |= pages
            self._partial[sign] = mask
        return self._partial[sign]

    def _order(self, sign: Sign, wanted: int, unwanted: int) -> tuple[float, bool, int, bool, int, str]:
        """The shares of pages on which it misleads; whether it was seen only in passing; then stability,
        no numbers in it, brevity, and a fixed order.
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

    def _candidate(self, signs: tuple[Sign, ...], wanted: int, unwanted: int) -> IndicatorCandidate:
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


def as_line(condition: Condition) -> str:
    """A condition on one line, as it stands in a file of the knowledge base (JSON is YAML, too)."""
    return json.dumps(plain(condition), ensure_ascii=False)


def plain(condition: Condition) -> dict[str, object]:
    """A condition as a file of the knowledge base states it: its type, and what is not a default."""
    return {"type": condition.type, **condition.to_json()}


def _share(part: int, whole: int) -> float:
    return part.bit_count() / whole.bit_count() if whole else 0.0


def _bits(numbers: Iterable[int]) -> int:
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def _numbers(mask: int) -> Iterable[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
