"""Fingerprints of the pages of all sites, unchanged and after each change or bug, with what each control is.

What a control is, is told by the changed model's own words, never by our similarity.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Locator, Page

from agent.healing.fingerprint_comparison import kind_of
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_scan import scan_page
from kb_schema.fingerprints import Fingerprint
from periplus.session_setup import open_fresh_context
from tests.interface_changes.operators import apply_operators, list_operators
from tests.interface_changes.site_models import FIELDS, SITES, Part, SiteModel
from tests.interface_changes.site_server import ShownSite, serve_site

UNCHANGED = ""
STATES = {
    "list": ("open", "search", "find", "act", "remove"),
    "form": (*FIELDS, "save"),
    "dialog": ("confirm",),
}
"""The pages of a site, and the controls that stand on each."""
IN_A_ROW = ("act", "remove")
GONE = ("_removed", "_replaced")
"""Ends of the bugs after which a control is not there."""


@dataclass(frozen=True)
class PageRecord:
    """One page: its operable elements, and which of them is which control."""

    site: str
    operator: str
    """The change or bug; empty: none."""
    state: str
    elements: tuple[Fingerprint, ...]
    places: dict[str, int]
    """Control -> position among the elements; one that is not there has none."""


async def record_site(browser: Browser, site: str) -> list[PageRecord]:
    """Return the pages of a site: unchanged, after each change, and after the bugs that take a control away."""
    found = []
    with serve_site() as shown:
        for name in (UNCHANGED, *list_operators()):
            if name and list_operators()[name].is_bug and not name.endswith(GONE):
                continue
            model = apply_operators(site, (name,)) if name else SITES[site]
            if model is not None:
                found += [each async for each in _record_pages(browser, shown, site, name, model)]
    return found


async def _record_pages(
    browser: Browser, shown: ShownSite, site: str, name: str, model: SiteModel
) -> AsyncIterator[PageRecord]:
    for state, controls in STATES.items():
        shown.show(model)
        async with open_fresh_context(browser) as context:
            page = await context.new_page()
            await page.goto(shown.base)
            if not await _reach(page, model, state):
                continue
            index = await scan_page(page)
            prints = list(PageFingerprints(index).all())
            elements = tuple(seen for at, seen in prints if index.elements[at].visible)
            places = {key: at for key in controls if (at := _find(model, key, elements)) is not None}
            yield PageRecord(site, name, state, elements, places)


async def _reach(page: Page, model: SiteModel, state: str) -> bool:
    """Open a page of the site; False if the control that opens it is not there."""
    parts = model.parts
    opener = {"form": parts["open"], "dialog": parts["remove"]}.get(state)
    if opener is None:
        await _named(page, parts["find"] if not parts["find"].removed else parts["open"]).first.wait_for()
        return True
    if opener.removed:
        return False
    row = page.get_by_role("row").filter(has_text=model.rows[-2][0] if state == "dialog" else "")
    await _named(row if state == "dialog" else page, opener).first.click()
    there = (
        page.get_by_role("dialog")
        if state == "dialog"
        else page.get_by_role("heading", name=model.form_heading)
    )
    await there.first.wait_for()
    return True


def _named(root: Page | Locator, part: Part) -> Locator:
    button = root.get_by_role("button", name=part.words, exact=True)
    return button.or_(root.get_by_role("link", name=part.words, exact=True))


def _find(model: SiteModel, key: str, elements: tuple[Fingerprint, ...]) -> int | None:
    """Return where a control is: the one element with its words, in the row that the requirement works with."""
    part = model.parts[key]
    if part.removed or part.opposite:
        return None
    row = model.rows[-2][0]
    at = [
        number
        for number, seen in enumerate(elements)
        if (seen.name or "").casefold() == part.words.casefold()
        and (kind_of(seen) == "press") is (key not in (*FIELDS, "search"))
        and (key not in IN_A_ROW or row in seen.row)
    ]
    return at[0] if len(at) == 1 else None


def write_records(records: list[PageRecord], file: Path) -> None:
    """Write one line of JSON for each page."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({**vars(each), "elements": [one.model_dump(mode="json") for one in each.elements]})
        for each in records
    ]
    file.write_text("".join(f"{each}\n" for each in lines), "utf-8")


def read_records(file: Path) -> Iterator[PageRecord]:
    """Return the pages of a file."""
    for line in file.read_text("utf-8").splitlines():
        told = json.loads(line)
        elements = tuple(map(Fingerprint.model_validate, told["elements"]))
        yield PageRecord(**{**told, "elements": elements})
