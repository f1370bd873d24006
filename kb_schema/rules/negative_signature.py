"""Negative-Signature (KS 10.3, DESIGN 3): two signatures that would both hold need something
that tells them apart.

Whether two signatures can both hold is undecidable in general. What is an error: one's positive
indicators are all among the other's, and no negative or exclusion indicator of the former could
reject the latter's pages. Found through an index of indicators, never by comparing all pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
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
    """An error for each screen whose signature also holds wherever another's does."""
    positives = {
        screen_id: _keys(signature.positive) | _pattern_key(knowledge, screen_id)
        for screen_id, signature in knowledge.signatures.items()
    }
    holders: dict[str, set[str]] = defaultdict(set)
    for screen_id, keys in positives.items():
        for key in keys:
            holders[key].add(screen_id)
    for screen_id in sorted(positives):
        keys = positives[screen_id]
        if not keys:
            continue
        rarest = min(keys, key=lambda key: (len(holders[key]), key))
        for other in sorted(holders[rarest] - {screen_id}):
            if not keys <= positives[other]:
                continue
            if keys == positives[other] and other < screen_id:
                continue  # told once, from the other side
            if _separated(knowledge.signatures[screen_id], knowledge.signatures[other], positives[other]):
                continue
            if keys == positives[other] and _separated(
                knowledge.signatures[other], knowledge.signatures[screen_id], keys
            ):
                continue
            yield Problem(
                f'everything that speaks for "{screen_id}" also holds on "{other}", and no negative '
                f"indicator tells them apart",
                path="$.state_signature.negative_indicators",
                document=f"screen:{screen_id}",
                fix=f'add a negative indicator for something only "{other}" shows',
                rule=RULE,
            )


def _separated(broad: Signature, narrow: Signature, narrow_positive: frozenset[str]) -> bool:
    """Whether a negative or exclusion indicator of `broad` could hold on `narrow`'s pages: one
    that `narrow` itself does not also reject.
    """
    against = _keys((*broad.negative_indicators, *broad.exclusion_indicators))
    also_rejected = _keys((*narrow.negative_indicators, *narrow.exclusion_indicators))
    return bool((against - also_rejected) | (against & narrow_positive))


def _keys(conditions: tuple[BaseCondition, ...]) -> frozenset[str]:
    return frozenset(condition.model_dump_json(exclude=_NOT_MEANING) for condition in conditions)


def _pattern_key(knowledge: KnowledgeBase, screen_id: str) -> frozenset[str]:
    patterns = knowledge.screens[screen_id].url_patterns if screen_id in knowledge.screens else ()
    return frozenset({f"url_patterns:{sorted(patterns)}"}) if patterns else frozenset()
