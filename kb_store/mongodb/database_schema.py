"""The collections with their validators and indexes, and the creation of missing ones.

One collection per kind. Every record's `_id` is `{website_id, generation, local_id}`, in that order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from pymongo import IndexModel
from pymongo.errors import OperationFailure

from kb_store.mongodb.connection import MongoConnection, MongoDatabase
from kb_store.mongodb.validators import document_validator, edge_validator, node_validator
from kb_store.store_setup import CollectionSetup

DOCUMENTS = {
    "website": "websites",
    "screen": "screens",
    "state_signature": "state_signatures",
    "action": "actions",
    "task": "tasks",
    "presentation_flow": "presentation_flows",
    "error_recovery": "error_recoveries",
    "workflow": "workflows",
}
"""Kind of document -> its collection."""

VERTICES = {"screen": "screen_nodes", "screen_group": "screen_groups", "task": "task_nodes"}
"""Kind of vertex -> its collection."""

EDGES = {
    "transition": "transitions",
    "group_membership": "group_membership",
    "global_recovery": "global_recovery",
    "task_dependency": "task_dependencies",
    "action_trigger": "action_triggers",
}
"""Kind of edge -> its collection."""

GENERATIONS, PINS = "generations", "pins"
"""One document per website: its active generation and its loader.

Taking a lease and committing are therefore one atomic statement each. Pins: one document per reader.
"""

RECORD_KEY = ("_id.website_id", "_id.generation", "_id.local_id")

_EXISTS = 48
_PIN_GRACE_SECONDS = 60
"""MongoDB deletes pins this long after they expired; until then they are ignored."""


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """The definition of one collection."""

    name: str
    indexes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name -> the arguments of `IndexModel`."""
    validator: Mapping[str, Any] = field(default_factory=dict)


@cache
def document_plans() -> tuple[CollectionPlan, ...]:
    """Return the collections of the document store."""
    plans = [
        CollectionPlan(name, _record_indexes(kind), document_validator(kind))
        for kind, name in DOCUMENTS.items()
    ]
    expiry = {"keys": [("expires", 1)], "expireAfterSeconds": _PIN_GRACE_SECONDS}
    by_website = {"keys": [("website_id", 1), ("generation", 1)]}
    pins = CollectionPlan(PINS, {"expires": expiry, "website": by_website})
    return (*plans, CollectionPlan(GENERATIONS), pins)


@cache
def graph_plans() -> tuple[CollectionPlan, ...]:
    """Return the collections of the graph store."""
    nodes = [
        CollectionPlan(VERTICES[k], _record_indexes(k, graph=True), node_validator())
        for k in ("screen", "task")
    ]
    group = CollectionPlan(
        VERTICES["screen_group"], _record_indexes("screen_group"), document_validator("screen_group")
    )
    edges = [
        CollectionPlan(name, {**_record_indexes(kind), **_END_INDEXES}, edge_validator(kind))
        for kind, name in EDGES.items()
    ]
    return (*nodes, group, *edges)


def plan_collections(
    indexes: Mapping[str, Sequence[IndexModel]], validators: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[CollectionPlan, ...]:
    """Return collections, given by name as their indexes, with their `$jsonSchema` if they have one."""
    return tuple(
        CollectionPlan(
            name,
            {model.document["name"]: _arguments(model) for model in models},
            {"$jsonSchema": validators[name]} if validators and name in validators else {},
        )
        for name, models in indexes.items()
    )


def _arguments(model: IndexModel) -> dict[str, Any]:
    options = {name: value for name, value in model.document.items() if name not in ("key", "name")}
    return {"keys": list(model.document["key"].items()), **options}


def _record_indexes(kind: str, *, graph: bool = False) -> dict[str, dict[str, Any]]:
    indexes: dict[str, dict[str, Any]] = {
        "record": {"keys": [(key, 1) for key in RECORD_KEY], "unique": True}
    }
    if kind == "screen" and not graph:
        keys = [("_id.website_id", 1), ("_id.generation", 1), ("body.url_patterns", 1)]
        indexes["url_patterns"] = {"keys": keys}
    return indexes


_END_INDEXES: dict[str, dict[str, Any]] = {
    end: {"keys": [("_id.website_id", 1), ("_id.generation", 1), (f"{end}.local_id", 1)]}
    for end in ("source", "target")
}


async def prepare(
    connection: MongoConnection, plans: Sequence[CollectionPlan], *, thorough: bool = False
) -> list[CollectionSetup]:
    """Create what is missing and correct what differs.

    Indexes of existing collections are checked only if `thorough`.
    """
    async with connection.asking() as database:
        found = {info["name"]: info.get("options", {}) async for info in await database.list_collections()}
        return list(
            await asyncio.gather(
                *(_prepare(database, plan, found.get(plan.name), thorough) for plan in plans)
            )
        )


async def missing_indexes(connection: MongoConnection, plans: Sequence[CollectionPlan]) -> list[str]:
    """Return `collection.index` of every missing index."""
    async with connection.asking() as database:
        found = await asyncio.gather(*(_index_names(database, plan.name) for plan in plans))
    return [
        f"{plan.name}.{name}"
        for plan, names in zip(plans, found, strict=True)
        for name in sorted(plan.indexes.keys() - names)
    ]


async def _prepare(
    database: MongoDatabase, plan: CollectionPlan, options: Mapping[str, Any] | None, thorough: bool
) -> CollectionSetup:
    outcome: Literal["made", "mended", "found"] = "found"
    if options is None:
        outcome = "made"
        checks: dict[str, Any] = {"validator": plan.validator} if plan.validator else {}
        try:
            await database.create_collection(plan.name, check_exists=False, **checks)
        except OperationFailure as exc:
            if exc.code != _EXISTS:  # another process was faster
                raise
    elif plan.validator and not _is_validated_by(plan.validator, options):
        outcome = "mended"
        await database.command(
            "collMod", plan.name, validator=plan.validator, validationAction="error", validationLevel="strict"
        )
    if plan.indexes and (outcome == "made" or thorough):
        if outcome == "found" and plan.indexes.keys() - await _index_names(database, plan.name):
            outcome = "mended"
        models = [
            IndexModel(list(spec["keys"]), name=name, **{k: v for k, v in spec.items() if k != "keys"})
            for name, spec in plan.indexes.items()
        ]
        await database[plan.name].create_indexes(models)
    return CollectionSetup(
        plan.name, outcome, f"{len(plan.indexes)} index{'' if len(plan.indexes) == 1 else 'es'}"
    )


def _is_validated_by(validator: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    return (
        options.get("validator") == validator
        and options.get("validationAction", "error") == "error"
        and options.get("validationLevel", "strict") == "strict"
    )


async def _index_names(database: MongoDatabase, name: str) -> set[str]:
    return {index["name"] async for index in await database[name].list_indexes()}
