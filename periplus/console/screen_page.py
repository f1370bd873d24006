"""The page of a screen: its signature, elements, transitions, recovery edges, tasks and screenshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from kb_schema import KnowledgeBase
from kb_schema.action_calls import ActionCall
from kb_schema.graph_documents import Transition
from kb_schema.screens import UIElement
from kb_schema.tool_answers import RecoveryOption
from kb_store.audit.audit_recorder import record_async
from loaders.edits.knowledge_edit import KnowledgeEdit
from loaders.edits.merging import merge
from loaders.edits.renaming import find_target, rename, slug_of
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.paths import recovery_options
from mcp_server.screen_index.compiled_signatures import Indicator
from mcp_server.tools.tool_parameters import require_screen
from periplus.console import step_descriptions
from periplus.console.console_framework import (
    ConsoleContextParam,
    get_person,
    render,
    require_role,
    site_path,
)
from periplus.console.edit_requests import edit_knowledge
from periplus.console.screen_pictures import KINDS
from periplus.console.site_map_layout import Trust, classify_reliability
from periplus.service.problem_details import ApiProblem

MOST_WAYS = 200
"""Maximum number of outgoing and of incoming transitions listed."""
MOST_ELEMENTS = 400
"""Maximum number of elements listed; the knowledge base files have all."""

router = APIRouter()

KIND_SAYS = {
    "url_patterns": ("required", "URL pattern"),
    "required": ("required", "Required"),
    "primary": ("adds to the score", "Primary"),
    "optional": ("adds to the score", "Optional"),
    "negative": ("excludes", "Negative"),
    "exclusion": ("excludes", "Exclusion"),
}
"""Kind of indicator -> its effect and its label."""


@dataclass(frozen=True, slots=True)
class TransitionView:
    """One transition in the list."""

    transition_id: str
    other: str
    """The screen at its other end."""
    words: str
    reliability: float
    trust: Trust
    expected_ms: float
    seen: int
    """The number of recorded outcomes."""
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecoveryView:
    """One recovery edge in the list."""

    words: str
    to_screen: str
    priority: int
    reliability: float
    expected_ms: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ElementView:
    """One element with its selector strategies in order."""

    element_id: str
    label: str
    kind: str
    can: tuple[str, ...]
    destructive: bool
    found_by: tuple[tuple[str, str], ...]


@router.get("/sites/{site}/screens/{screen_id}")
async def screen_page(request: Request, site: str, screen_id: str, parts: ConsoleContextParam) -> Response:
    """Show the page of a screen. Raises `UnknownName`, `SourceDown`."""
    visit, note = await parts.knowledge_server.open_request(site)
    view = visit.view
    screen = view.knowledge.screens[require_screen(view, screen_id)]
    signature = view.signatures.get(screen_id)
    arriving, leaving = list(_list_incoming(view, screen_id)), list(view.leaving.get(screen_id, ()))
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
        ways_out=[_build_transition_view(view, edge, edge.to_screen) for edge in leaving[:MOST_WAYS]],
        all_ways_out=len(leaving),
        ways_in=[_build_transition_view(view, edge, edge.from_screen) for edge in arriving[:MOST_WAYS]],
        all_ways_in=len(arriving),
        names={key: each.name or key for key, each in view.knowledge.screens.items()},
        groups=[
            view.knowledge.groups[each]
            for each in view.groups_of.get(screen_id, ())
            if each in view.knowledge.groups
        ],
        tasks=[view.knowledge.tasks[each] for each in view.tasks_of.get(screen_id, ())],
        recovery=[
            _build_recovery_view(view, each)
            for each in recovery_options.find_recovery_options(view, screen_id=screen_id)
        ],
        may_edit=get_person(request).may("review"),
        pictured=parts.pictures.of(site, screen) is not None,
    )


@router.post("/sites/{site}/screens/{screen_id}/rename", dependencies=[Depends(require_role("review"))])
async def rename_screen(
    site: str,
    screen_id: str,
    parts: ConsoleContextParam,
    name: Annotated[str, Form(min_length=1, max_length=200)],
) -> Response:
    """Give a screen another name, and the id made of it; every reference follows."""

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        return rename(knowledge, find_target(knowledge, screen_id, "screen"), slug_of(name), name)

    edit = await edit_knowledge(parts, site, make)
    new_id = edit.renamed.get(("screen", screen_id), screen_id)
    return RedirectResponse(site_path(site, "screens", new_id), 303)


@router.post("/sites/{site}/screens/{screen_id}/merge", dependencies=[Depends(require_role("review"))])
async def merge_screen(
    site: str,
    screen_id: str,
    parts: ConsoleContextParam,
    other: Annotated[str, Form(min_length=1, max_length=200)],
) -> Response:
    """Make another screen a part of this one; every reference follows."""

    def make(knowledge: KnowledgeBase) -> KnowledgeEdit:
        kept, part = (find_target(knowledge, each, "screen") for each in (screen_id, other))
        return merge(knowledge, kept, part)

    await edit_knowledge(parts, site, make)
    return RedirectResponse(site_path(site, "screens", screen_id), 303)


@router.get("/sites/{site}/screens/{screen_id}/picture")
async def picture(site: str, screen_id: str, parts: ConsoleContextParam) -> Response:
    """Return the screenshot of a screen. Raises `UnknownName`, `SourceDown`."""
    knowledge = (await parts.knowledge_server.views.current(site)).view.knowledge
    screen = knowledge.screens.get(screen_id)
    found = None if screen is None else parts.pictures.of(site, screen)
    if found is None:
        raise ApiProblem(404, "not_found", f"no screenshot of {screen_id}")
    await record_async("artifact_opened", f"picture of screen {screen_id}", website=site)
    return FileResponse(
        found,
        media_type=KINDS[found.suffix],
        headers={"Cache-Control": "private, max-age=300", "Content-Security-Policy": "default-src 'none'"},
    )


def _indicators(indicators: Iterable[Indicator]) -> list[tuple[str, str, Indicator]]:
    return [(*KIND_SAYS[each.kind], each) for each in indicators]


def _list_incoming(view: KnowledgeView, screen_id: str) -> Iterator[Transition]:
    for edges in view.leaving.values():
        yield from (edge for edge in edges if edge.to_screen == screen_id)


def _build_transition_view(view: KnowledgeView, edge: Transition, other: str) -> TransitionView:
    observed = view.learned.seen(edge)
    reliability = view.learned.reliability(edge)
    return TransitionView(
        transition_id=edge.local_id,
        other=other,
        words=edge.description or step_descriptions.describe_call(view, edge.triggered_by, edge.from_screen),
        reliability=reliability,
        trust=classify_reliability(reliability),
        expected_ms=view.learned.expected_ms(edge),
        seen=0 if observed is None else observed.seen,
        conditions=tuple(
            step_descriptions.describe_condition(view, each, edge.from_screen)
            for each in edge.conditions.required
        ),
    )


def _build_recovery_view(view: KnowledgeView, option: RecoveryOption) -> RecoveryView:
    return RecoveryView(
        words=option.description
        or step_descriptions.describe_call(view, ActionCall.model_validate(option.action)),
        to_screen=option.to_screen,
        priority=option.priority,
        reliability=option.reliability,
        expected_ms=option.expected_ms,
        assumptions=option.assumptions,
    )


def _element(element: UIElement) -> ElementView:
    return ElementView(
        element_id=element.element_id,
        label=element.label,
        kind=element.type,
        can=tuple(dict.fromkeys(each.action_type for each in element.affordances)),
        destructive=any(each.destructive for each in element.affordances),
        found_by=tuple(
            _describe_strategy(each.model_dump(exclude_defaults=True)) for each in element.selector.ordered
        ),
    )


_NOT_SAID = frozenset({"type", "fallback", "confidence", "meta"})


def _describe_strategy(strategy: dict[str, object]) -> tuple[str, str]:
    said = {key: value for key, value in strategy.items() if key not in _NOT_SAID}
    text = (
        str(next(iter(said.values())))
        if len(said) == 1
        else ", ".join(f"{key} {value!r}" for key, value in said.items())
    )
    return str(strategy.get("type", "")), text
