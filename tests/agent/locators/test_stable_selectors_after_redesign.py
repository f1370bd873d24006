"""Selectors recorded before a redesign, used after it: what survives, and that nothing leads astray unnoticed.

Which element is which after the redesign is told by the site's own rule for ids, by addresses and by
names of form fields: things the redesign keeps or renames by rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from agent.page.snapshot_capture import take_snapshot
from kb_schema.selectors import Selector
from seeds.spadeworks.site.ui_labels import Ui
from tests.agent.locators.target_lists import SIGNED_OUT, opened
from tests.support.rotation import dice
from web_pages.accessible_names import is_interactive
from web_pages.element_tree import Element
from web_pages.selectors.selector_generator import PageSelectors
from web_pages.stored_pages import StoredPage
from web_pages.visibility import visible

PAGES = ("/login", "/forgot-password", "/agent", "/agent/create", "/agent/agt-1001", "/contacts", "/campaigns", "/inbox",
         "/settings")  # fmt: skip
TOLD_BY = ("href", "name", "data-delete", "rel")


async def pages(browser, base: str, paths: Sequence[str]) -> dict[str, StoredPage]:
    kept: dict[str, StoredPage] = {}
    for signed_out in (True, False):
        async with opened(browser, "spadeworks", base, signed_out=signed_out) as page:
            for path in paths:
                if (path in SIGNED_OUT) is signed_out:
                    await page.goto(base + path)
                    kept[path] = StoredPage(await take_snapshot(page))
    return kept


def operable(page: StoredPage) -> list[Element]:
    return [e for root in page.roots for e in root.elements if is_interactive(e) and visible(e)]


def same_after(old: Element, page: StoredPage) -> Element | None:
    """The element as it is after the redesign; None where it cannot be told."""
    identity = old.get("id")
    if identity is not None:
        return page.roots[0].by_id(Ui(2).id(identity)) if old.root.kind == "document" else None
    for name in TOLD_BY:
        value = old.get(name)
        twins = [e for e in operable(page) if value is not None and (e.tag, e.get(name)) == (old.tag, value)]
        if value is not None:
            return twins[0] if len(twins) == 1 else None
    return None


@pytest.mark.parametrize(
    "paths",
    [
        ("/login", *dice("selecting-drift").sample(PAGES[2:], 1)),
        pytest.param(PAGES, marks=pytest.mark.nightly),
    ],
    ids=["sample", "all"],
)
async def test_after_a_redesign_no_selector_that_tells_what_it_means_leads_to_something_else(
    browser, spadeworks, spadeworks_2, paths
):
    before = await pages(browser, spadeworks, paths)
    after = await pages(browser, spadeworks_2, paths)
    by_kind: Counter[tuple[str, str]] = Counter()
    whole: Counter[str] = Counter()
    for path in paths:
        selectors = PageSelectors(before[path])
        for element in operable(before[path]):
            truth = same_after(element, after[path])
            selector = selectors.of(element).selector
            if truth is None or selector is None:
                continue
            for strategy in selector.strategies:
                found = after[path].resolve(Selector(strategies=(strategy,), frame=selector.frame)).element
                fate = "lost" if found is None else "survived" if found is truth else "astray"
                by_kind[strategy.type + (" by position" if strategy.fallback else ""), fate] += 1
            result = after[path].resolve(selector)
            fate = "lost" if result.element is None else "survived" if result.element is truth else "astray"
            if fate == "astray":
                assert result.strategy is not None
                fate = "astray, last resort" if result.strategy.fallback else "astray, unnoticed"
            whole[fate] += 1
    assert sum(whole.values()) >= 5 * len(paths), whole
    assert whole["astray, unnoticed"] == 0, whole
    assert not [key for key in by_kind if key[1] == "astray" and "position" not in key[0]], by_kind
    assert whole["survived"] / sum(whole.values()) > (0.8 if paths == PAGES else 0.3), whole
