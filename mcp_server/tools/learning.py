"""What happened when it was tried, what should change, what was made: the desk learns from it.

These tools work with the whole desk and may wait for its stores.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, JsonValue, WithJsonSchema

from kb_schema import KnowledgeError, parse_document
from kb_schema.learned import OutcomeRecorded, ReportedOutcome
from kb_schema.proposals import ChangeProposed, ProposableChange, ReportedSupport, WorkflowPublished
from kb_schema.workflows import Workflow
from mcp_server.desk import Desk
from mcp_server.errors import BadRequest
from mcp_server.tools.reply import DeskedTool, Reply, Visit

ReportedNow = Annotated[
    ReportedOutcome,
    Field(description="About one of transition_id, recovery_id, element; a repeated outcome_id counts once"),
]

_CHANGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"enum": ["selector", "signature"]},
        "screen_id": {"type": "string"},
        "element_id": {"type": "string"},
        "selector": {"type": "object", "description": "As get_screen has it"},
        "signature": {"type": "object", "description": "As get_screen at detail full has it"},
    },
    "required": ["type", "screen_id"],
}
ProposedNow = Annotated[ProposableChange, WithJsonSchema(_CHANGE_SCHEMA)]

_EVIDENCE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string"},
        "succeeded": {"type": "boolean"},
        "score": {"type": "number"},
        "note": {"type": "string"},
    },
    "required": ["run_id"],
}
EvidenceNow = Annotated[
    ReportedSupport,
    WithJsonSchema(_EVIDENCE_SCHEMA),
    Field(description="Each run counts once; after repeated success the change is confirmed"),
]
WorkflowNow = Annotated[
    dict[str, JsonValue], Field(description="A workflow document: workflow_id, name, nodes, io_spec, ...")
]


async def record_outcome(desk: Desk, visit: Visit, outcome: ReportedNow) -> Reply[OutcomeRecorded]:
    """Say whether a transition, a recovery or finding an element worked: paths get better by it."""
    answer = await desk.learning.record(visit.view, outcome)
    if answer.counted and outcome.element is not None and outcome.fingerprint is not None:
        await desk.proposing.know(visit.view, outcome.element, outcome.fingerprint)
    return Reply(answer, "counted" if answer.counted else f"not counted: {answer.reason}")


async def propose_change(
    desk: Desk, visit: Visit, change: ProposedNow, evidence: EvidenceNow
) -> Reply[ChangeProposed]:
    """Propose another selector or signature with what a run showed; a person accepts it."""
    answer = await desk.proposing.propose(visit.view, change, evidence)
    counts = f"{answer.succeeded} runs for it, {answer.failed} against"
    how = "counted" if answer.counted else f"not counted: {answer.reason}"
    state = "confirmed" if answer.confirmed and answer.status == "proposed" else answer.status
    return Reply(answer, f"proposal {answer.proposal_id} is {state} ({counts}); {how}")


async def publish_workflow(
    desk: Desk,
    visit: Visit,
    workflow: WorkflowNow,
    replace: Annotated[bool, Field(description="Another workflow of that id gives way")] = False,
) -> Reply[WorkflowPublished]:
    """Make a workflow part of the knowledge, checked like everything in it."""
    try:
        parsed = parse_document({"type": "workflow", **workflow})
    except KnowledgeError as exc:
        said = "; ".join(str(each) for each in exc.problems[:3])[:1_000]
        raise BadRequest(
            f"not a workflow: {said}", hint="`periplus kb schema workflow` says its form"
        ) from exc
    if not isinstance(parsed, Workflow):
        raise BadRequest(f"not a workflow but a {parsed.kind}", hint="give a document with a workflow_id")
    answer = await desk.proposing.publish(visit.view, parsed, replace_it=replace)
    return Reply(answer, f"workflow {answer.workflow_id} is published (revision {answer.revision})")


TOOLS = (
    DeskedTool(record_outcome, "Say how it went", read_only=False),
    DeskedTool(propose_change, "Propose a change", read_only=False),
    DeskedTool(publish_workflow, "Publish a workflow", read_only=False),
)
