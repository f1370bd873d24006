"""The screens from which one screen is reached, or which are reached from it, and the transitions between them.

Answers "all ways to X" and "what leads here by a click" as a part of the site map: the number of separate paths grows
exponentially, the part of the map that contains them does not. Not here: the best paths (`path_search`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kb_schema import action_types
from kb_schema.graph_documents import Transition
from kb_schema.tool_answers import MapEdge, MapScreen, SiteMap
from mcp_server.errors import BadRequest, UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView

Direction = Literal["to", "from"]
MOST_STEPS = 10
"""As `kb_store.graph_queries.MOST_HOPS`."""


@dataclass(frozen=True, slots=True)
class ReachQuestion:
    """Which part of the map is asked for."""

    screen_id: str
    direction: Direction
    """`to`: the screens that lead to it. `from`: those it leads to."""
    action_type: str | None = None
    """A canonical action type, or the id of an action document: only transitions by it. None: by any."""
    most_steps: int = MOST_STEPS


def read_question(
    view: KnowledgeView, from_screen: str | None, to_screen: str | None, action: str | None, most_steps: int
) -> ReachQuestion | None:
    """Return the question of the arguments of `get_site_map`; None: the whole map is asked for.

    The caller has made sure that the screens exist. Raises `BadRequest`, `UnknownName`.
    """
    if from_screen is not None and to_screen is not None:
        raise BadRequest(
            "both `from_screen` and `to_screen` are given",
            hint="give one of them; find_path answers the way between two screens",
        )
    screen_id = from_screen if to_screen is None else to_screen
    if screen_id is None:
        if action is not None:
            raise BadRequest(
                "`action_type` needs a screen", hint="give `to_screen` or `from_screen` with `action_type`"
            )
        return None
    direction: Direction = "from" if to_screen is None else "to"
    return ReachQuestion(
        screen_id, direction, None if action is None else _read_action(view, action), most_steps
    )


def _read_action(view: KnowledgeView, action: str) -> str:
    canonical = action_types.canonical(action)
    if canonical is None and action not in view.knowledge.actions:
        known = {*action_types.ACTION_TYPES, *view.knowledge.actions}
        raise UnknownName("action type", action, known, hint="get_available_actions lists those of a screen")
    return canonical or action


def count_steps(view: KnowledgeView, question: ReachQuestion) -> dict[str, int]:
    """Return the least number of steps to (or from) each screen within `most_steps`, the asked screen left out.

    Conditions of transitions are not asked: what is closed today is still a way.
    """
    beside: dict[str, set[str]] = {}
    for edge in _edges(view, question.action_type):
        near, far = _ends(edge, question.direction)
        beside.setdefault(near, set()).add(far)
    steps, front = {question.screen_id: 0}, {question.screen_id}
    for number in range(1, question.most_steps + 1):
        front = {far for screen in front for far in beside.get(screen, ())} - steps.keys()
        steps |= dict.fromkeys(front, number)
    del steps[question.screen_id]
    return steps


def draw_part(view: KnowledgeView, question: ReachQuestion, steps: Mapping[str, int]) -> SiteMap:
    """Return the part of the map with these screens: nearest first, with every transition that such a way uses."""
    depth = {question.screen_id: 0, **steps}
    screens = sorted(depth, key=lambda each: (depth[each], each))
    edges = sorted(
        (edge for edge in _edges(view, question.action_type) if _is_used(edge, question, depth)),
        key=lambda edge: (depth[_ends(edge, question.direction)[0]], edge.local_id),
    )
    return SiteMap(
        website_id=view.website_id,
        name=view.website.name,
        screens=tuple(
            MapScreen(
                screen_id=each,
                name=view.knowledge.screens[each].name,
                groups=view.groups_of.get(each, ()),
                steps=depth[each],
            )
            for each in screens
        ),
        transitions=tuple(
            MapEdge(
                transition_id=edge.local_id,
                from_screen=edge.from_screen,
                to_screen=edge.to_screen,
                reliability=view.learned.reliability(edge),
                action_type=edge.triggered_by.canonical_type,
            )
            for edge in edges
        ),
    )


def _is_used(edge: Transition, question: ReachQuestion, depth: Mapping[str, int]) -> bool:
    """Whether a way of at most `most_steps` steps uses it. No way comes back to the screen it is about."""
    near, far = _ends(edge, question.direction)
    return far != question.screen_id and depth.get(near, question.most_steps) < question.most_steps


def _edges(view: KnowledgeView, action_type: str | None) -> Iterator[Transition]:
    for edges in view.leaving.values():
        for edge in edges:
            if action_type is None or edge.triggered_by.canonical_type == action_type:
                yield edge


def _ends(edge: Transition, direction: Direction) -> tuple[str, str]:
    """Return the end that is nearer to the asked screen, and the other one."""
    ends = (edge.to_screen, edge.from_screen)
    return ends if direction == "to" else ends[::-1]
