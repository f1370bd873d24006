"""Which element of a look is the one that is known: found, not there, or ambiguous.

A pure function over fingerprints. The one chosen must be judged the same (`judging`), reach a score,
and lead clearly over every other that is not ruled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.healing.judging import Judgement, judge, leads_to, of_one_kind
from kb_schema.fingerprints import UNSURE, FieldMatch, Fingerprint


@dataclass(frozen=True, slots=True)
class Demand:
    """How sure one must be."""

    least_score: float = 0.4
    """Similarity below which nothing is taken."""
    least_lead: float = 0.25
    """How clearly what tells it from any other that is not ruled out speaks for it (`lead_over`)."""

    @property
    def stricter(self) -> Demand:
        """For what cannot be taken back (DESIGN 6)."""
        return Demand(self.least_score + 0.1, self.least_lead + 0.2)


USUAL = Demand()


class Outcome(StrEnum):
    """What a search came to."""

    FOUND = "found"
    NOT_FOUND = "not_found"
    AMBIGUOUS = "ambiguous"
    """Two or more are close: a person or an inferencer decides."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An element of the look, as it was judged."""

    at: int
    """Its place in the index."""
    seen: Fingerprint
    judgement: Judgement

    @property
    def score(self) -> float:
        """Its similarity."""
        return self.judgement.similarity.score


@dataclass(frozen=True, slots=True)
class Match:
    """What was found, and what else came near."""

    outcome: Outcome
    best: Candidate | None
    """The one that was found; else the one that came nearest."""
    rivals: tuple[Candidate, ...]
    """Others that came near, nearest first."""
    reason: str
    lead: float = 0.0
    """Over the nearest of them (`lead_over`)."""


MOST_RIVALS = 5


def find_again(
    known: Fingerprint,
    candidates: Iterable[tuple[int, Fingerprint]],
    demand: Demand = USUAL,
    *,
    others: Sequence[Fingerprint] = (),
) -> Match:
    """The candidate that is the known element.

    `others` are the other known elements of the page: what is surely one of them is not looked at.
    """
    judged = [Candidate(at, seen, judge(known, seen)) for at, seen in candidates if of_one_kind(known, seen)]
    possible = [
        each for each in judged
        if not each.judgement.contradictions and not _is_one_of(each.seen, others, known)
    ]  # fmt: skip
    possible.sort(key=lambda each: (-each.score, each.at))
    if not possible:
        return Match(Outcome.NOT_FOUND, None, (), "nothing on the page could be it")
    good = [each for each in possible if each.judgement.same and each.score >= demand.least_score]
    if not good:
        best = possible[0]
        why = best.judgement.evidence if not best.judgement.same else f"only {best.score:.2f} alike"
        return Match(Outcome.NOT_FOUND, best, tuple(possible[1 : MOST_RIVALS + 1]), f"the nearest: {why}")
    best = good[0]
    others_left = (each for each in possible if each is not best and not _same_address(best.seen, each.seen))
    rivals = sorted(others_left, key=lambda each: lead_over(best, each) - _lead_asked(best, each, demand))
    nearest = tuple(rivals[:MOST_RIVALS])
    lead = lead_over(best, nearest[0]) if nearest else 1.0
    if nearest and lead <= _lead_asked(best, nearest[0], demand):
        return Match(Outcome.AMBIGUOUS, best, nearest, f"its lead of {lead:.2f} is too small", lead)
    return Match(Outcome.FOUND, best, nearest, best.judgement.evidence, lead)


def lead_over(best: Candidate, rival: Candidate) -> float:
    """How clearly the fields in which two candidates differ speak for the first: -1 to 1.

    Fields that both agree in equally say nothing, however many they are; what one of them does not
    have counts as half alike.
    """
    mine = {each.field: each for each in best.judgement.similarity.fields}
    its = {each.field: each for each in rival.judgement.similarity.fields}
    speaks = [
        (mine.get(field) or its[field]).weight * (_likeness(mine.get(field)) - _likeness(its.get(field)))
        for field in mine.keys() | its.keys()
    ]
    return sum(speaks) / (sum(map(abs, speaks)) + UNSURE)


def _lead_asked(best: Candidate, rival: Candidate, demand: Demand) -> float:
    """Less over what could hardly be it: what has fewer of the things that tell it."""
    if rival.judgement.same:
        return demand.least_lead
    return demand.least_lead * min(1.0, len(rival.judgement.anchors) / max(1, len(best.judgement.anchors)))


def _likeness(field: FieldMatch | None) -> float:
    return 0.5 if field is None else field.likeness


def _same_address(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether it makes no difference which of two links is followed."""
    return leads_to(one) is not None and leads_to(one) == leads_to(other)


def _is_one_of(seen: Fingerprint, others: Sequence[Fingerprint], known: Fingerprint) -> bool:
    """Whether it is, to the word, another known element and not this one."""
    if (seen.role, seen.name) == (known.role, known.name):
        return False
    return any(seen.name and (seen.role, seen.name) == (other.role, other.name) for other in others)
