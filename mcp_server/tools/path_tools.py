"""Tools for paths, screen groups and recovery."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema.objectives import Objective
from kb_schema.tool_answers import DocumentAnswer, GroupList, PathSearchResult, RecoveryPaths
from mcp_server.descriptions import answer_text, document_summaries
from mcp_server.failures import error_recovery_strategies
from mcp_server.paths import recovery_options
from mcp_server.paths.path_search import MOST_PATHS, NO_EXCLUSIONS, PathExclusions, find_paths
from mcp_server.server_context import WebsiteRequest
from mcp_server.tools import store_backed_tools
from mcp_server.tools.tool_parameters import FactsArgument, Id, ScreenId, require_document, require_screen
from mcp_server.tools.tool_specs import ToolReply, WebsiteToolSpec


def find_path(
    request: WebsiteRequest,
    from_screen: ScreenId,
    to_screen: ScreenId,
    objective: Annotated[
        Objective, Field(description="balanced: least expected time, recovery included")
    ] = "balanced",
    k: Annotated[int, Field(ge=1, le=MOST_PATHS)] = 1,
    avoid: PathExclusions | None = None,
    facts: FactsArgument = None,
) -> ToolReply[PathSearchResult]:
    """The best paths between two screens, as executable transitions, best first."""
    answer = find_paths(
        request.view,
        require_screen(request.view, from_screen),
        require_screen(request.view, to_screen),
        objective=objective,
        k=k,
        avoid=avoid or NO_EXCLUSIONS,
        facts=facts,
    )
    return ToolReply(answer, answer_text.render_paths(answer))


def find_screen_groups(request: WebsiteRequest, screen_id: ScreenId) -> ToolReply[GroupList]:
    """The screen groups a screen belongs to. The screens of a group share recovery edges."""
    answer = document_summaries.describe_groups(request.view, require_screen(request.view, screen_id))
    return ToolReply(answer, answer_text.render_groups(answer))


def find_global_recovery_paths(
    request: WebsiteRequest,
    screen_id: Annotated[ScreenId | None, Field(description="The last known screen")] = None,
    group_id: Id | None = None,
    target_screen: ScreenId | None = None,
    facts: FactsArgument = None,
) -> ToolReply[RecoveryPaths]:
    """Recovery options for a lost agent, best first; without screen or group the website's defaults."""
    view = request.view
    for screen in (screen_id, target_screen):
        if screen is not None:
            require_screen(view, screen)
    if group_id is not None:
        require_document("group", group_id, view.knowledge.groups, "call find_screen_groups")
    options = recovery_options.find_recovery_options(
        view, screen_id=screen_id, group_id=group_id, target_screen=target_screen, facts=facts
    )
    answer = RecoveryPaths(website_id=view.website_id, options=options)
    return ToolReply(answer, answer_text.render_recoveries(options))


def get_error_recovery_strategy(
    request: WebsiteRequest,
    error: Annotated[Id, Field(description="e.g. validation_error, element_not_found, timeout")],
    screen_id: ScreenId | None = None,
    action_type: Id | None = None,
) -> ToolReply[DocumentAnswer]:
    """What to try for an error: the most specific strategy for this screen and action."""
    if screen_id is not None:
        require_screen(request.view, screen_id)
    found = error_recovery_strategies.find_strategy(
        request.view, error, screen_id=screen_id, action_type=action_type
    )
    answer = document_summaries.describe_document(request.view, found, "working")
    return ToolReply(answer, answer_text.render_document(answer))


TOOLS = (
    WebsiteToolSpec(
        find_path, "How do I get there?", in_thread=True, elsewhere=store_backed_tools.find_path_in_store
    ),
    WebsiteToolSpec(find_screen_groups, "Groups of a screen"),
    WebsiteToolSpec(
        find_global_recovery_paths,
        "How do I get out?",
        elsewhere=store_backed_tools.find_recovery_in_store,
    ),
    WebsiteToolSpec(get_error_recovery_strategy, "What to try for an error"),
)
