"""Infers where the effect of a workflow can be read: a list that has a row with the inputs' values afterwards, and
had none before, or the other way round.

Evidence: every trace showed the list at one address before its last effective step, and ends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

from agent.synthesis.patterns.trace_ends import TraceEnd
from agent.synthesis.traces.list_rows import is_marked_row, list_alike_parts
from agent.synthesis.traces.trace_pages import TracePage
from kb_schema.conditions import Combined, Condition, ElementVisible
from kb_schema.read_backs import PageReadBack
from kb_schema.selectors import Selector, TemplateStrategy, ValueStrategy
from kb_schema.url_patterns import place_of
from web_pages.element_tree import Element
from web_pages.page_texts import text_of
from web_pages.selectors.selector_terms import ClassTerm
from web_pages.selectors.stable_attributes import list_stable_classes
from web_pages.visibility import visible

MOST_LEVELS = 5
"""Ancestors of an element with an input's value that are tried as its row."""
LONGEST_ROW = 2_000
"""Longer texts are a page's, not a row's."""


def find_page_read_back(ends: Sequence[TraceEnd]) -> PageReadBack | None:
    """Return where the effect can be read; None if the traces do not show it."""
    if len(ends) < 2:
        return None
    address = _find_address(ends)
    if address is None:
        return None
    for present in (True, False):
        for row, rows in _list_rows(ends, present=present):
            shown: Condition = ElementVisible(type="element_visible", element=row)
            if not present:
                shown = Combined(type="none_of", conditions=(shown,))
            return PageReadBack(url=address, rows=rows, conditions=(shown,))
    return None


def _find_address(ends: Sequence[TraceEnd]) -> str | None:
    """Return the address at which every trace ends and was before, without the parts of a query that differ."""
    if not all(end.url for end in ends) or len({place_of(end.url or "") for end in ends}) != 1:
        return None
    before = [[page.stored.snapshot.url for page in _list_lists(end)] for end in ends]
    if not all(before):
        return None
    common = set.intersection(*(set(each) for each in before))
    first = min(common, default=before[0][0], key=lambda url: (len(url), url))
    parts = urlsplit(first)
    query = parts.query if first in common else ""
    return urlunsplit(("", "", parts.path or "/", query, parts.fragment))


def _list_lists(end: TraceEnd) -> list[TracePage]:
    """Return the earlier pages at the address where the trace ends."""
    here = place_of(end.url or "")
    return [page for page in end.earlier if place_of(page.stored.snapshot.url) == here]


def _list_rows(ends: Sequence[TraceEnd], *, present: bool) -> Iterator[tuple[Selector, Selector]]:
    """Yield selectors of a row with the inputs' values that only the last pages have, or only those before, and of all
    rows like it.
    """
    first = ends[0]
    page = first.page if present else _list_lists(first)[-1]
    common = set.intersection(*(set(end.values) for end in ends))
    for name in sorted(common, key=lambda each: (-len(first.values[each]), each)):
        for row in _list_row_elements(page, first.values[name]):
            held = [each for each in common if first.values[each] in text_of(row, everything=True)]
            for names in dict.fromkeys(((name, *sorted(set(held) - {name})), (name,))):
                selector, rows = _build_selector(row, names), _build_rows(row)
                if all(_tells(end, selector, rows, present=present) for end in ends):
                    yield selector, rows


def _list_row_elements(page: TracePage, value: str) -> Iterator[Element]:
    """Yield what is one of several parts of its kind around an element that says the value alone."""
    for root in page.stored.roots:
        for named in page.selectors.terms(root, shadows=False).by_text.get(value, ()):
            row: Element | None = named
            for _ in range(MOST_LEVELS if visible(named) else 0):
                if row is None or len(text_of(row, everything=True)) > LONGEST_ROW:
                    break
                marked = is_marked_row(row) or list_stable_classes(row)
                if marked and row.tag != "option" and list_alike_parts(row):  # what can be chosen is no list
                    yield row
                row = row.parent


def _build_selector(row: Element, names: Sequence[str]) -> Selector:
    """Return the innermost row with an element that says the first input alone, and with the others anywhere in it."""
    kind = _describe_kind(row)
    first, *others = names
    template = f"//{kind}[not(.//{kind})][descendant-or-self::*[normalize-space()='{{{{{first}}}}}']]"
    template += "".join(f"[contains(normalize-space(.), '{{{{{each}}}}}')]" for each in others)
    strategy = TemplateStrategy(
        type="parameterized_xpath", template=template, parameters=tuple(names), required_context=tuple(names)
    )
    return Selector(strategies=(strategy,))


def _build_rows(row: Element) -> Selector:
    kind = _describe_kind(row)
    # A heading of a table is no row of it.
    cells = "[td]" if row.tag == "tr" else ""
    return Selector(strategies=(ValueStrategy(type="xpath", value=f"//{kind}{cells}"),))


def _describe_kind(row: Element) -> str:
    """Return tag and class, in XPath."""
    classes = list_stable_classes(row)
    return row.tag + (f"[{ClassTerm(classes[0]).xpath}]" if classes else "")


def _tells(end: TraceEnd, row: Selector, rows: Selector, *, present: bool) -> bool:
    """Whether a trace shows the row at its end and on no page of the list before, or the other way round. Every page
    has other rows: else nothing tells that the list was drawn.
    """
    drawn = [page for page in _list_lists(end) if page.shows(rows)]
    if not drawn or not end.page.shows(rows):
        return False
    lists = [_shows(page, row, end.values) for page in drawn]
    if present:
        return _shows(end.page, row, end.values) and not any(lists)
    return lists[-1] and not _shows(end.page, row, end.values)


def _shows(page: TracePage, row: Selector, values: Mapping[str, str]) -> bool:
    strategy = row.strategies[0]
    if not isinstance(strategy, TemplateStrategy):
        return False
    found = page.stored.resolve_template(
        strategy.template, {each: values[each] for each in strategy.parameters}
    )
    return any(visible(each) for each in found)
