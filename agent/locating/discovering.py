"""Discovery on a live page: one look, one ranking per target, one question what leads to them.

One round trip for any number of targets, two where one of them can only be written down in CSS.
Nothing is returned that was not seen, or confirmed by the page, to lead to that one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playwright.async_api import Page

from agent.locating.asking import Question
from agent.locating.expressing import Namesakes, as_selector, proposals
from agent.locating.index import IndexedElement, PageIndex
from agent.locating.looking import lead_to, look_around
from agent.locating.ranking import MOST_SHOWN, Candidate, Ranked, rank
from agent.locating.strategies import DEFAULT_ORDER
from agent.locating.texts import Texts
from agent.locating.wanted import Wanted, question
from kb_schema.selectors import Selector, Strategy


@dataclass(frozen=True, slots=True)
class Discovered:
    """The element that is meant."""

    wanted: Wanted
    candidate: Candidate
    selector: Selector
    """Strategies that lead to it and to nothing else, the one that found it first where it does."""

    @property
    def element(self) -> IndexedElement:
        """As it was seen."""
        return self.candidate.element

    @property
    def strategy(self) -> str:
        """The strategy that found it."""
        return self.candidate.strategy

    @property
    def confidence(self) -> float:
        """PACTS's confidence in that strategy."""
        return self.candidate.confidence


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """Several elements fit equally well: a person or an inferencer decides."""

    wanted: Wanted
    candidates: tuple[Candidate, ...]
    places: tuple[str, ...]
    """Where each stands: the name of the nearest region that has one and that others do not share."""

    @property
    def reason(self) -> str:
        """What they are, in one sentence."""
        shown = "; ".join(_told(each) for each in self.candidates[:MOST_SHOWN])
        more = len(self.candidates) - MOST_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        named = ", ".join(f"{self.wanted.words}@{place}" for place in self.places[:MOST_SHOWN] if place)
        advice = f". Name a region: {named}" if named else ""
        return f"{str(self.wanted)!r} may mean {len(self.candidates)} elements: {shown}{rest}{advice}"


@dataclass(frozen=True, slots=True)
class NotFound:
    """Nothing on the page fits."""

    wanted: Wanted
    reason: str
    hints: tuple[str, ...] = ()
    """Names on the page that are spelled alike."""


Discovery = Discovered | Ambiguous | NotFound


async def discover(page: Page, wanted: Wanted, *, order: Sequence[str] = DEFAULT_ORDER) -> Discovery:
    """The element somebody calls so. Raises `PageGone`, `ScriptFailed`."""
    return (await discover_all(page, [wanted], order=order))[0]


async def discover_all(
    page: Page, wanted: Sequence[Wanted], *, order: Sequence[str] = DEFAULT_ORDER
) -> list[Discovery]:
    """Several elements in one look, in the order they were asked for; in two where one is not there, to
    say what else is.
    """
    index, ranked = await _ranked(page, wanted, order, question(wanted))
    if index.asked is not None and any(each.best is None and not each.rivals for each in ranked):
        index, ranked = await _ranked(page, wanted, order, None)
    ways = await _ways(page, index, [result.best for result in ranked if result.best is not None])
    answers: list[Discovery] = []
    for each, result in zip(wanted, ranked, strict=True):
        if result.best is not None:
            answers.append(_answer(index, each, result.best, ways[result.best.element.at]))
        elif result.rivals:
            answers.append(Ambiguous(each, result.rivals, _places(index, result.rivals)))
        else:
            answers.append(NotFound(each, "nothing on the page is called so", result.hints))
    return answers


async def _ranked(
    page: Page, wanted: Sequence[Wanted], order: Sequence[str], asked: Question | None
) -> tuple[PageIndex, list[Ranked]]:
    index = await look_around(page, asked=asked)
    texts = Texts(index)
    return index, [rank(index, each, order, texts) for each in wanted]


async def _ways(page: Page, index: PageIndex, meant: Sequence[Candidate]) -> dict[int, tuple[Strategy, ...]]:
    """For each element the strategies that lead to it alone: those the look itself shows to; for an
    element without any, those the page says do, all asked at once.
    """
    namesakes = Namesakes(index)
    known: dict[int, tuple[Strategy, ...]] = {}
    open_: list[tuple[IndexedElement, Strategy]] = []
    for each in meant:
        proposed = [(way, namesakes.alone(each.element, way)) for way in proposals(index, each)]
        known[each.element.at] = tuple(way for way, alone in proposed if alone)
        if not known[each.element.at]:
            open_ += [(each.element, way) for way, alone in proposed if alone is None]
    asked = [(element.at, as_selector(index, element, (way,))) for element, way in open_]
    for (element, way), leads in zip(open_, await lead_to(page, index, asked), strict=True):
        if leads:
            known[element.at] = (*known[element.at], way)
    return known


def _answer(index: PageIndex, wanted: Wanted, best: Candidate, ways: tuple[Strategy, ...]) -> Discovery:
    if not ways:
        return NotFound(wanted, f"no selector leads to {_told(best)} alone")
    return Discovered(wanted, best, as_selector(index, best.element, ways))


def _told(candidate: Candidate) -> str:
    element = candidate.element
    name = element.name or element.label or element.placeholder or candidate.said
    heading = f" under {element.near.heading!r}" if element.near.heading else ""
    row = f" beside {element.near.row!r}" if element.near.row else ""
    return f"{element.role or element.tag} {name!r}{row}{heading}"


def _places(index: PageIndex, rivals: Sequence[Candidate]) -> tuple[str, ...]:
    """What to write behind the `@` to mean each of them; empty where no region sets it apart."""
    names = [_region_names(index, rival.element) for rival in rivals]
    return tuple(
        next((name for name in own if sum(name in others for others in names) == 1), "") for own in names
    )


def _region_names(index: PageIndex, element: IndexedElement) -> list[str]:
    own = {"", element.name, element.text}
    return [
        name
        for region in index.regions_of(element)
        for name in (*region.texts, region.name)
        if name not in own
    ]
