"""From labelled pages to the signatures of their screens; pure (DESIGN 11).

Every way of choosing signs is tried on pages that were held back while they were chosen; the first that is
right about all of them is taken, else the one that is right about most. What it makes of all pages is then
right about every one of them, or the screen is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kb_schema.screens import Signature
from loaders.signatures.addresses import patterns_for
from loaders.signatures.choosing import WAYS, NothingTells, Way, draft
from loaders.signatures.drafts import Draft
from loaders.signatures.errors_shown import is_an_error
from loaders.signatures.evidence import Evidence, Trait, numbers
from loaders.signatures.seen import ObservedPage, once_each

LEAST_RUNS = 2
"""One to choose by, one to hold back: what a proposal from recordings rests on."""
MOST_FOLDS = 8
"""Times that pages are held back and signs chosen by the rest."""


class NotLearned(Exception):
    """There is no signature for a screen. `reason` says why."""

    def __init__(self, screen: str, reason: str) -> None:
        self.screen, self.reason = screen, reason
        super().__init__(f"{screen}: {reason}")


@dataclass(frozen=True, slots=True)
class Learned:
    """A signature, and what it rests on."""

    url_patterns: tuple[str, ...]
    """Any of them; none where the screen may be anywhere."""
    signature: Signature
    pages: int
    runs: int
    others: int
    """Pages of other screens that it was tried on."""
    held_out: int = 0
    """Its pages that were held back once."""
    missed: int = 0
    """Of these, those that the rest did not lead to."""
    taken_in: int = 0
    """Pages of others that were taken for it when they were held back."""
    way: str = ""
    """How its signs were chosen."""

    @property
    def url_pattern(self) -> str | None:
        """Its pattern, where it has one only."""
        return self.url_patterns[0] if len(self.url_patterns) == 1 else None

    @property
    def proven(self) -> bool:
        """Whether it would have been right about every page that was held back."""
        return bool(self.held_out) and not self.missed and not self.taken_in

    @property
    def confidence(self) -> float:
        """From 0 to 1: the share of pages held back that were told right, as far as so few can say (Laplace)."""
        return round((self.held_out - self.missed + 1) / (self.held_out + 2 + self.taken_in), 2)

    @property
    def evidence(self) -> str:
        """In a few words."""
        tried = f"{_counted(self.pages, 'page')} of {_counted(self.runs, 'run')} and {_counted(self.others, 'other')}"
        if not self.held_out:
            told = (
                f"seen on one page only: right about it and {_counted(self.others, 'other')}, none held back"
            )
        elif self.proven:
            told = f"right about {tried}, each held back once"
        else:
            told = f"right about {tried}; held back, {self.missed} of {self.held_out} were missed"
        return told + (f", {_counted(self.taken_in, 'other')} taken for it" if self.taken_in else "")


@dataclass(frozen=True, slots=True)
class LearnedScreens:
    """A signature for every screen that has one, and why the others have none."""

    learned: dict[str, Learned] = field(default_factory=dict)
    refused: dict[str, NotLearned] = field(default_factory=dict)


def learn(screen: str, pages: Sequence[ObservedPage]) -> Learned:
    """The signature of `screen`, which some of the pages are labelled with, of pages of several runs. It must
    have been right about every run held back. Raises `NotLearned`.
    """
    runs = {page.run for page in pages if page.screen == screen}
    if len(runs) < LEAST_RUNS:
        raise NotLearned(
            screen, f"seen in {len(runs)} run only: nothing can be held back to try a signature on"
        )
    return _Learner(pages, by_run=True).learn(screen)


def learn_all(pages: Sequence[ObservedPage], *, least_pages: int = 1) -> LearnedScreens:
    """A signature for every screen that the pages are labelled with; pages without a label are of none."""
    learner = _Learner(pages)
    found = LearnedScreens()
    for screen in sorted(learner.evidence.of):
        seen = learner.evidence.of[screen].bit_count()
        if seen < least_pages:
            found.refused[screen] = NotLearned(
                screen, f"seen on {_counted(seen, 'page')} only, {least_pages} are wanted"
            )
            continue
        try:
            found.learned[screen] = learner.learn(screen)
        except NotLearned as exc:
            found.refused[screen] = exc
    return found


@dataclass(frozen=True, slots=True)
class _Trial:
    """How one way did on what was held back."""

    way: Way
    missed: int = 0
    taken_in: int = 0
    told: str = ""
    """The first mistake, for people."""

    @property
    def mistakes(self) -> float:
        return self.missed + 2.0 * self.taken_in


class _Learner:
    """Learns one screen after another from the same pages."""

    def __init__(self, pages: Sequence[ObservedPage], *, by_run: bool = False) -> None:
        self._by_run = by_run
        """Whether whole runs are held back, and a single mistake is one too many."""
        self._runs: dict[str, set[str]] = {}
        for page in pages:
            if page.screen is not None:
                self._runs.setdefault(page.screen, set()).add(page.run)
        self.evidence = Evidence(once_each(pages, in_each_run=by_run))

    def learn(self, screen: str) -> Learned:
        """Its signature. Raises `NotLearned`."""
        evidence, own = self.evidence, self.evidence.of[screen]
        traits = evidence.traits(own)
        patterns = {False: self._patterns(own, query=False)}
        folds = self._folds(own)
        reason = ""
        trials = []
        for way in WAYS:
            if way.query not in patterns:
                patterns[way.query] = self._patterns(own, query=way.query)
            trial = self._tried(own, way, patterns[way.query], traits, folds)
            trials.append(trial)
            if not trial.mistakes and self._whole(own, way, patterns[way.query], traits)[0] is not None:
                break
        for trial in sorted(trials, key=lambda each: each.mistakes):
            made, why = self._whole(own, trial.way, patterns[trial.way.query], traits)
            reason = reason or why
            if made is not None and (not trial.mistakes or not self._by_run):
                return self._learned(screen, made, trial, own, folds)
            reason = reason or trial.told
        raise NotLearned(screen, reason)

    def _patterns(self, own: int, *, query: bool) -> tuple[str, ...]:
        """Of its addresses, without or with what their queries say where it was seen at one only."""
        evidence = self.evidence
        paths = evidence.paths(own)
        if len(set(paths)) == 1 and any(
            is_an_error(evidence.pages[number].sketch) for number in numbers(own)
        ):
            return ()
        rivals = sorted(set(evidence.paths(evidence.all & ~own)))
        return patterns_for(paths, rivals, evidence.slots, queries=query)

    def _whole(
        self, own: int, way: Way, patterns: tuple[str, ...], traits: Sequence[Trait]
    ) -> tuple[Draft | None, str]:
        """What a way makes of all pages, if it is right about all of them; else why not."""
        evidence = self.evidence
        try:
            made = draft(evidence, own, evidence.all, way, patterns, traits)
        except NothingTells as exc:
            return None, exc.reason
        wrong = made.accepted(evidence, evidence.all) ^ own
        if wrong or not (made.speaks or made.patterns):
            at = evidence.pages[next(numbers(wrong))].path if wrong else ""
            return None, f"no choice of signs is right about {at}" if wrong else "nothing speaks for it"
        return made, ""

    def _tried(
        self, own: int, way: Way, patterns: tuple[str, ...], traits: Sequence[Trait], folds: Sequence[int]
    ) -> _Trial:
        evidence, missed, taken_in, told = self.evidence, 0, 0, ""
        for fold in folds:
            if not own & ~fold:
                continue
            try:
                made = draft(evidence, own & ~fold, evidence.all & ~fold, way, patterns, traits)
            except NothingTells as exc:
                missed += (own & fold).bit_count()
                told = told or exc.reason
                continue
            wrong = made.accepted(evidence, fold) ^ (own & fold)
            missed += (wrong & own).bit_count()
            taken_in += (wrong & ~own).bit_count()
            if wrong and not told:
                page = evidence.pages[next(numbers(wrong))]
                how = "miss" if wrong & own else "take for it"
                told = f"what the other pages tell would {how} {page.path} of {page.run}"
        return _Trial(way, missed, taken_in, told)

    def _folds(self, own: int) -> list[int]:
        """Parts of the pages, each held back once: whole runs where there are several, else page by page."""
        evidence = self.evidence
        runs = sorted({page.run for page in evidence.pages})
        own_runs = {evidence.pages[number].run for number in numbers(own)}
        if self._by_run or 1 < len(own_runs) < own.bit_count():
            order = [*sorted(own_runs), *(run for run in runs if run not in own_runs)]
            place = {run: at for at, run in enumerate(order)}
            of = {number: place[page.run] for number, page in enumerate(evidence.pages)}
            most = max(2, min(MOST_FOLDS, len(runs if self._by_run else own_runs)))
        else:
            # Of a look-alike that was seen once nothing would be left to tell it by.
            parts = [part for _, part in evidence.groups(evidence.all) if part.bit_count() > 1]
            of = {number: at for part in parts for at, number in enumerate(numbers(part))}
            most = max(2, min(MOST_FOLDS, own.bit_count()))
        folds = [0] * most
        for number, at in of.items():
            folds[at % most] |= 1 << number
        return [fold for fold in folds if fold]

    def _learned(self, screen: str, made: Draft, trial: _Trial, own: int, folds: Sequence[int]) -> Learned:
        held = sum((own & fold).bit_count() for fold in folds if own & ~fold)
        return Learned(
            made.patterns,
            made.signature,
            pages=own.bit_count(),
            runs=len(self._runs[screen]),
            others=(self.evidence.all & ~own).bit_count(),
            held_out=held,
            missed=trial.missed,
            taken_in=trial.taken_in,
            way=trial.way.name,
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
