"""Finds the element of a page index that is the known one: found, not there, or ambiguous.

Running, verifying and optimizing all search here. The chosen element must be judged the same
(`fingerprint_comparison`), reach a score, and lead clearly over every other that is not ruled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.healing.fingerprint_comparison import (
    SAME_PLACE,
    FingerprintComparison,
    compare_fingerprints,
    is_same_kind,
    read_link_target,
)
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex, RegionKind
from kb_schema.fingerprint_similarity import UNSURE, FieldMatch
from kb_schema.fingerprints import Fingerprint
from kb_schema.text_similarity import is_destructive


@dataclass(frozen=True, slots=True)
class SearchThresholds:
    """How certain a match must be."""

    least_score: float = 0.4
    """Least similarity of a match."""
    least_lead: float = 0.25
    """Least lead over every other candidate that is not ruled out (`compute_lead`)."""

    @property
    def stricter(self) -> SearchThresholds:
        """The thresholds for actions that cannot be undone."""
        return SearchThresholds(self.least_score + 0.1, self.least_lead + 0.2)


DEFAULT_THRESHOLDS = SearchThresholds()


class SearchOutcome(StrEnum):
    """The outcome of a search."""

    FOUND = "found"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    """Two or more candidates are close: a person or an inferencer decides."""


@dataclass(frozen=True, slots=True)
class FingerprintCandidate:
    """An element of a page index with its comparison."""

    at: int
    """Its position in the index."""
    seen: Fingerprint
    judgement: FingerprintComparison

    @property
    def score(self) -> float:
        """Its similarity to the known element."""
        return self.judgement.similarity.score


@dataclass(frozen=True, slots=True)
class FingerprintMatch:
    """The result of a search, with the nearest other candidates."""

    outcome: SearchOutcome
    best: FingerprintCandidate | None
    """The element that was found, else the nearest candidate."""
    rivals: tuple[FingerprintCandidate, ...]
    """Other candidates, nearest first."""
    reason: str
    lead: float = 0.0
    """Lead over the nearest of them (`compute_lead`)."""


MOST_RIVALS = 5


def find_fingerprint(
    known: Fingerprint,
    candidates: Iterable[tuple[int, Fingerprint]],
    demand: SearchThresholds = DEFAULT_THRESHOLDS,
    *,
    others: Sequence[Fingerprint] = (),
) -> FingerprintMatch:
    """Return the candidate that is the known element.

    `others` are the other known elements of the page: a candidate that is certainly one of them is left out.
    """
    judged = [
        FingerprintCandidate(at, seen, compare_fingerprints(known, seen))
        for at, seen in candidates
        if is_same_kind(known, seen)
    ]
    possible = [
        each
        for each in judged
        if not each.judgement.contradictions and not _is_one_of(each.seen, others, known)
    ]
    possible.sort(key=lambda each: (-each.score, each.at))
    if not possible:
        return FingerprintMatch(SearchOutcome.NOT_FOUND, None, (), "nothing on the page could be it")
    good = [each for each in possible if each.judgement.same and each.score >= demand.least_score]
    if not good:
        best = possible[0]
        why = best.judgement.evidence if not best.judgement.same else f"only {best.score:.2f} alike"
        return FingerprintMatch(
            SearchOutcome.NOT_FOUND, best, tuple(possible[1 : MOST_RIVALS + 1]), f"the nearest: {why}"
        )
    best = good[0]
    others_left = (each for each in possible if each is not best and not _same_address(best.seen, each.seen))
    rivals = sorted(others_left, key=lambda each: compute_lead(best, each) - _lead_asked(best, each, demand))
    nearest = tuple(rivals[:MOST_RIVALS])
    lead = compute_lead(best, nearest[0]) if nearest else 1.0
    if nearest and lead <= _lead_asked(best, nearest[0], demand):
        return FingerprintMatch(
            SearchOutcome.AMBIGUOUS, best, nearest, f"its lead of {lead:.2f} is too small", lead
        )
    return FingerprintMatch(SearchOutcome.FOUND, best, nearest, best.judgement.evidence, lead)


def find_in_index(
    index: PageIndex,
    known: Fingerprint,
    demand: SearchThresholds = DEFAULT_THRESHOLDS,
    *,
    others: Sequence[Fingerprint] = (),
    visible_only: bool = False,
) -> FingerprintMatch:
    """Return the element of a page index that is the known one.

    `others` are fingerprints of elements that it is not. `visible_only` leaves out hidden text: set it where
    the result stands for something that a test reads, since a test must not pass on text that is not shown.
    """
    return find_fingerprint(
        known, list_search_candidates(index, known, visible_only=visible_only), demand, others=others
    )


def list_search_candidates(
    index: PageIndex, known: Fingerprint, *, visible_only: bool = False
) -> list[tuple[int, Fingerprint]]:
    """The elements that may be the known one: those that can be operated, or, for an element that is only
    read, everything with its tag.
    """
    prints = PageFingerprints(index)
    if known.place is not None:
        return list(prints.all())
    return [
        (each.at, prints.of(each.at))
        for each in index.elements
        if each.tag == known.tag and (each.visible or not visible_only)
    ]


def compute_lead(best: FingerprintCandidate, rival: FingerprintCandidate) -> float:
    """Return how clearly the fields in which two candidates differ support the first: -1 to 1.

    Fields in which both match equally well are ignored; a missing field counts as half a match.
    """
    mine = {each.field: each for each in best.judgement.similarity.fields}
    its = {each.field: each for each in rival.judgement.similarity.fields}
    speaks = [
        (mine.get(field) or its[field]).weight * (_likeness(mine.get(field)) - _likeness(its.get(field)))
        for field in mine.keys() | its.keys()
    ]
    return sum(speaks) / (sum(map(abs, speaks)) + UNSURE)


def _lead_asked(best: FingerprintCandidate, rival: FingerprintCandidate, demand: SearchThresholds) -> float:
    """Return the lead that is needed: less over a rival that matches fewer identifying features."""
    if rival.judgement.same:
        return demand.least_lead
    return demand.least_lead * min(1.0, len(rival.judgement.anchors) / max(1, len(best.judgement.anchors)))


def _likeness(field: FieldMatch | None) -> float:
    return 0.5 if field is None else field.likeness


def _same_address(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two links lead to the same address."""
    return read_link_target(one) is not None and read_link_target(one) == read_link_target(other)


def _is_one_of(seen: Fingerprint, others: Sequence[Fingerprint], known: Fingerprint) -> bool:
    """Whether its role and name are exactly those of another known element."""
    if (seen.role, seen.name) == (known.role, known.name):
        return False
    return any(is_named_as(seen, other) and not keeps_identifier(known, seen, other) for other in others)


def is_named_as(seen: Fingerprint, other: Fingerprint) -> bool:
    """Return whether both have the same role and name."""
    return bool(seen.name) and (seen.role, seen.name) == (other.role, other.name)


def keeps_identifier(known: Fingerprint, seen: Fingerprint, other: Fingerprint) -> bool:
    """Return whether a test id or id is the known element's own, and not that of the other one: the known element has
    the other one's words now.
    """
    pairs = [
        (known.test_id, seen.test_id, other.test_id),
        (known.attributes.get("id"), seen.attributes.get("id"), other.attributes.get("id")),
    ]
    return any(ours is not None and ours == now and ours != its for ours, now, its in pairs)


def find_by_same_address(prints: PageFingerprints, known: Fingerprint) -> int | None:
    """Return the position of the one link with the same address in the same surroundings, whatever its text.

    The address suffices because a link is only followed. Destructive links are never found this way.
    """
    address = read_link_target(known)
    if address is None or is_destructive(address) or any(map(is_destructive, known.words)):
        return None
    found = [
        at
        for at, seen in prints.all()
        if read_link_target(seen) == address
        and (seen.tag, seen.role) == (known.tag, known.role)
        and (compare_fingerprints(known, seen).context or 0.0) >= SAME_PLACE
    ]
    return found[0] if len(found) == 1 else None


def list_fingerprints_outside_dialog(prints: PageFingerprints, known: Fingerprint) -> tuple[Fingerprint, ...]:
    """Return everything outside of dialogs, if the known element was in one and a dialog is open now.

    The known element is certainly none of these.
    """
    if not _in_dialog(known):
        return ()
    seen = [each for _, each in prints.all()]
    return tuple(each for each in seen if not _in_dialog(each)) if any(map(_in_dialog, seen)) else ()


def _in_dialog(seen: Fingerprint) -> bool:
    return any(said.split(" ", 1)[0] == RegionKind.DIALOG for said in seen.region)
