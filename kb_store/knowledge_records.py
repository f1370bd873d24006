"""Converts documents to what stores keep, flat records with a JSON body, and back.

This module alone decides which kind is in which store (KS 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import kb_schema
from kb_store.errors import StoreTooNew

if TYPE_CHECKING:
    from kb_schema import KnowledgeBase
    from kb_schema.base import Document

DOCUMENT_KINDS = (
    "website",
    "screen",
    "state_signature",
    "action",
    "task",
    "presentation_flow",
    "error_recovery",
    "workflow",
)
"""Kinds whose documents are in the document store."""

VERTEX_KINDS = ("screen", "screen_group", "task")
"""Kinds that are vertices of the graph. Screens and tasks have only their ids there."""

EDGE_KINDS = ("transition", "group_membership", "global_recovery", "task_dependency", "action_trigger")
"""Kinds that are edges of the graph."""

GRAPH_ONLY_KINDS = ("screen_group", *EDGE_KINDS)
"""Kinds whose whole document is in the graph store."""


@dataclass(frozen=True, slots=True)
class KnowledgeRecord:
    """A document or a vertex: its identity within website and generation, and its JSON."""

    kind: str
    local_id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EdgeEnd:
    """One end of an edge. Actions and transitions are ends without being vertices."""

    kind: str
    local_id: str


@dataclass(frozen=True, slots=True)
class EdgeRecord:
    """An edge between two nodes of the same website and generation."""

    kind: str
    local_id: str
    source: EdgeEnd
    target: EdgeEnd
    body: Mapping[str, Any]


def to_body(document: Document) -> dict[str, Any]:
    """Return a document as self-contained JSON, always with kind and schema version."""
    body = document.to_json()
    own_type = body.pop("type", None) or kb_schema.MODELS[document.kind].model_fields["type"].default
    return {"type": own_type, "schema_version": document.schema_version, **body}


def from_body(body: Mapping[str, Any], *, source: str | None = None) -> Document:
    """Return the document of a body of any version.

    Raises `KnowledgeError` for an invalid body, `StoreTooNew` for a version that this program does not know.
    """
    from kb_schema.migrations import NewerSchemaVersion, upgrade  # noqa: PLC0415 - decision 0140

    try:
        return kb_schema.parse_document(upgrade(body).document, source=source)
    except NewerSchemaVersion as exc:
        raise StoreTooNew(exc.version) from exc


def records_in(knowledge: KnowledgeBase) -> int:
    """Return how many records stores keep of a knowledge base: documents, vertices and edges."""
    kinds = (*DOCUMENT_KINDS, *VERTEX_KINDS, *EDGE_KINDS)
    return sum(len(knowledge.by_kind.get(kind, ())) for kind in kinds)


def document_records(knowledge: KnowledgeBase) -> Iterator[KnowledgeRecord]:
    """Yield a knowledge base's records for the document store."""
    for document in knowledge.documents():
        if document.kind in DOCUMENT_KINDS:
            yield KnowledgeRecord(document.kind, document.local_id, to_body(document))


def vertex_records(knowledge: KnowledgeBase) -> Iterator[KnowledgeRecord]:
    """Yield the graph's vertices: groups whole, screens and tasks by id."""
    for screen in knowledge.screens.values():
        yield KnowledgeRecord("screen", screen.screen_id, {"name": screen.name})
    for group in knowledge.groups.values():
        yield KnowledgeRecord("screen_group", group.group_id, to_body(group))
    for task in knowledge.tasks.values():
        yield KnowledgeRecord("task", task.task_id, {"name": task.name})


def edge_records(knowledge: KnowledgeBase) -> Iterator[EdgeRecord]:
    """Yield the graph's edges."""
    for document in knowledge.documents():
        if document.kind in EDGE_KINDS:
            source, target = _ends(document)
            yield EdgeRecord(document.kind, document.local_id, source, target, to_body(document))


_ENDS = {
    "transition": (("screen", "from_screen"), ("screen", "to_screen")),
    "group_membership": (("screen", "screen"), ("screen_group", "group")),
    "global_recovery": (("screen_group", "from_group"), ("screen", "to_screen")),
    "task_dependency": (("task", "from_task"), ("task", "to_task")),
    "action_trigger": (("action", "action"), ("transition", "transition")),
}
"""Kind of an edge -> the kind of each end, and the field with its id."""


def _ends(edge: Document) -> tuple[EdgeEnd, EdgeEnd]:
    (source, source_field), (target, target_field) = _ENDS[edge.kind]
    return EdgeEnd(source, getattr(edge, source_field)), EdgeEnd(target, getattr(edge, target_field))
