"""Which element of a look is the one that is known: found, not there, or ambiguous.

A pure function over fingerprints. The one chosen must be judged the same (`judging`), reach a score,
and lead clearly over every other that is not ruled out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.healing.judging import Judgement, judge
from kb_schema.fingerprints import Fingerprint


@dataclass(frozen=True, slots=True)
class Demand:
    """How sure one must be."""

    least_score: float = 0.5
    """Similarity below which nothing is taken."""
    least_lead: float = 0.08
    """Over the next one that is not ruled out."""

    @property
    def stricter(self) -> Demand:
        """For what cannot be taken back (DESIGN 6)."""
        return Demand(self.least_score + 0.1, self.least_lead + 0.07)


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
    """Others that came near, best first."""
    reason: str

    @property
    def lead(self) -> float:
        """Of the best over the next."""
        return (self.best.score if self.best else 0.0) - (self.rivals[0].score if self.rivals else 0.0)


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
    judged = [Candidate(at, seen, judge(known, seen)) for at, seen in candidates]
    possible = [
        each
        for each in judged
        if not each.judgement.contradictions and not _is_one_of(each.seen, others, known)
    ]
    possible.sort(key=lambda each: (-each.score, each.at))
    if not possible:
        return Match(Outcome.NOT_FOUND, None, (), "nothing on the page could be it")
    good = [each for each in possible if each.judgement.same and each.score >= demand.least_score]
    if not good:
        best = possible[0]
        why = best.judgement.evidence if not best.judgement.same else f"only {best.score:.2f} alike"
        return Match(Outcome.NOT_FOUND, best, tuple(possible[1 : MOST_RIVALS + 1]), f"the nearest: {why}")
    best = good[0]
    rivals = tuple(each for each in possible if each is not best)[:MOST_RIVALS]
    if rivals and best.score - rivals[0].score < demand.least_lead:
        return Match(
            Outcome.AMBIGUOUS, best, rivals, f"{best.score:.2f} and {rivals[0].score:.2f} are too close"
        )
    return Match(Outcome.FOUND, best, rivals, best.judgement.evidence)


def _is_one_of(seen: Fingerprint, others: Sequence[Fingerprint], known: Fingerprint) -> bool:
    """Whether it is, to the word, another known element and not this one."""
    if (seen.role, seen.name) == (known.role, known.name):
        return False
    return any(seen.name and (seen.role, seen.name) == (other.role, other.name) for other in others)
