"""The origins a page may have when it is acted on: one rule for runs, verification, replays, mapping and demos."""

from __future__ import annotations

from playwright.async_api import ElementHandle, Page

from agent.page.errors import OriginRefused
from kb_schema.url_patterns import origin_of


def check_origin(url: str, allowed: frozenset[str]) -> None:
    """Raise `OriginRefused` unless the URL's origin is among the allowed ones; without any, all are."""
    if not allowed:
        return
    origin = origin_of(url)
    if origin not in {origin_of(each) or each for each in allowed}:
        raise OriginRefused(url, origin, allowed)


async def check_element_origin(page: Page, element: ElementHandle, allowed: frozenset[str]) -> None:
    """Raise `OriginRefused` unless the frame of an element, and the page around it, have an allowed origin.

    The handle is bound to its document: once this has passed, the handle leads into an allowed document or to
    nothing.
    """
    check_origin(page.url, allowed)
    frame = await element.owner_frame()
    while frame is not None and not origin_of(frame.url) and frame.parent_frame is not None:
        frame = frame.parent_frame  # about:blank and about:srcdoc have the origin of the frame around them
    check_origin(page.url if frame is None else frame.url, allowed)
