"""The collections of a database, with their validators, indexes and named graphs.

Validators are JSON Schema draft 4 at level `strict` ("Schema validation", ArangoDB 3.12,
concepts/data-structure/documents/schema-validation): they apply to every insert and update. The checks of
named graphs apply to the graph API only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kb_store.arangodb.document_keys import COLLECTION_OF_EDGE, COLLECTION_OF_VERTEX

Json = dict[str, Any]
"""A request body of the driver."""

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "number"}
_POSITIVE: Json = {"type": "number", "minimum": 0}
_PROBABILITY: Json = {"type": "number", "minimum": 0, "maximum": 1}
_PRIORITY: Json = {"type": "integer", "minimum": 1}
_RECORD: dict[str, Json] = {
    "website_id": _TEXT,
    "generation": {"type": "integer", "minimum": 1},
    "sort_key": {"type": "string", "pattern": "^x([0-9a-f][0-9a-f])*$"},
    "kind": _TEXT,
    "local_id": _TEXT,
    "body": {"type": "object"},
}
_EXACT: dict[str, Json] = {"exact": _TEXT}
_EDGE: dict[str, Json] = {
    "source_kind": _TEXT,
    "source_id": _TEXT,
    "target_kind": _TEXT,
    "target_id": _TEXT,
}
_WEIGHTS: dict[str, Json] = {
    "weight_fewest": _POSITIVE,
    "weight_fastest": _POSITIVE,
    "weight_reliable": _POSITIVE,
    "weight_balanced": _POSITIVE,
}
_NUMBERS: dict[str, Json] = {
    "learned_key": _TEXT,
    "authored_ms": _POSITIVE,
    "authored_reliability": _PROBABILITY,
    "expected_ms": _POSITIVE,
    "reliability": _PROBABILITY,
}
_OWN: dict[str, dict[str, Json]] = {
    "screen_groups": {"recovery_priority": _PRIORITY},
    "transitions": {**_NUMBERS, "action_type": _TEXT, **_WEIGHTS},
    "global_recovery": {**_NUMBERS, "recovery_priority": _PRIORITY},
}


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """One secondary index. Its name is ours, so that it can be recognised."""

    name: str
    fields: tuple[str, ...]
    kind: Literal["persistent", "ttl"] = "persistent"

    def to_json(self) -> Json:
        """Return the body for `POST /_api/index`."""
        body: Json = {"type": self.kind, "name": self.name, "fields": list(self.fields)}
        return body | ({"expireAfter": 0} if self.kind == "ttl" else {"unique": False, "sparse": False})


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """One collection."""

    name: str
    edge: bool
    schema: Json
    indexes: tuple[IndexSpec, ...]


@dataclass(frozen=True, slots=True)
class NamedGraphSpec:
    """One named graph with one edge collection."""

    name: str
    edges: str
    source: str
    target: str


def _schema(collection: str, required: dict[str, Json], optional: dict[str, Json]) -> Json:
    return {
        "rule": {
            "type": "object",
            "properties": {**required, **optional},
            "required": sorted(required),
        },
        "level": "strict",
        "message": f"not a document that Periplus would write to {collection}",
    }


_BY_GENERATION = IndexSpec("by_generation", ("website_id", "generation", "sort_key"))
_BY_NAME = IndexSpec("by_name", ("website_id", "sort_key"))


def _records(name: str, *, edge: bool) -> CollectionSpec:
    required = {**_RECORD, **(_EDGE if edge else {}), **_OWN.get(name, {})}
    learns = "learned_key" in required
    indexes = (_BY_GENERATION, _BY_NAME) if learns else (_BY_GENERATION,)
    return CollectionSpec(name, edge, _schema(name, required, _EXACT), indexes)


_LEARNED: dict[str, Json] = {
    "website_id": _TEXT,
    "kind": {"enum": ["transition", "recovery", "element"]},
    "name": _TEXT,
    "day": {"type": "integer"},
    "succeeded": _POSITIVE,
    "failed": _POSITIVE,
    "seen": _POSITIVE,
    "timed": _POSITIVE,
    "timed_weight": _POSITIVE,
    "timed_sum": _POSITIVE,
    "buckets": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"at": {"type": "integer"}, "weight": _POSITIVE},
            "required": ["at", "weight"],
        },
    },
    "ticket": _POSITIVE,
    "origin": _TEXT,
    "copied": {"type": "array", "items": {"type": "object", "required": ["origin"]}},
}
_OUTCOMES: dict[str, Json] = {"website_id": _TEXT, "outcome_id": _TEXT, "expires_at": _NUMBER}
_REVISIONS: dict[str, Json] = {
    "website_id": _TEXT,
    "drawn": _POSITIVE,
    "raised": _POSITIVE,
    "forgotten": _POSITIVE,
    "out": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"ticket": _POSITIVE, "until": _NUMBER},
            "required": ["ticket", "until"],
        },
    },
}
VERTICES = tuple(_records(name, edge=False) for name in COLLECTION_OF_VERTEX.values())
EDGES = tuple(_records(name, edge=True) for name in COLLECTION_OF_EDGE.values())
LEARNED = (
    CollectionSpec(
        "learned",
        edge=False,
        schema=_schema("learned", _LEARNED, {}),
        indexes=(
            IndexSpec("by_kind", ("website_id", "kind")),
            IndexSpec("by_ticket", ("website_id", "ticket")),
        ),
    ),
    CollectionSpec(
        "learned_outcomes",
        edge=False,
        schema=_schema("learned_outcomes", _OUTCOMES, {}),
        indexes=(IndexSpec("expiry", ("expires_at",), "ttl"), IndexSpec("by_website", ("website_id",))),
    ),
    CollectionSpec(
        "learned_revisions",
        edge=False,
        schema=_schema("learned_revisions", _REVISIONS, {}),
        indexes=(),
    ),
)
COLLECTIONS = (*VERTICES, *EDGES, *LEARNED)

GRAPHS = (
    NamedGraphSpec("navigation", "transitions", "screens", "screens"),
    NamedGraphSpec("group_membership", "group_membership", "screens", "screen_groups"),
    NamedGraphSpec("global_recovery", "global_recovery", "screen_groups", "screens"),
    NamedGraphSpec("task_composition", "task_dependencies", "tasks", "tasks"),
)
"""`action_triggers` is in no graph: it connects actions and transitions, which are not vertices."""
