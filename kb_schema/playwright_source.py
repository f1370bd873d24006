"""Writes expressions down as Python source, the way `ruff format` leaves them. Nothing here knows a page."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from kb_schema.playwright_calls import Expression, LocatorLink

PROPERTIES = frozenset({"first", "last", "content_frame"})
"""Links that are no calls."""
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_FLAGS = {"i": "re.IGNORECASE", "m": "re.MULTILINE", "s": "re.DOTALL", "x": "re.VERBOSE"}

WriteText = Callable[[str], str]
"""How a text becomes a literal."""


def to_source(expression: Expression, root: str = "page", *, text: WriteText | None = None) -> str:
    """The expression as Python from `root` on; an empty expression is the root itself.

    `text` writes the strings in it (a generator makes f-strings of some). Raises `ValueError` for an
    argument that cannot be written.
    """
    write = text or python_string
    return root + "".join(_link(each, root, write) for each in expression)


def python_string(text: str) -> str:
    """A literal for any text: double quotes, unless single ones save escapes.

    >>> print(python_string("Save"), python_string("O'Brien"))
    "Save" "O'Brien"
    """
    quote = "'" if text.count('"') > text.count("'") else '"'
    return quote + escaped(text, quote) + quote


def escaped(text: str, quote: str) -> str:
    """The inside of a literal in those quotes."""
    return "".join(_character(each, quote) for each in text)


def python_regex(pattern: str, flags: str = "") -> str:
    """`re.compile(...)`; raw wherever a raw literal can hold the pattern."""
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


def _link(link: LocatorLink, root: str, text: WriteText) -> str:
    if link.method in PROPERTIES:
        return f".{link.method}"
    given = [_value(each, root, text) for each in link.arguments]
    given += [f"{name}={_value(value, root, text)}" for name, value in link.keywords.items()]
    return f".{link.method}({', '.join(given)})"


def _value(value: JsonValue, root: str, text: WriteText) -> str:
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, dict) and isinstance(value.get("regex"), str):
        return python_regex(str(value["regex"]), str(value.get("flags") or ""))
    if isinstance(value, dict) and isinstance(value.get("locator"), str):
        return f"{root}.locator({text(str(value['locator']))})"
    raise ValueError(f"{value!r} is no argument of a locator; expected a text, a number, or a regex")
