"""The path finder: the best ways between two screens, in words and drawn on the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, get_args

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from kb_schema.answers import Objective, Path, Paths, PathStep
from mcp_server import reasons
from mcp_server.compiled import View
from mcp_server.desk import Desk
from mcp_server.tools import afar
from mcp_server.tools.parameters import screen_of
from mcp_server.tools.reply import Visit
from mcp_server.tools.ways import find_path
from periplus.console import chart, wordings
from periplus.console.chart import Trust, trust_of
from periplus.console.shell import TheParts, render

ALTERNATIVES = 3
LISTED = 400
"""Screens of a site up to which they are offered as a list to choose from; beyond, names are typed."""
OBJECTIVES: dict[Objective, str] = {
    "balanced": "soonest, failures reckoned in",
    "fastest": "fastest",
    "reliable": "most reliable",
    "fewest": "fewest steps",
}

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a course."""

    words: str
    from_screen: str
    to_screen: str
    expected_ms: float
    reliability: float
    trust: Trust


@dataclass(frozen=True, slots=True)
class Course:
    """One way there, as it is told and drawn."""

    number: int
    steps: tuple[Step, ...]
    expected_ms: float
    reliability: float
    assumptions: tuple[str, ...]
    against_best: str
    lines: tuple[str, ...]
    screens: frozenset[str]


Named = Annotated[str, Query(max_length=300)]


@router.get("/sites/{site}/paths")
async def paths(
    request: Request,
    site: str,
    parts: TheParts,
    from_: Annotated[str, Query(alias="from", max_length=300)] = "",
    to: Named = "",
    objective: Objective = "balanced",
) -> Response:
    """The form, and the ways where both ends are given. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    view = visit.view
    start, goal = _meant(view, from_), _meant(view, to)
    found = await _found(parts.desk, visit, start, goal, objective) if start and goal else None
    drawn = (
        await anyio.to_thread.run_sync(chart.chart_of, view) if found is not None and found.paths else None
    )
    courses = [] if found is None or drawn is None else _courses(view, drawn.layout, found)
    on_them = {screen for course in courses for screen in course.screens}
    box = None if drawn is None else chart.around(drawn.layout, on_them or {start})
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
        shown=None if drawn is None or box is None else _within(drawn.layout, box),
    )


async def _found(desk: Desk, visit: Visit, start: str, goal: str, objective: Objective) -> Paths:
    elsewhere = await afar.find_path(desk, visit, start, goal, objective=objective, k=ALTERNATIVES)
    if elsewhere is not None:
        return elsewhere.answer
    reply = await anyio.to_thread.run_sync(
        lambda: find_path(visit, start, goal, objective=objective, k=ALTERNATIVES)
    )
    return reply.answer


def _meant(view: View, said: str) -> str:
    """The screen that is meant by its id or name; nothing where nothing was said. Raises `UnknownName`."""
    said = said.strip()
    if not said or said in view.knowledge.screens:
        return said
    named = [key for key, each in view.knowledge.screens.items() if each.name.casefold() == said.casefold()]
    return named[0] if len(named) == 1 else screen_of(view, said)


def _names(view: View) -> dict[str, str]:
    screens = view.knowledge.screens.items()
    return dict(
        sorted(((key, each.name or key) for key, each in screens), key=lambda pair: pair[1].casefold())
    )


def _courses(view: View, layout: chart.Layout, found: Paths) -> list[Course]:
    return [_course(view, layout, number, path) for number, path in enumerate(found.paths, start=1)]


def _course(view: View, layout: chart.Layout, number: int, path: Path) -> Course:
    steps = tuple(_step(view, each) for each in path.steps)
    pairs = dict.fromkeys(
        (each.from_screen, each.to_screen) for each in steps if each.from_screen != each.to_screen
    )
    return Course(
        number=number,
        steps=steps,
        expected_ms=path.expected_ms,
        reliability=path.reliability,
        assumptions=path.assumptions,
        against_best="" if path.against_best is None else reasons.in_words(path.against_best),
        lines=tuple(chart.line_between(layout, *pair) for pair in pairs),
        screens=frozenset(screen for pair in pairs for screen in pair),
    )


def _step(view: View, step: PathStep) -> Step:
    return Step(
        words=step.edge.description or wordings.of_call(view, step.call, step.from_screen),
        from_screen=step.from_screen,
        to_screen=step.to_screen,
        expected_ms=step.expected_ms,
        reliability=step.reliability,
        trust=trust_of(step.reliability),
    )


def _within(layout: chart.Layout, box: tuple[float, float, float, float]) -> frozenset[str]:
    left, top, width, height = box
    return frozenset(
        place.screen_id
        for place in layout.places.values()
        if left - chart.NODE_WIDTH < place.x < left + width and top - place.height < place.y < top + height
    )
