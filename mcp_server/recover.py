"""Ways out when one is lost: over all groups of the last known screen at once (DESIGN 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kb_schema.answers import RecoveryOption
from kb_schema.base import CURRENT_SCREEN
from kb_schema.calls import ActionCall
from kb_schema.graph import DEFAULT_PRIORITY, GlobalRecovery
from kb_schema.weights import NO_RECOVERY_MS
from mcp_server.compiled import View, recovery_order
from mcp_server.foresight import Known, sort_out

_WITHOUT_THE_PAGE = frozenset({"navigate", "navigate_back"})
UNMEASURED = 0.9
"""Reliability of a way nobody has counted, as `kb_schema` has it for edges."""


def options(
    view: View,
    *,
    screen_id: str | None = None,
    group_id: str | None = None,
    target_screen: str | None = None,
    facts: Known | None = None,
) -> tuple[RecoveryOption, ...]:
    """The ways out of a screen or a group, best first.

    Edges whose required conditions are known not to hold are left out; unknown ones are listed as
    assumptions. Where no edge remains (a screen in no group, say, or none that leads to the target),
    the website's default recovery. The caller has made sure that the ids exist.
    """
    groups = (group_id,) if group_id is not None else view.groups_of.get(screen_id or "", ())
    edges = sorted(
        (edge for group in groups for edge in view.recoveries_of.get(group, ())),
        key=lambda edge: recovery_order(view.knowledge, edge, view.learned),
    )
    usable = _distinct(_usable(view, edges, screen_id, facts or {}))
    found = [each for each in usable if target_screen in (None, each.to_screen)]
    return tuple(
        found or [each for each in _default(view, screen_id) if target_screen in (None, each.to_screen)]
    )


def from_anywhere(found: Iterable[RecoveryOption]) -> tuple[RecoveryOption, ...]:
    """Those that need nothing of the page one is on, in their order: the others have nothing to act on there."""
    return tuple(
        each for each in found if ActionCall.model_validate(each.action).canonical_type in _WITHOUT_THE_PAGE
    )


def _usable(
    view: View, edges: Iterable[GlobalRecovery], screen_id: str | None, facts: Known
) -> Iterator[RecoveryOption]:
    for edge in edges:
        holds, assumed = sort_out(edge.conditions.required, facts)  # lost: on no screen for sure
        if not holds or edge.triggered_by is None:  # the rules let none in that says not what to do
            continue
        yield RecoveryOption(
            recovery_id=edge.local_id,
            group_id=edge.from_group,
            to_screen=_where(edge.to_screen, screen_id),
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


def _default(view: View, screen_id: str | None) -> Iterator[RecoveryOption]:
    recovery = view.website.default_recovery
    for number, call in enumerate(recovery.actions if recovery else (), start=1):
        yield RecoveryOption(
            recovery_id=f"default_recovery.{number}",
            to_screen=_where(call.target_screen or CURRENT_SCREEN, screen_id),
            priority=DEFAULT_PRIORITY,
            reliability=UNMEASURED,
            expected_ms=NO_RECOVERY_MS,
            action=call.to_json(),
            description="the website's default recovery",
        )


def _where(to_screen: str, screen_id: str | None) -> str:
    return screen_id if to_screen == CURRENT_SCREEN and screen_id is not None else to_screen
