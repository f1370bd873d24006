"""What an argument of a prompt or of a resource's address could be, as somebody types it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp.types import Completion

from mcp_server import resources
from mcp_server.desk import Desk
from mcp_server.errors import DeskError
from mcp_server.tools.calling import WEBSITE_ID

MOST = 100
"""Values of one answer, by the protocol."""


async def complete(desk: Desk, argument: str, typed: str, given: Mapping[str, str]) -> Completion:
    """Ids that begin with what was typed, then those that contain it; none for arguments that are free."""
    try:
        known = await _known(desk, argument, given)
    except DeskError:
        known = ()
    low = typed.lower()
    fitting = sorted((each for each in known if low in each.lower()), key=lambda each: not _begins(each, low))
    return Completion(values=fitting[:MOST], total=len(fitting), has_more=len(fitting) > MOST)


async def _known(desk: Desk, argument: str, given: Mapping[str, str]) -> Sequence[str]:
    if argument == WEBSITE_ID:
        return await desk.views.websites()
    website_id = given.get(WEBSITE_ID)
    if website_id is None:
        return ()
    return resources.ids((await desk.views.current(website_id)).view, argument)


def _begins(each: str, low: str) -> bool:
    return each.lower().startswith(low)
