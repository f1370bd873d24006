"""Selects the website of a command."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.errors import UserError


def select_website(wanted: str | None, known: Sequence[str]) -> str:
    """Return the given website, or the only one in the store. Raises `UserError` if it must be named."""
    if wanted is not None:
        return wanted
    if len(known) == 1:
        return known[0]
    if not known:
        raise UserError("the store is empty", fix="load a knowledge base: periplus kb load DIR")
    raise UserError(
        f"the store has {len(known)} websites", fix=f"give --website with one of: {', '.join(known)}"
    )
