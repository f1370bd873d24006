"""Selects the indicators of a screen by several rules, from the strictest to the most tolerant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loaders.screen_learner.page_evidence import PageEvidence, Trait
from loaders.screen_learner.signature_drafts import IndicatorDraft, SignatureDraft
from web_pages.page_profiles import PageFeature

STRONG = frozenset({"heading", "title", "label", "field", "column", "landmark", "test_id", "control"})
"""Kinds of features that may be required: names of the page, and its actions."""
CHIEF = frozenset({"heading", "title"})
_NAMES = frozenset({"field", "id", "test_id", "marker"})
"""Kinds whose values are for programs: equal values are no reason to leave one out."""
_PERMITTED = 0.45
"""The least trust in a required feature."""
_COMMON = 0.5


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """A rule of selection."""

    name: str
    address: bool = True
    """Whether the address counts."""
    query: bool = False
    """Whether the query counts even if the screen was seen at one address only."""
    unique: int = 4
    """The alternatives of the one required indicator, features of no other page; 0: none is required."""
    speaking: int = 8
    """The number of other indicators."""
    least: float = 1.0
    """The share of its pages that show a selected feature; below 1, features are joined to disjunctions."""
    threshold: float = 0.6
    marks: bool = False
    """Whether what marks its state must be shown, and what marks another state of the same address must not."""


SELECTION_RULES = (
    SelectionRule("unique signs, one of them required, and the marks of its state", marks=True),
    SelectionRule("unique signs, one of them required"),
    SelectionRule("unique signs, more alternatives, fewer needed", unique=6, least=0.7, threshold=0.5),
    SelectionRule("nothing required", unique=0),
    SelectionRule("few signs, nothing required", unique=0, speaking=3, threshold=0.5),
    SelectionRule("disjunctions", unique=6, speaking=4, least=0.3, threshold=0.5),
    SelectionRule("the query of the address", query=True),
    SelectionRule("unique signs wherever it is", address=False),
    SelectionRule(
        "unique signs wherever it is, fewer needed", address=False, unique=6, least=0.7, threshold=0.5
    ),
)
"""The rules in the order in which they are tried."""

_MARKS = frozenset({"state", "rows"})
"""Kinds that mark a state by what they are, not only by where they were seen."""
_MOST_MARKS = 3
_LEAST_VALUE = 0.2
_MOST_OF_A_KIND = 2
_LEAST_TRUST = 0.3
"""The trust below which a feature is used only if nothing else distinguishes a screen from a rival."""


class NoDistinguishingSign(Exception):
    """There is no draft; the reason in a few words. `rival`: the screen that it is not told apart from."""

    def __init__(self, reason: str, rival: str = "") -> None:
        self.reason, self.rival = reason, rival
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class _TraitValue:
    trait: Trait
    cover: float
    """The share of its own pages that show it."""
    abroad: float
    """The share of the other screens that show it."""
    near: float
    """The same for screens at the same address."""

    @property
    def value(self) -> float:
        return self.trait.trust * self.cover**2 * (1 - self.abroad) * (1 - 0.5 * self.near)

    @property
    def weight(self) -> float:
        """How well it separates."""
        value = self.trait.trust * self.cover * (1 - max(self.abroad, self.near * 0.8))
        return min(1.0, max(0.2, round(value, 2)))


def draft_signature(
    evidence: PageEvidence,
    own: int,
    within: int,
    way: SelectionRule,
    patterns: tuple[str, ...],
    traits: Sequence[Trait],
) -> SignatureDraft:
    """Return a signature for the pages `own`, selected from the pages `within`.

    Raises `NoDistinguishingSign`.
    """
    own &= within
    patterns = patterns if way.address else ()
    others = within & ~own
    rivals = others & evidence.at(patterns)
    valued = sorted(
        (_valued(evidence, each, own, within, rivals) for each in traits),
        key=_order,
    )
    usable = [each for each in valued if each.trait.trust >= _LEAST_TRUST and each.value >= _LEAST_VALUE]
    required = _required(usable, own, rivals, way, anywhere=not patterns)
    primary = tuple(_select_supporting(usable, own, way))
    if not required and not primary:
        primary = tuple(_select_fallback(valued, at_an_address=bool(patterns)))
    if not required and not primary and not patterns:
        raise NoDistinguishingSign("no lasting feature is on all of its pages and not on most others")
    # One page shows one state: others will have fewer of its features.
    threshold = way.threshold if own.bit_count() > 1 else min(way.threshold, 0.5)
    against: tuple[IndicatorDraft, ...] = ()
    if way.marks and patterns:
        marks, against = _select_marks(evidence, own, evidence.beside(own, patterns) & others)
        required = (*required, *marks)
    made = SignatureDraft(patterns, required, primary, against=against, threshold=threshold)
    return _against_rivals(evidence, made, valued, own, within)


def _order(each: _TraitValue) -> tuple[float, str, str, str]:
    """Return the sort key: the most valuable first."""
    return -each.value, each.trait.sign.kind, each.trait.sign.where, each.trait.sign.text


def _valued(evidence: PageEvidence, trait: Trait, own: int, within: int, rivals: int) -> _TraitValue:
    return _TraitValue(
        trait,
        _cover(trait, own),
        evidence.elsewhere(trait.mask, own, within),
        evidence.elsewhere(trait.mask, own, own | rivals) if rivals else 0.0,
    )


def _cover(trait: Trait, own: int) -> float:
    return (trait.mask & own).bit_count() / own.bit_count()


def _required(
    usable: Sequence[_TraitValue], own: int, rivals: int, way: SelectionRule, *, anywhere: bool
) -> tuple[IndicatorDraft, ...]:
    """Return features of several kinds that no possible rival shows, as alternatives.

    One of them survives most changes of a site. For a screen at any address: its names.
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
    alone = len(chosen) == 1  # it may disappear, and the address counts as well
    if not chosen or own & ~shown or (alone and not anywhere):
        return ()
    return (IndicatorDraft(tuple(each.trait.sign for each in chosen)),)


def _select_marks(
    evidence: PageEvidence, own: int, beside: int
) -> tuple[tuple[IndicatorDraft, ...], tuple[IndicatorDraft, ...]]:
    """Return what marks the state of these pages and no other at this address, and what marks those others.

    Pages that have no heading, field, column or button in common, but for those of most pages of the site, are no
    states of one page.
    """
    elsewhere = evidence.all & ~own & ~beside
    parts = [part for _, part in evidence.groups(beside) if evidence.are_alike(own | part, elsewhere)]
    if not parts:
        return (), ()
    beside = sum(parts)
    marks = [each for each in evidence.state_traits(own) if _marks(each, own, beside)]
    required = (IndicatorDraft(tuple(each.sign for each in marks[:_MOST_MARKS])),) if marks else ()
    against: list[IndicatorDraft] = []
    for part in parts:
        theirs = [each for each in evidence.state_traits(part) if _marks(each, part, own)]
        best = {each.sign.kind: each.sign for each in reversed(theirs)}
        if theirs and (clue := IndicatorDraft(tuple(best.values()))) not in against:
            against.append(clue)
    return required, tuple(against)


def _marks(trait: Trait, pages: int, others: int) -> bool:
    return trait.sign.kind in _MARKS and not pages & ~trait.mask and not trait.mask & others


def _may_be_required(each: _TraitValue, rivals: int, way: SelectionRule) -> bool:
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


def _select_supporting(
    usable: Sequence[_TraitValue], own: int, way: SelectionRule
) -> Iterator[IndicatorDraft]:
    whole = [each for each in usable if each.cover >= (1.0 if way.least == 1.0 else max(way.least, 0.7))]
    chosen = [*_diverse(whole, way.speaking, of_a_kind=_MOST_OF_A_KIND)]
    yield from (IndicatorDraft((each.trait.sign,), each.weight) for each in chosen)
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
            yield IndicatorDraft(
                tuple(part.trait.sign for part in joined), min(part.weight for part in joined)
            )
            return


def _select_fallback(valued: Sequence[_TraitValue], *, at_an_address: bool) -> Iterator[IndicatorDraft]:
    """Return the best features if none is good: at a unique address, lasting ones suffice."""
    steady = [
        each
        for each in valued
        if each.cover == 1.0 and not each.trait.passing and (at_an_address or each.abroad < _COMMON)
    ]
    yield from (IndicatorDraft((each.trait.sign,), each.weight) for each in _diverse(steady, 3, of_a_kind=1))


def _diverse(valued: Sequence[_TraitValue], most: int, *, of_a_kind: int) -> Iterator[_TraitValue]:
    """Return the best features with different texts, and not too many of a kind."""
    kinds: Counter[str] = Counter()
    chosen: dict[bool, set[str]] = {True: set(), False: set()}
    found = 0
    for each in valued:
        kind, words = each.trait.sign.kind, each.trait.words
        if kinds[kind] >= of_a_kind or any(
            words in other or other in words for other in chosen[kind in _NAMES]
        ):
            continue
        yield each
        kinds[kind] += 1
        chosen[kind in _NAMES].add(words)
        found += 1
        if found == most:
            return


def _against_rivals(
    evidence: PageEvidence, made: SignatureDraft, valued: Sequence[_TraitValue], own: int, within: int
) -> SignatureDraft:
    """Add indicators that reject the remaining rivals: features they lack, else features they show."""
    taken_in = made.accepted(evidence, within) & ~own
    if not taken_in:
        return made
    states = [_TraitValue(each, _cover(each, own), 0.0, 0.0) for each in evidence.state_traits(own)]
    lacking = (
        _find_signs_rivals_lack(valued, own, taken_in, _PERMITTED)
        or _find_signs_rivals_lack(states, own, taken_in, _LEAST_TRUST)
        or _find_signs_rivals_lack(valued, own, taken_in, _LEAST_TRUST)
    )
    if lacking is not None:
        made = SignatureDraft(
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
        clue = _find_rival_signs(evidence, part, own)
        if clue is None:
            where = " at the same address" if made.patterns else ""
            raise NoDistinguishingSign(
                f"nothing distinguishes it from {name or 'a page of no screen'}{where}", name
            )
        if clue not in against:
            against.append(clue)
    return SignatureDraft(
        made.patterns, made.required, made.primary, made.optional, tuple(against), made.threshold
    )


def _find_signs_rivals_lack(
    valued: Sequence[_TraitValue], own: int, rivals: int, least_trust: float
) -> IndicatorDraft | None:
    """Return up to three features that the rivals lack and that together all its pages show."""
    usable = [each for each in valued if each.trait.trust >= least_trust and not each.trait.mask & rivals]
    whole = [each for each in usable if each.cover == 1.0]
    if whole:
        return IndicatorDraft(tuple(each.trait.sign for each in _diverse(whole, 3, of_a_kind=1)))
    chosen: list[_TraitValue] = []
    left = own
    while left and usable and len(chosen) < 3:
        best = max(usable, key=lambda each: ((each.trait.mask & left).bit_count(), each.trait.trust))
        if not best.trait.mask & left:
            return None
        chosen.append(best)
        left &= ~best.trait.mask
    return IndicatorDraft(tuple(each.trait.sign for each in chosen)) if chosen and not left else None


def _find_rival_signs(evidence: PageEvidence, rivals: int, own: int) -> IndicatorDraft | None:
    """Return up to three features that together all rivals show and none of its own pages."""
    usable = [
        each for each in (*evidence.traits(rivals), *evidence.state_traits(rivals)) if not each.mask & own
    ]
    usable.sort(key=lambda each: (each.passing, -each.trust, each.sign.kind, each.sign.where, each.sign.text))
    chosen: list[PageFeature] = []
    left = rivals
    while left and usable and len(chosen) < 3:
        best = max(usable, key=lambda each: (each.mask & left).bit_count() * (0.1 + each.trust))
        if not best.mask & left:
            return None
        chosen.append(best.sign)
        left &= ~best.mask
    return IndicatorDraft(tuple(chosen)) if chosen and not left else None
