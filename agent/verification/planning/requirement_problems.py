"""Problems of requirements: each with its place and its fix, reported all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from agent.errors import AgentError
from kb_schema.verification import SourceLocation

MOST_TOLD = 50
"""Number of problems in the text of the error; `problems` has all of them."""


@dataclass(frozen=True, slots=True)
class RequirementProblem:
    """One problem: what is wrong, where, and what to do about it."""

    place: SourceLocation
    message: str
    fix: str

    def __str__(self) -> str:
        where = str(self.place)
        return f"{where}: {self.message} -> {self.fix}" if where else f"{self.message} -> {self.fix}"


class RequirementsInvalid(AgentError):
    """Raised for requirements that cannot be verified as they are written. `problems` has everything found."""

    def __init__(self, problems: Iterable[RequirementProblem]) -> None:
        self.problems = _in_order(problems)
        count = len(self.problems)
        head = f"{count} problem{'' if count == 1 else 's'} in the requirements"
        told = [f"  {each}" for each in self.problems[:MOST_TOLD]]
        if count > MOST_TOLD:
            told.append(f"  ... and {count - MOST_TOLD} more")
        super().__init__("\n".join([head, *told]))


def _in_order(problems: Iterable[RequirementProblem]) -> tuple[RequirementProblem, ...]:
    """Sort by file and sheet, top to bottom, keeping the order in which problems were found."""
    found = tuple(problems)
    pages = list(dict.fromkeys((each.place.file, each.place.sheet) for each in found))
    return tuple(
        sorted(found, key=lambda each: (pages.index((each.place.file, each.place.sheet)), _row(each.place)))
    )


def _row(place: SourceLocation) -> int:
    digits = re.search(r"\d+", place.cell or "")
    return place.line or (int(digits[0]) if digits else 0)
