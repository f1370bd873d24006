"""The path finder: the best paths between two screens, as steps and drawn on the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, get_args

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.objectives import Objective
from kb_schema.tool_answers import Path, PathSearchResult, PathStep
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths import path_explanations
from mcp_server.server_context import ServerContext, WebsiteRequest
from mcp_server.tools import store_backed_tools
from mcp_server.tools.path_tools import find_path
from mcp_server.tools.tool_parameters import require_screen
from periplus.console import site_map_layout, step_descriptions
from periplus.console.console_framework import ConsoleContextParam, render
from periplus.console.display_names import tell_apart
from periplus.console.site_map_layout import Trust, classify_reliability

ALTERNATIVES = 3
LISTED = 400
"""Up to this number of screens they are offered in a list; beyond, their names are typed."""
OBJECTIVES: dict[Objective, str] = {
    "balanced": "expected time including retries",
    "fastest": "fastest",
    "reliable": "most reliable",
    "fewest": "fewest steps",
}

router = APIRouter()


@dataclass(frozen=True, slots=True)
class PathStepView:
    """One step of a path."""

    words: str
    from_screen: str
    to_screen: str
    expected_ms: float
    reliability: float
    trust: Trust


@dataclass(frozen=True, slots=True)
class PathView:
    """One path, with its texts and the lines on the map."""

    number: int
    steps: tuple[PathStepView, ...]
    expected_ms: float
    reliability: float
    assumptions: tuple[str, ...]
    needs: tuple[str, ...]
    """Values that the path needs, such as the name of a row."""
    against_best: str
    lines: tuple[str, ...]
    screens: frozenset[str]


ScreenNameParam = Annotated[str, Query(max_length=300)]


@router.get("/sites/{site}/paths")
async def paths(
    request: Request,
    site: str,
    parts: ConsoleContextParam,
    from_: Annotated[str, Query(alias="from", max_length=300)] = "",
    to: ScreenNameParam = "",
    objective: Objective = "balanced",
) -> Response:
    """Show the form, and the paths if both screens are given. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    view = visit.view
    start, goal = _match_screen(view, from_), _match_screen(view, to)
    found = (
        await _find_paths(parts.knowledge_server, visit, start, goal, objective) if start and goal else None
    )
    drawn = (
        await anyio.to_thread.run_sync(site_map_layout.build_site_map, view)
        if found is not None and found.paths
        else None
    )
    courses = [] if found is None or drawn is None else _build_path_views(view, drawn.layout, found)
    on_them = {screen for course in courses for screen in course.screens}
    box = None if drawn is None else site_map_layout.find_bounds(drawn.layout, on_them or {start})
    return render(
        request,
        "paths.html.j2",
        site=site,
        note=note,
        start=start,
        goal=goal,
        objective=objective,
        objectives={each: OBJECTIVES[each] for each in get_args(Objective)},
        names=_names(view),
        listed=len(view.knowledge.screens) <= LISTED,
        found=found,
        courses=courses,
        chart=drawn,
        box=box,
        shown=None if drawn is None or box is None else _find_screens_within(drawn.layout, box),
    )


async def _find_paths(
    knowledge_server: ServerContext, visit: WebsiteRequest, start: str, goal: str, objective: Objective
) -> PathSearchResult:
    elsewhere = await store_backed_tools.find_path_in_store(
        knowledge_server, visit, start, goal, objective=objective, k=ALTERNATIVES
    )
    if elsewhere is not None:
        return elsewhere.answer
    reply = await anyio.to_thread.run_sync(
        lambda: find_path(visit, start, goal, objective=objective, k=ALTERNATIVES)
    )
    return reply.answer


def _match_screen(view: KnowledgeView, said: str) -> str:
    """Return the id of the screen with this id or name; empty for empty input. Raises `UnknownName`."""
    said = said.strip()
    if not said or said in view.knowledge.screens:
        return said
    named = [key for key, each in view.knowledge.screens.items() if each.name.casefold() == said.casefold()]
    return named[0] if len(named) == 1 else require_screen(view, said)


def _names(view: KnowledgeView) -> dict[str, str]:
    names = tell_apart({key: each.name or key for key, each in view.knowledge.screens.items()})
    return dict(sorted(names.items(), key=lambda pair: pair[1].casefold()))


def _build_path_views(
    view: KnowledgeView, layout: site_map_layout.SiteMapLayout, found: PathSearchResult
) -> list[PathView]:
    return [_build_path_view(view, layout, number, path) for number, path in enumerate(found.paths, start=1)]


def _build_path_view(
    view: KnowledgeView, layout: site_map_layout.SiteMapLayout, number: int, path: Path
) -> PathView:
    steps = tuple(_build_path_step(view, each) for each in path.steps)
    pairs = dict.fromkeys(
        (each.from_screen, each.to_screen) for each in steps if each.from_screen != each.to_screen
    )
    return PathView(
        number=number,
        steps=steps,
        expected_ms=path.expected_ms,
        reliability=path.reliability,
        assumptions=path.assumptions,
        needs=tuple(dict.fromkeys(name for each in path.steps for name in each.needs)),
        against_best=""
        if path.against_best is None
        else path_explanations.describe_comparison(path.against_best),
        lines=tuple(site_map_layout.draw_line(layout, *pair) for pair in pairs),
        screens=frozenset(screen for pair in pairs for screen in pair),
    )


def _build_path_step(view: KnowledgeView, step: PathStep) -> PathStepView:
    return PathStepView(
        words=step.edge.description or step_descriptions.describe_call(view, step.call, step.from_screen),
        from_screen=step.from_screen,
        to_screen=step.to_screen,
        expected_ms=step.expected_ms,
        reliability=step.reliability,
        trust=classify_reliability(step.reliability),
    )


def _find_screens_within(
    layout: site_map_layout.SiteMapLayout, box: tuple[float, float, float, float]
) -> frozenset[str]:
    left, top, width, height = box
    return frozenset(
        place.screen_id
        for place in layout.places.values()
        if left - site_map_layout.NODE_WIDTH < place.x < left + width
        and top - place.height < place.y < top + height
    )
