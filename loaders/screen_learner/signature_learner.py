"""Learns the signatures of screens from labelled pages; pure.

Each selection rule is tried on pages that were held back during the selection. The first rule without a
mistake is used, else the one with the fewest. The resulting signature must be correct on all pages, or the
screen is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kb_schema.screens import Signature
from loaders.screen_learner.error_pages import is_error_page
from loaders.screen_learner.indicator_selection import (
    SELECTION_RULES,
    NoDistinguishingSign,
    SelectionRule,
    draft_signature,
)
from loaders.screen_learner.observed_pages import ObservedPage, deduplicate_pages
from loaders.screen_learner.page_evidence import PageEvidence, Trait
from loaders.screen_learner.screen_names import choose_free_id
from loaders.screen_learner.signature_drafts import SignatureDraft
from loaders.screen_learner.url_patterns import patterns_for
from web_pages.page_masks import page_numbers

LEAST_RUNS = 2
"""One to select from, one to hold back: the least evidence for a proposal from recordings."""
MOST_FOLDS = 8
"""The most times that pages are held back."""


class SignatureNotLearned(Exception):
    """There is no signature for a screen. `reason` says why; `rival` is the screen that it is not told apart from."""

    def __init__(self, screen: str, reason: str, rival: str = "") -> None:
        self.screen, self.reason, self.rival = screen, reason, rival
        super().__init__(f"{screen}: {reason}")


@dataclass(frozen=True, slots=True)
class LearnedSignature:
    """A signature and its evidence."""

    url_patterns: tuple[str, ...]
    """Any of them; empty if the screen may be at any address."""
    signature: Signature
    pages: int
    runs: int
    others: int
    """The number of pages of other screens that it was tested on."""
    held_out: int = 0
    """The number of its pages that were held back once."""
    missed: int = 0
    """The number of those that were not recognised."""
    taken_in: int = 0
    """The number of other screens' held-back pages that it accepted."""
    way: str = ""
    """The selection rule."""
    ambiguous_of: tuple[str, ...] = ()
    """The labels that nothing tells apart, if it is the signature of several."""

    @property
    def url_pattern(self) -> str | None:
        """Its pattern, if it has exactly one."""
        return self.url_patterns[0] if len(self.url_patterns) == 1 else None

    @property
    def proven(self) -> bool:
        """Whether it was correct on every page that was held back."""
        return bool(self.held_out) and not self.missed and not self.taken_in

    @property
    def failed(self) -> bool:
        """Whether it missed most of the pages that were held back, or accepted another screen's."""
        return self.held_out > 1 and (2 * self.missed > self.held_out or self.taken_in > 0)

    @property
    def confidence(self) -> float:
        """0 to 1: the share of held-back pages judged correctly, with Laplace's correction."""
        return round((self.held_out - self.missed + 1) / (self.held_out + 2 + self.taken_in), 2)

    @property
    def evidence(self) -> str:
        """The evidence in a few words."""
        tried = f"{_pluralise(self.pages, 'page')} of {_pluralise(self.runs, 'run')} and {_pluralise(self.others, 'other')}"
        if not self.held_out:
            text = f"seen on one page only: right about it and {_pluralise(self.others, 'other')}, none held back"
        elif self.proven:
            text = f"right about {tried}, each held back once"
        else:
            text = f"right about {tried}; held back, {self.missed} of {self.held_out} were missed"
        return text + (f", {_pluralise(self.taken_in, 'other')} taken for it" if self.taken_in else "")


@dataclass(frozen=True, slots=True)
class LearnedScreens:
    """A signature for every screen that has one, and the reasons why others have none."""

    learned: dict[str, LearnedSignature] = field(default_factory=dict)
    refused: dict[str, SignatureNotLearned] = field(default_factory=dict)


def learn_signature(screen: str, pages: Sequence[ObservedPage]) -> LearnedSignature:
    """Return the signature of `screen`, from labelled pages of several runs.

    It must be correct on every run that is held back. Raises `SignatureNotLearned`.
    """
    runs = {page.run for page in pages if page.screen == screen}
    if len(runs) < LEAST_RUNS:
        raise SignatureNotLearned(
            screen, f"seen in {len(runs)} run only: nothing can be held back to try a signature on"
        )
    return _SignatureLearner(pages, by_run=True).learn(screen)


def learn_signatures(
    pages: Sequence[ObservedPage], *, least_pages: int = 1, anywhere: Collection[str] = ()
) -> LearnedScreens:
    """Return a signature for every label of the pages; pages without a label belong to no screen.

    `anywhere`: screens that may be at any address, if their own signs tell them.
    """
    learner = _SignatureLearner(pages, anywhere=anywhere)
    found = LearnedScreens()
    for screen in sorted(learner.evidence.of):
        seen = learner.evidence.of[screen].bit_count()
        if seen < least_pages:
            found.refused[screen] = SignatureNotLearned(
                screen, f"seen on {_pluralise(seen, 'page')} only, {least_pages} are wanted"
            )
            continue
        try:
            found.learned[screen] = learner.learn(screen)
        except SignatureNotLearned as exc:
            found.refused[screen] = exc
    return found


def learn_joined_signatures(pages: Sequence[ObservedPage]) -> LearnedScreens:
    """Return the same as `learn_signatures`, with screens for labels that cannot be told apart.

    These are learned as one screen of a new id; `LearnedSignature.ambiguous_of` has their labels. A screen whose
    signatures failed on the pages that were held back is refused.
    """
    names = {page.screen: frozenset({page.screen}) for page in pages if page.screen is not None}
    ids = {joint: label for label, joint in names.items()}
    given = [page.screen for page in pages]
    while True:
        found = learn_signatures(pages)
        pairs = [(name, why.rival) for name, why in found.refused.items() if why.rival in names]
        if not pairs:
            break
        for one, other in pairs:
            joint = names[one] | names[other]
            names |= dict.fromkeys((*joint, one, other), joint)
        for joint in sorted(set(names.values()) - ids.keys(), key=sorted):
            ids[joint] = choose_free_id(" or ".join(sorted(joint)), names)
            names[ids[joint]] = joint
        pages = [
            page if label is None else replace(page, screen=ids[names[label]])
            for page, label in zip(pages, given, strict=True)
        ]
    for name, each in found.learned.items():
        if len(names[name]) > 1:
            found.learned[name] = replace(each, ambiguous_of=tuple(sorted(names[name])))
    for name, each in [*found.learned.items()]:
        if each.failed:
            del found.learned[name]
            found.refused[name] = SignatureNotLearned(
                name, f"{each.evidence}; give more pages of it and of what resembles it"
            )
    return found


@dataclass(frozen=True, slots=True)
class _SelectionTrial:
    """The result of one rule on the held-back pages."""

    way: SelectionRule
    missed: int = 0
    taken_in: int = 0
    mistake: str = ""
    """The first mistake, for people."""

    @property
    def mistakes(self) -> float:
        return self.missed + 2.0 * self.taken_in


class _SignatureLearner:
    """Learns one screen after another from the same pages."""

    def __init__(
        self, pages: Sequence[ObservedPage], *, by_run: bool = False, anywhere: Collection[str] = ()
    ) -> None:
        self._anywhere = anywhere
        self._by_run = by_run
        """Whether whole runs are held back, and a single mistake is too many."""
        self._runs: dict[str, set[str]] = {}
        for page in pages:
            if page.screen is not None:
                self._runs.setdefault(page.screen, set()).add(page.run)
        self.evidence = PageEvidence(deduplicate_pages(pages, in_each_run=by_run))

    def learn(self, screen: str) -> LearnedSignature:
        """Return its signature. Raises `SignatureNotLearned`."""
        if screen in self._anywhere:
            with suppress(SignatureNotLearned):
                return self._learn(screen, addressed=False)
        return self._learn(screen)

    def _learn(self, screen: str, *, addressed: bool = True) -> LearnedSignature:
        """`addressed`: the signature may have patterns of addresses."""
        evidence, own = self.evidence, self.evidence.of[screen]
        traits = evidence.traits(own)
        patterns: dict[bool, tuple[str, ...]] = {False: (), True: ()}
        if addressed:
            patterns = {False: self._patterns(own, query=False)}
        folds = self._folds(own)
        reason = rival = ""
        trials = []
        for way in SELECTION_RULES:
            if way.query not in patterns:
                patterns[way.query] = self._patterns(own, query=way.query)
            trial = self._tried(own, way, patterns[way.query], traits, folds)
            trials.append(trial)
            if not trial.mistakes and self._whole(own, way, patterns[way.query], traits)[0] is not None:
                break
        for trial in sorted(trials, key=lambda each: each.mistakes):
            made, why, near = self._whole(own, trial.way, patterns[trial.way.query], traits)
            reason, rival = reason or why, rival or near
            if made is not None and (not trial.mistakes or not self._by_run):
                return self._learned(screen, made, trial, own, folds)
            reason = reason or trial.mistake
        raise SignatureNotLearned(screen, reason, rival)

    def _patterns(self, own: int, *, query: bool) -> tuple[str, ...]:
        """Return patterns of its addresses, optionally with queries even if it was seen at one address only."""
        evidence = self.evidence
        paths = evidence.paths(own)
        errors = [is_error_page(evidence.pages[number].profile) for number in page_numbers(own)]
        if all(errors) or (len(set(paths)) == 1 and any(errors)):
            return ()
        rivals = sorted(set(evidence.paths(evidence.all & ~own)))
        return patterns_for(paths, rivals, evidence.slots, queries=query)

    def _whole(
        self, own: int, way: SelectionRule, patterns: tuple[str, ...], traits: Sequence[Trait]
    ) -> tuple[SignatureDraft | None, str, str]:
        """Return the rule's signature of all pages if it makes no mistake; else the reason, and a screen that it is not
        told apart from.
        """
        evidence = self.evidence
        try:
            made = draft_signature(evidence, own, evidence.all, way, patterns, traits)
        except NoDistinguishingSign as exc:
            return None, exc.reason, exc.rival
        wrong = made.accepted(evidence, evidence.all) ^ own
        if wrong or not (made.speaks or made.patterns):
            at = evidence.pages[page_numbers(wrong)[0]].path if wrong else ""
            return (
                None,
                f"every selection of features is wrong about {at}"
                if wrong
                else "it has no positive indicator",
                "",
            )
        return made, "", ""

    def _tried(
        self,
        own: int,
        way: SelectionRule,
        patterns: tuple[str, ...],
        traits: Sequence[Trait],
        folds: Sequence[int],
    ) -> _SelectionTrial:
        evidence, missed, taken_in, mistake = self.evidence, 0, 0, ""
        for fold in folds:
            if not own & ~fold:
                continue
            try:
                made = draft_signature(evidence, own & ~fold, evidence.all & ~fold, way, patterns, traits)
            except NoDistinguishingSign as exc:
                missed += (own & fold).bit_count()
                mistake = mistake or exc.reason
                continue
            wrong = made.accepted(evidence, fold) ^ (own & fold)
            missed += (wrong & own).bit_count()
            taken_in += (wrong & ~own).bit_count()
            if wrong and not mistake:
                page = evidence.pages[page_numbers(wrong)[0]]
                how = "miss" if wrong & own else "wrongly accept"
                mistake = f"a signature from the other pages would {how} {page.path} of {page.run}"
        return _SelectionTrial(way, missed, taken_in, mistake)

    def _folds(self, own: int) -> list[int]:
        """Return parts of the pages, each held back once: whole runs if there are several, else single pages."""
        evidence = self.evidence
        runs = sorted({page.run for page in evidence.pages})
        own_runs = {evidence.pages[number].run for number in page_numbers(own)}
        if self._by_run or 1 < len(own_runs) < own.bit_count():
            order = [*sorted(own_runs), *(run for run in runs if run not in own_runs)]
            place = {run: at for at, run in enumerate(order)}
            of = {number: place[page.run] for number, page in enumerate(evidence.pages)}
            most = max(2, min(MOST_FOLDS, len(runs if self._by_run else own_runs)))
        else:
            # If a similar page was seen once, nothing would be left to distinguish it.
            parts = [part for _, part in evidence.groups(evidence.all) if part.bit_count() > 1]
            of = {number: at for part in parts for number, at in self._numbered(part)}
            most = max(2, min(MOST_FOLDS, own.bit_count()))
        folds = [0] * most
        for number, at in of.items():
            folds[at % most] |= 1 << number
        return [fold for fold in folds if fold]

    def _numbered(self, part: int) -> Iterator[tuple[int, int]]:
        """Yield these pages with numbers; those that differ only in the state of one page have the same."""
        places: dict[object, int] = {}
        for number in page_numbers(part):
            page = self.evidence.pages[number]
            yield number, places.setdefault((page.path, page.profile.signs), len(places))

    def _learned(
        self, screen: str, made: SignatureDraft, trial: _SelectionTrial, own: int, folds: Sequence[int]
    ) -> LearnedSignature:
        held = sum((own & fold).bit_count() for fold in folds if own & ~fold)
        return LearnedSignature(
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


def _pluralise(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
