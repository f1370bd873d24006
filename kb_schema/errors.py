"""The one error for bad knowledge, carrying every problem found at once (DESIGN 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

LONGEST = 1_000
"""Characters of one part of a problem that are told."""


class Severity(StrEnum):
    """Errors keep knowledge out; warnings are told and let it in."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, where it is, and what to do about it."""

    message: str
    path: str = "$"
    """JSON path inside the document, e.g. `$.steps[2].action.target`."""
    document: str | None = None
    """`kind:id` of the document, where it is known."""
    source: str | None = None
    """The file it was read from."""
    fix: str | None = None
    rule: str = "schema"
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """For people: a name of a megabyte is in the fields, and not told back whole."""
        where = " ".join(_short(part) for part in (self.source, self.document, self.path) if part)
        text = f"{where}: {_short(self.message)}"
        return f"{text} -> {_short(self.fix)}" if self.fix else text


def _short(text: str) -> str:
    """The two ends of a text that is longer than anybody reads."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"


class KnowledgeError(ValueError):
    """Knowledge that may not be loaded. `problems` has all of them, errors and warnings."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [p for p in self.problems if p.severity is Severity.ERROR]
        head = f"{len(errors)} problem{'' if len(errors) == 1 else 's'} in the knowledge"
        super().__init__("\n".join([head, *(f"  {p}" for p in errors)]))
