"""The findings of rules, their levels of confidence, and the registry of rules. The rules are in other
modules.

A rule is a function from a `StepFailureCase` to findings, decorated with `register_rule`, in one of the
modules that `__init__` imports. Several rules may support one class; the most certain finding wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_schema.registry import Registry
from kb_schema.verification import RootCauseClass

if TYPE_CHECKING:
    from agent.verification.root_cause.step_failure_case import StepFailureCase

# How sure a finding is: how often such evidence means that class. Rules use these, and little between.
CERTAIN: Final = 0.98
"""Directly seen, with no other explanation: the server answered 500 to the form."""
SEEN: Final = 0.93
"""Directly seen; something rare could explain it, too."""
STRONG: Final = 0.88
"""Two independent observations agree."""
LIKELY: Final = 0.8
"""One observation, and the failure fits it."""
TOLD: Final = 0.7
"""The kind of the failure and a hint."""
KIND: Final = 0.55
"""The kind of the failure alone, or a hint that often means nothing."""
GUESS: Final = 0.35
"""A guess that is cheap to check."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One explanation of a failure."""

    cause: RootCauseClass
    confidence: float
    message: str
    """What happened, in one clause."""
    evidence: tuple[str, ...]
    """The evidence: sentences a tester can check."""
    recommendation: str
    """What to do about it, naming the element, the request or the value."""


Rule = Callable[["StepFailureCase"], Iterator[RuleFinding]]
RULES: Final = Registry[Rule]("root-cause rule")
register_rule: Final = RULES.register()
"""Decorates a rule; it is registered under its function's name."""
