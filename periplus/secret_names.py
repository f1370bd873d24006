"""Refuses `{secret:NAME}` in what a caller gives, before anything is started (decision 0125).

A placeholder is resolved in a requirement's typed values only. Elsewhere it would be typed, searched or sent as it is
written.
"""

from __future__ import annotations

from collections.abc import Mapping

from kb_schema.secret_placement import find_misplaced_secrets
from periplus.errors import UserError

FIX = "leave it out: an input with `secret: true` gets its value from the sources of secrets (docs/inputs.md)"


def find_secret_name(value: object, place: str) -> str | None:
    """Return what is wrong, with the place of the first `{secret:NAME}` in a value; None if it has none."""
    found = next(iter(find_misplaced_secrets(value, place)), None)
    return None if found is None else f"{{secret:{found.name}}} is not allowed in {found.path}"


def check_no_secret_names(values: Mapping[str, object], place: str = "the input") -> None:
    """Raise `UserError` for a name or a value with `{secret:NAME}`. `place`: what comes before an input's name."""
    for name, value in values.items():
        wrong = find_secret_name(name, f"the name of {place}") or find_secret_name(value, f"{place} {name}")
        if wrong is not None:
            raise UserError(wrong, fix=FIX)
