"""Conditions judged by facts alone, without a page: for paths and recovery edges.

There are three results: known to hold, known not to hold, unknown. A condition that no given fact decides is unknown,
whatever it would say about an empty URL or an empty context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from kb_schema.conditions import BaseCondition
from kb_schema.probes import ProbeFacts, Verdict, VerdictStatus, unknown
from mcp_server.document_text import condition_text
from mcp_server.transition_graph.condition_scopes import PagelessScope

KnownFacts = Mapping[str, JsonValue]
"""Facts given by the client (`authenticated: true`) or set by a transition's `sets_fact`."""

_NOWHERE = PagelessScope()


class _UnknownFact(Exception):
    """No error: it carries "not known" out of a condition."""


class _PartialContext(dict[str, Any]):
    """A context of which only some names are known; a run's own context knows all of its names."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        raise _UnknownFact(name)


def judge_on_facts(condition: BaseCondition, known: KnownFacts, screen_id: str | None = None) -> Verdict:
    """The verdict on facts alone, one being on `screen_id` where that is given."""
    verdict = _judge_with_context(condition, known, screen_id)
    if (
        verdict.status is VerdictStatus.UNKNOWN
        or _judge_with_context(condition, {}, None).status is not verdict.status
    ):
        return verdict
    return unknown("nothing that is known bears on it")


def check_on_facts(
    conditions: Iterable[BaseCondition], known: KnownFacts, screen_id: str | None = None
) -> tuple[bool, tuple[str, ...]]:
    """Whether none is known not to hold, and those that are unknown, in words."""
    assumed = []
    for condition in conditions:
        status = judge_on_facts(condition, known, screen_id).status
        if status is VerdictStatus.NOT_HELD:
            return False, ()
        if status is VerdictStatus.UNKNOWN:
            assumed.append(condition_text.describe_condition(condition))
    return True, tuple(assumed)


def count_helping(
    conditions: Iterable[BaseCondition], known: KnownFacts, screen_id: str | None = None
) -> int:
    """How many optional conditions are known to hold, less those that are known not to."""
    worth = {VerdictStatus.HELD: 1, VerdictStatus.NOT_HELD: -1}
    return sum(worth.get(judge_on_facts(each, known, screen_id).status, 0) for each in conditions)


def _judge_with_context(condition: BaseCondition, known: KnownFacts, screen_id: str | None) -> Verdict:
    facts = ProbeFacts(
        screen_id=screen_id,
        screen_known=screen_id is not None,
        context=_PartialContext(known),
        known={name: value for name, value in known.items() if isinstance(value, bool)},
    )
    try:
        return condition.judge(facts, _NOWHERE)
    except _UnknownFact as exc:
        return unknown(f"{exc} is not known")
