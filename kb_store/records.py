"""Documents of the vocabulary as what stores keep: flat records with a JSON body, and back.

Which kind lives where (KS 5) is said here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kb_schema import MODELS, KnowledgeBase, parse_document
from kb_schema.base import Document
from kb_schema.graph import ActionTrigger, GlobalRecovery, GroupMembership, TaskDependency, Transition
from kb_schema.migrations import NewerSchemaVersion, upgrade
from kb_store.errors import StoreTooNew

DOCUMENT_KINDS = ("website", "screen", "state_signature", "action", "task", "presentation_flow",
                  "error_recovery", "workflow")  # fmt: skip
"""Kinds whose documents are in the document store."""

VERTEX_KINDS = ("screen", "screen_group", "task")
"""Kinds that are vertices of the graph. Screens and tasks only stand in for their documents."""

EDGE_KINDS = ("transition", "group_membership", "global_recovery", "task_dependency", "action_trigger")
"""Kinds that are edges of the graph."""

GRAPH_ONLY_KINDS = ("screen_group", *EDGE_KINDS)
"""Kinds whose whole document is in the graph store."""


@dataclass(frozen=True, slots=True)
class Record:
    """A document or a vertex: identity within website and generation, and its JSON."""

    kind: str
    local_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """One end of an edge. Actions and transitions are ends without being vertices."""

    kind: str
    local_id: str


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """An edge between two nodes of the same website and generation."""

    kind: str
    local_id: str
    source: Node
    target: Node
    body: Mapping[str, Any]


def to_body(document: Document) -> dict[str, Any]:
    """A document as self-contained JSON: kind and schema version are always said."""
    body = document.to_json()
    own_type = body.pop("type", None) or MODELS[document.kind].model_fields["type"].default
    return {"type": own_type, "schema_version": document.schema_version, **body}


def from_body(body: Mapping[str, Any], *, source: str | None = None) -> Document:
    """The document of a body, of whatever version it is.

    Raises `KnowledgeError` for a body that is not one (any more), `StoreTooNew` for one that this
    program does not know yet.
    """
    try:
        return parse_document(upgrade(body).document, source=source)
    except NewerSchemaVersion as exc:
        raise StoreTooNew(exc.version) from exc


def records_in(knowledge: KnowledgeBase) -> int:
    """How many records stores keep of a knowledge base: documents, vertices and edges."""
    kinds = (*DOCUMENT_KINDS, *VERTEX_KINDS, *EDGE_KINDS)
    return sum(len(knowledge.by_kind.get(kind, ())) for kind in kinds)


def document_records(knowledge: KnowledgeBase) -> Iterator[Record]:
    """What the document store keeps of a knowledge base."""
    for document in knowledge.documents():
        if document.kind in DOCUMENT_KINDS:
            yield Record(document.kind, document.local_id, to_body(document))


def vertex_records(knowledge: KnowledgeBase) -> Iterator[Record]:
    """The graph's vertices: groups whole, screens and tasks by name."""
    for screen in knowledge.screens.values():
        yield Record("screen", screen.screen_id, {"name": screen.name})
    for group in knowledge.groups.values():
        yield Record("screen_group", group.group_id, to_body(group))
    for task in knowledge.tasks.values():
        yield Record("task", task.task_id, {"name": task.name})


def edge_records(knowledge: KnowledgeBase) -> Iterator[EdgeRecord]:
    """The graph's edges."""
    for document in knowledge.documents():
        if document.kind in EDGE_KINDS:
            source, target = _ends(document)
            yield EdgeRecord(document.kind, document.local_id, source, target, to_body(document))


def _ends(edge: Document) -> tuple[Node, Node]:
    match edge:
        case Transition():
            return Node("screen", edge.from_screen), Node("screen", edge.to_screen)
        case GroupMembership():
            return Node("screen", edge.screen), Node("screen_group", edge.group)
        case GlobalRecovery():
            return Node("screen_group", edge.from_group), Node("screen", edge.to_screen)
        case TaskDependency():
            return Node("task", edge.from_task), Node("task", edge.to_task)
        case ActionTrigger():
            return Node("action", edge.action), Node("transition", edge.transition)
    raise TypeError(f"{edge.kind} is no edge")
