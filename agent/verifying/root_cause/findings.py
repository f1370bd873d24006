"""What a rule finds, how sure it may be, and the table of rules. The rules themselves are not here.

Adding one: a function from a `Case` to findings, decorated with `rule`, in one of the modules that
`__init__` imports. Several rules may speak for one class; the surest of all wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_schema.verification import RootCauseClass

if TYPE_CHECKING:
    from agent.verifying.root_cause.case import Case

# How sure a finding is: how often such evidence means that class. Rules use these, and little between.
CERTAIN: Final = 0.98
"""Seen itself, and nothing else explains it: the server answered 500 to the form."""
SEEN: Final = 0.93
"""Seen itself; something rarer could explain it, too."""
STRONG: Final = 0.88
"""Two independent observations agree."""
LIKELY: Final = 0.8
"""One observation, and what failed fits it."""
TOLD: Final = 0.7
"""The kind of the failure and a hint."""
KIND: Final = 0.55
"""The kind of the failure alone, or a hint that often means nothing."""
GUESS: Final = 0.35
"""Cheap to check; not more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One explanation of a failure."""

    cause: RootCauseClass
    confidence: float
    message: str
    """What happened, in one clause."""
    evidence: tuple[str, ...]
    """What speaks for it: sentences a tester can check."""
    recommendation: str
    """What to do about it, naming the element, the request or the value."""


Rule = Callable[["Case"], Iterator[Finding]]
RULES: Final[list[Rule]] = []


def rule(function: Rule) -> Rule:
    """Ask this rule, too."""
    RULES.append(function)
    return function
