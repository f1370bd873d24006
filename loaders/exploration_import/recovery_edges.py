"""Makes recovery edges: the ways out of a group's screens that were tried, and how often they worked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kb_schema.base import CURRENT_SCREEN
from kb_schema.explorations import AttemptedTransition
from kb_schema.graph_documents import GlobalRecovery
from loaders.exploration_import.explored_screens import ExploredScreen
from loaders.exploration_import.screen_groups import FORMS, GroupsWithMembers


@dataclass(frozen=True, slots=True)
class RecoveryKind:
    """A way out and its priority."""

    action_type: str
    priority: int
    priority_of_forms: int
    """The priority on forms, where reloading loses the input."""
    description: str


RECOVERY_KINDS = {
    "address": RecoveryKind("navigate", 1, 1, "Open an address that led there from these pages"),
    "reload": RecoveryKind("refresh", 2, 4, "Reload the page"),
    "escape": RecoveryKind("press", 3, 2, "Close the overlay"),
    "back": RecoveryKind("navigate_back", 4, 3, "Go back"),
}
"""By the `way` of an attempt, tried in the order of their priorities."""


@dataclass(slots=True)
class _RecoveryTally:
    helped: list[AttemptedTransition] = field(default_factory=list)
    failed: int = 0


def recoveries_of(
    groups: GroupsWithMembers, screens: Sequence[ExploredScreen], passages: Sequence[AttemptedTransition]
) -> Iterator[GlobalRecovery]:
    """Return the edges of every group that had a way out that worked."""
    by_id = {screen.screen_id: screen for screen in screens}
    screen_of = {page: screen.screen_id for screen in screens for page in screen.page_ids}
    ways = [each for each in passages if each.way in RECOVERY_KINDS and each.from_page in screen_of]
    for group_id, (_, members) in groups.items():
        inside = set(members)
        tried: dict[tuple[str, str], _RecoveryTally] = defaultdict(_RecoveryTally)
        for passage in ways:
            if screen_of[passage.from_page] in inside:
                tally = tried[passage.way, _end(passage, screen_of)]
                if _has_recovered(passage, screen_of):
                    tally.helped.append(passage)
                else:
                    tally.failed += 1
        for (way, to_screen), tally in sorted(tried.items()):
            if not tally.helped:
                continue
            if to_screen == CURRENT_SCREEN or _leads_home(by_id[to_screen], [by_id[each] for each in inside]):
                yield _edge(group_id, way, to_screen, by_id, tally)


def _leads_home(screen: ExploredScreen, members: Sequence[ExploredScreen]) -> bool:
    """Return whether it leads to a start screen for users of these pages; a sign-in page is none."""
    return _is_a_start(screen) and (_seen_signed_in(screen) or not any(map(_seen_signed_in, members)))


def _seen_signed_in(screen: ExploredScreen) -> bool:
    return any(look.page.signed_in for look in screen.looks)


def _is_a_start(screen: ExploredScreen) -> bool:
    """Return whether it can be opened from anywhere: it is a start screen."""
    return screen.url is not None and any(not look.page.depth for look in screen.looks)


def _end(passage: AttemptedTransition, screen_of: Mapping[str, str]) -> str:
    """Return where it leads: a screen that has an address, or the current one."""
    end = screen_of.get(passage.to_page or "")
    return end if passage.way == "address" and end is not None else CURRENT_SCREEN


def _has_recovered(passage: AttemptedTransition, screen_of: Mapping[str, str]) -> bool:
    """Return whether it reached a screen; a reload must reach the same one."""
    if passage.outcome not in ("arrived", "stayed"):
        return False
    end = screen_of.get(passage.to_page or "")
    if passage.way == "reload":
        return passage.outcome == "stayed" or end == screen_of[passage.from_page]
    if passage.way == "escape":
        return True
    return end is not None


def _edge(
    group_id: str, way: str, to_screen: str, by_id: Mapping[str, ExploredScreen], tally: _RecoveryTally
) -> GlobalRecovery:
    how = RECOVERY_KINDS[way]
    times = [passage.duration_ms for passage in tally.helped]
    mean = round(sum(times) / len(times), 1)
    call: dict[str, Any] = {"action_type": how.action_type}
    if way == "address":
        call["url"] = by_id[to_screen].url
    if way == "escape":
        call["keys"] = "Escape"
    return GlobalRecovery.model_validate(
        {
            "_from": group_id,
            "_to": to_screen,
            "type": "global_recovery",
            "transition_id": f"{group_id}.by_{way}"
            + ("" if to_screen == CURRENT_SCREEN else f".{to_screen}"),
            "recovery_priority": how.priority_of_forms if group_id == FORMS else how.priority,
            "triggered_by": call,
            "cost": {"estimated_ms": mean},
            "duration": {"avg_duration_ms": mean},
            "reliability_metrics": {
                "success_count": len(tally.helped),
                "failure_count": tally.failed,
                "last_updated": max(passage.at for passage in tally.helped),
            },
            "description": how.description,
        }
    )
