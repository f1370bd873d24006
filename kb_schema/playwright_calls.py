"""Locators as Playwright's Python writes them: chains of calls, and where in a source they stand.

What a call *means* on a page is Playwright's business; how chains are made, proven on a page and written
down is `agent/playwright_python`.
"""

from __future__ import annotations

from pydantic import Field, JsonValue

from kb_schema.base import Model

ROLES = frozenset({
    "alert", "alertdialog", "application", "article", "banner", "blockquote", "button", "caption", "cell",
    "checkbox", "code", "columnheader", "combobox", "complementary", "contentinfo", "definition", "deletion",
    "dialog", "directory", "document", "emphasis", "feed", "figure", "form", "generic", "grid", "gridcell",
    "group", "heading", "img", "insertion", "link", "list", "listbox", "listitem", "log", "main", "marquee",
    "math", "menu", "menubar", "menuitem", "menuitemcheckbox", "menuitemradio", "meter", "navigation", "none",
    "note", "option", "paragraph", "presentation", "progressbar", "radio", "radiogroup", "region", "row",
    "rowgroup", "rowheader", "scrollbar", "search", "searchbox", "separator", "slider", "spinbutton", "status",
    "strong", "subscript", "superscript", "switch", "tab", "table", "tablist", "tabpanel", "term", "textbox",
    "time", "timer", "toolbar", "tooltip", "tree", "treegrid", "treeitem",
})  # fmt: skip
"""Those that Playwright's `get_by_role` is typed with."""


class Span(Model):
    """A stretch of a source file, as Python counts: lines from 1, columns from 0 in characters."""

    file: str
    line: int = Field(ge=1)
    column: int = Field(ge=0)
    end_line: int = Field(ge=1)
    end_column: int = Field(ge=0)
    function: str = ""


class LocatorLink(Model):
    """One call that made a locator: `get_by_role("button", name="Save")`, `.nth(2)`, `.filter(...)`."""

    method: str
    arguments: tuple[JsonValue, ...] = ()
    keywords: dict[str, JsonValue] = Field(default_factory=dict)
    """Regular expressions are written `{"regex": "...", "flags": "i"}`, locators `{"locator": "..."}`."""
    made_at: Span | None = None
    """The call's expression in the source of the suite; None where it was made elsewhere."""


Expression = tuple[LocatorLink, ...]
"""A locator from the page on: `page.locator("form").get_by_role("button", name="Save")` has two links."""
