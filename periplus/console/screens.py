"""The page of a screen: how it is known, what is on it, where one gets from it, and its picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response

from kb_schema.answers import RecoveryOption
from kb_schema.calls import ActionCall
from kb_schema.graph import Transition
from kb_schema.screens import UIElement
from mcp_server import recover, wording
from mcp_server.compiled import View
from mcp_server.signatures import Indicator
from mcp_server.tools.parameters import screen_of
from periplus.console import wordings
from periplus.console.chart import Trust, trust_of
from periplus.console.pictures import KINDS
from periplus.console.shell import TheParts, render
from periplus.service.problems import ApiProblem

MOST_WAYS = 200
"""Listed, out and in each; a page that everything leads to would be mostly that."""
MOST_ELEMENTS = 400
"""Listed; the knowledge's files have all."""

router = APIRouter()

KIND_SAYS = {
    "url_patterns": ("must hold", "The address"),
    "required": ("must hold", "Required"),
    "primary": ("speaks for it", "Primary"),
    "optional": ("speaks for it", "Optional"),
    "negative": ("rules it out", "Negative"),
    "exclusion": ("rules it out", "Exclusion"),
}
"""What an indicator of each kind does, and what it is called."""


@dataclass(frozen=True, slots=True)
class Way:
    """One transition, in words."""

    transition_id: str
    other: str
    """The screen at its other end."""
    words: str
    reliability: float
    trust: Trust
    expected_ms: float
    seen: int
    """Outcomes counted so far."""
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Out:
    """One way out when lost."""

    words: str
    to_screen: str
    priority: int
    reliability: float
    expected_ms: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """One element, and every way of finding it in its order."""

    element_id: str
    label: str
    kind: str
    can: tuple[str, ...]
    destructive: bool
    found_by: tuple[tuple[str, str], ...]


@router.get("/sites/{site}/screens/{screen_id}")
async def screen_page(request: Request, site: str, screen_id: str, parts: TheParts) -> Response:
    """Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.desk.visit(site)
    view = visit.view
    screen = view.knowledge.screens[screen_of(view, screen_id)]
    signature = view.signatures.get(screen_id)
    arriving, leaving = list(_arriving(view, screen_id)), list(view.leaving.get(screen_id, ()))
    return render(
        request,
        "screen.html.j2",
        site=site,
        note=note,
        screen=screen,
        signature=signature,
        indicators=[] if signature is None else _indicators((*signature.positive, *signature.against)),
        elements=[_element(each) for each in list(view.elements[screen_id].values())[:MOST_ELEMENTS]],
        all_elements=len(view.elements[screen_id]),
        ways_out=[_way(view, edge, edge.to_screen) for edge in leaving[:MOST_WAYS]],
        all_ways_out=len(leaving),
        ways_in=[_way(view, edge, edge.from_screen) for edge in arriving[:MOST_WAYS]],
        all_ways_in=len(arriving),
        names={key: each.name or key for key, each in view.knowledge.screens.items()},
        groups=[
            view.knowledge.groups[each]
            for each in view.groups_of.get(screen_id, ())
            if each in view.knowledge.groups
        ],
        tasks=[view.knowledge.tasks[each] for each in view.tasks_of.get(screen_id, ())],
        recovery=[_out(view, each) for each in recover.options(view, screen_id=screen_id)],
        pictured=parts.pictures.of(site, screen) is not None,
    )


@router.get("/sites/{site}/screens/{screen_id}/picture")
async def picture(site: str, screen_id: str, parts: TheParts) -> Response:
    """What the screen looked like. Raises `UnknownName`, `SourceDown`."""
    knowledge = (await parts.desk.views.current(site)).view.knowledge
    screen = knowledge.screens.get(screen_id)
    found = None if screen is None else parts.pictures.of(site, screen)
    if found is None:
        raise ApiProblem(404, "not_found", f"there is no picture of {screen_id}")
    return FileResponse(
        found, media_type=KINDS[found.suffix], headers={"Cache-Control": "private, max-age=300", "Content-Security-Policy": "default-src 'none'"}
    )  # fmt: skip


def _indicators(indicators: Iterable[Indicator]) -> list[tuple[str, str, Indicator]]:
    return [(*KIND_SAYS[each.kind], each) for each in indicators]


def _arriving(view: View, screen_id: str) -> Iterator[Transition]:
    for edges in view.leaving.values():
        yield from (edge for edge in edges if edge.to_screen == screen_id)


def _way(view: View, edge: Transition, other: str) -> Way:
    observed = view.learned.seen(edge)
    reliability = view.learned.reliability(edge)
    return Way(
        transition_id=edge.local_id,
        other=other,
        words=edge.description or wordings.of_call(view, edge.triggered_by, edge.from_screen),
        reliability=reliability,
        trust=trust_of(reliability),
        expected_ms=view.learned.expected_ms(edge),
        seen=0 if observed is None else observed.seen,
        conditions=tuple(wording.of_condition(each) for each in edge.conditions.required),
    )


def _out(view: View, option: RecoveryOption) -> Out:
    return Out(
        words=option.description or wordings.of_call(view, ActionCall.model_validate(option.action)),
        to_screen=option.to_screen,
        priority=option.priority,
        reliability=option.reliability,
        expected_ms=option.expected_ms,
        assumptions=option.assumptions,
    )


def _element(element: UIElement) -> Element:
    return Element(
        element_id=element.element_id,
        label=element.label,
        kind=element.type,
        can=tuple(dict.fromkeys(each.action_type for each in element.affordances)),
        destructive=any(each.destructive for each in element.affordances),
        found_by=tuple(
            _in_words(each.model_dump(exclude_defaults=True)) for each in element.selector.ordered
        ),
    )


_NOT_SAID = frozenset({"type", "fallback", "confidence", "meta"})


def _in_words(strategy: dict[str, object]) -> tuple[str, str]:
    said = {key: value for key, value in strategy.items() if key not in _NOT_SAID}
    text = (
        str(next(iter(said.values())))
        if len(said) == 1
        else ", ".join(f"{key} {value!r}" for key, value in said.items())
    )
    return str(strategy.get("type", "")), text
