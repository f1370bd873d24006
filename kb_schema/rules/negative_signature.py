"""Negative-Signature (KS 10.3): two signatures that would both match need a distinguishing indicator.

Whether two signatures can both match is undecidable in general. It is an error if all positive
indicators of one are among the other's, and no negative or exclusion indicator of the former could
reject the latter's pages. An index of indicators, rarest first, avoids comparing all pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kb_schema.conditions import BaseCondition
from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.screens import Signature

RULE = "negative-signature"

_NOT_MEANING = {
    "reason",
    "weight",
    "success",
    "timeout",
    "hard_dependency",
    "auto_remediate",
    "remediation_task_id",
    "remediation_action",
    "remediation_params",
}


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield a problem for each screen whose signature also matches wherever another's does.

    Of screens with equal signatures, each but the last has a problem.
    """
    keys = {
        screen_id: _SignatureKeys(
            _keys(signature.positive) | _pattern_key(knowledge, screen_id), _against(signature)
        )
        for screen_id, signature in knowledge.signatures.items()
    }
    keys = {screen_id: keys[screen_id] for screen_id in sorted(keys) if keys[screen_id].positive}
    alike: dict[_SignatureKeys, list[str]] = defaultdict(list)
    for screen_id, own in keys.items():
        alike[own].append(screen_id)
    holders: dict[tuple[bool, str], list[_SignatureKeys]] = defaultdict(list)
    for each in alike:
        for fact in each.facts:
            holders[fact].append(each)
    confused = {own: _also_hold(own, holders) for own in alike}
    following = {screen: after for same in alike.values() for screen, after in pairwise(same)}
    for screen_id, own in keys.items():
        others = [alike[other][0] for other in confused[own]]
        if screen_id in following and own.may_hold_on(own):
            others.append(following[screen_id])
        if others:
            yield _problem(screen_id, min(others), len(others) - 1)


@dataclass(frozen=True)
class _SignatureKeys:
    """The indicators of a signature as comparable keys."""

    positive: frozenset[str]
    against: frozenset[str]
    """Negative and exclusion indicators."""

    @cached_property
    def facts(self) -> frozenset[tuple[bool, str]]:
        """Both kinds, marked as positive or negative."""
        return frozenset({*((True, key) for key in self.positive), *((False, key) for key in self.against)})

    def may_hold_on(self, other: _SignatureKeys) -> bool:
        """Return whether it matches wherever the other does: none of its negative indicators could hold there.

        Negative indicators that the other has too do not hold there anyway.
        """
        return self.facts <= other.facts and self.against.isdisjoint(other.positive)


def _also_hold(
    own: _SignatureKeys, holders: Mapping[tuple[bool, str], Sequence[_SignatureKeys]]
) -> list[_SignatureKeys]:
    """Return the other signatures on whose pages `own` matches as well.

    Signatures with equal positive indicators are distinguished by the other's negative ones.
    """
    rarest = min(own.facts, key=lambda fact: (len(holders[fact]), fact))
    return [other for other in holders[rarest] if other.positive != own.positive and own.may_hold_on(other)]


def _problem(screen_id: str, other: str, more: int) -> Problem:
    return Problem(
        f'every positive indicator of "{screen_id}" also holds on "{other}"'
        f"{f' (and on {more} more)' if more else ''}, and no negative indicator distinguishes them",
        path="$.state_signature.negative_indicators",
        document=f"screen:{screen_id}",
        fix=f'add a negative indicator for something only "{other}" shows',
        rule=RULE,
    )


def _against(signature: Signature) -> frozenset[str]:
    return _keys((*signature.negative_indicators, *signature.exclusion_indicators))


def _keys(conditions: tuple[BaseCondition, ...]) -> frozenset[str]:
    return frozenset(condition.model_dump_json(exclude=_NOT_MEANING) for condition in conditions)


def _pattern_key(knowledge: KnowledgeBase, screen_id: str) -> frozenset[str]:
    patterns = knowledge.screens[screen_id].url_patterns if screen_id in knowledge.screens else ()
    return frozenset({f"url_patterns:{sorted(patterns)}"}) if patterns else frozenset()
