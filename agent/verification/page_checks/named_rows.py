"""Keeps a step in the row that its requirement names: `Edit@INV-0042` is not the `Edit` of another row.

A stored selector may tell the row by a text that another row has now, such as its state.
"""

from __future__ import annotations

from agent.locators.element_descriptions import ElementDescription, list_readings
from agent.locators.page_index import IndexedElement, PageIndex, RegionKind
from agent.locators.page_regions import find_regions, stands_in
from agent.locators.page_scan import check_selectors, scan_page
from agent.page.errors import GateFailed, GatePoint
from agent.page.live_selectors import resolve_selector, summarize_selector
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.selectors import Selector, ValueStrategy
from kb_schema.templates import xpath_literal
from kb_schema.verification import PlanStep

_BY = {"text": "normalize-space()", "aria-label": "@aria-label", "title": "@title"}
_ROWS = frozenset({RegionKind.ROW, RegionKind.ITEM})


async def require_named_row(site_page: VerificationPage, step: PlanStep) -> None:
    """Check that a step's element stands in the row or item that the requirement names, where the page has that row.

    Raises `GateFailed`; nothing was done then.
    """
    region, selector = step.intent.region, step.selector
    if not region or selector is None or not (await resolve_selector(site_page.page, selector)).count:
        return
    index = await scan_page(site_page.page)
    rows = _find_rows(index, region)
    if not rows:
        return
    inside = [(each.at, selector) for each in index.elements if each.visible and stands_in(index, each, rows)]
    if not any(await check_selectors(site_page.page, index, inside)):
        raise GateFailed(
            GatePoint.NOT_FOUND, f"it stands in another row than {region!r}", summarize_selector(selector)
        )


async def find_in_named_row(site_page: VerificationPage, step: PlanStep) -> Selector | None:
    """Return a selector of a step's element by its name in the row that the requirement names, by that name of the row;
    None without such a row, if no element or several are called so in it, or if the step's selector leads into it.
    """
    region = step.intent.region
    if not region or await _is_in_its_row(site_page, step):
        return None
    index = await scan_page(site_page.page)
    rows, name = _find_rows(index, region), step.intent.element.casefold()
    found = [
        each
        for each in index.interactive
        if each.visible and each.root == 0 and each.name.casefold() == name and stands_in(index, each, rows)
    ]
    if len(found) != 1:
        return None
    tag = next(
        index.elements[index.regions[at].element].tag
        for at in rows
        if stands_in(index, found[0], frozenset({at}))
    )
    row = f"//{tag}[.//text()[normalize-space()={xpath_literal(region)}]]"
    said = "".join(f"[{_BY[attribute]}={xpath_literal(value)}]" for attribute, value in _list_words(found[0]))
    selector = Selector(strategies=(ValueStrategy(type="xpath", value=f"{row}//{found[0].tag}{said}"),))
    leads = await check_selectors(site_page.page, index, [(found[0].at, selector)])
    return selector if leads[0] else None


async def _is_in_its_row(site_page: VerificationPage, step: PlanStep) -> bool:
    if step.selector is None or not (await resolve_selector(site_page.page, step.selector)).count:
        return False
    try:
        await require_named_row(site_page, step)
    except GateFailed:
        return False
    return True


def _list_words(element: IndexedElement) -> list[tuple[str, str]]:
    """Return what an element says, by where it says it: its text, else a label or title without a text."""
    said = {
        "text": element.text,
        **{each: element.attributes.get(each, "") for each in ("aria-label", "title")},
    }
    return [(where, words) for where, words in said.items() if words][:1]


def _find_rows(index: PageIndex, region: str) -> frozenset[int]:
    reading = next(iter(list_readings(ElementDescription("", None, region))), None)
    regions = frozenset[int]() if reading is None else find_regions(index, reading.regions)
    return frozenset(at for at in regions if index.regions[at].kind in _ROWS)
