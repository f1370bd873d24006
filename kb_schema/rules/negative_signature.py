"""Negative-Signature (KS 10.3): two signatures that would both match need a distinguishing indicator.

Whether two signatures can both match is undecidable in general. It is an error if all positive
indicators of one are among the other's, and no negative or exclusion indicator of the former could
reject the latter's pages. An index of indicators, rarest first, avoids comparing all pairs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from types import NoneType
from typing import NamedTuple

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
    holders: _Holders = defaultdict(list), defaultdict(list)
    for each in alike:
        for keys_of, held in zip(each, holders, strict=True):
            for key in keys_of:
                held[key].append(each)
    confused = {own: _also_hold(own, holders) for own in alike}
    following = {screen: after for same in alike.values() for screen, after in pairwise(same)}
    for screen_id, own in keys.items():
        others = [alike[other][0] for other in confused[own]]
        if screen_id in following and own.may_hold_on(own):
            others.append(following[screen_id])
        if others:
            yield _problem(screen_id, min(others), len(others) - 1)


class _SignatureKeys(NamedTuple):
    """The indicators of a signature as comparable keys."""

    positive: frozenset[str]
    against: frozenset[str]
    """Negative and exclusion indicators."""

    def may_hold_on(self, other: _SignatureKeys) -> bool:
        """Return whether it matches wherever the other does: none of its negative indicators could hold there.

        Negative indicators that the other has too do not hold there anyway.
        """
        return (
            self.positive <= other.positive
            and self.against <= other.against
            and self.against.isdisjoint(other.positive)
        )


_Holders = tuple[Mapping[str, list[_SignatureKeys]], Mapping[str, list[_SignatureKeys]]]
"""Key -> the signatures with it among their positive keys; and among the others."""


def _also_hold(own: _SignatureKeys, holders: _Holders) -> list[_SignatureKeys]:
    """Return the other signatures on whose pages `own` matches as well.

    Signatures with equal positive indicators are distinguished by the other's negative ones.
    """
    alike = min(
        (held[key] for keys, held in zip(own, holders, strict=True) for key in keys), key=len
    )  # those with its rarest key, which nearly always is itself alone
    return [other for other in alike if other.positive != own.positive and own.may_hold_on(other)]


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
    return frozenset(map(_key, conditions))


def _key(condition: BaseCondition) -> str:
    """Return what a condition means, as text: its type and the values of its fields, if they are plain; else its JSON."""
    values = condition.__dict__
    meant = [values[name] for name in _meaning_fields(type(condition))]
    if _PLAIN.issuperset(map(type, meant)):
        return f"{type(condition).__name__}{meant!r}"
    return condition.model_dump_json(exclude=_NOT_MEANING)


_PLAIN = frozenset({str, int, bool, float, NoneType})


@cache
def _meaning_fields(model: type[BaseCondition]) -> tuple[str, ...]:
    return tuple(name for name in model.model_fields if name not in _NOT_MEANING)


def _pattern_key(knowledge: KnowledgeBase, screen_id: str) -> frozenset[str]:
    patterns = knowledge.screens[screen_id].url_patterns if screen_id in knowledge.screens else ()
    return frozenset({f"url_patterns:{sorted(patterns)}"}) if patterns else frozenset()
