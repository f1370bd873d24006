"""Names and texts of websites, written so that they stay text: in Markdown, HTML, Mermaid and DOT.

What a website calls things is hostile until it is escaped. Python is written by `kb_schema.playwright_source`.
"""

from __future__ import annotations

import html
import re
import unicodedata

LONGEST_NAME = 120
"""Characters of a name that are shown."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that are not seen, or that turn the order of the others around."""
_KNOWN = re.compile(r"[0-9A-Za-z \-]")


def one_line(text: str, longest: int = LONGEST_NAME) -> str:
    r"""A text as one line of what can be seen, cut where it is longer.

    >>> one_line("Save \n  all\u202e")
    'Save all'
    """
    seen = "".join(" " if char.isspace() else char for char in text if _is_seen(char))
    words = " ".join(seen.split())
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"


def with_hidden(text: str) -> str:
    r"""A text whose characters that are not seen, or turn the others around, are written as escapes.

    >>> print(with_hidden("a\u202eb\x1b[31m"))
    a\u202eb\x1b[31m
    """
    return "".join(char if _is_seen(char) else repr(char)[1:-1] for char in text)


def _is_seen(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) not in _HIDDEN


def markdown_code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code within a line of Markdown: nothing in it is formatted, linked or a mention.

    >>> markdown_code("a `b` @c")
    '`` a `b` @c ``'
    """
    line = one_line(text, longest) or " "
    fence = "`" * (_longest_run(line, "`") + 1)
    pad = " " if "`" in line else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def markdown_block(lines: str, language: str = "") -> str:
    """Lines as a block of code, whatever stands in them."""
    seen = "\n".join(
        "".join(char for char in line if char == "\t" or _is_seen(char)) for line in lines.split("\n")
    )
    fence = "`" * max(3, _longest_run(seen, "`") + 1)
    return f"{fence}{language}\n{seen}\n{fence}"


def html_code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code within HTML.

    >>> html_code("<b>")
    '<code>&lt;b&gt;</code>'
    """
    return f"<code>{html.escape(one_line(text, longest))}</code>"


def mermaid_label(text: str, longest: int = LONGEST_NAME) -> str:
    """A quoted label of Mermaid: all but letters, digits, blanks and hyphens are entities of its own.

    >>> mermaid_label('a "b"')
    '"a #34;b#34;"'
    """
    line = one_line(text, longest) or " "
    inner = "".join(char if _KNOWN.match(char) else f"#{ord(char)};" for char in line)
    return f'"{inner}"'


def dot_string(text: str, longest: int = LONGEST_NAME) -> str:
    r"""A quoted string of DOT.

    >>> print(dot_string('a "b"'))
    "a \"b\""
    """
    line = one_line(text, longest)
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _longest_run(text: str, char: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(char)}+", text)), default=0)
