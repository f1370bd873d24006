"""The site map: every screen and every transition between two, without details."""

from __future__ import annotations

from typing import Literal

from kb_schema.tool_answers import MapEdge, MapScreen, SiteMap
from mcp_server.knowledge.compiled_view import KnowledgeView


def build_site_map(view: KnowledgeView) -> SiteMap:
    """Every screen with its groups, and every transition, without details."""
    knowledge = view.knowledge
    return SiteMap(
        website_id=view.website_id,
        name=view.website.name,
        screens=tuple(
            MapScreen(screen_id=screen_id, name=screen.name, groups=view.groups_of.get(screen_id, ()))
            for screen_id, screen in sorted(knowledge.screens.items())
        ),
        transitions=tuple(
            MapEdge(
                transition_id=transition_id,
                from_screen=edge.from_screen,
                to_screen=edge.to_screen,
                reliability=view.learned.reliability(edge),
            )
            for transition_id, edge in sorted(knowledge.transitions.items())
        ),
    )


def render_site_map(answer: SiteMap) -> str:
    """Render one line per screen: where it leads."""
    leads: dict[str, list[str]] = {screen.screen_id: [] for screen in answer.screens}
    for edge in answer.transitions:
        if edge.to_screen not in leads[edge.from_screen]:
            leads[edge.from_screen].append(edge.to_screen)
    lines = [f"{screen} -> {', '.join(targets) or '(nothing known)'}" for screen, targets in leads.items()]
    return "\n".join([f"{answer.name}: {len(answer.screens)} screens", *lines])


def render_part(answer: SiteMap, direction: Literal["to", "from"]) -> str:
    """Render the ways to or from the first screen of a part of the map: one line per transition, nearest first."""
    asked, *others = answer.screens
    if not others:
        return f"no known way leads {direction} {asked.screen_id}"
    steps = {each.screen_id: each.steps or 0 for each in answer.screens}
    lines = [f"{len(others)} screens, up to {max(steps.values())} steps {direction} {asked.screen_id}"]
    lines += [
        f"{edge.from_screen} -> {edge.to_screen} by {edge.action_type} ({edge.transition_id}), "
        f"{steps[edge.from_screen if direction == 'to' else edge.to_screen]} steps"
        for edge in answer.transitions
    ]
    return "\n".join(lines)
