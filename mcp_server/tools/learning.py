"""What happened when it was tried: the desk learns from it."""

from __future__ import annotations

import inspect
from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from kb_schema.learned import OutcomeRecorded, ReportedOutcome
from mcp_server.desk import Desk
from mcp_server.errors import DeskError
from mcp_server.tools.binding import refusal, registered, told
from mcp_server.tools.calling import DeskTool
from mcp_server.tools.parameters import WebsiteId
from mcp_server.tools.reply import Reply

ReportedNow = Annotated[
    ReportedOutcome,
    Field(description="About one of transition_id, recovery_id, element; a repeated outcome_id counts once"),
]


def record_outcome_tool(desk: Desk) -> DeskTool:
    """The tool that reports outcomes; left out of read-only servers."""

    async def record_outcome(website_id: WebsiteId, outcome: ReportedNow) -> CallToolResult:
        """Say whether a transition, a recovery or finding an element worked: paths get better by it."""
        try:
            visit, note = await desk.visit(website_id)
            answer = await desk.learning.record(visit.view, outcome)
        except DeskError as exc:
            return refusal(exc)
        text = "counted" if answer.counted else f"not counted: {answer.reason}"
        return told(Reply(answer, text), note)

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
        for name, annotation in (("website_id", WebsiteId), ("outcome", ReportedNow))
    ]
    return registered(
        record_outcome, record_outcome, "Say how it went", parameters, OutcomeRecorded, read_only=False
    )
