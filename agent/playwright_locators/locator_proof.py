"""Checks on a page which expressions lead to the same element as a selector.

Playwright resolves the expression; the in-page library compares the result with the selector's element.
`expression_candidates.py` lists the expressions to check.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence

from playwright.async_api import Error as DriverError
from playwright.async_api import Frame, FrameLocator, Locator, Page
from pydantic import JsonValue

from agent.page import in_page_library
from kb_schema.locator_expressions import PROPERTIES, Expression, LocatorLink, to_source
from kb_schema.selectors import Selector

LOCATOR_METHODS = frozenset(
    {
        "locator",
        "frame_locator",
        "get_by_role",
        "get_by_label",
        "get_by_placeholder",
        "get_by_test_id",
        "get_by_text",
        "get_by_title",
        "get_by_alt_text",
        "filter",
        "nth",
        "and_",
        "or_",
    }
)
MOST_NUMBERED = 40
"""Maximum number of matches for which an element may be addressed by its position (`nth`)."""

# Runs in the document of the found elements: `lookAt` stores an element, `leadsTo` compares it with the selector.
_IS_IT = """(found, selector) => {
  const library = window.top[Symbol.for("periplus.page.1")];
  return found.map((el) => JSON.parse(library.leadsTo(JSON.parse(library.lookAt(el)), JSON.stringify([[0, selector]])))[0]);
}"""
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}

Root = Page | Frame | FrameLocator | Locator


class NotALocator(ValueError):
    """An expression that Playwright cannot turn into a locator of elements."""


def to_locator(root: Page | Frame, expression: Expression) -> Locator:
    """Return the expression as a locator in a page or frame.

    Raises `NotALocator` if a link of the expression is unknown or has wrong arguments.
    """
    at: Root = root
    for link in expression:
        at = _follow(at, link, root)
    if not isinstance(at, Locator):
        raise NotALocator(f"expected a locator of elements, found {to_source(expression)}")
    return at


async def select_proven_expression(
    page: Page, selector: Selector, candidates: Sequence[Expression]
) -> Expression:
    """Return the first candidate that leads only to the selector's element.

    Otherwise returns the candidate with the fewest matches that include the element, with its position
    (`nth`). Returns an empty expression if no candidate leads to the element. Hidden elements count as
    matches, as in Playwright's strict mode. Raises `PageGone`.
    """
    await in_page_library.call(page, "revision")  # loads the library into the document
    counts = await asyncio.gather(*(_count(page, each) for each in candidates))
    for candidate, count in zip(candidates, counts, strict=True):
        if count == 1 and await _places(page, candidate, selector) == [0]:
            return candidate
    for candidate, count in _fewest_first(zip(candidates, counts, strict=True)):
        if 1 < count <= MOST_NUMBERED:
            places = await _places(page, candidate, selector)
            if places:
                return (*candidate, LocatorLink(method="nth", arguments=(places[0],)))
    return ()


def _fewest_first(counted: Iterable[tuple[Expression, int]]) -> list[tuple[Expression, int]]:
    return sorted(counted, key=lambda each: each[1])


async def _count(page: Page, expression: Expression) -> int:
    """Return the number of matching elements; 0 if Playwright rejects the expression."""
    try:
        return await to_locator(page, expression).count()
    except (DriverError, NotALocator) as error:
        if page.is_closed() and isinstance(error, DriverError):
            raise in_page_library.translate_error(page, error) from error
        return 0


async def _places(page: Page, expression: Expression, selector: Selector) -> list[int]:
    """Return the positions of the selector's element among the expression's matches."""
    try:
        same: list[bool] = await to_locator(page, expression).evaluate_all(
            _IS_IT, selector.model_dump(mode="json")
        )
    except DriverError as error:
        if page.is_closed():
            raise in_page_library.translate_error(page, error) from error
        return []
    return [at for at, is_it in enumerate(same) if is_it]


def _follow(at: Root, link: LocatorLink, root: Page | Frame) -> Root:
    if link.method in PROPERTIES and not isinstance(at, Page | Frame):
        found = getattr(at, link.method)
    elif link.method in LOCATOR_METHODS and hasattr(at, link.method):
        arguments = [_argument(each, root) for each in link.arguments]
        keywords = {name: _argument(value, root) for name, value in link.keywords.items()}
        try:
            found = getattr(at, link.method)(*arguments, **keywords)
        except TypeError as error:
            raise NotALocator(f"{to_source((link,))}: {error}") from error
    else:
        raise NotALocator(f"{link.method} is not a locator method")
    if not isinstance(found, Locator | FrameLocator):
        raise NotALocator(f"{link.method} does not return a locator")
    return found


def _argument(value: JsonValue, root: Page | Frame) -> object:
    if isinstance(value, dict) and isinstance(value.get("regex"), str):
        flags = 0
        for each in str(value.get("flags") or ""):
            flags |= _FLAGS.get(each, 0)
        return re.compile(str(value["regex"]), flags)
    if isinstance(value, dict) and isinstance(value.get("locator"), str):
        return root.locator(str(value["locator"]))
    return value
