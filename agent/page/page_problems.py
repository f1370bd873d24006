"""Reads the problems that a page reports: refused fields, alerts, and the document's HTTP status.

Called only after a failure; one round trip for all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from playwright.async_api import Page
from pydantic import Field

from agent.page import in_page_library
from kb_schema.base import Model
from kb_schema.selectors import Selector


class FieldOption(Model):
    """One option of a list."""

    value: str
    label: str


class RefusedField(Model):
    """A field that the page marks as invalid, or that the browser refuses to submit."""

    label: str
    message: str
    """The message of the page, else of the browser; may be empty."""
    marked: bool
    """Whether the page itself marks it."""
    value: str | None
    """Its value; None for a password."""
    kind: str
    """`text`, `date`, `select`, ..."""
    required: bool
    placeholder: str
    min_length: int | None
    max_length: int | None
    pattern: str | None
    """HTML's `pattern`, for the whole value."""
    options: tuple[FieldOption, ...]
    element: str | None
    """Its element id in the knowledge base."""


class PageProblems(Model):
    """All problems that a page reports."""

    status: int
    """HTTP status of the document; 0 if unknown."""
    fields: tuple[RefusedField, ...] = ()
    alerts: tuple[str, ...] = Field(default=())


NO_PAGE_PROBLEMS = PageProblems(status=0)


async def read_page_problems(page: Page, elements: Mapping[str, Selector]) -> PageProblems:
    """Return the problems the page reports now. `elements` (the screen's, by id) name the fields.

    Raises `PageGone`.
    """
    asked = [[name, selector.model_dump(mode="json")] for name, selector in elements.items()]
    return PageProblems.model_validate(await in_page_library.call(page, "complaints", json.dumps(asked)))
