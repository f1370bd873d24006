"""Finds an element all of whose words changed: the one left in its place, if its neighbours are as they were.

Elements that stood beside it are no candidates, since they are known. What may not be repeated is found only by an
identifier that stayed. Where the evidence is not enough to act, the candidate is offered to a person.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.healing.fingerprint_comparison import (
    SAME_CONTEXT,
    FingerprintComparison,
    compare_fingerprints,
    kind_of,
)
from agent.healing.fingerprint_search import is_named_as, keeps_identifier, list_search_candidates
from agent.healing.recorded_words import (
    ANY_ACT,
    bears_words,
    find_harm,
    list_harms,
    list_other_acts,
    read_words,
)
from agent.locators.page_index import PageIndex
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import words

_IDENTIFIERS = ("test id", "id", "name attribute")
_MOST_OFFERED = 3
_ANY_BUTTON = ANY_ACT | {"go", "button", "btn", "action", "primary"}
"""Words of which an id says nothing of what its button does."""


@dataclass(frozen=True, slots=True)
class ActRisk:
    """What is known of the act that is done on the element."""

    repeatable: bool
    """Doing it twice, or on another element, changes no data."""
    checked: bool
    """The step has an expected outcome, so that a wrong element is noticed."""


@dataclass(frozen=True, slots=True)
class RewordedCandidate:
    """An element that may be the one, and why."""

    at: int
    seen: Fingerprint
    judgement: FingerprintComparison
    support: tuple[str, ...]
    against: tuple[str, ...]
    """Empty: it is taken for the element."""
    harmful: bool = False
    """Its words undo, oppose or harm more than the recorded ones."""

    @property
    def rank(self) -> tuple[int, float]:
        """Order candidates: the reasons, of which an identifier weighs most, then the similarity."""
        return len(self.support) + 2 * ("identifier" in self.support), self.judgement.similarity.score


def find_reworded(
    index: PageIndex, known: Fingerprint, risk: ActRisk, *, others: Sequence[Fingerprint] = ()
) -> tuple[RewordedCandidate, ...]:
    """Return the elements that may be the known one under other words, the best first.

    Empty if none leads. The first is to be used only if nothing is `against` it. `others` are known elements that
    it is not.
    """
    if known.place is None:
        return ()
    rivals = _list_rivals(index, known, others)
    found = sorted(
        (_judge(index, known, at, seen, risk, rivals) for at, seen in rivals),
        key=lambda each: each.rank, reverse=True,
    )  # fmt: skip
    found = [each for each in found if _has_standing(known, each)]
    if not found or (len(found) > 1 and found[0].rank[0] == found[1].rank[0]):
        return ()
    return tuple(found[:_MOST_OFFERED])


def _list_rivals(
    index: PageIndex, known: Fingerprint, others: Sequence[Fingerprint]
) -> list[tuple[int, Fingerprint]]:
    """Return the elements of its kind that are not known as another one."""
    fellows = {words(each) for each in known.neighbours}
    return [
        (at, seen)
        for at, seen in list_search_candidates(index, known)
        if index.elements[at].visible
        and kind_of(seen) == kind_of(known)
        and bool(seen.words or seen.icon or not known.words)
        and (seen.role == known.role or kind_of(known) == "press")
        and (seen.name is None or words(seen.name) not in fellows)
        and not any(is_named_as(seen, each) and not keeps_identifier(known, seen, each) for each in others)
    ]


def _has_standing(known: Fingerprint, each: RewordedCandidate) -> bool:
    """Whether it is more than any element of its kind: by an identifier, its place among its neighbours, or, if it
    had none, as the only one in its place of the very same region. Of a field: also as the only one left of its kind
    among its neighbours, wherever it stands among them.
    """
    support = set(each.support)
    left = kind_of(known) not in (None, "press") and {"only one", "neighbours"} <= support
    alone = not known.neighbours and bool(known.region) and known.region == each.seen.region
    return (
        "identifier" in support
        or left
        or {"place", "neighbours"} <= support
        or (alone and {"place", "only one"} <= support)
    )


def _judge(
    index: PageIndex,
    known: Fingerprint,
    at: int,
    seen: Fingerprint,
    risk: ActRisk,
    rivals: Sequence[tuple[int, Fingerprint]],
) -> RewordedCandidate:
    judged = compare_fingerprints(known, seen)
    support = tuple(_list_support(known, seen, judged, rivals))
    against = tuple(_list_against(index, known, at, seen, judged, risk, support))
    return RewordedCandidate(at, seen, judged, support, against, find_harm(known, seen) is not None)


def _list_support(
    known: Fingerprint,
    seen: Fingerprint,
    judged: FingerprintComparison,
    rivals: Sequence[tuple[int, Fingerprint]],
) -> Iterator[str]:
    if _shares_identifier(known, seen, judged, rivals):
        yield "identifier"
    fellows = _words_of(known)
    if fellows and len(fellows & _words_of(seen)) * 2 >= len(fellows):
        yield "neighbours"
    if _is_in_region(known, seen, judged):
        yield "region"
        alike = [each for _, each in rivals if each.region == seen.region and each.role == known.role]
        if seen.role == known.role and len(alike) == 1 and _has_same_row(known, seen):
            yield "only one"
        if seen.place == known.place and _has_same_row(known, seen):
            yield "place"


def _is_surely_in_place(seen: Fingerprint, judged: FingerprintComparison, support: tuple[str, ...]) -> bool:
    """Whether all around it agrees, and an identifier that stayed says more than that it is a button."""
    telling = any(
        judged.similarity.likeness(name) == 1.0 and not set(words(_read(seen, name) or "")) <= _ANY_BUTTON
        for name in _IDENTIFIERS
    )
    return telling and {"neighbours", "region", "place"} <= set(support)


def _words_of(known: Fingerprint) -> set[tuple[str, ...]]:
    return {words(each) for each in known.neighbours if words(each)}


def _shares_identifier(
    known: Fingerprint,
    seen: Fingerprint,
    judged: FingerprintComparison,
    rivals: Sequence[tuple[int, Fingerprint]],
) -> bool:
    """Whether an identifier is equal that no other candidate of its row, or of the page, has."""
    for name in _IDENTIFIERS:
        if judged.similarity.likeness(name) == 1.0:
            bearers = [each for _, each in rivals if _read(each, name) == _read(seen, name)]
            if len(bearers) == 1 or (known.row and _has_same_row(known, seen)):
                return True
    return False


def _read(known: Fingerprint, field: str) -> str | None:
    return known.test_id if field == "test id" else known.attributes.get(field.removesuffix(" attribute"))


def _has_same_row(known: Fingerprint, seen: Fingerprint) -> bool:
    """Whether both are in no row, or both in the row of one entry."""
    if not known.row and not seen.row:
        return True
    return bool(known.key and set(known.key) & {*seen.row, *seen.key}) or set(known.row) == set(seen.row)


def _is_in_region(known: Fingerprint, seen: Fingerprint, judged: FingerprintComparison) -> bool:
    """Whether its region is alike, or is called otherwise (a dialog that asks in other words) and has all neighbours."""
    alike = judged.similarity.likeness("region")
    if alike is None or alike >= SAME_CONTEXT:
        return True
    kinds = [[each.partition(" ")[0] for each in one.region] for one in (known, seen)]
    return kinds[0] == kinds[1] and bool(_words_of(known)) and _words_of(known) <= _words_of(seen)


def _list_against(
    index: PageIndex,
    known: Fingerprint,
    at: int,
    seen: Fingerprint,
    judged: FingerprintComparison,
    risk: ActRisk,
    support: tuple[str, ...],
) -> Iterator[str]:
    ours, theirs = read_words(known), read_words(seen)
    presses = kind_of(known) in (None, "press")
    if ours is not None and bears_words(index, at, known, ours):
        yield f"{ours!r} is elsewhere on the page"
    verbs = tuple(list_other_acts(ours, theirs)) if presses and ours and theirs else ()
    if presses and ours and theirs:
        harms = tuple(list_harms(ours, theirs))
        safe = "identifier" in support and (risk.repeatable or _is_surely_in_place(seen, judged, support))
        yield from dict.fromkeys(harms if safe else (*harms, *verbs))
    yield from (each for each in judged.contradictions if each not in verbs)
    alone = not presses and {"identifier", "only one", "place"} <= set(support)
    missing = [each for each in ("neighbours", "region") if each not in support and not alone]
    if known.neighbours and missing:
        yield f"not the same: its {' and its '.join(missing)}"
    if "identifier" not in support:
        if presses and not risk.repeatable:
            yield "no identifier stayed, and pressing it may change data"
        elif not {"only one", "place"} <= set(support) or not known.neighbours:
            yield "no identifier stayed, and others could be it"
        elif not presses and not _words_of(known) <= _words_of(seen):
            yield "no identifier stayed, and some of its neighbours are not the same"
    if presses and not risk.checked:
        yield "nothing is expected of the step, so that a wrong element would not be noticed"
