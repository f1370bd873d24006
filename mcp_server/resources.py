"""The knowledge as MCP resources: what there is, page by page, each thing whole, and word of changes.

kb://{website_id}                    the website
kb://{website_id}/map                every screen and transition, without details
kb://{website_id}/screens/{id}       and tasks, actions, flows, workflows: one document
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp.types import ListResourcesResult, Resource

from kb_schema.base import Document
from kb_schema.knowledge import KnowledgeBase
from mcp_server import cursors, describe, site_map
from mcp_server.compiled import View
from mcp_server.desk import Desk
from mcp_server.errors import DeskError, UnknownName
from mcp_server.tools.parameters import named

MIME = "application/json"
PAGE = 100
"""Resources a page of `resources/list`."""

ViewOf = Callable[[str], Awaitable[View]]


@dataclass(frozen=True, slots=True)
class Shelf:
    """One kind of document, as a folder of resources."""

    folder: str
    argument: str
    """Its name in the URI template."""
    kind: str
    about: str
    documents: Callable[[KnowledgeBase], Mapping[str, Document]]


SHELVES = (
    Shelf("screens", "screen_id", "screen", "A screen with the elements of its layouts", lambda k: k.screens),
    Shelf("tasks", "task_id", "task", "A task", lambda k: k.tasks),
    Shelf("actions", "action_id", "action", "A reusable action", lambda k: k.actions),
    Shelf("flows", "flow_id", "presentation flow", "A demo", lambda k: k.flows),
    Shelf("workflows", "workflow_id", "workflow", "A published workflow", lambda k: k.workflows),
)
"""Adding a kind is adding an entry."""


def add_resources(server: MCPServer, desk: Desk) -> None:
    """The templates by which clients read one resource."""

    async def view_of(website_id: str) -> View:
        return (await desk.visit(website_id))[0].view

    @server.resource("kb://{website_id}", name="website", mime_type=MIME)
    async def website(website_id: str) -> str:
        """A website, everything authored."""
        return await _told(view_of, website_id, lambda view: _document(view, view.website))

    @server.resource("kb://{website_id}/map", name="map", mime_type=MIME)
    async def site(website_id: str) -> str:
        """Every screen of a website and every transition between two."""
        return await _told(view_of, website_id, lambda view: site_map.site_map(view).to_json())

    for shelf in SHELVES:
        _add_shelf(server, shelf, view_of)


def _add_shelf(server: MCPServer, shelf: Shelf, view_of: ViewOf) -> None:
    async def one(website_id: str, **named_by: str) -> str:
        def found(view: View) -> Any:
            hint = "resources/list says what there is"
            documents = shelf.documents(view.knowledge)
            return _document(view, named(shelf.kind, named_by[shelf.argument], documents, hint))

        return await _told(view_of, website_id, found)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=str)
        for name in ("website_id", shelf.argument)
    ]
    # The SDK reads the arguments of a template off the function.
    one.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    one.__annotations__ = {parameter.name: str for parameter in parameters} | {"return": str}
    template = f"kb://{{website_id}}/{shelf.folder}/{{{shelf.argument}}}"
    about = f"{shelf.about}, everything authored."
    server.resource(template, name=shelf.kind, description=about, mime_type=MIME)(one)


async def page(desk: Desk, cursor: str | None, *, size: int = PAGE) -> ListResourcesResult:
    """A page of everything there is, by website, kind and id. Raises `BadRequest` for a foreign cursor."""
    begin = cursors.read(cursor, "resources")
    found: list[Resource] = []
    more = False
    position = 0
    for website_id in await desk.views.websites():
        view = (await desk.views.current(website_id)).view
        for resource in _resources(view.knowledge):
            if position >= begin + size:
                more = True
                break
            if position >= begin:
                found.append(resource)
            position += 1
        if more:
            break
    following = cursors.make(begin + size, "resources") if more else None
    return ListResourcesResult(resources=found, next_cursor=following)


def changes(old: KnowledgeBase, new: KnowledgeBase) -> Sequence[ServerEvent]:
    """What listening clients are told when a website's knowledge changed."""
    site = _uri(new)
    events: list[ServerEvent] = [ResourcesListChanged(), ResourceUpdated(uri=f"{site}/map")]
    if old.website != new.website:
        events.append(ResourceUpdated(uri=site))
    for shelf in SHELVES:
        before, after = shelf.documents(old), shelf.documents(new)
        events += (
            ResourceUpdated(uri=f"{site}/{shelf.folder}/{local_id}")
            for local_id in sorted(before.keys() | after.keys())
            if before.get(local_id) != after.get(local_id)
        )
    return events


def ids(view: View, argument: str) -> Sequence[str]:
    """What an argument of a template may be; nothing for one that is none."""
    for shelf in SHELVES:
        if shelf.argument == argument:
            return sorted(shelf.documents(view.knowledge))
    return ()


def _resources(knowledge: KnowledgeBase) -> Iterator[Resource]:
    site, name = _uri(knowledge), knowledge.website.name
    yield Resource(uri=site, name=knowledge.website.website_id, title=name, mime_type=MIME)
    yield Resource(uri=f"{site}/map", name="map", title=f"Map of {name}", mime_type=MIME)
    for shelf in SHELVES:
        for local_id, document in sorted(shelf.documents(knowledge).items()):
            title = getattr(document, "name", None) or None
            yield Resource(
                uri=f"{site}/{shelf.folder}/{local_id}", name=local_id, title=title, mime_type=MIME
            )


def _uri(knowledge: KnowledgeBase) -> str:
    return f"kb://{knowledge.website.website_id}"


def _document(view: View, document: Document) -> Any:
    return describe.document(view, document, "full").document


async def _told(view_of: ViewOf, website_id: str, found: Callable[[View], Any]) -> str:
    try:
        return json.dumps(found(await view_of(website_id)), ensure_ascii=False, indent=1)
    except UnknownName as exc:
        raise ResourceNotFoundError(str(exc)) from exc
    except DeskError as exc:
        raise ResourceError(str(exc)) from exc
