"""Shortens texts of a page, a URL or an argument for messages."""

from __future__ import annotations

EXCERPT = 120
"""The characters of an excerpt."""


def excerpt(text: str, most: int = EXCERPT) -> str:
    """Return the text, or its beginning and an ellipsis, in at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
