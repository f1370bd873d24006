"""Judging conditions ahead of a page, on facts alone: for paths and recoveries.

Three outcomes: known to hold, known not to hold, unknown. What rests on no given fact is unknown,
whatever a condition says of an empty URL or an empty context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue

from kb_schema.conditions import BaseCondition
from kb_schema.probes import Facts, Status, Verdict, unknown
from mcp_server import wording
from mcp_server.scopes import NoPage

Known = Mapping[str, JsonValue]
"""Facts given by the client (`authenticated: true`) or set by a transition's `sets_fact`."""

_NOWHERE = NoPage()


class _NotKnown(Exception):
    """No error: it carries "not known" out of a condition."""


class _Partial(dict[str, Any]):
    """A context of which only some names are known; a run's own context knows all of its names."""

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name):
            return True
        raise _NotKnown(name)


def judge(condition: BaseCondition, known: Known, screen_id: str | None = None) -> Verdict:
    """The verdict on facts alone, one being on `screen_id` where that is given."""
    verdict = _judged(condition, known, screen_id)
    if verdict.status is Status.UNKNOWN or _judged(condition, {}, None).status is not verdict.status:
        return verdict
    return unknown("nothing that is known bears on it")


def sort_out(
    conditions: Iterable[BaseCondition], known: Known, screen_id: str | None = None
) -> tuple[bool, tuple[str, ...]]:
    """Whether none is known not to hold, and those that are unknown, in words."""
    assumed = []
    for condition in conditions:
        status = judge(condition, known, screen_id).status
        if status is Status.NOT_HELD:
            return False, ()
        if status is Status.UNKNOWN:
            assumed.append(wording.of_condition(condition))
    return True, tuple(assumed)


def _judged(condition: BaseCondition, known: Known, screen_id: str | None) -> Verdict:
    facts = Facts(
        screen_id=screen_id,
        screen_known=screen_id is not None,
        context=_Partial(known),
        known={name: value for name, value in known.items() if isinstance(value, bool)},
    )
    try:
        return condition.judge(facts, _NOWHERE)
    except _NotKnown as exc:
        return unknown(f"{exc} is not known")
