"""The members of a collection on a live page, told apart by what they say and where they lead."""

from __future__ import annotations

from playwright.async_api import Page

from agent.page import library
from kb_schema.base import Model
from kb_schema.selectors import Selector


class Member(Model):
    """One visible element of a collection."""

    text: str
    key: str
    """What tells it from the others: its text, and the addresses and ids in it."""


class Members(Model):
    """A collection as it is now, in the order of the page."""

    count: int
    """How many can be seen; `items` has at most the first 2,000."""
    items: tuple[Member, ...]
    error: str | None = None
    """Why the collection could not be looked up."""


async def members(page: Page, selector: Selector) -> Members:
    """The collection's visible elements, in one round trip. Raises `PageGone`."""
    return Members.model_validate(await library.call(page, "items", selector.model_dump_json()))
