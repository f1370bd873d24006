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


async def require_named_row(site_page: VerificationPage, step: PlanStep) -> None:
    """Check that a step's element stands in what its requirement names, if that is a row or an item of the page.

    An item without a control of the step's name is not meant: an entry of a menu may be called like a section. Raises
    `GateFailed`; nothing was done then.
    """
    region, selector = step.intent.region, step.selector
    if not region or selector is None or not (await resolve_selector(site_page.page, selector)).count:
        return
    index = await scan_page(site_page.page)
    regions = _find_regions(index, region)
    if not any(_is_meant(index, at, step) for at in regions):
        return
    inside = [(each.at, selector) for each in index.elements if stands_in(index, each, regions)]
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
    found = [
        (at, each)
        for at in _find_regions(index, region)
        if _is_meant(index, at, step)
        for each in _list_called(index, at, step)
    ]
    if len(found) != 1 or found[0][1].root != 0:
        return None
    at, element = found[0]
    tag = index.elements[index.regions[at].element].tag
    row = f"//{tag}[.//text()[normalize-space()={xpath_literal(region)}]]"
    said = "".join(f"[{_BY[attribute]}={xpath_literal(value)}]" for attribute, value in _list_words(element))
    selector = Selector(strategies=(ValueStrategy(type="xpath", value=f"{row}//{element.tag}{said}"),))
    leads = await check_selectors(site_page.page, index, [(element.at, selector)])
    return selector if leads[0] else None


def _is_meant(index: PageIndex, at: int, step: PlanStep) -> bool:
    kind = index.regions[at].kind
    return kind is RegionKind.ROW or (kind is RegionKind.ITEM and bool(_list_called(index, at, step)))


def _list_called(index: PageIndex, at: int, step: PlanStep) -> list[IndexedElement]:
    """Return the visible controls in a region that are called as the step's element."""
    name = step.intent.element.casefold()
    here = frozenset({at})
    return [
        each
        for each in index.interactive
        if each.visible and each.name.casefold() == name and stands_in(index, each, here)
    ]


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


def _find_regions(index: PageIndex, region: str) -> frozenset[int]:
    reading = next(iter(list_readings(ElementDescription("", None, region))), None)
    return frozenset() if reading is None else find_regions(index, reading.regions)
