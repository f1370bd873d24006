"""What a page says went wrong: fields it does not accept, alerts, and the document's HTTP status.

Asked where something failed, never on the way: one round trip for all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from playwright.async_api import Page
from pydantic import Field

from agent.page import library
from kb_schema.base import Model
from kb_schema.selectors import Selector


class Choice(Model):
    """One option of a list, as it is on the page."""

    value: str
    label: str


class RefusedField(Model):
    """A field that the page marks as invalid, or that the browser would not send."""

    label: str
    message: str
    """What the page, or the browser, says of it; empty where neither says anything."""
    marked: bool
    """The page itself marks it."""
    value: str | None
    """What it holds; None for a password."""
    kind: str
    """`text`, `date`, `select`, ..."""
    required: bool
    placeholder: str
    min_length: int | None
    max_length: int | None
    pattern: str | None
    """HTML's: of the whole value."""
    options: tuple[Choice, ...]
    element: str | None
    """The id the knowledge has for it."""


class Complaints(Model):
    """Everything a page complains about."""

    status: int
    """HTTP status of the document; 0 where it is not known."""
    fields: tuple[RefusedField, ...] = ()
    alerts: tuple[str, ...] = Field(default=())


NO_COMPLAINTS = Complaints(status=0)


async def complaints(page: Page, elements: Mapping[str, Selector]) -> Complaints:
    """What the page says now. `elements`: the screen's, by id, so that fields are told by theirs.

    Raises `PageGone`.
    """
    asked = [[name, selector.model_dump(mode="json")] for name, selector in elements.items()]
    return Complaints.model_validate(await library.call(page, "complaints", json.dumps(asked)))
