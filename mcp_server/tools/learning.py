"""What happened when it was tried, what should change, what was made: the desk learns from it.

These tools work with the whole desk and may wait for its stores.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import Field, JsonValue, WithJsonSchema

from kb_schema import KnowledgeError, parse_document
from kb_schema.base import Document
from kb_schema.graph import TaskDependency
from kb_schema.learned import OutcomeRecorded, ReportedOutcome
from kb_schema.proposals import ChangeProposed, ProposableChange, ReportedSupport, WorkflowPublished
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from mcp_server.desk import Desk
from mcp_server.errors import BadRequest
from mcp_server.tools.reply import DeskedTool, Reply, Visit

DocumentT = TypeVar("DocumentT", bound=Document)

ReportedNow = Annotated[
    ReportedOutcome,
    Field(description="About one of transition_id, recovery_id, element; a repeated outcome_id counts once"),
]

_CHANGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"enum": ["selector", "signature", "screen", "transition"]},
        "screen_id": {"type": "string"},
        "element_id": {"type": "string"},
        "selector": {"type": "object", "description": "As get_screen has it"},
        "signature": {"type": "object", "description": "As get_screen at detail full has it"},
        "screen": {"type": "object"},
        "transition": {"type": "object"},
    },
    "required": ["type"],
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
    """Propose a selector, signature, screen or transition with what a run showed; a person accepts it."""
    answer = await desk.proposing.propose(visit.view, change, evidence)
    counts = f"{answer.succeeded} runs for it, {answer.failed} against"
    how = "counted" if answer.counted else f"not counted: {answer.reason}"
    state = "confirmed" if answer.confirmed and answer.status == "proposed" else answer.status
    return Reply(answer, f"proposal {answer.proposal_id} is {state} ({counts}); {how}")


async def publish_workflow(
    desk: Desk,
    visit: Visit,
    workflow: WorkflowNow,
    tasks: Annotated[
        list[dict[str, JsonValue]],
        Field(description="Task documents it needs, not known yet", max_length=500),
    ] = [],  # noqa: B006 - the schema's default; never changed
    dependencies: Annotated[
        list[dict[str, JsonValue]], Field(description="task_dependency edges between them", max_length=1_000)
    ] = [],  # noqa: B006 - as above
    screens: Annotated[
        list[dict[str, JsonValue]], Field(description="New screen documents it is on", max_length=200)
    ] = [],  # noqa: B006 - as above
    replace: Annotated[bool, Field(description="Another workflow of that id gives way")] = False,
) -> Reply[WorkflowPublished]:
    """Make a workflow part of the knowledge, checked like everything in it."""
    parsed = _document({"type": "workflow", **workflow}, Workflow)
    answer = await desk.proposing.publish(
        visit.view,
        parsed,
        [_document({"type": "task", **each}, Task) for each in tasks],
        [_document(each, TaskDependency) for each in dependencies],
        [_document({"type": "screen", **each}, Screen) for each in screens],
        replace_it=replace,
    )
    return Reply(answer, f"workflow {answer.workflow_id} is published (revision {answer.revision})")


def _document(data: dict[str, JsonValue], wanted: type[DocumentT]) -> DocumentT:
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", wanted.__name__).lower()
    try:
        parsed = parse_document(data)
    except KnowledgeError as exc:
        said = "; ".join(str(each) for each in exc.problems[:3])[:1_000]
        raise BadRequest(f"not a {name}: {said}", hint=f"`periplus kb schema {name}` says its form") from exc
    if not isinstance(parsed, wanted):
        raise BadRequest(
            f"not a {name} but a {parsed.kind}", hint=f"`periplus kb schema {name}` says its form"
        )
    return parsed


TOOLS = (
    DeskedTool(record_outcome, "Say how it went", read_only=False),
    DeskedTool(propose_change, "Propose a change", read_only=False),
    DeskedTool(publish_workflow, "Publish a workflow", read_only=False),
)
