"""Converts records to ArangoDB documents ("rows") and back, whatever text they contain.

A row has a record's own JSON under `body`, for people and for AQL. What ArangoDB would change (NUL, lone
surrogates, integers past 64 bits, empty or huge attribute names, deep nesting) is kept as ASCII JSON in
`exact` instead, which readers prefer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from kb_schema import KnowledgeError
from kb_schema.edge_weights import edge_weights
from kb_schema.graph_documents import DEFAULT_PRIORITY, PRIORITY_OF_GROUP, GlobalRecovery, Transition
from kb_store.arangodb.document_keys import id_of, key_of, learned_key, sort_key
from kb_store.errors import StoreCorrupt
from kb_store.knowledge_records import EdgeEnd, EdgeRecord, KnowledgeRecord, from_body, to_values

Row = dict[str, Any]
"""One document of ArangoDB as JSON."""

LONGEST_NAME = 256
"""The most characters of an attribute name in `body`."""
DEEPEST = 60
"""The most nesting levels in `body`; the server's own limit is higher."""
MOST_INT = 2**63 - 1
UNKNOWN = (1_000.0, 0.9)
"""Milliseconds and reliability as `kb_schema` has them for edges that say nothing; for bodies that
are no edge at all. Every transition has every number from the moment it is written: what
`weightAttribute` does not find counts as a default."""


def vertex_row(website_id: str, generation: int, record: KnowledgeRecord) -> Row:
    """Return the row of a vertex. Groups have the priority for their recovery edges without one."""
    row = _row(website_id, generation, record.local_id)
    row["kind"] = record.kind
    if record.kind == "screen_group":
        priority = record.body.get("recovery_priority")
        row["recovery_priority"] = PRIORITY_OF_GROUP.get(str(priority), DEFAULT_PRIORITY)
    body = to_values(record.body)
    return _filled(row, body, [record.local_id, body], local_id=record.local_id)


def edge_row(website_id: str, generation: int, record: EdgeRecord, priority_of_group: int) -> Row:
    """Return the row of an edge with its weights; `priority_of_group` is for recovery edges without one."""
    source, target = record.source, record.target
    row = _row(website_id, generation, record.local_id)
    row |= {
        "kind": record.kind,
        "_from": id_of(website_id, generation, source),
        "_to": id_of(website_id, generation, target),
        "source_kind": source.kind,
        "target_kind": target.kind,
    }
    row |= _numbers(website_id, record, priority_of_group)
    body = to_values(record.body)
    exact = [record.local_id, source.local_id, target.local_id, body]
    names = {"local_id": record.local_id, "source_id": source.local_id, "target_id": target.local_id}
    return _filled(row, body, exact, **names)


def to_record(address: str, row: Row) -> KnowledgeRecord:
    """Return the vertex of a row. Raises `StoreCorrupt`, which names the document."""
    try:
        if "exact" in row:
            local_id, body = json.loads(row["exact"])
        else:
            local_id, body = row["local_id"], row["body"]
        return KnowledgeRecord(row["kind"], local_id, body)
    except (KeyError, ValueError, TypeError) as exc:
        raise _corrupt(address, row) from exc


def to_edge(address: str, row: Row) -> EdgeRecord:
    """Return the edge of a row. Raises `StoreCorrupt`, which names the document."""
    try:
        if "exact" in row:
            local_id, source, target, body = json.loads(row["exact"])
        else:
            local_id, source, target, body = (
                row["local_id"],
                row["source_id"],
                row["target_id"],
                row["body"],
            )
        ends = EdgeEnd(row["source_kind"], source), EdgeEnd(row["target_kind"], target)
        return EdgeRecord(row["kind"], local_id, *ends, body)
    except (KeyError, ValueError, TypeError) as exc:
        raise _corrupt(address, row) from exc


def is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether ArangoDB keeps a JSON value exactly as it is."""
    match value:
        case str():
            plain = _plain_text(value)
        case bool() | None:
            plain = True
        case int():
            plain = abs(value) <= MOST_INT
        case float():
            plain = math.isfinite(value)
        case Mapping():
            plain = depth < DEEPEST and all(
                0 < len(name) <= LONGEST_NAME and _plain_text(name) and is_plain(each, depth + 1)
                for name, each in value.items()
            )
        case list() | tuple():
            plain = depth < DEEPEST and all(is_plain(each, depth + 1) for each in value)
        case _:
            plain = False
    return plain


def _plain_text(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _row(website_id: str, generation: int, local_id: str) -> Row:
    return {
        "_key": key_of(website_id, generation, local_id),
        "website_id": website_id,
        "generation": generation,
        "sort_key": sort_key(local_id),
    }


def _filled(row: Row, body: Mapping[str, Any], exact: Any, **names: str) -> Row:
    """Return the row with its names and body, or with all of them in `exact`."""
    if all(map(_plain_text, names.values())) and is_plain(body):
        return row | names | {"body": body}
    row |= {name: text if _plain_text(text) else "" for name, text in names.items()}
    return row | {"body": {}, "exact": json.dumps(exact, separators=(",", ":"))}


def _numbers(website_id: str, record: EdgeRecord, priority_of_group: int) -> Row:
    if record.kind not in {"transition", "global_recovery"}:
        return {}
    try:
        document = from_body(record.body)
    except KnowledgeError:  # a port keeps any record; readers validate it
        document = None
    edge = document if isinstance(document, Transition | GlobalRecovery) else None
    ms, reliability = UNKNOWN if edge is None else (edge.expected_ms, edge.reliability)
    numbers = {
        "authored_ms": ms,
        "authored_reliability": reliability,
        "expected_ms": ms,
        "reliability": reliability,
    }
    if record.kind == "global_recovery":
        own = edge.recovery_priority if isinstance(edge, GlobalRecovery) else None
        return numbers | {
            "learned_key": learned_key(website_id, "recovery", record.local_id),
            "recovery_priority": priority_of_group if own is None else own,
        }
    return numbers | {
        "learned_key": learned_key(website_id, "transition", record.local_id),
        "action_type": edge.triggered_by.canonical_type if isinstance(edge, Transition) else "",
        **{f"weight_{objective}": weight for objective, weight in edge_weights(ms, reliability).items()},
    }


def _corrupt(address: str, row: Row) -> StoreCorrupt:
    return StoreCorrupt(address, f"document {row.get('_id', '?')} is not one that Periplus wrote")
