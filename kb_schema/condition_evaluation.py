"""Evaluates conditions: which probes they need, and the verdicts on the answers.

The page layers (`agent/page` for live pages, `web_pages` for stored ones) answer the probes in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kb_schema.conditions import BaseCondition
from kb_schema.probes import ConditionScope, Probe, ProbeFacts, Verdict, VerdictStatus, probe_key


def collect_probes(conditions: Iterable[BaseCondition], scope: ConditionScope) -> tuple[Probe, ...]:
    """Return every probe that the conditions need, without duplicates."""
    found = {probe_key(probe): probe for each in conditions for probe in each.probes(scope)}
    return tuple(found.values())


def judge_conditions(
    conditions: Sequence[BaseCondition], facts: ProbeFacts, scope: ConditionScope
) -> list[Verdict]:
    """Return the verdict on each condition, in their order."""
    return [condition.judge(facts, scope) for condition in conditions]


def has_passed(condition: BaseCondition, verdict: Verdict) -> bool:
    """Return whether a condition came out as expected.

    Expected is that it holds, or, for evidence of failure (`success: false`), that it does not hold. A
    condition that could not be evaluated has not passed either way.
    """
    return verdict.status is (VerdictStatus.NOT_HELD if condition.success is False else VerdictStatus.HELD)
