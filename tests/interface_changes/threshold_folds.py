"""Finds known controls on changed pages by their fingerprints alone, with thresholds set on the other sites.

Each fold leaves one site out: the thresholds are chosen on the others, and counted on it. Pure functions over
`PageRecord`s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from agent.healing import fingerprint_comparison
from agent.healing.fingerprint_comparison import is_same_kind
from agent.healing.fingerprint_search import (
    DEFAULT_THRESHOLDS,
    SearchOutcome,
    SearchThresholds,
    find_fingerprint,
)
from kb_schema.fingerprint_similarity import Similarity, similarity
from kb_schema.fingerprints import Fingerprint
from tests.interface_changes.page_records import UNCHANGED, PageRecord

SCORES = (0.3, 0.4, 0.5, 0.6)
LEADS = (0.1, 0.25, 0.4)
OTHERS = {
    "ALIKE_WORDS": (0.5, 0.75),
    "FOREIGN_WORDS": (0.25, 0.5),
    "ALIKE_IDS": (0.45, 0.8),
    "KEY_FOUND": (0.75, 0.95),
    "SAME_CONTEXT": (0.35, 0.65),
    "SAME_PLACE": (0.7, 0.9),
}
"""Thresholds of `fingerprint_comparison`, and what is tried for each beside its own value."""


@dataclass(frozen=True)
class LocatedControl:
    """One control of the unchanged site, and a page after a change."""

    site: str
    operator: str
    control: str
    known: Fingerprint
    elements: tuple[Fingerprint, ...]
    at: int | None
    """Where it is; None: it was taken away."""


@dataclass(frozen=True)
class Thresholds:
    """What a fold may choose: a score and a lead, and one threshold of the comparison."""

    search: SearchThresholds = DEFAULT_THRESHOLDS
    changed: str = ""
    value: float = 0.0

    def __str__(self) -> str:
        other = f", {self.changed} {self.value}" if self.changed else ""
        return f"score {self.search.least_score}, lead {self.search.least_lead}{other}"


SHIPPED = Thresholds()


def list_cases(records: Iterable[PageRecord]) -> list[LocatedControl]:
    """Return each control on each changed page. One that the site's model cannot tell there is left out."""
    everything = list(records)
    plain = {(each.site, each.state): each for each in everything if each.operator == UNCHANGED}
    found = []
    for page in everything:
        before = plain.get((page.site, page.state))
        if page.operator == UNCHANGED or before is None:
            continue
        for control, place in before.places.items():
            gone = page.operator.startswith(f"{control}_")
            if control in page.places or gone:
                found.append(
                    LocatedControl(
                        page.site, page.operator, control, before.elements[place], page.elements,
                        page.places.get(control),
                    )
                )  # fmt: skip
    return found


class FoldFigures:
    """Outcomes of all cases under all thresholds; comparisons are done once."""

    def __init__(self, cases: Sequence[LocatedControl]) -> None:
        self.cases = cases
        self._similar: dict[tuple[int, int], Similarity] = {}
        self._known: dict[Thresholds, list[str]] = {}

    def outcomes(self, wanted: Thresholds) -> list[str]:
        """Return `right`, `wrong` or `abstained` for each case."""
        if wanted not in self._known:
            with self._comparing(wanted):
                self._known[wanted] = [_judge(each, wanted.search) for each in self.cases]
        return self._known[wanted]

    def count(self, wanted: Thresholds, *, site: str = "", without: str = "") -> Counter[str]:
        """Count the outcomes of one site, or of all but one."""
        told = zip(self.cases, self.outcomes(wanted), strict=True)
        return Counter(how for case, how in told if case.site != without and site in ("", case.site))

    def choose(self, without: str) -> Thresholds:
        """Return the thresholds with the fewest wrong, then the most right, on all sites but one; the shipped ones if
        no others are better.
        """

        def worth(one: Thresholds) -> tuple[int, int, bool]:
            counted = self.count(one, without=without)
            return -counted["wrong"], counted["right"], one == SHIPPED

        return max(list_thresholds(), key=worth)

    def rank_first(self, site: str = "") -> tuple[int, int]:
        """Return how often the most similar element of its kind is the control, and of how many that are there."""
        there = [each for each in self.cases if each.at is not None and site in ("", each.site)]
        return sum(self._most_similar(each) == each.at for each in there), len(there)

    def _most_similar(self, case: LocatedControl) -> int:
        able = [n for n, seen in enumerate(case.elements) if is_same_kind(case.known, seen)]
        return max(able, key=lambda n: self._similarity(case.known, case.elements[n]).score)

    def _similarity(self, known: Fingerprint, seen: Fingerprint) -> Similarity:
        key = id(known), id(seen)
        if key not in self._similar:
            self._similar[key] = similarity(known, seen)
        return self._similar[key]

    @contextmanager
    def _comparing(self, wanted: Thresholds) -> Iterator[None]:
        """Compare with one threshold changed, and with similarities that are known."""
        kept = {name: getattr(fingerprint_comparison, name) for name in ("similarity", *OTHERS)}
        try:
            fingerprint_comparison.similarity = self._similarity  # type: ignore[assignment]
            if wanted.changed:
                setattr(fingerprint_comparison, wanted.changed, wanted.value)
            yield
        finally:
            for name, value in kept.items():
                setattr(fingerprint_comparison, name, value)


def list_thresholds() -> list[Thresholds]:
    """Return everything that a fold chooses from."""
    changed = [("", 0.0), *((name, value) for name, values in OTHERS.items() for value in values)]
    return [
        Thresholds(SearchThresholds(score, lead), name, value)
        for name, value in changed
        for score in SCORES
        for lead in LEADS
    ]


def _judge(case: LocatedControl, search: SearchThresholds) -> str:
    match = find_fingerprint(case.known, list(enumerate(case.elements)), search)
    if match.outcome is not SearchOutcome.FOUND or match.best is None:
        return "abstained"
    return "right" if match.best.at == case.at else "wrong"


def print_folds(cases: Sequence[LocatedControl], console: Console) -> None:
    """Print for each site what was chosen without it and what that found on it, beside the shipped thresholds."""
    figures = FoldFigures(cases)
    table = Table("left out", "chosen on the others", "right", "wrong", "abstained", "shipped: right", "wrong", "abstained", "most similar", box=None)  # fmt: skip
    sums: dict[str, Counter[str]] = {"fold": Counter(), "shipped": Counter()}
    for site in dict.fromkeys(each.site for each in cases):
        chosen = figures.choose(site)
        fold, shipped = figures.count(chosen, site=site), figures.count(SHIPPED, site=site)
        sums["fold"] += fold
        sums["shipped"] += shipped
        table.add_row(site, str(chosen), *_cells(fold), *_cells(shipped), _share(*figures.rank_first(site)))
    table.add_row("all", "", *_cells(sums["fold"]), *_cells(sums["shipped"]), _share(*figures.rank_first()))
    console.print(table)


def _cells(counted: Mapping[str, int]) -> list[str]:
    return [str(counted.get(each, 0)) for each in ("right", "wrong", "abstained")]


def _share(hits: int, of: int) -> str:
    return f"{hits} of {of} ({hits / of:.1%})" if of else "-"
