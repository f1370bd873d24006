"""From labelled pages to the signature of one of their screens; pure (DESIGN 11).

A signature is taken only if it would have been right about every run that was held back when it was
chosen: it holds on the pages of that run that are the screen's, and on no other of them. What cannot be
learned so is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kb_schema.conditions import Condition
from kb_schema.pages.candidates import IndicatorCandidate, SketchBook
from kb_schema.pages.sketch import Sign
from kb_schema.screens import DEFAULT_THRESHOLD, Signature
from kb_schema.urls import matches
from loaders.signatures.addresses import pattern_of
from loaders.signatures.seen import ObservedPage

LEAST_RUNS = 2
"""One to choose by, one to hold back."""
MOST_SPEAKING = 4
"""Signs that speak for a screen: some may be gone one day."""
COMMON = 0.5
"""A sign that more of the other pages show says little."""


class NotLearned(Exception):
    """There is no signature for a screen. `reason` says why."""

    def __init__(self, screen: str, reason: str) -> None:
        self.screen, self.reason = screen, reason
        super().__init__(f"{screen}: {reason}")


@dataclass(frozen=True, slots=True)
class Learned:
    """A signature, and what it rests on."""

    url_pattern: str
    signature: Signature
    pages: int
    runs: int
    others: int
    """Pages of other screens that it was tried on."""

    @property
    def evidence(self) -> str:
        """In a few words."""
        return (
            f"right about {self.pages} pages of {self.runs} runs and {self.others} others, each run held back"
        )


def learn(screen: str, pages: Sequence[ObservedPage]) -> Learned:
    """The signature of `screen`, which some of the pages are labelled with. Raises `NotLearned`."""
    own = [page for page in pages if page.screen == screen]
    runs = sorted({page.run for page in own})
    if len(runs) < LEAST_RUNS:
        raise NotLearned(
            screen, f"seen in {len(runs)} run only: nothing can be held back to try a signature on"
        )
    known = _Known.of(screen, pages)
    for run in sorted({page.run for page in pages}):
        kept = [page for page in pages if page.run != run]
        tried = _Known.of(screen, kept)
        wrong = next(
            (page for page in pages if page.run == run and tried.is_it(page) != (page.screen == screen)), None
        )
        if wrong is not None:
            how = "miss" if wrong.screen == screen else "take for it"
            raise NotLearned(screen, f"what the other runs tell would {how} {wrong.path} of {run}")
    return Learned(known.pattern, known.signature, len(own), len(runs), len(pages) - len(own))


@dataclass(frozen=True)
class _Known:
    """What a screen is known by."""

    pattern: str
    speaking: tuple[tuple[Sign, ...], ...]
    required: tuple[tuple[Sign, ...], ...] = ()
    against: tuple[tuple[Sign, ...], ...] = ()
    conditions: dict[tuple[Sign, ...], Condition] = field(default_factory=dict)

    @classmethod
    def of(cls, screen: str, pages: Sequence[ObservedPage]) -> _Known:
        """Chosen from these pages. Raises `NotLearned`."""
        own = [number for number, page in enumerate(pages) if page.screen == screen]
        others = [number for number, page in enumerate(pages) if page.screen != screen]
        pattern = pattern_of(pages[number].path for number in own)
        if pattern is None:
            raise NotLearned(screen, "its addresses have nothing in common")
        book = SketchBook([page.sketch for page in pages])
        rivals = [number for number in others if matches(pattern, pages[number].path)]
        required, against = _separators(book, own, rivals)
        if rivals and required is None and against is None:
            named = sorted({pages[number].screen or "an unknown page" for number in rivals})
            raise NotLearned(screen, f"nothing tells it from {', '.join(named)} at the same address")
        passing = frozenset().union(*(pages[number].sketch.passing for number in own))
        # What rejects its rivals leaves what they have in common to speak for it.
        rest = others if against is None else [number for number in others if number not in rivals]
        speaking = [each for each in _speaking(book, own, rest, passing) if each != required]
        if not speaking and required is None:
            raise NotLearned(screen, "nothing that lasts is on all of its pages and not on most others, too")
        chosen = [each for each in (required, against, *speaking) if each is not None]
        return cls(
            pattern,
            tuple(each.signs for each in speaking),
            () if required is None else (required.signs,),
            () if against is None else (against.signs,),
            {each.signs: each.condition for each in chosen},
        )

    def is_it(self, page: ObservedPage) -> bool:
        """What identification would say (DESIGN 5): every indicator weighs 1."""
        if not matches(self.pattern, page.path) or any(_shows(page, each) for each in self.against):
            return False
        if not all(_shows(page, each) for each in self.required):
            return False
        positive = [True, *(True for _ in self.required), *(_shows(page, each) for each in self.speaking)]
        return sum(positive) / len(positive) >= DEFAULT_THRESHOLD

    @cached_property
    def signature(self) -> Signature:
        """In the knowledge base's own form."""

        def stated(signs: tuple[tuple[Sign, ...], ...]) -> tuple[Condition, ...]:
            return tuple(self.conditions[each] for each in signs)

        return Signature(
            required_indicators=stated(self.required),
            primary_indicators=stated(self.speaking),
            negative_indicators=stated(self.against),
        )


def _separators(
    book: SketchBook, own: Sequence[int], rivals: Sequence[int]
) -> tuple[IndicatorCandidate | None, IndicatorCandidate | None]:
    """What only its own pages show, or else what only its rivals do, where that is simpler: what is there says
    more than what is not.
    """
    if not rivals:
        return None, None
    required, against = book.separator(own, rivals), book.separator(rivals, own)
    if required is None or against is None:
        return required, against
    return (None, against) if len(against.signs) < len(required.signs) else (required, None)


def _speaking(
    book: SketchBook, own: Sequence[int], others: Sequence[int], passing: frozenset[Sign]
) -> Iterator[IndicatorCandidate]:
    """Signs on all its pages and on few others, best first, each saying something else."""
    said: set[str] = set()
    for each in book.rank(own, others):
        if len(said) == MOST_SPEAKING:
            return
        (sign,) = each.signs
        tells = each.holds == each.of and each.elsewhere <= COMMON * each.others
        if tells and sign not in passing and sign.text.casefold() not in said:
            said.add(sign.text.casefold())
            yield each


def _shows(page: ObservedPage, signs: tuple[Sign, ...]) -> bool:
    return any(page.sketch.shows(sign) for sign in signs)
