"""Which signs a screen is known by: ways of choosing them, the most telling first, the most tolerant last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kb_schema.pages.sketch import Sign
from loaders.signatures.drafts import Clue, Draft
from loaders.signatures.evidence import Evidence, Trait

STRONG = frozenset({"heading", "title", "label", "field", "column", "landmark", "test_id", "control"})
"""Kinds of signs that may be required: what a page is called and what one can do there."""
CHIEF = frozenset({"heading", "title"})
_NAMES = frozenset({"field", "id", "test_id", "marker"})
"""Kinds whose words are for programs: that they say the same as others is no reason to leave them out."""
_PERMITTED = 0.45
"""Least trust in what is required."""
_COMMON = 0.5


@dataclass(frozen=True, slots=True)
class Way:
    """One way of choosing."""

    name: str
    address: bool = True
    """Whether the address counts."""
    query: bool = False
    """Whether its query does even where it was seen at one address only."""
    unique: int = 4
    """Alternatives of the one required indicator, of signs that no other page shows; 0: none is required."""
    speaking: int = 8
    """Indicators that speak for the screen."""
    least: float = 1.0
    """Share of its pages that show a sign that is taken; below 1, signs are joined to disjunctions."""
    threshold: float = 0.6


WAYS = (
    Way("unique signs, one of them required"),
    Way("unique signs, more alternatives, fewer needed", unique=6, least=0.7, threshold=0.5),
    Way("nothing required", unique=0),
    Way("few signs, nothing required", unique=0, speaking=3, threshold=0.5),
    Way("disjunctions", unique=6, speaking=4, least=0.3, threshold=0.5),
    Way("the query of the address", query=True),
    Way("unique signs wherever it is", address=False),
    Way("unique signs wherever it is, fewer needed", address=False, unique=6, least=0.7, threshold=0.5),
)
"""What is tried, in this order."""

_LEAST_VALUE = 0.2
_MOST_OF_A_KIND = 2
_LEAST_TRUST = 0.3
"""Below it, a sign is taken only where nothing else tells a screen from a rival."""


class NothingTells(Exception):
    """No draft: what is lacking, in a few words."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class _Valued:
    trait: Trait
    cover: float
    """Share of its own pages that show it."""
    abroad: float
    """Share of the other screens that do."""
    near: float
    """... of those at the same address."""

    @property
    def value(self) -> float:
        return self.trait.trust * self.cover**2 * (1 - self.abroad) * (1 - 0.5 * self.near)

    @property
    def weight(self) -> float:
        """How well it separates."""
        told = self.trait.trust * self.cover * (1 - max(self.abroad, self.near * 0.8))
        return min(1.0, max(0.2, round(told, 2)))


def draft(
    evidence: Evidence, own: int, within: int, way: Way, patterns: tuple[str, ...], traits: Sequence[Trait]
) -> Draft:
    """A signature for the pages `own`, chosen by the pages `within`. Raises `NothingTells`."""
    own &= within
    patterns = patterns if way.address else ()
    others = within & ~own
    rivals = others & evidence.at(patterns)
    valued = sorted(
        (_valued(evidence, each, own, within, rivals) for each in traits),
        key=lambda each: (-each.value, each.trait.sign.kind, each.trait.sign.where, each.trait.sign.text),
    )
    usable = [each for each in valued if each.trait.trust >= _LEAST_TRUST and each.value >= _LEAST_VALUE]
    required = _required(usable, own, rivals, way, anywhere=not patterns)
    primary = tuple(_speaking(usable, own, way))
    if not required and not primary:
        primary = tuple(_whatever(valued, at_an_address=bool(patterns)))
    if not required and not primary and not patterns:
        raise NothingTells("nothing that lasts is on all of its pages and not on most others, too")
    # One page shows one state: of what it has, less will be on others.
    threshold = way.threshold if own.bit_count() > 1 else min(way.threshold, 0.5)
    made = Draft(patterns, required, primary, threshold=threshold)
    return _against_rivals(evidence, made, valued, own, within)


def _valued(evidence: Evidence, trait: Trait, own: int, within: int, rivals: int) -> _Valued:
    return _Valued(
        trait,
        (trait.mask & own).bit_count() / own.bit_count(),
        evidence.elsewhere(trait.mask, own, within),
        evidence.elsewhere(trait.mask, own, own | rivals) if rivals else 0.0,
    )


def _required(
    usable: Sequence[_Valued], own: int, rivals: int, way: Way, *, anywhere: bool
) -> tuple[Clue, ...]:
    """Any of some signs that no other page shows where the screen may be, of several kinds: one of them
    outlives most changes. Of a screen that may be anywhere, what it is called.
    """
    if not way.unique:
        return ()
    pool = [each for each in usable if _may_be_required(each, rivals, way)]
    called = [each for each in pool if each.trait.sign.kind in CHIEF]
    chosen = list(
        _diverse(called if anywhere and called else pool, way.unique, of_a_kind=1 if way.unique < 6 else 2)
    )
    shown = 0
    for each in chosen:
        shown |= each.trait.mask
    alone = len(chosen) == 1  # it may be gone one day, and the address speaks as well
    if not chosen or own & ~shown or (alone and not anywhere):
        return ()
    return (Clue(tuple(each.trait.sign for each in chosen)),)


def _may_be_required(each: _Valued, rivals: int, way: Way) -> bool:
    sign = each.trait.sign
    a_link = sign.kind == "control" and sign.where == "link"
    return (
        sign.kind in STRONG
        and not a_link
        and each.trait.trust >= _PERMITTED
        and each.cover >= way.least
        and each.abroad < _COMMON
        and not each.trait.mask & rivals
    )


def _speaking(usable: Sequence[_Valued], own: int, way: Way) -> Iterator[Clue]:
    whole = [each for each in usable if each.cover >= (1.0 if way.least == 1.0 else max(way.least, 0.7))]
    chosen = [*_diverse(whole, way.speaking, of_a_kind=_MOST_OF_A_KIND)]
    yield from (Clue((each.trait.sign,), each.weight) for each in chosen)
    if way.least >= 0.7 or len(chosen) >= way.speaking:
        return
    taken = {each.trait.sign for each in chosen}
    left, joined = own, []
    for each in usable:
        if each.trait.sign in taken or each.abroad or not each.trait.mask & left:
            continue
        joined.append(each)
        left &= ~each.trait.mask
        if not left:
            yield Clue(tuple(part.trait.sign for part in joined), min(part.weight for part in joined))
            return


def _whatever(valued: Sequence[_Valued], *, at_an_address: bool) -> Iterator[Clue]:
    """The best there is, where nothing is good: at an address of its own, what lasts on its pages will do."""
    steady = [
        each
        for each in valued
        if each.cover == 1.0 and not each.trait.passing and (at_an_address or each.abroad < _COMMON)
    ]
    yield from (Clue((each.trait.sign,), each.weight) for each in _diverse(steady, 3, of_a_kind=1))


def _diverse(valued: Sequence[_Valued], most: int, *, of_a_kind: int) -> Iterator[_Valued]:
    """The best, each saying something else, not too many of a kind."""
    kinds: Counter[str] = Counter()
    said: dict[bool, set[str]] = {True: set(), False: set()}
    found = 0
    for each in valued:
        kind, words = each.trait.sign.kind, each.trait.words
        if kinds[kind] >= of_a_kind or any(
            words in other or other in words for other in said[kind in _NAMES]
        ):
            continue
        yield each
        kinds[kind] += 1
        said[kind in _NAMES].add(words)
        found += 1
        if found == most:
            return


def _against_rivals(
    evidence: Evidence, made: Draft, valued: Sequence[_Valued], own: int, within: int
) -> Draft:
    """With what rejects the others that it would still hold on: something they lack, else something they show."""
    taken_in = made.accepted(evidence, within) & ~own
    if not taken_in:
        return made
    lacking = _lacking(valued, own, taken_in)
    if lacking is not None:
        made = Draft(
            made.patterns,
            (*made.required, lacking),
            made.primary,
            made.optional,
            made.against,
            made.threshold,
        )
        taken_in = made.accepted(evidence, within) & ~own
    against = list(made.against)
    for name, part in evidence.groups(taken_in):
        clue = _shown_only(evidence, part, own)
        if clue is None:
            where = " at the same address" if made.patterns else ""
            raise NothingTells(f"nothing tells it from {name or 'a page of no screen'}{where}")
        if clue not in against:
            against.append(clue)
    return Draft(made.patterns, made.required, made.primary, made.optional, tuple(against), made.threshold)


def _lacking(valued: Sequence[_Valued], own: int, rivals: int) -> Clue | None:
    """Any of up to three signs that the rivals lack, shown by all its pages."""
    usable = [each for each in valued if each.trait.trust >= _LEAST_TRUST and not each.trait.mask & rivals]
    whole = [each for each in usable if each.cover == 1.0]
    if whole:
        return Clue(tuple(each.trait.sign for each in _diverse(whole, 3, of_a_kind=1)))
    chosen: list[_Valued] = []
    left = own
    while left and usable and len(chosen) < 3:
        best = max(usable, key=lambda each: ((each.trait.mask & left).bit_count(), each.trait.trust))
        if not best.trait.mask & left:
            return None
        chosen.append(best)
        left &= ~best.trait.mask
    return Clue(tuple(each.trait.sign for each in chosen)) if chosen and not left else None


def _shown_only(evidence: Evidence, rivals: int, own: int) -> Clue | None:
    """What all of the rivals show and none of its own pages; up to three signs, where no single one will do."""
    usable = [each for each in evidence.traits(rivals) if not each.mask & own]
    usable.sort(key=lambda each: (each.passing, -each.trust, each.sign.kind, each.sign.where, each.sign.text))
    chosen: list[Sign] = []
    left = rivals
    while left and usable and len(chosen) < 3:
        best = max(usable, key=lambda each: (each.mask & left).bit_count() * (0.1 + each.trust))
        if not best.mask & left:
            return None
        chosen.append(best.sign)
        left &= ~best.mask
    return Clue(tuple(chosen)) if chosen and not left else None
