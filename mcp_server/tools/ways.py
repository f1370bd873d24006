"""How do I get there, and how do I get out?"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema.answers import DocumentAnswer, Groups, Objective, Paths, RecoveryPaths
from mcp_server import describe, recover, rendering, strategies
from mcp_server.paths import MOST_PATHS, NOTHING, Avoid, find_paths
from mcp_server.tools import afar
from mcp_server.tools.parameters import FactsKnown, Id, ScreenId, named, screen_of
from mcp_server.tools.reply import Reply, Visit, WebsiteTool


def find_path(
    visit: Visit,
    from_screen: ScreenId,
    to_screen: ScreenId,
    objective: Annotated[
        Objective, Field(description="balanced: least expected time, recovery included")
    ] = "balanced",
    k: Annotated[int, Field(ge=1, le=MOST_PATHS, description="How many alternatives")] = 1,
    avoid: Annotated[Avoid | None, Field(description="To leave out")] = None,
    facts: FactsKnown = None,
) -> Reply[Paths]:
    """The best ways between two screens, as transitions to carry out, best first."""
    answer = find_paths(
        visit.view,
        screen_of(visit.view, from_screen),
        screen_of(visit.view, to_screen),
        objective=objective,
        k=k,
        avoid=avoid or NOTHING,
        facts=facts,
    )
    return Reply(answer, rendering.paths(answer))


def find_screen_groups(visit: Visit, screen_id: ScreenId) -> Reply[Groups]:
    """The groups a screen belongs to; groups share their ways out."""
    answer = describe.groups(visit.view, screen_of(visit.view, screen_id))
    return Reply(answer, rendering.groups(answer))


def find_global_recovery_paths(
    visit: Visit,
    screen_id: Annotated[ScreenId | None, Field(description="The last known screen")] = None,
    group_id: Annotated[Id | None, Field(description="Instead: one group")] = None,
    target_screen: Annotated[ScreenId | None, Field(description="Only ways that lead there")] = None,
    facts: FactsKnown = None,
) -> Reply[RecoveryPaths]:
    """The ways out when lost, best first; with neither screen nor group the website's default ones."""
    view = visit.view
    for screen in (screen_id, target_screen):
        if screen is not None:
            screen_of(view, screen)
    if group_id is not None:
        named("group", group_id, view.knowledge.groups, "call find_screen_groups")
    options = recover.options(
        view, screen_id=screen_id, group_id=group_id, target_screen=target_screen, facts=facts
    )
    answer = RecoveryPaths(website_id=view.website_id, options=options)
    return Reply(answer, rendering.recoveries(options))


def get_error_recovery_strategy(
    visit: Visit,
    error: Annotated[Id, Field(description="e.g. validation_error, element_not_found, timeout")],
    screen_id: ScreenId | None = None,
    action_type: Id | None = None,
) -> Reply[DocumentAnswer]:
    """What to try for an error: the most specific strategy for this screen and action."""
    if screen_id is not None:
        screen_of(visit.view, screen_id)
    found = strategies.strategy(visit.view, error, screen_id=screen_id, action_type=action_type)
    answer = describe.document(visit.view, found, "working")
    return Reply(answer, rendering.document(answer))


TOOLS = (
    WebsiteTool(find_path, "How do I get there?", in_thread=True, elsewhere=afar.find_path),
    WebsiteTool(find_screen_groups, "Groups of a screen"),
    WebsiteTool(find_global_recovery_paths, "How do I get out?"),
    WebsiteTool(get_error_recovery_strategy, "What to try for an error"),
)
