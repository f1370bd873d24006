"""What a search for texts in a store finds; each database's folder has the search itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TextReplacement = Callable[[str], str]
"""Returns a text with what is searched for replaced; the same text if it has none."""


@dataclass(frozen=True, slots=True)
class FoundText:
    """One row or document that has the text."""

    table: str
    """The table or collection."""
    key: str
    """What identifies it there."""
    run_id: str = ""
    """The run it belongs to, if it belongs to one."""
    deleted: bool = False
    """Whether it is deleted as a whole, because its text is inside of binary data."""


def name_run(run_id: object) -> str:
    """Return the id of a run from the name of its stream, lease or thread, such as `serve/RUN`."""
    return run_id.rpartition("/")[2] if isinstance(run_id, str) else ""
