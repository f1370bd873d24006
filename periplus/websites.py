"""Which website of the store a command is about."""

from __future__ import annotations

from collections.abc import Sequence

from periplus.errors import UserError


def which_website(wanted: str | None, known: Sequence[str]) -> str:
    """The one asked for, else the only one there is. Raises `UserError` where it must be named."""
    if wanted is not None:
        return wanted
    if len(known) == 1:
        return known[0]
    if not known:
        raise UserError("the store has no knowledge yet", fix="load some: periplus kb load DIR")
    raise UserError(f"the store has {len(known)} websites", fix=f"--website with one of: {', '.join(known)}")
