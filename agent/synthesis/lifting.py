"""Targets that vary because they stand in a list become one selector with a parameter (MA *beyond*).

A template is taken only if, filled with each row's own words, it leads to exactly the element that was
acted on, on each page on which it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.synthesis.alignment import Cell, RowKey
from agent.synthesis.items import row_of
from agent.synthesis.mentions import NAME
from agent.synthesis.pages import Pages, SeenPage
from agent.synthesis.quoting import always_at, quoted
from kb_schema.pages.selecting.rows import row_selector
from kb_schema.pages.texts import squeeze, text_of
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.templates import fill_selector, xpath_literal

PARAMETER = "row"
MOST_TEMPLATES = 6
MOST_WORDS = 8
"""Words of a row that a template is tried with."""


@dataclass(frozen=True, slots=True)
class Lifted:
    """A template for a varying target, and the words that make it each row's."""

    template: str
    """XPath with `{{row}}`."""
    words: Mapping[RowKey, str]

    def selector(self, name: str) -> Selector:
        """With the parameter called so."""
        template = self.template.replace(f"{{{{{PARAMETER}}}}}", f"{{{{{name}}}}}")
        strategy = TemplateStrategy(
            type="parameterized_xpath", template=template, parameters=(name,), required_context=(name,)
        )
        return Selector(strategies=(strategy,))

    def filled(self, words: str) -> Selector:
        """With these words in the parameter's place."""
        value = fill_selector(self.template, {PARAMETER: words}, "xpath")
        return Selector(strategies=(ValueStrategy(type="xpath", value=value),))


@dataclass(frozen=True, slots=True)
class _Seen:
    page: SeenPage
    element: Element
    target: Selector
    name: str | None
    """What the task's sentence calls it."""


def lift(cells: Sequence[Cell], pages: Pages) -> Lifted | None:
    """What the targets of these steps have in common; None where nothing fits all of them."""
    actions = {cell.step.action_type for cell in cells}
    if len(actions) != 1 or not cells:
        return None
    seen: dict[RowKey, _Seen] = {}
    for cell in cells:
        found = _look(cell, pages)
        if found is None:
            return None
        seen[cell.row] = found
    tried: set[str] = set()
    for template in _templates(seen.values()):
        if template in tried or len(tried) >= MOST_TEMPLATES:
            continue
        tried.add(template)
        words = {row: _words_for(template, each) for row, each in seen.items()}
        known = {row: said for row, said in words.items() if said is not None}
        if len(known) == len(seen):
            return Lifted(template, known)
    told = quoted({row: each.target for row, each in seen.items()}, PARAMETER)
    return None if told is None else Lifted(*told)


def always_there(cells: Sequence[Cell], pages: Pages) -> Selector | None:
    """The first or the last row of a list, if that is what these steps always acted on; else None."""
    seen = {cell.row: _look(cell, pages) for cell in cells}
    known = {row: (each.page, each.element) for row, each in seen.items() if each is not None}
    return always_at(known) if len(known) == len(seen) else None


def _look(cell: Cell, pages: Pages) -> _Seen | None:
    step = cell.step
    page = pages.get(step.html_before or step.html_after, step.source_url)
    if page is None or not isinstance(step.target, Selector) or step.target.frame is not None:
        return None
    element = page.find(step.target)
    return None if element is None else _Seen(page, element, step.target, step.metadata.get(NAME))


def _templates(seen: Iterable[_Seen]) -> Iterator[str]:
    every = list(seen)
    for each in every:
        row = row_selector(each.page.selectors, each.element) if each.name is None else None
        if row is not None:
            strategy = row.selector.strategies[0]
            if isinstance(strategy, TemplateStrategy):
                yield from _by_its_words(strategy.template, every)
                yield strategy.template
    for each in every:
        said = each.name or squeeze(text_of(each.element, everything=True))
        for strategy in each.target.strategies:
            literal = xpath_literal(said)
            if (
                isinstance(strategy, ValueStrategy)
                and strategy.type == "xpath-text"
                and literal in strategy.value
            ):
                yield strategy.value.replace(literal, f"'{{{{{PARAMETER}}}}}'")


def _by_its_words(template: str, seen: Sequence[_Seen]) -> Iterator[str]:
    """The template with what the element says, where that is always the same: a button that changed its mind
    is another one.
    """
    said = {squeeze(" ".join(each for each in one.element.children if isinstance(each, str))) for one in seen}
    tags = {one.element.tag for one in seen}
    row, found, _ = template.rpartition("//")
    if found and len(said) == len(tags) == 1 and "" not in said:
        yield f"{row}//{tags.pop()}[normalize-space()={xpath_literal(said.pop())}]"


def _words_for(template: str, seen: _Seen) -> str | None:
    """Words of the element's row, or its own, with which the template leads to it and to nothing else."""
    for said in _words(seen.element) if seen.name is None else (seen.name,):
        try:
            value = fill_selector(template, {PARAMETER: said}, "xpath")
        except (KeyError, ValueError):
            continue
        filled = Selector(strategies=(ValueStrategy(type="xpath", value=value),))
        if seen.page.stored.resolve(filled).found == (seen.element,):
            return said
    return None


def _words(element: Element) -> Iterator[str]:
    own = squeeze(text_of(element, everything=True))
    row = row_of(element)
    told: dict[str, None] = {}
    if row is not None:
        for node in row.descendants():
            if any(isinstance(child, str) and child.strip() for child in node.children):
                told.setdefault(squeeze(text_of(node, everything=True)))
    told.setdefault(own)
    yield from [said for said in told if said][:MOST_WORDS]
