"""Finds the control of a row again, where the row is as it was and the control is called otherwise.

Selectors of synthesized workflows name a row by a value and a control in it. A new release that names the control
otherwise leaves the row where it was: the control is looked for in this row only.
"""

from __future__ import annotations

import re

from playwright.async_api import Page

from agent.healing.fellow_search import find_by_icon
from agent.healing.fingerprint_search import (
    FingerprintMatch,
    SearchOutcome,
    SearchThresholds,
    find_fingerprint,
)
from agent.locators.page_fingerprints import PageFingerprints
from agent.locators.page_index import PageIndex
from agent.page.snapshot_capture import take_snapshot
from kb_schema.fingerprints import Fingerprint
from kb_schema.page_snapshots import PLACE_ATTRIBUTE
from kb_schema.selectors import Selector, TemplateStrategy
from web_pages.stored_pages import StoredPage

_LAST_STEP = re.compile(r"""//(?:[^'"/\[\]]|\[(?:[^'"\[\]]|'[^']*'|"[^"]*"|\[[^\[\]]*\])*\])+$""")
"""The last step of an XPath below any depth, with its predicates."""


def select_row_template(target: Selector) -> Selector | None:
    """Return the templates of the rows in which a parameterized selector means a control; None for none.

    All parameters must name the row, none the control in it.
    """
    rows = []
    for each in target.strategies:
        if not isinstance(each, TemplateStrategy) or each.language != "xpath":
            continue
        last = _LAST_STEP.search(each.template)
        if last is not None and last.start() > 0 and "{{" not in last[0] and "{{" in each.template:
            rows.append(each.model_copy(update={"template": each.template[: last.start()]}))
    return Selector(strategies=tuple(rows), frame=target.frame) if rows else None


async def find_in_row(
    page: Page,
    index: PageIndex,
    row: Selector,
    recorded: Fingerprint,
    demand: SearchThresholds,
    *,
    strict: bool,
) -> FingerprintMatch:
    """Return the element of the row that is the recorded one. Not found, unless exactly one row is there.

    `strict`: the action cannot be undone, so that its picture is not enough.
    """
    stored = StoredPage(await take_snapshot(page, look=index.token))
    rows = stored.resolve(row).found
    if len(rows) != 1:
        return FingerprintMatch(SearchOutcome.NOT_FOUND, None, (), f"{len(rows)} rows are called so")
    inside = {
        int(at) for element in rows[0].descendants() if (at := element.get(PLACE_ATTRIBUTE)) is not None
    }
    prints = PageFingerprints(index)
    candidates = [(at, seen) for at, seen in prints.all() if at in inside and index.elements[at].visible]
    match = find_fingerprint(recorded, candidates, demand)
    if match.outcome is SearchOutcome.NOT_FOUND and not strict:
        by_icon = find_by_icon(recorded, candidates, in_row=True)
        match = by_icon if by_icon.outcome is SearchOutcome.FOUND else match
    return match
