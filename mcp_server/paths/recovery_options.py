"""Recovery options for a lost agent, over all screen groups of the last known screen at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kb_schema.action_calls import ActionCall
from kb_schema.base import CURRENT_SCREEN
from kb_schema.edge_weights import NO_RECOVERY_MS
from kb_schema.graph_documents import DEFAULT_PRIORITY, GlobalRecovery
from kb_schema.tool_answers import RecoveryOption
from mcp_server.knowledge.compiled_view import KnowledgeView, recovery_sort_key
from mcp_server.transition_graph.fact_conditions import KnownFacts, check_on_facts, count_helping

_WITHOUT_THE_PAGE = frozenset({"navigate", "navigate_back"})
UNMEASURED = 0.9
"""Reliability of an edge without counts, as `kb_schema` defines it."""


def find_recovery_options(
    view: KnowledgeView,
    *,
    screen_id: str | None = None,
    group_id: str | None = None,
    target_screen: str | None = None,
    facts: KnownFacts | None = None,
    edges: Sequence[GlobalRecovery] | None = None,
) -> tuple[RecoveryOption, ...]:
    """The recovery options of a screen or a group, best first.

    `edges` are those of all its groups in their order, where a store has found them; else they are sorted here.

    Edges whose required conditions are known not to hold are left out; unknown ones are listed as
    assumptions. Where no edge remains (a screen in no group, say, or none that leads to the target),
    the website's default recovery. The caller has made sure that the ids exist.
    """
    if edges is None:
        groups = (group_id,) if group_id is not None else view.groups_of.get(screen_id or "", ())
        edges = [edge for group in groups for edge in view.recoveries_of.get(group, ())]
    edges = sorted(edges, key=lambda edge: _sort_key(view, edge, facts or {}))
    usable = _distinct(_usable(view, edges, screen_id, facts or {}))
    found = [each for each in usable if target_screen in (None, each.to_screen)]
    return tuple(
        found or [each for each in _default(view, screen_id) if target_screen in (None, each.to_screen)]
    )


def _sort_key(view: KnowledgeView, edge: GlobalRecovery, facts: KnownFacts) -> tuple[object, ...]:
    """Sort key: of one priority, those whose optional conditions are known to hold come first (KS 4.4)."""
    priority, *rest = recovery_sort_key(view.knowledge, edge, view.learned)
    return (priority, -count_helping(edge.conditions.optional, facts), *rest)


def filter_page_independent(found: Iterable[RecoveryOption]) -> tuple[RecoveryOption, ...]:
    """Return the options that need no element of the current page, in their order."""
    return tuple(
        each for each in found if ActionCall.model_validate(each.action).canonical_type in _WITHOUT_THE_PAGE
    )


def _usable(
    view: KnowledgeView, edges: Iterable[GlobalRecovery], screen_id: str | None, facts: KnownFacts
) -> Iterator[RecoveryOption]:
    for edge in edges:
        holds, assumed = check_on_facts(edge.conditions.required, facts)  # lost: no screen is certain
        if not holds or edge.triggered_by is None:  # the rules let none in that says not what to do
            continue
        yield RecoveryOption(
            recovery_id=edge.local_id,
            group_id=edge.from_group,
            to_screen=_resolve_target(edge.to_screen, screen_id),
            priority=edge.priority(view.knowledge.groups.get(edge.from_group)),
            reliability=view.learned.reliability(edge),
            expected_ms=view.learned.expected_ms(edge),
            action=edge.triggered_by.to_json(),
            description=edge.description,
            assumptions=assumed,
        )


def _distinct(found: Iterable[RecoveryOption]) -> Iterator[RecoveryOption]:
    """Without those that do the same as a better one before them."""
    seen: list[tuple[str, object]] = []
    for each in found:
        effect = (each.to_screen, each.action)
        if effect not in seen:
            seen.append(effect)
            yield each


def _default(view: KnowledgeView, screen_id: str | None) -> Iterator[RecoveryOption]:
    recovery = view.website.default_recovery
    for number, call in enumerate(recovery.actions if recovery else (), start=1):
        yield RecoveryOption(
            recovery_id=f"default_recovery.{number}",
            to_screen=_resolve_target(call.target_screen or CURRENT_SCREEN, screen_id),
            priority=DEFAULT_PRIORITY,
            reliability=UNMEASURED,
            expected_ms=NO_RECOVERY_MS,
            action=call.to_json(),
            description="the website's default recovery",
        )


def _resolve_target(to_screen: str, screen_id: str | None) -> str:
    return screen_id if to_screen == CURRENT_SCREEN and screen_id is not None else to_screen
