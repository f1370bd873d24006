"""Global recovery: the ways out of the screens of a group that were tried, and how often they helped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kb_schema.base import CURRENT_SCREEN
from kb_schema.graph import GlobalRecovery
from kb_schema.mapping import Passage
from loaders.cartography.groups import FORMS, Groups
from loaders.cartography.screens import Charted


@dataclass(frozen=True, slots=True)
class Way:
    """A way out, and how soon it is tried."""

    action_type: str
    priority: int
    priority_of_forms: int
    """Where loading anew loses what was typed."""
    description: str


WAYS = {
    "address": Way("navigate", 1, 1, "Open an address that led there from these pages"),
    "reload": Way("refresh", 2, 4, "Load the page again"),
    "escape": Way("press", 3, 2, "Close what lies over the page"),
    "back": Way("navigate_back", 4, 3, "Leave by the way one came"),
}
"""By the way of a passage; tried in the order of their priorities."""


@dataclass(slots=True)
class _Tried:
    helped: list[Passage] = field(default_factory=list)
    failed: int = 0


def recoveries_of(
    groups: Groups, screens: Sequence[Charted], passages: Sequence[Passage]
) -> Iterator[GlobalRecovery]:
    """The edges of every group that had a way out that helped."""
    by_id = {screen.screen_id: screen for screen in screens}
    screen_of = {page: screen.screen_id for screen in screens for page in screen.page_ids}
    ways = [each for each in passages if each.way in WAYS and each.from_page in screen_of]
    for group_id, (_, members) in groups.items():
        inside = set(members)
        tried: dict[tuple[str, str], _Tried] = defaultdict(_Tried)
        for passage in ways:
            if screen_of[passage.from_page] in inside:
                told = tried[passage.way, _end(passage, screen_of)]
                if _helped(passage, screen_of):
                    told.helped.append(passage)
                else:
                    told.failed += 1
        for (way, to_screen), told in sorted(tried.items()):
            if not told.helped:
                continue
            if to_screen == CURRENT_SCREEN or _is_a_way_home(
                by_id[to_screen], [by_id[each] for each in inside]
            ):
                yield _edge(group_id, way, to_screen, by_id, told)


def _is_a_way_home(screen: Charted, members: Sequence[Charted]) -> bool:
    """Whether it is where one begins, for those who may be on the pages: not where others sign in."""
    return _is_a_start(screen) and (_seen_signed_in(screen) or not any(map(_seen_signed_in, members)))


def _seen_signed_in(screen: Charted) -> bool:
    return any(look.page.signed_in for look in screen.looks)


def _is_a_start(screen: Charted) -> bool:
    """Whether one may run there from anywhere: it is where one begins."""
    return screen.url is not None and any(not look.page.depth for look in screen.looks)


def _end(passage: Passage, screen_of: Mapping[str, str]) -> str:
    """Where the way leads: a screen that has an address, or the one that is open."""
    end = screen_of.get(passage.to_page or "")
    return end if passage.way == "address" and end is not None else CURRENT_SCREEN


def _helped(passage: Passage, screen_of: Mapping[str, str]) -> bool:
    """A way that leads to no screen helps nobody; loading anew has to lead to the same one."""
    if passage.outcome not in ("arrived", "stayed"):
        return False
    end = screen_of.get(passage.to_page or "")
    if passage.way == "reload":
        return passage.outcome == "stayed" or end == screen_of[passage.from_page]
    if passage.way == "escape":
        return True
    return end is not None


def _edge(
    group_id: str, way: str, to_screen: str, by_id: Mapping[str, Charted], told: _Tried
) -> GlobalRecovery:
    how = WAYS[way]
    times = [passage.duration_ms for passage in told.helped]
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
                "success_count": len(told.helped),
                "failure_count": told.failed,
                "last_updated": max(passage.at for passage in told.helped),
            },
            "description": how.description,
        }
    )
