"""Screens and tasks as MCP resources, whole, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from kb_schema.base import Document
from mcp_server import describe
from mcp_server.compiled import View
from mcp_server.desk import Desk
from mcp_server.errors import DeskError, UnknownName
from mcp_server.tools.parameters import named


def add_resources(server: MCPServer, desk: Desk) -> None:
    """`kb://{website_id}/screens/{screen_id}` and `kb://{website_id}/tasks/{task_id}`."""

    async def whole(website_id: str, kind: str, local_id: str) -> str:
        try:
            visit, _ = await desk.visit(website_id)
            wanted = named(
                kind, local_id, _documents(visit.view, kind), "list_websites and list_tasks say what there is"
            )
        except UnknownName as exc:
            raise ResourceNotFoundError(str(exc)) from exc
        except DeskError as exc:
            raise ResourceError(str(exc)) from exc
        return json.dumps(
            describe.document(visit.view, wanted, "full").document, ensure_ascii=False, indent=1
        )

    @server.resource("kb://{website_id}/screens/{screen_id}", mime_type="application/json")
    async def screen(website_id: str, screen_id: str) -> str:
        """A screen with the elements of its layouts, everything authored."""
        return await whole(website_id, "screen", screen_id)

    @server.resource("kb://{website_id}/tasks/{task_id}", mime_type="application/json")
    async def task(website_id: str, task_id: str) -> str:
        """A task, everything authored."""
        return await whole(website_id, "task", task_id)


def _documents(view: View, kind: str) -> Mapping[str, Document]:
    return view.knowledge.screens if kind == "screen" else view.knowledge.tasks
