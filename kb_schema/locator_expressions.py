"""Playwright locators as Python expressions: chains of calls, and their positions in a source file.

Formats expressions as `ruff format` does. Nothing here knows a page: `agent/playwright_locators` builds and
verifies the chains.
"""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field, JsonValue

from kb_schema.base import Model

ROLES = frozenset(
    {
        "alert",
        "alertdialog",
        "application",
        "article",
        "banner",
        "blockquote",
        "button",
        "caption",
        "cell",
        "checkbox",
        "code",
        "columnheader",
        "combobox",
        "complementary",
        "contentinfo",
        "definition",
        "deletion",
        "dialog",
        "directory",
        "document",
        "emphasis",
        "feed",
        "figure",
        "form",
        "generic",
        "grid",
        "gridcell",
        "group",
        "heading",
        "img",
        "insertion",
        "link",
        "list",
        "listbox",
        "listitem",
        "log",
        "main",
        "marquee",
        "math",
        "menu",
        "menubar",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "meter",
        "navigation",
        "none",
        "note",
        "option",
        "paragraph",
        "presentation",
        "progressbar",
        "radio",
        "radiogroup",
        "region",
        "row",
        "rowgroup",
        "rowheader",
        "scrollbar",
        "search",
        "searchbox",
        "separator",
        "slider",
        "spinbutton",
        "status",
        "strong",
        "subscript",
        "superscript",
        "switch",
        "tab",
        "table",
        "tablist",
        "tabpanel",
        "term",
        "textbox",
        "time",
        "timer",
        "toolbar",
        "tooltip",
        "tree",
        "treegrid",
        "treeitem",
    }
)
"""The roles that Playwright's `get_by_role` is typed with."""


class Span(Model):
    """A range of a source file as Python counts: lines from 1, columns from 0 in characters."""

    file: str
    line: int = Field(ge=1)
    column: int = Field(ge=0)
    end_line: int = Field(ge=1)
    end_column: int = Field(ge=0)
    function: str = ""


class LocatorLink(Model):
    """One call of a locator chain: `get_by_role("button", name="Save")`, `.nth(2)`, `.filter(...)`."""

    method: str
    arguments: tuple[JsonValue, ...] = ()
    keywords: dict[str, JsonValue] = Field(default_factory=dict)
    """Regular expressions are written `{"regex": "...", "flags": "i"}`, locators `{"locator": "..."}`."""
    made_at: Span | None = None
    """The call's expression in the suite's source; None if it was made elsewhere."""


Expression = tuple[LocatorLink, ...]
"""A locator from the page on: `page.locator("form").get_by_role("button", name="Save")` has two links."""

PROPERTIES = frozenset({"first", "last", "content_frame"})
"""Links that are properties, not calls."""
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FLAGS = {"i": "re.IGNORECASE", "m": "re.MULTILINE", "s": "re.DOTALL", "x": "re.VERBOSE"}

WriteText = Callable[[str], str]
"""Turns a text into a literal."""


def to_source(expression: Expression, root: str = "page", *, text: WriteText | None = None) -> str:
    """Return the expression as Python from `root` on; an empty expression is the root itself.

    `text` writes the strings in it (a generator makes some of them f-strings). Raises `ValueError` for an
    argument that cannot be written.
    """
    write = text or python_string
    return root + "".join(_render_link(each, root, write) for each in expression)


def python_string(text: str) -> str:
    """Return a literal for any text, in double quotes unless single ones need fewer escapes.

    >>> print(python_string("Save"), python_string("O'Brien"))
    "Save" "O'Brien"
    """
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + escaped(text, quote) + quote


def escaped(text: str, quote: str) -> str:
    """Return the inside of a literal in those quotes."""
    return "".join(_character(each, quote) for each in text)


def python_regex(pattern: str, flags: str = "") -> str:
    """Return `re.compile(...)`, with a raw literal if one can hold the pattern."""
    literal = _raw(pattern) if "\\" in pattern else python_string(pattern)
    named = [_FLAGS[each] for each in flags if each in _FLAGS]
    return f"re.compile({', '.join([literal, ' | '.join(named)] if named else [literal])})"


def _raw(pattern: str) -> str:
    quote = "'" if '"' in pattern else '"'
    plain = pattern.isprintable() and quote not in pattern
    backslashes = len(pattern) - len(pattern.rstrip("\\"))
    return f"r{quote}{pattern}{quote}" if plain and backslashes % 2 == 0 else python_string(pattern)


def _character(char: str, quote: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char == quote:
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _render_link(link: LocatorLink, root: str, text: WriteText) -> str:
    if link.method in PROPERTIES:
        return f".{link.method}"
    given = [_render_value(each, root, text) for each in link.arguments]
    given += [f"{name}={_render_value(value, root, text)}" for name, value in link.keywords.items()]
    return f".{link.method}({', '.join(given)})"


def _render_value(value: JsonValue, root: str, text: WriteText) -> str:
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, dict) and isinstance(value.get("regex"), str):
        return python_regex(str(value["regex"]), str(value.get("flags") or ""))
    if isinstance(value, dict) and isinstance(value.get("locator"), str):
        return f"{root}.locator({text(str(value['locator']))})"
    raise ValueError(f"{value!r} is not an argument of a locator; expected a text, a number, or a regex")
