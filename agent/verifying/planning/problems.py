"""What is wrong with requirements: every problem with its place and its fix, told all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent.errors import AgentError
from kb_schema.verification import Place

MOST_TOLD = 50
"""Problems in the text of the error; `problems` has all of them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, where it is, and what to do about it."""

    place: Place
    message: str
    fix: str

    def __str__(self) -> str:
        where = str(self.place)
        return f"{where}: {self.message} -> {self.fix}" if where else f"{self.message} -> {self.fix}"


class RequirementsInvalid(AgentError):
    """Requirements that cannot be verified as they are written. `problems` has everything found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = _in_order(problems)
        count = len(self.problems)
        head = f"{count} problem{'' if count == 1 else 's'} in the requirements"
        told = [f"  {each}" for each in self.problems[:MOST_TOLD]]
        if count > MOST_TOLD:
            told.append(f"  ... and {count - MOST_TOLD} more")
        super().__init__("\n".join([head, *told]))


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """As somebody goes through files and sheets: top to bottom, each in the order in which it came up."""
    found = tuple(problems)
    pages = list(dict.fromkeys((each.place.file, each.place.sheet) for each in found))
    return tuple(
        sorted(found, key=lambda each: (pages.index((each.place.file, each.place.sheet)), _row(each.place)))
    )


def _row(place: Place) -> int:
    digits = re.search(r"\d+", place.cell or "")
    return place.line or (int(digits[0]) if digits else 0)
