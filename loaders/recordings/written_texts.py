"""Reads the text of markup that a recording says was written into an editor."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser

_LINE = re.compile(r"(?i)<br\s*/?>|</(?:p|div|li|h[1-6]|pre|blockquote)\s*>")
_FORM = re.compile(r"(?i)<(?:b|strong|i|em|u|s|a|ul|ol|li|h[1-6]|code|pre|blockquote|img|table)[\s>]")


def read_written_text(markup: str) -> tuple[str, bool]:
    """Return the text of markup, one line for each block, and whether it has a form that the text loses."""
    page = LexborHTMLParser(_LINE.sub("\n", markup))
    text = page.body.text() if page.body is not None else ""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(lines).strip("\n"), _FORM.search(markup) is not None
