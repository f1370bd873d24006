"""Targets that say the same but for the words they quote, and targets that are always at one place of a list:
what a target is in every run, told without looking for a template (MA *beyond*: varying targets).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agent.synthesis.alignment import RowKey
from agent.synthesis.items import row_of, siblings_of
from agent.synthesis.pages import SeenPage
from kb_schema.pages.tree import Element
from kb_schema.selectors import Selector, ValueStrategy, css
from kb_schema.templates import xpath_literal

_QUOTED = re.compile(r"""normalize-space\(\)=('[^']*'|"[^"]*")""")
MOST_STEPS = 8
"""Elements between a row and what is acted on in it."""


def quotes(target: Selector) -> list[str]:
    """The texts that a target's XPath quotes: what is on it, or on its label."""
    said = [each.value for each in target.strategies if isinstance(each, ValueStrategy)]
    return [found[1][1:-1] for text in said for found in _QUOTED.finditer(text)]


def quoted(targets: Mapping[RowKey, Selector], parameter: str) -> tuple[str, dict[RowKey, str]] | None:
    """The XPath that all of them have in common but for one text, as a template with the parameter, and
    that text in each; None where there is none, or the text is always the same.
    """
    told = {row: dict(_templates(target, parameter)) for row, target in targets.items()}
    shared = set.intersection(*(set(each) for each in told.values())) if told else set()
    for template in next(iter(told.values()), {}):
        words = {row: each[template] for row, each in told.items() if template in shared}
        if len(set(words.values())) > 1:
            return template, words
    return None


def of_one_run(targets: Sequence[Selector]) -> set[str]:
    """XPaths that quote what was only there in one run: all targets have the like, each with other words."""
    told = [dict(_templates(target, "row")) for target in targets]
    shared = set.intersection(*(set(each) for each in told)) if told else set()
    varying = [template for template in shared if len({each[template] for each in told}) > 1]
    return {
        template.replace("'{{row}}'", mark + each[template] + mark)
        for template in varying
        for each in told
        for mark in "'\""
    }


def _templates(target: Selector, parameter: str) -> Iterator[tuple[str, str]]:
    """Each way to leave one text of a target's XPath open, and that text."""
    for strategy in target.strategies:
        if not isinstance(strategy, ValueStrategy) or strategy.type != "xpath-text":
            continue
        for found in _QUOTED.finditer(strategy.value):
            begin, end = found.span(1)
            words = found[1][1:-1]
            rest = (strategy.value[:begin], strategy.value[end:])
            if words and "{" not in "".join(rest) and xpath_literal(words) not in "".join(rest):
                yield f"{rest[0]}'{{{{{parameter}}}}}'{rest[1]}", words


def always_at(seen: Mapping[RowKey, tuple[SeenPage, Element]]) -> Selector | None:
    """The selector of one place of a list, the first or the last, if that is where the element always was, and
    some list had more rows than this one; None else.
    """
    places = {row: _place(element) for row, (_, element) in seen.items()}
    known = [place for place in places.values() if place is not None]
    if len(known) < len(seen) or not known or max(count for _, count, _ in known) < 2:
        return None
    if len({inside for _, _, inside in known}) > 1:
        return None
    for end, number in (("first", 1), ("last", None)):
        if all(at == (number or count) for at, count, _ in known):
            return _selector(seen, known[0][2], end)
    return None


def _place(element: Element) -> tuple[int, int, str] | None:
    """Which row of how many it is in, and the way from the row to it."""
    row = row_of(element)
    if row is None or row.parent is None:
        return None
    rows = siblings_of(row)
    steps: list[str] = []
    node = element
    while node is not row and node.parent is not None and len(steps) < MOST_STEPS:
        same = [child for child in node.parent.elements() if child.tag == node.tag]
        steps.insert(0, f" > {node.tag}:nth-of-type({same.index(node) + 1})")
        node = node.parent
    at = next((number for number, each in enumerate(rows, 1) if each is row), None)
    return None if at is None or node is not row else (at, len(rows), "".join(steps))


def _selector(seen: Mapping[RowKey, tuple[SeenPage, Element]], inside: str, end: str) -> Selector | None:
    page, element = next(iter(seen.values()))
    row = row_of(element)
    if row is None or row.parent is None:
        return None
    choice = page.selectors.of(row.parent).selector
    for strategy in () if choice is None or choice.frame is not None else choice.strategies:
        if not isinstance(strategy, ValueStrategy) or strategy.type not in ("id", "css"):
            continue
        around = strategy.value if strategy.type == "css" else f'[id="{strategy.value}"]'
        found = css(f"{around} > {row.tag}:{end}-of-type{inside}")
        if all(each.stored.resolve(found).found == (wanted,) for each, wanted in seen.values()):
            return found
    return None
