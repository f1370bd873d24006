"""Finds how a page writes the values that a selector is told: `Fortnightly` for `fortnightly`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kb_schema.page_snapshots import PageSnapshot
from kb_schema.selectors import Selector, TemplateStrategy
from web_pages.page_texts import fold, squeeze, text_of
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible


def find_page_spellings(
    snapshot: PageSnapshot, selector: Selector, values: Mapping[str, Any]
) -> dict[str, str]:
    """Return, by parameter, the other spelling of its value on the page: equal but for capital letters.

    Left out are values that the page has as they are, and those with several other spellings: it is not known which
    is meant.
    """
    names = {
        name for each in selector.strategies if isinstance(each, TemplateStrategy) for name in each.parameters
    }
    wanted = {name: said for name in sorted(names) if isinstance(said := values.get(name), str)}
    if not wanted:
        return {}
    written = _collect_spellings(StoredPage(snapshot), {fold(each) for each in wanted.values()})
    return {
        name: spelling
        for name, value in wanted.items()
        for spelling in written.get(fold(value), ())
        if len(written[fold(value)]) == 1 and spelling != squeeze(value)
    }


def _collect_spellings(page: StoredPage, folded: Iterable[str]) -> dict[str, set[str]]:
    """Return the visible texts of elements that are one of the folded texts, by these."""
    found: dict[str, set[str]] = {each: set() for each in folded if each}
    longest = max(map(len, found), default=0)
    for root in page.roots:
        for element in root.elements:
            said = squeeze(text_of(element))
            if (
                0 < len(said) <= longest
                and (same := found.get(said.lower())) is not None
                and visible(element)
            ):
                same.add(said)
    return found
