"""Asks a page which expressions lead to the very element a selector leads to.

Playwright's own engine finds what an expression leads to; the in-page library says whether that is the
selector's element. Choosing what to ask is `choosing.py`'s.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence

from playwright.async_api import Error as DriverError
from playwright.async_api import Frame, FrameLocator, Locator, Page
from pydantic import JsonValue

from agent.page import library
from agent.playwright_python.writing import PROPERTIES, to_source
from kb_schema.playwright_calls import Expression, LocatorLink
from kb_schema.selectors import Selector

LOCATOR_METHODS = frozenset({
    "locator", "frame_locator", "get_by_role", "get_by_label", "get_by_placeholder", "get_by_test_id",
    "get_by_text", "get_by_title", "get_by_alt_text", "filter", "nth", "and_", "or_",
})  # fmt: skip
MOST_NUMBERED = 40
"""An element further down among its likes is not written down by its number."""

# In the document of what was found: `library.lookAt` remembers the one element, `leadsTo` compares.
_IS_IT = """(found, selector) => {
  const library = window.top[Symbol.for("periplus.page.1")];
  return found.map((el) => JSON.parse(library.leadsTo(JSON.parse(library.lookAt(el)), JSON.stringify([[0, selector]])))[0]);
}"""
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}

Root = Page | Frame | FrameLocator | Locator


class NotALocator(ValueError):
    """An expression, or one of its links, that leads to no element."""


def to_locator(root: Page | Frame, expression: Expression) -> Locator:
    """The expression as a locator of a page or frame. Raises `NotALocator`."""
    at: Root = root
    for link in expression:
        at = _follow(at, link, root)
    if not isinstance(at, Locator):
        raise NotALocator(f"{to_source(expression)} is no locator of an element")
    return at


async def proven(page: Page, selector: Selector, candidates: Sequence[Expression]) -> Expression:
    """The first candidate that leads to exactly one element, which is the selector's; else the first that
    has it among several, by its number; empty where none leads to it.

    Strict as Playwright is: a hidden namesake counts. Raises `PageGone`.
    """
    await library.call(page, "revision")  # the library is in the document
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
    """How many elements it leads to; 0 where Playwright does not understand it."""
    try:
        return await to_locator(page, expression).count()
    except (DriverError, NotALocator) as error:
        if page.is_closed() and isinstance(error, DriverError):
            raise library.mapped(page, error) from error
        return 0


async def _places(page: Page, expression: Expression, selector: Selector) -> list[int]:
    """At which places of what it finds the selector's element stands."""
    try:
        same: list[bool] = await to_locator(page, expression).evaluate_all(
            _IS_IT, selector.model_dump(mode="json")
        )
    except DriverError as error:
        if page.is_closed():
            raise library.mapped(page, error) from error
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
        raise NotALocator(f"{link.method} makes no locator")
    if not isinstance(found, Locator | FrameLocator):
        raise NotALocator(f"{link.method} makes no locator")
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
