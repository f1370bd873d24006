"""Shortens texts of a page, a URL or an argument for messages."""

from __future__ import annotations

EXCERPT = 120
"""The characters of an excerpt."""


def excerpt(text: str, most: int = EXCERPT) -> str:
    """Return the text, or its beginning and an ellipsis, in at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"


def keep_ends(text: str, most: int) -> str:
    """Return the text, or its two ends around an ellipsis, in at most `most` characters: a sentence ends with what is wrong.

    >>> keep_ends("the locator '9999999999' cannot be read", 30)
    "the locator '99\u2026cannot be read"
    """
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 2]}\u2026{text[len(text) - kept // 2 :]}"
