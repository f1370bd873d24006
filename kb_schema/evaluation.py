"""From conditions to verdicts: which probes they need, and how they come out.

The page layers (`agent/page` live, `kb_schema/pages` stored) answer the probes in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb_schema.conditions import BaseCondition
from kb_schema.probes import Facts, Probe, Scope, Status, Verdict, probe_key


def questions(conditions: Iterable[BaseCondition], scope: Scope) -> tuple[Probe, ...]:
    """Every probe the conditions need, each once."""
    found = {probe_key(probe): probe for each in conditions for probe in each.probes(scope)}
    return tuple(found.values())


def verdicts(conditions: Sequence[BaseCondition], facts: Facts, scope: Scope) -> list[Verdict]:
    """The verdict on each condition, in their order."""
    return [condition.judge(facts, scope) for condition in conditions]


def passed(condition: BaseCondition, verdict: Verdict) -> bool:
    """Whether a condition came out as it should: held, or, as evidence of failure (`success: false`),
    not held. What could not be evaluated has not passed, either way.
    """
    return verdict.status is (Status.NOT_HELD if condition.success is False else Status.HELD)
