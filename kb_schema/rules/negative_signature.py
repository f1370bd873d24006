"""Negative-Signature (KS 10.3, DESIGN 3): two signatures that would both hold need something
that tells them apart.

Whether two signatures can both hold is undecidable in general. What is an error: one's positive
indicators are all among the other's, and no negative or exclusion indicator of the former could
reject the latter's pages. Found through an index of indicators, the rarest first, never by comparing all pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from kb_schema.conditions import BaseCondition
from kb_schema.errors import Problem
from kb_schema.screens import Signature

if TYPE_CHECKING:
    from kb_schema.knowledge import KnowledgeBase

RULE = "negative-signature"

_NOT_MEANING = {"reason", "weight", "success", "timeout", "hard_dependency", "auto_remediate",
                "remediation_task_id", "remediation_action", "remediation_params"}  # fmt: skip


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """An error for each screen whose signature also holds wherever another's does; of screens that
    are alike, for each but the last.
    """
    said = {
        screen_id: _Said(_keys(signature.positive) | _pattern_key(knowledge, screen_id), _against(signature))
        for screen_id, signature in knowledge.signatures.items()
    }
    said = {screen_id: said[screen_id] for screen_id in sorted(said) if said[screen_id].positive}
    alike: dict[_Said, list[str]] = defaultdict(list)
    for screen_id, own in said.items():
        alike[own].append(screen_id)
    holders: dict[tuple[bool, str], list[_Said]] = defaultdict(list)
    for each in alike:
        for fact in each.facts:
            holders[fact].append(each)
    confused = {own: _also_hold(own, holders) for own in alike}
    following = {screen: after for same in alike.values() for screen, after in pairwise(same)}
    for screen_id, own in said.items():
        others = [alike[other][0] for other in confused[own]]
        if screen_id in following and own.may_hold_on(own):
            others.append(following[screen_id])
        if others:
            yield _problem(screen_id, min(others), len(others) - 1)


@dataclass(frozen=True)
class _Said:
    """What a signature says, compared with what another one says."""

    positive: frozenset[str]
    against: frozenset[str]
    """Negative and exclusion indicators."""

    @cached_property
    def facts(self) -> frozenset[tuple[bool, str]]:
        """Both, told apart."""
        return frozenset({*((True, key) for key in self.positive), *((False, key) for key in self.against)})

    def may_hold_on(self, other: _Said) -> bool:
        """Whether it holds wherever the other does: nothing of what it is against could hold there.

        What the other is against as well does not hold there anyway.
        """
        return self.facts <= other.facts and self.against.isdisjoint(other.positive)


def _also_hold(own: _Said, holders: Mapping[tuple[bool, str], Sequence[_Said]]) -> list[_Said]:
    """What others say on whose pages `own` holds as well. Where both are for the same, what the other is
    against beyond that tells them apart.
    """
    rarest = min(own.facts, key=lambda fact: (len(holders[fact]), fact))
    return [other for other in holders[rarest] if other.positive != own.positive and own.may_hold_on(other)]


def _problem(screen_id: str, other: str, more: int) -> Problem:
    return Problem(
        f'everything that speaks for "{screen_id}" also holds on "{other}"'
        f"{f' (and on {more} more)' if more else ''}, and no negative indicator tells them apart",
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
