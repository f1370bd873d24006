"""Finds the same-origin frames that an outcome about the page concerns, so that its test looks where the verdict looked.

The verdict reads the page with its frames and open shadow roots; Playwright's locators of a page read no frames.
"""

from __future__ import annotations

from collections.abc import Iterator

from playwright.async_api import Error as DriverError
from playwright.async_api import FrameLocator, Page

from agent.locators.page_index import PageIndex, RootKind
from agent.locators.page_scan import scan_page
from agent.verification.page_checks.text_evidence import WITHIN
from agent.verification.page_checks.verification_page import VerificationPage
from kb_schema.verification import PlanCheck

FramePath = tuple[str, ...]
"""CSS of the frames, the outermost first."""
_ABSENT = frozenset({"not_shows", "dialog_closes"})


async def find_outcome_frames(site_page: VerificationPage, check: PlanCheck) -> tuple[FramePath, ...]:
    """Return the frame in which the text of an outcome is, if the page itself does not show it; for an absence all
    frames. Empty for other outcomes, and on a page without frames. Raises `PageGone`.
    """
    kind, value = check.outcome.kind, check.outcome.value
    if kind not in _ABSENT and kind not in WITHIN:
        return ()
    paths = list(dict.fromkeys(_list_frame_paths(await scan_page(site_page.page))))
    if kind in _ABSENT or not paths:
        return tuple(paths)
    if await _shows(site_page.page, kind, value):
        return ()
    for path in paths:
        if await _shows(enter_frames(site_page.page, path), kind, value):
            return (path,)
    return ()


def enter_frames(page: Page, path: FramePath) -> Page | FrameLocator:
    """Return the innermost frame of a path."""
    root: Page | FrameLocator = page
    for css in path:
        root = root.frame_locator(css)
    return root


def _list_frame_paths(index: PageIndex) -> Iterator[FramePath]:
    for at, root in enumerate(index.roots):
        if root.kind is RootKind.FRAME:
            path = [each.host_css for each in index.path_of_root(at) if each.kind is RootKind.FRAME]
            if all(path):
                yield tuple(css for css in path if css)


async def _shows(root: Page | FrameLocator, kind: str, value: str | None) -> bool:
    within = WITHIN.get(kind)
    found = root.locator(within) if within else root.get_by_text(value or "")
    if within and value:
        found = found.filter(has_text=value)
    try:
        return await found.filter(visible=True).count() > 0
    except DriverError:
        return False
