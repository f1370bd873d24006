"""The lines of text that a page shows, with what tells whether one is a text of a record (`js/8_records.js`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from playwright.async_api import Page

from agent.page import in_page_library
from kb_schema.base import Model


class RecordLine(Model):
    """One line of a page. Of lines that have none of the typed texts only the first part is known."""

    text: str
    plain: str
    """The line without its links and buttons."""
    links: tuple[str, ...] = ()
    area: Literal["content", "beside", "report"]
    """report: where a page tells what happened (logs, messages, fields of searches); beside: what frames the content."""
    heading: bool
    rows: tuple[int, ...] = ()
    """Parts around it that repeat, by numbers, the innermost first; not the rows of a table of labels and values."""
    row: int = -1
    """That of them which is its row, item or card; -1: it stands in none."""
    near: str = ""
    """The text of its row; of the line, if it stands in none."""
    names: tuple[str, ...] = ()
    """The headings above it, the names of the lists and parts around it, and a short text right before it; not those of its own row."""
    nearest: tuple[str, ...] = ()
    """Those of them that are the nearest."""
    top: str = ""
    """The main heading of the page, if it is above the line."""
    column: str = ""
    columns: bool = False
    """Whether it stands in a table that names its columns."""
    cells: tuple[tuple[str, str], ...] = ()
    """The cells of its row in such a table, with the names of their columns; of a box `yes` or `no`."""
    unseen: bool = False


class PageButton(Model):
    """What can be pressed outside of rows and of what frames the page."""

    name: str
    fields: bool
    """Whether its form has fields that can be seen."""
    form: bool
    plain: bool = False
    """It is no button by its markup: drawn so, or a link to the same page with another query."""
    away: bool = False
    """It is another link, which leads away from the page."""
    alone: bool = False
    """It is one that stands in a line of its own, and is no value that has a label."""
    way: str = ""
    """Where it leads; "" if to no address."""


class RowButton(Model):
    """What can be pressed in a row."""

    name: str
    row: int
    """The number of the row, as of lines."""
    plain: bool = False
    """It is no button by its markup."""


class PageTurn(Model):
    """What can be pressed in rows and in what frames the page, as menus and paginations are."""

    name: str
    way: str = ""
    """Where it leads, if it is a link."""


class PageField(Model):
    """A field outside of rows and of what frames the page, in no form with a button; or a frame that cannot be read."""

    name: str
    """Of a frame the website that it is from."""
    kind: str
    """Its type or tag."""


class RecordPage(Model):
    """What a page shows."""

    title: str = ""
    lines: tuple[RecordLine, ...] = ()
    labels: tuple[str, ...] = ()
    """The names of columns and fields, and the headings."""
    buttons: tuple[PageButton, ...] = ()
    row_buttons: tuple[RowButton, ...] = ()
    turns: tuple[PageTurn, ...] = ()
    fields: tuple[PageField, ...] = ()
    ways: tuple[str, ...] = ()
    """The addresses to which its links lead."""
    chosen: tuple[str, ...] = ()
    """What is chosen of what there is to be shown: the selected tab, the current link of a menu, the options of a search."""
    carried: bool = False
    """Whether a hidden field has a typed text as its value: it is carried along to be sent."""


async def read_record_page(page: Page, typed: Iterable[str]) -> RecordPage:
    """Return what a page shows. Raises `PageError`."""
    return RecordPage.model_validate(await in_page_library.call(page, "recordTexts", json.dumps(list(typed))))
