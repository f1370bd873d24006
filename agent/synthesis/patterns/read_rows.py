"""Values that stand beside a name, or in the n-th field: what an input names on the page, and what it shows there.

"Enter the value of Country": the sentence has the row's name, and what is typed is what the page shows in that row. The
reading is accepted only if it leads to the value in every trace, with at least two names and two values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from agent.synthesis.alignment.aligned_traces import AlignedCell, RowKey
from agent.synthesis.patterns.ordinal_targets import find_ordinal_target
from agent.synthesis.patterns.row_templates import find_row_template
from agent.synthesis.traces.trace_pages import TracePage, TracePages
from kb_schema.selectors import Selector
from kb_schema.templates import rename_selector_parameter
from web_pages.element_tree import Element
from web_pages.form_fields import value_of
from web_pages.page_texts import own_texts, squeeze, text_of
from web_pages.visibility import visible

LEAST_VALUES = 2
MOST_PLACES = 4
"""Places of a page that show the value and are tried."""


@dataclass(frozen=True, slots=True)
class RowReading:
    """Where a value stands: XPath with the parameter `{{name}}`, and the texts that name its row."""

    template: str
    words: Mapping[RowKey, str]

    def selector(self, name: str) -> str:
        """Return the XPath with a variable's name as `{name}`, as extractions are written."""
        renamed = rename_selector_parameter(self.template, "row", name)
        return renamed.replace(f"{{{{{name}}}}}", f"{{{name}}}")


def find_row_reading(
    cells: Mapping[RowKey, AlignedCell],
    texts: Mapping[RowKey, str],
    told: Mapping[str, Mapping[RowKey, str]],
    pages: TracePages,
    is_input: Callable[[Mapping[RowKey, str]], bool],
) -> RowReading | None:
    """Return where the pages of steps show their values, by a text that is an input; None if nowhere.

    `told` has the texts of the inputs, `is_input` says whether texts are those of one of them.
    """
    if len(set(texts.values())) < LEAST_VALUES or not told:
        return None
    places = {row: list(_list_places(cells[row], text, pages)) for row, text in texts.items()}
    if not all(places.values()):
        return None
    for number in range(MOST_PLACES):
        chosen = {row: each[min(number, len(each) - 1)] for row, each in places.items()}
        shown = list(chosen.values())
        found = find_row_template(shown, pages, told, one_of_many=True)
        found = found or find_ordinal_target(shown, pages, told)
        if (
            found is not None
            and not found.also
            and "|words" not in found.template
            and len(set(found.words.values())) >= LEAST_VALUES
            and is_input(found.words)
        ):
            return RowReading(found.template, found.words)
    return None


def _list_places(cell: AlignedCell, text: str, pages: TracePages) -> Iterator[AlignedCell]:
    """Yield the step with the target replaced by each visible element that says exactly the value."""
    page = pages.get(cell.step.html_before, cell.step.source_url)
    if page is None or not text.strip():
        return
    for element in islice(_list_elements(page, text), MOST_PLACES):
        selector = page.selectors.of(element).selector
        if selector is not None and selector.frame is None:
            yield replace(
                cell, step=cell.step.model_copy(update={"target": _only_found(page, selector, element)})
            )


def _list_elements(page: TracePage, text: str) -> Iterator[Element]:
    said = squeeze(text)
    for element in page.stored.roots[0].elements:
        shows = (own_texts(element) and squeeze(text_of(element)) == said) or value_of(element) == text
        if shows and visible(element):
            yield element


def _only_found(page: TracePage, selector: Selector, element: Element) -> Selector:
    """Return the selector with the strategies that lead to the element alone."""
    kept = tuple(each for each in selector.strategies if page.find(Selector(strategies=(each,))) is element)
    return selector.model_copy(update={"strategies": kept}) if kept else selector
