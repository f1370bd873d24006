"""Completions: the possible values of an argument of a prompt or of a resource URI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp.types import Completion

from mcp_server import resources
from mcp_server.errors import KnowledgeServerError
from mcp_server.server_context import ServerContext
from mcp_server.tools.tool_calls import WEBSITE_ID

MOST = 100
"""Values per answer that the protocol allows."""


async def complete(
    server_context: ServerContext, argument: str, typed: str, given: Mapping[str, str]
) -> Completion:
    """Return ids that begin with the typed text, then ids that contain it; none for free-text arguments."""
    try:
        known = await _known(server_context, argument, given)
    except KnowledgeServerError:
        known = ()
    low = typed.lower()
    fitting = sorted(
        (each for each in known if low in each.lower()), key=lambda each: not _starts_with(each, low)
    )
    return Completion(values=fitting[:MOST], total=len(fitting), has_more=len(fitting) > MOST)


async def _known(server_context: ServerContext, argument: str, given: Mapping[str, str]) -> Sequence[str]:
    if argument == WEBSITE_ID:
        return await server_context.views.websites()
    website_id = given.get(WEBSITE_ID)
    if website_id is None:
        return ()
    return resources.list_document_ids((await server_context.views.current(website_id)).view, argument)


def _starts_with(each: str, low: str) -> bool:
    return each.lower().startswith(low)
