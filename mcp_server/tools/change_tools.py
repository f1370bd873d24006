"""Tools that change what the server knows: outcomes, proposed changes, published workflows.

They work with the whole `ServerContext` and may wait for its stores.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import Field, JsonValue, WithJsonSchema

from kb_schema import KnowledgeError, parse_document
from kb_schema.base import Document
from kb_schema.graph_documents import TaskDependency
from kb_schema.observed_outcomes import OutcomeAnswer, ReportedOutcome
from kb_schema.proposals import (
    ProposableChange,
    ProposalAnswer,
    PublicationAnswer,
    ReportedSupport,
    SignInFound,
)
from kb_schema.screens import Screen
from kb_schema.tasks import Task
from kb_schema.workflows import Workflow
from mcp_server.errors import BadRequest
from mcp_server.server_context import ServerContext, WebsiteRequest
from mcp_server.tools.tool_specs import ServerToolSpec, ToolReply

DocumentT = TypeVar("DocumentT", bound=Document)

OutcomeArgument = Annotated[
    ReportedOutcome,
    Field(description="One of transition_id, recovery_id, element. A repeated outcome_id counts once"),
]

_CHANGE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"enum": ["selector", "step_target", "signature", "screen", "transition"]},
        "screen_id": {"type": "string"},
        "element_id": {"type": "string"},
        "task_id": {"type": "string"},
        "step_id": {"type": "string"},
        "selector": {"type": "object", "description": "As in get_screen"},
        "signature": {"type": "object", "description": "As in a full get_screen"},
        "screen": {"type": "object"},
        "transition": {"type": "object"},
    },
    "required": ["type"],
}
ProposalArgument = Annotated[ProposableChange, WithJsonSchema(_CHANGE_SCHEMA)]

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
EvidenceArgument = Annotated[
    ReportedSupport,
    WithJsonSchema(_EVIDENCE_SCHEMA),
    Field(description="Each run counts once. Repeated success confirms it"),
]
_SIGN_IN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "task_id": {"type": "string"},
        "authenticated_when": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["task_id"],
}
WorkflowArgument = Annotated[
    dict[str, JsonValue], Field(description="A workflow document: name, nodes, io_spec, ...")
]


async def record_outcome(
    server_context: ServerContext, request: WebsiteRequest, outcome: OutcomeArgument
) -> ToolReply[OutcomeAnswer]:
    """Report whether a transition, a recovery or locating an element worked."""
    answer = await server_context.learning.record(request.view, outcome)
    if answer.counted and outcome.element is not None and outcome.fingerprint is not None:
        await server_context.proposing.know(request.view, outcome.element, outcome.fingerprint)
    return ToolReply(answer, "counted" if answer.counted else f"not counted: {answer.reason}")


async def propose_change(
    server_context: ServerContext,
    request: WebsiteRequest,
    change: ProposalArgument,
    evidence: EvidenceArgument,
) -> ToolReply[ProposalAnswer]:
    """Propose a change with the evidence of a run. A person decides."""
    answer = await server_context.proposing.propose(request.view, change, evidence)
    counts = f"{answer.succeeded} runs for it, {answer.failed} against"
    how = "counted" if answer.counted else f"not counted: {answer.reason}"
    state = "confirmed" if answer.confirmed and answer.status == "proposed" else answer.status
    return ToolReply(answer, f"proposal {answer.proposal_id} is {state} ({counts}); {how}")


async def publish_workflow(
    server_context: ServerContext,
    request: WebsiteRequest,
    workflow: WorkflowArgument,
    tasks: Annotated[
        list[dict[str, JsonValue]],
        Field(description="New task documents that it needs", max_length=500),
    ] = [],  # noqa: B006 - the schema's default; never changed
    dependencies: Annotated[
        list[dict[str, JsonValue]], Field(description="task_dependency edges between them", max_length=1_000)
    ] = [],  # noqa: B006 - as above
    screens: Annotated[
        list[dict[str, JsonValue]], Field(description="New screens that it uses", max_length=200)
    ] = [],  # noqa: B006 - as above
    sign_in: Annotated[
        SignInFound | None, WithJsonSchema(_SIGN_IN_SCHEMA), Field(description="For a website without one")
    ] = None,
    replace: Annotated[bool, Field(description="Replace the workflow of that id")] = False,
) -> ToolReply[PublicationAnswer]:
    """Publish a workflow to the knowledge base, after validation."""
    parsed = _document({"type": "workflow", **workflow}, Workflow)
    answer = await server_context.proposing.publish(
        request.view,
        parsed,
        [_document({"type": "task", **each}, Task) for each in tasks],
        [_document(each, TaskDependency) for each in dependencies],
        [_document({"type": "screen", **each}, Screen) for each in screens],
        sign_in=sign_in,
        replace_it=replace,
    )
    return ToolReply(answer, f"workflow {answer.workflow_id} is published (revision {answer.revision})")


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
    ServerToolSpec(record_outcome, "Say how it went", read_only=False),
    ServerToolSpec(propose_change, "Propose a change", read_only=False),
    ServerToolSpec(publish_workflow, "Publish a workflow", read_only=False),
)
