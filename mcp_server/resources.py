"""The knowledge base as MCP resources: a paged list, single documents, and change events.

kb://{website_id}                    the website
kb://{website_id}/map                every screen and transition, without details
kb://{website_id}/screens/{id}       and tasks, actions, flows, workflows: one document
kb://{website_id}/workflows/{id}/documents   a workflow with what it uses, of one revision
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
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.workflow_versions import list_workflow_parts
from mcp_server import cursors
from mcp_server.descriptions import document_summaries, site_map
from mcp_server.errors import KnowledgeServerError, UnknownName
from mcp_server.knowledge.compiled_view import KnowledgeView
from mcp_server.server_context import ServerContext
from mcp_server.tools.tool_parameters import require_document

MIME = "application/json"
PAGE = 100
"""Resources per page of `resources/list`."""

ViewLookup = Callable[[str], Awaitable[KnowledgeView]]


@dataclass(frozen=True, slots=True)
class ResourceFolder:
    """One kind of document, as a folder of resources."""

    folder: str
    argument: str
    """Its name in the URI template."""
    kind: str
    about: str
    documents: Callable[[KnowledgeBase], Mapping[str, Document]]


RESOURCE_FOLDERS = (
    ResourceFolder(
        "screens", "screen_id", "screen", "A screen with the elements of its layouts", lambda k: k.screens
    ),
    ResourceFolder("tasks", "task_id", "task", "A task", lambda k: k.tasks),
    ResourceFolder("actions", "action_id", "action", "A reusable action", lambda k: k.actions),
    ResourceFolder("flows", "flow_id", "presentation flow", "A demo", lambda k: k.flows),
    ResourceFolder("workflows", "workflow_id", "workflow", "A published workflow", lambda k: k.workflows),
)
"""To add a kind, add an entry."""


def add_resources(server: MCPServer, server_context: ServerContext) -> None:
    """Register the templates by which clients read one resource."""

    async def view_of(website_id: str) -> KnowledgeView:
        return (await server_context.open_request(website_id))[0].view

    @server.resource("kb://{website_id}", name="website", mime_type=MIME)
    async def website(website_id: str) -> str:
        """A website, with every authored field."""
        return await _read_json(view_of, website_id, lambda view: _document(view, view.website))

    @server.resource("kb://{website_id}/map", name="map", mime_type=MIME)
    async def site(website_id: str) -> str:
        """Every screen of a website and every transition between two."""
        return await _read_json(view_of, website_id, lambda view: site_map.build_site_map(view).to_json())

    @server.resource(
        "kb://{website_id}/workflows/{workflow_id}/documents", name="workflow documents", mime_type=MIME
    )
    async def workflow_documents(website_id: str, workflow_id: str) -> str:
        """A list: a published workflow, the tasks and actions that it can run, and the screens they name.

        All are of one revision, also if the knowledge is changed at the same time.
        """
        return await _read_json(view_of, website_id, lambda view: _list_parts(view, workflow_id))

    for folder in RESOURCE_FOLDERS:
        _add_folder(server, folder, view_of)


def _add_folder(server: MCPServer, folder: ResourceFolder, view_of: ViewLookup) -> None:
    async def one(website_id: str, **named_by: str) -> str:
        def found(view: KnowledgeView) -> Any:
            hint = "resources/list says what there is"
            documents = folder.documents(view.knowledge)
            return _document(view, require_document(folder.kind, named_by[folder.argument], documents, hint))

        return await _read_json(view_of, website_id, found)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=str)
        for name in ("website_id", folder.argument)
    ]
    # The SDK reads the arguments of a template off the function.
    one.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    one.__annotations__ = {parameter.name: str for parameter in parameters} | {"return": str}
    template = f"kb://{{website_id}}/{folder.folder}/{{{folder.argument}}}"
    about = f"{folder.about}, with every authored field."
    server.resource(template, name=folder.kind, description=about, mime_type=MIME)(one)


async def list_page(
    server_context: ServerContext, cursor: str | None, *, size: int = PAGE
) -> ListResourcesResult:
    """Return one page of all resources, by website, kind and id. Raises `BadRequest` for a foreign cursor."""
    begin = cursors.read(cursor, "resources")
    found: list[Resource] = []
    more = False
    position = 0
    for website_id in await server_context.views.websites():
        view = (await server_context.views.current(website_id)).view
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


def change_events(old: KnowledgeBase, new: KnowledgeBase) -> Sequence[ServerEvent]:
    """Yield the events that subscribed clients receive when a website's knowledge has changed."""
    site = _uri(new)
    events: list[ServerEvent] = [ResourcesListChanged(), ResourceUpdated(uri=f"{site}/map")]
    if old.website != new.website:
        events.append(ResourceUpdated(uri=site))
    for folder in RESOURCE_FOLDERS:
        before, after = folder.documents(old), folder.documents(new)
        events += (
            ResourceUpdated(uri=f"{site}/{folder.folder}/{local_id}")
            for local_id in sorted(before.keys() | after.keys())
            if before.get(local_id) != after.get(local_id)
        )
    return events


def list_document_ids(view: KnowledgeView, argument: str) -> Sequence[str]:
    """Return the possible values of a template's argument; none for other arguments."""
    for folder in RESOURCE_FOLDERS:
        if folder.argument == argument:
            return sorted(folder.documents(view.knowledge))
    return ()


def _resources(knowledge: KnowledgeBase) -> Iterator[Resource]:
    site, name = _uri(knowledge), knowledge.website.name
    yield Resource(uri=site, name=knowledge.website.website_id, title=name, mime_type=MIME)
    yield Resource(uri=f"{site}/map", name="map", title=f"Map of {name}", mime_type=MIME)
    for folder in RESOURCE_FOLDERS:
        for local_id, document in sorted(folder.documents(knowledge).items()):
            title = getattr(document, "name", None) or None
            yield Resource(
                uri=f"{site}/{folder.folder}/{local_id}", name=local_id, title=title, mime_type=MIME
            )


def _uri(knowledge: KnowledgeBase) -> str:
    return f"kb://{knowledge.website.website_id}"


def _document(view: KnowledgeView, document: Document) -> Any:
    return document_summaries.describe_document(view, document, "full").document


def _list_parts(view: KnowledgeView, workflow_id: str) -> Any:
    known = view.knowledge
    workflow = require_document("workflow", workflow_id, known.workflows, "resources/list says what there is")
    parts = list_workflow_parts(known, workflow)
    screens = [known.screens[each] for each in parts.screens]
    edges = [
        edge for task in parts.tasks for edge in document_summaries.list_dependencies(view, task.task_id)
    ]
    return [_document(view, each) for each in (workflow, *parts.tasks, *parts.actions, *screens, *edges)]


async def _read_json(view_of: ViewLookup, website_id: str, found: Callable[[KnowledgeView], Any]) -> str:
    try:
        return json.dumps(found(await view_of(website_id)), ensure_ascii=False, indent=1)
    except UnknownName as exc:
        raise ResourceNotFoundError(str(exc)) from exc
    except KnowledgeServerError as exc:
        raise ResourceError(str(exc)) from exc
