"""Escapes names and texts of websites for Markdown, HTML, Mermaid and DOT.

Texts of a website are untrusted until they are escaped. `kb_schema.locator_expressions` writes Python.
"""

from __future__ import annotations

import html
import re
import unicodedata

LONGEST_NAME = 120
"""The most characters of a name that are shown."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of invisible characters, and of those that reverse the order of others."""
_KNOWN = re.compile(r"[0-9A-Za-z \-]")


def format_count(number: int, kind: str) -> str:
    """Return `1 screen` or `1,200 group memberships`: a number and a kind of document."""
    name = kind.replace("_", " ")
    many = f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
    return f"{number:,} {name if number == 1 else many}"


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    r"""Return the visible characters of a text on one line, shortened if necessary.

    >>> one_line("Save \n  all\u202e")
    'Save all'
    """
    seen = "".join(" " if char.isspace() else char for char in text if _is_seen(char))
    words = " ".join(seen.split())
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"


def with_hidden(text: str) -> str:
    r"""Return a text with invisible and order-reversing characters as escapes.

    >>> print(with_hidden("a\u202eb\x1b[31m"))
    a\u202eb\x1b[31m
    """
    return "".join(char if _is_seen(char) else repr(char)[1:-1] for char in text)


def _is_seen(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in _HIDDEN


def markdown_code(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text as inline code in Markdown, so that it is not formatted, linked or a mention.

    >>> markdown_code("a `b` @c")
    '`` a `b` @c ``'
    """
    line = one_line(text, longest) or " "
    fence = "`" * (_longest_run(line, "`") + 1)
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def markdown_block(lines: str, language: str = "") -> str:
    """Return lines as a code block, whatever they contain."""
    seen = "\n".join(
        "".join(char for char in line if char == "\t" or _is_seen(char)) for line in lines.split("\n")
    )
    fence = "`" * max(3, _longest_run(seen, "`") + 1)
    return f"{fence}{language}\n{seen}\n{fence}"


def html_code(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text as code in HTML.

    >>> html_code("<b>")
    '<code>&lt;b&gt;</code>'
    """
    return f"<code>{html.escape(one_line(text, longest))}</code>"


def mermaid_label(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a quoted Mermaid label; all but letters, digits, blanks and hyphens become entities.

    >>> mermaid_label('a "b"')
    '"a #34;b#34;"'
    """
    line = one_line(text, longest) or " "
    inner = "".join(char if _KNOWN.match(char) else f"#{ord(char)};" for char in line)
    return f'"{inner}"'


def dot_string(text: str, longest: int = LONGEST_NAME) -> str:
    r"""Return a quoted DOT string.

    >>> print(dot_string('a "b"'))
    "a \"b\""
    """
    line = one_line(text, longest)
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _longest_run(text: str, char: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(char)}+", text)), default=0)
