"""Converts documents to what stores keep, flat records with a JSON body, and back.

This module alone decides which kind is in which store (KS 5).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

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

_OWN_TEXT = '{"type":'
"""How every text begins that we write."""

GRAPH_ONLY_KINDS = ("screen_group", *EDGE_KINDS)
"""Kinds whose whole document is in the graph store."""


class KnowledgeRecord(NamedTuple):
    """A document or a vertex: its identity within website and generation, and its JSON."""

    kind: str
    local_id: str
    body: Mapping[str, Any]


class EdgeEnd(NamedTuple):
    """One end of an edge. Actions and transitions are ends without being vertices."""

    kind: str
    local_id: str


class EdgeRecord(NamedTuple):
    """An edge between two nodes of the same website and generation."""

    kind: str
    local_id: str
    source: EdgeEnd
    target: EdgeEnd
    body: Mapping[str, Any]


def to_body(document: Document) -> dict[str, Any]:
    """Return a document as self-contained JSON, always with kind and schema version."""
    body = document.model_dump(
        mode="json", by_alias=True, exclude_defaults=True, exclude={"type", "schema_version"}
    )
    return {"type": _type_of(document), "schema_version": document.schema_version, **body}


class _LazyBody(Mapping[str, Any]):
    """A body whose JSON is made as values when it is asked for, once."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, Any] | None = None

    def _make_values(self) -> dict[str, Any]:
        raise NotImplementedError

    def as_values(self) -> dict[str, Any]:
        """Return the JSON as values. Raises `ValueError` for stored text that is no JSON."""
        if self._values is None:
            self._values = self._make_values()
        return self._values

    def __getitem__(self, key: str) -> Any:
        return self.as_values()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.as_values())

    def __len__(self) -> int:
        return len(self.as_values())


class DocumentBody(_LazyBody):
    """A document as `to_body` has it, made when a store asks for it: as text, or as values."""

    __slots__ = ("_document",)

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._document = document

    def text(self) -> str:
        """Return the JSON as text; written by pydantic itself, which takes half the time."""
        document = self._document
        try:
            dumped = document.model_dump_json(
                by_alias=True, exclude_defaults=True, exclude={"type", "schema_version"}
            )
        except ValueError:  # half a character, which UTF-8 cannot have
            return body_text(self.as_values())
        if "null" in dumped:  # pydantic writes it for numbers that are none, such as NaN
            return body_text(self.as_values())
        head = json.dumps(_type_of(document))
        rest = "" if dumped == "{}" else f",{dumped[1:-1]}"
        return f'{{"type":{head},"schema_version":{document.schema_version}{rest}}}'

    def _make_values(self) -> dict[str, Any]:
        return to_body(self._document)


class StoredBody(_LazyBody):
    """The body of a stored record as the text that the store keeps; parsed when it is asked for."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self._values = None
        self.text = text

    def _make_values(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.text)
        return made

    def __eq__(self, other: object) -> bool:
        return self.as_values() == (other.as_values() if isinstance(other, StoredBody) else other)

    __hash__ = None  # type: ignore[assignment]


def body_text(body: Mapping[str, Any]) -> str:
    """Return a body as JSON text: any character survives."""
    if isinstance(body, StoredBody):
        return body.text
    return body.text() if isinstance(body, DocumentBody) else json.dumps(body, separators=(",", ":"))


def to_values(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body as plain values, for drivers that take nothing else."""
    return body.as_values() if isinstance(body, DocumentBody | StoredBody) else dict(body)


def _type_of(document: Document) -> str:
    return getattr(document, "type", None) or str(
        kb_schema.MODELS[document.kind].model_fields["type"].default
    )


def from_record(record: KnowledgeRecord | EdgeRecord) -> Document:
    """Return the document of a record of any version, as `from_body` does; problems name the record as kind/id.

    A body in the form that we write goes to the validator as it is; text, too: pydantic reads JSON and checks it in one pass.
    Everything else, and whatever is invalid, is parsed the long way, which migrates it and says what is wrong where.
    """
    document = _validate_own(record)
    if document is None:
        return from_body(record.body, source=f"{record.kind}/{record.local_id}")
    return document


def _validate_own(record: KnowledgeRecord | EdgeRecord) -> Document | None:
    """Return the document of a record whose body states its type and today's version and is valid; None for any other."""
    model, body = kb_schema.MODELS.get(record.kind), record.body
    if model is None:
        return None
    try:
        if not isinstance(body, StoredBody):
            document = model.model_validate(body)
        elif body.text.startswith(_OWN_TEXT):
            document = model.model_validate_json(body.text)
        else:
            return None
    except ValueError:
        return None
    current = document.schema_version == _current_version()
    return document if current and _STATED.issubset(document.model_fields_set) else None


_STATED = frozenset({"type", "schema_version"})


@cache
def _current_version() -> int:
    from kb_schema.base import SCHEMA_VERSION  # noqa: PLC0415 - decision 0140

    return SCHEMA_VERSION


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
    for kind in DOCUMENT_KINDS:
        for local_id, document in sorted(knowledge.by_kind.get(kind, {}).items()):
            yield KnowledgeRecord(kind, local_id, DocumentBody(document))


def vertex_records(knowledge: KnowledgeBase) -> Iterator[KnowledgeRecord]:
    """Yield the graph's vertices: groups whole, screens and tasks by id."""
    for screen in knowledge.screens.values():
        yield KnowledgeRecord("screen", screen.screen_id, {"name": screen.name})
    for group in knowledge.groups.values():
        yield KnowledgeRecord("screen_group", group.group_id, DocumentBody(group))
    for task in knowledge.tasks.values():
        yield KnowledgeRecord("task", task.task_id, {"name": task.name})


def edge_records(knowledge: KnowledgeBase) -> Iterator[EdgeRecord]:
    """Yield the graph's edges."""
    for kind in EDGE_KINDS:
        for local_id, document in sorted(knowledge.by_kind.get(kind, {}).items()):
            source, target = _ends(document)
            yield EdgeRecord(kind, local_id, source, target, DocumentBody(document))


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
