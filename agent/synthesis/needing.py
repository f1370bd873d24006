"""Detours and loops that end where what is needed next is there (MA *beyond*: search until found).

What is needed is what every trace acts on next, or a word that its task's sentence says, at one place of
the page. It tells when a way is taken if it was missing on the pages on which the way was taken (but for
a few on which it was overlooked), and there on every page on which it was not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.alignment import AlignedTraceSet, Cell, RowKey
from agent.synthesis.binding import Binder
from agent.synthesis.deciding import Decision, Sight, usable
from agent.synthesis.lifting import PARAMETER, Lifted, lift
from agent.synthesis.looping import LoopRules, Pass
from agent.synthesis.moments import Moments
from agent.synthesis.pages import Pages, SeenPage
from agent.synthesis.patterns import LoopRule
from agent.synthesis.rows import Unit, belongs, every_strategy, have_one_in_common
from kb_schema.conditions import Combined, Condition, ElementVisible
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.visibility import visible
from kb_schema.selectors import Selector
from kb_schema.templates import xpath_literal

LEAST_SIGHTS = 2
"""Pages on which a word of the sentence has to be missing, and on which it has to be there."""
MOST_OVERLOOKED = 1 / 3
"""Share of the pages on which people may have gone on though it was there: they overlook things, and what
acts on it as soon as it is there does nothing that they did not do.
"""
MOST_PLACES = 12
"""Elements of a page that say a word and are tried."""

Sights = Mapping[RowKey, Sequence[Sight]]


@dataclass(frozen=True, slots=True)
class Need:
    """Something that is looked for on pages, each trace for its own."""

    selector: Selector
    """With the parameter of the workflow."""
    own: Mapping[RowKey, Selector]
    """With each row's own words."""
    told: str

    @property
    def there(self) -> Condition:
        """It is there."""
        return ElementVisible(type="element_visible", element=self.selector)

    @property
    def missing(self) -> Condition:
        """It is not there."""
        return Combined(type="none_of", conditions=(self.there,))


class Needs:
    """Finds out whether ways end where something is there."""

    def __init__(self, aligned: AlignedTraceSet, moments: Moments, pages: Pages, binder: Binder) -> None:
        self._aligned, self._moments, self._pages, self._binder = aligned, moments, pages, binder

    def of_step(self, unit: Unit, part: Sequence[Unit], rows: frozenset[RowKey]) -> Decision | None:
        """A step of a stretch that everybody has something of: done while what comes behind it all is missing."""
        sights = self._moments.sights([unit], part, rows)
        taken = {row: sight for row, sight in sights.items() if row in unit.rows}
        other = {row: sight for row, sight in sights.items() if row not in unit.rows}
        return self.detour(part[-1].indices[-1], taken, other)

    def of_loop(self, last: int, passes: Mapping[RowKey, Pass], rules: LoopRules) -> LoopRule | None:
        """A loop up to the position `last` that looks for something: in the rows of a list, or until it is there."""
        over = {row: each.after for row, each in passes.items() if each.after is not None}
        found = None
        if len(over) == len(passes):
            found = self._ending(last, {row: each.before for row, each in passes.items()}, over)
        return None if found is None else rules.searching(passes, *found)

    def detour(
        self, last: int, taken: Mapping[RowKey, Sight], other: Mapping[RowKey, Sight]
    ) -> Decision | None:
        """A way up to the position `last` is taken while what comes behind it is not there."""
        need = self._next(last, frozenset({*taken, *other}))
        going, over = _each(taken), _each(other)
        if need is None or not self._separates(need, going, over):
            return None
        told = (
            f"{need.told} was missing on {len(taken)} pages, and there on {len(other)} of {len(other)} others"
        )
        return Decision(need.missing, "target", told)

    def _ending(self, last: int, going: Sights, over: Mapping[RowKey, Sight]) -> tuple[Condition, str] | None:
        """What a loop up to the position `last` goes on for: the pages before each round, and behind the
        last one.
        """
        need = self._next(last, frozenset(over))
        ended = _each(over)
        if need is None or not self._separates(need, going, ended):
            need = next((each for each in self._said(over) if self._separates(each, going, ended)), None)
        if need is None:
            return None
        rounds = sum(map(len, going.values()))
        return (
            need.there,
            f"until {need.told} is there: it was missing before {rounds} rounds and there behind the last ones",
        )

    def _separates(self, need: Need, going: Sights, over: Sights) -> bool:
        missing = [self._shows(need.own.get(row), sight) for row, each in going.items() for sight in each]
        there = [self._shows(need.own.get(row), sight) for row, each in over.items() for sight in each]
        overlooked = sum(missing) / len(missing) if missing else 1.0
        return bool(there) and all(there) and overlooked <= MOST_OVERLOOKED

    def _shows(self, selector: Selector | None, sight: Sight) -> bool:
        page = self._page(sight)
        return page is not None and selector is not None and page.shows(selector)

    def _page(self, sight: Sight) -> SeenPage | None:
        return self._pages.get(sight.html, sight.url)

    # -- what every row acts on next

    def _next(self, last: int, rows: frozenset[RowKey]) -> Need | None:
        for position in self._aligned.positions[last + 1 :]:
            cells = {row: cell for row in rows if (cell := _cell(position.cells, row)) is not None}
            if len(cells) == len(rows) and all(isinstance(c.step.target, Selector) for c in cells.values()):
                return self._need(cells)
        return None

    def _need(self, cells: Mapping[RowKey, Cell]) -> Need | None:
        steps = list(cells.values())
        constant = every_strategy(steps)
        if have_one_in_common(steps):
            if constant is None or not usable(constant):
                return None
            return Need(constant, dict.fromkeys(cells, constant), "what is acted on next")
        lifted = lift(steps, self._pages)
        if lifted is None:
            return None
        position = self._aligned.positions[self._index(steps[0])]
        binding = self._binder.bind(lifted.words, position, "row")
        if binding.source != "input" or binding.template != f"{{{binding.name}}}":
            return None
        own = {row: lifted.filled(lifted.words[cell.row]) for row, cell in cells.items()}
        return Need(lifted.selector(binding.name), own, f"what {binding.name} names")

    def _index(self, cell: Cell) -> int:
        return next(p.index for p in self._aligned.positions if p.cells.get(cell.row) == cell)

    # -- a word of the sentence

    def _said(self, over: Mapping[RowKey, Sight]) -> Iterator[Need]:
        """Each word that the sentence has for every row, wherever the pages say it at the end."""
        data = {row: self._given(row[0]) for row in over}
        if len(over) < LEAST_SIGHTS or not all(data.values()):
            return
        shared = set.intersection(*(set(each) for each in data.values()))
        for key in sorted(shared, key=lambda each: (len(each), each)):
            words = {row: data[row][key] for row in over}
            first = min(over)
            page = self._page(over[first])
            if page is None or len(set(words.values())) < LEAST_SIGHTS:
                continue
            for template in dict.fromkeys(_places_saying(page, words[first])):
                lifted = Lifted(template, words)
                own = {row: lifted.filled(said) for row, said in words.items()}
                yield Need(lifted.selector(key), own, f"a text that says {key}")

    def _given(self, trace: str) -> dict[str, str]:
        known = self._aligned.traces.get(trace)
        given = {} if known is None else known.input_data or {}
        return {key: value for key, value in given.items() if isinstance(value, str) and key.isidentifier()}


def _places_saying(page: SeenPage, said: str) -> Iterable[str]:
    """XPath for elements that say a word and nothing else, the word left open."""
    found = [
        element
        for element in page.stored.roots[0].elements
        if squeeze(text_of(element)) == said and visible(element)
    ]
    for element in found[:MOST_PLACES]:
        choice = page.selectors.of(element).selector
        for each in () if choice is None else choice.strategies:
            value = getattr(each, "value", "")
            if each.type == "xpath-class" and not each.fallback:
                yield f"{value}[normalize-space()='{{{{{PARAMETER}}}}}']"
            elif each.type == "xpath-text" and xpath_literal(said) in value:
                yield value.replace(xpath_literal(said), f"'{{{{{PARAMETER}}}}}'")


def _each(sights: Mapping[RowKey, Sight]) -> Sights:
    return {row: (sight,) for row, sight in sights.items()}


def _cell(cells: Mapping[RowKey, Cell], row: RowKey) -> Cell | None:
    """The first step of a row at a position, its rounds included."""
    found = [cell for key, cell in cells.items() if belongs(key, row)]
    return min(found, key=lambda cell: cell.step_index, default=None)
