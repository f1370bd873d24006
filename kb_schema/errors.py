"""`KnowledgeError`, the one error for invalid knowledge. It carries every problem found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

LONGEST = 1_000
"""The most characters of one part of a problem in a message."""


class Severity(StrEnum):
    """Errors refuse knowledge; warnings are reported and accept it."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: what is wrong, where it is, and what to do."""

    message: str
    path: str = "$"
    """JSON path inside the document, e.g. `$.steps[2].action.target`."""
    document: str | None = None
    """`kind:id` of the document, if it is known."""
    source: str | None = None
    """The file it was read from."""
    fix: str | None = None
    rule: str = "schema"
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """Return the message for people. Very long values are shortened; the fields have them whole."""
        where = " ".join(_short(part) for part in (self.source, self.document, self.path) if part)
        text = f"{where}: {_short(self.message)}"
        return f"{text} -> {_short(self.fix)}" if self.fix else text


def _short(text: str) -> str:
    """Return the beginning and the end of a long text."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}"


class KnowledgeError(ValueError):
    """Knowledge that must not be loaded. `problems` has all errors and warnings."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [p for p in self.problems if p.severity is Severity.ERROR]
        head = f"{len(errors)} problem{'' if len(errors) == 1 else 's'} in the knowledge"
        super().__init__("\n".join([head, *(f"  {p}" for p in errors)]))
