"""What is quoted of a page, a URL or an argument where it is talked about: never more than a line of it."""

from __future__ import annotations

EXCERPT = 120
"""Characters of what is quoted: enough to tell what is meant, whatever its size."""


def excerpt(text: str, most: int = EXCERPT) -> str:
    """The text, or its beginning and an ellipsis; at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}\u2026"
