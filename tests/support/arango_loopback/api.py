"""The part of ArangoDB 3.12's HTTP API that the adapter uses, each request checked before it is done.

One entry per endpoint: its documented query parameters, the JSON Schema of its body, what it does.
Anything else is answered with 400 or 404 and noted in `violations`, which fails the test.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft4Validator

from tests.support.arango_loopback import engine
from tests.support.arango_loopback.state import Collection, Conflict, Database, Refused, Row, View

VERSION = "3.12.5"

Answer = tuple[int, Any]


@dataclass(frozen=True)
class Request:
    """One request, parsed."""

    method: str
    database: str
    path: str
    parameters: dict[str, str]
    body: Any
    transaction: str | None


@dataclass(frozen=True)
class Endpoint:
    method: str
    pattern: re.Pattern[str]
    parameters: frozenset[str]
    body: Draft4Validator | None
    work: Callable[..., Answer]


_ENDPOINTS: list[Endpoint] = []


def _endpoint(
    method: str, pattern: str, *, parameters: tuple[str, ...] = (), body: Row | None = None
) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    def register(work: Callable[..., Answer]) -> Callable[..., Answer]:
        checked = None if body is None else Draft4Validator(body)
        _ENDPOINTS.append(Endpoint(method, re.compile(pattern), frozenset(parameters), checked, work))
        return work

    return register


def _object(required: tuple[str, ...], **properties: Row) -> Row:
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False,
    }  # fmt: skip


_TEXT: Row = {"type": "string"}
_BOOLEAN: Row = {"type": "boolean"}
_NUMBER: Row = {"type": "number"}
_NAMES: Row = {"type": "array", "items": _TEXT, "uniqueItems": True}
_SCHEMA = _object(
    ("rule", "level", "message"),
    rule={"type": "object"},
    level={"enum": ["none", "new", "moderate", "strict"]},
    message=_TEXT,
)


@dataclass
class Server:
    """The state behind the endpoints."""

    databases: dict[str, Database] = field(default_factory=lambda: {"_system": Database("_system")})
    transactions: dict[str, tuple[str, View]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1_000))
    cursors: dict[str, list[Any]] = field(default_factory=dict)

    def answer(self, request: Request) -> Answer:
        """One request after the other."""
        with self.lock:
            try:
                return self._answered(request)
            except Refused as refused:
                if refused.status in {400, 405} and refused.number not in {1620, 1221, 1233}:
                    self.violations.append(f"{request.method} {request.path}: {refused}")
                return refused.status, _error(refused)

    def _answered(self, request: Request) -> Answer:
        for endpoint in _ENDPOINTS:
            match = endpoint.pattern.fullmatch(request.path)
            if match is None or endpoint.method != request.method:
                continue
            unknown = request.parameters.keys() - endpoint.parameters
            if unknown:
                raise Refused(400, 400, f"undocumented parameters {sorted(unknown)}")
            if endpoint.body is None:
                if request.body is not None:
                    raise Refused(400, 600, "a body where none is documented")
            else:
                error = next(endpoint.body.iter_errors(request.body), None)
                if error is not None:
                    raise Refused(400, 600, f"body: {error.json_path}: {error.message[:200]}")
            if request.database not in self.databases:
                raise Refused(404, 1228, "database not found")
            return endpoint.work(self, request, *match.groups())
        raise Refused(405, 405, f"no such endpoint: {request.method} {request.path}")

    def database(self, request: Request) -> Database:
        return self.databases[request.database]

    def collection(self, request: Request, name: str) -> Collection:
        found = self.database(request).collections.get(name)
        if found is None:
            raise Refused(404, 1203, f"collection or view not found: {name}")
        return found

    def in_view(self, request: Request, work: Callable[[View], Any]) -> Any:
        """Inside the named stream transaction, or as a transaction of its own."""
        if request.transaction is None:
            view = View(self.database(request))
            result = work(view)
            view.commit()
            return result
        return work(self.transaction(request, request.transaction))

    def transaction(self, request: Request, name: str) -> View:
        status, view = self.transactions.get(name, ("", None))
        if view is None or view.database is not self.database(request) or status != "running":
            raise Refused(404, 1655, f"transaction '{name}' not found")
        return view


def _error(refused: Refused) -> Row:
    return {
        "error": True, "code": refused.status, "errorNum": refused.number, "errorMessage": refused.message,
    }  # fmt: skip


def _fine(**content: Any) -> Row:
    return {"error": False, "code": 200, **content}


# -- version and databases


@_endpoint("GET", "/_api/version", parameters=("details",))
def _version(server: Server, request: Request) -> Answer:
    return 200, {"server": "arango", "license": "community", "version": VERSION}


@_endpoint("GET", "/_api/database/current")
def _current(server: Server, request: Request) -> Answer:
    result = {"id": "1", "name": request.database, "isSystem": request.database == "_system", "path": ""}
    return 200, _fine(result=result)


@_endpoint("POST", "/_api/database", body=_object(("name",), name=_TEXT))
def _create_database(server: Server, request: Request) -> Answer:
    name = request.body["name"]
    if request.database != "_system":
        raise Refused(403, 1230, "operation only allowed in system database")
    if name in server.databases:
        raise Refused(409, 1207, "duplicate name")
    server.databases[name] = Database(name)
    return 201, _fine(result=True)


@_endpoint("DELETE", "/_api/database/([^/]+)")
def _drop_database(server: Server, request: Request, name: str) -> Answer:
    if server.databases.pop(name, None) is None:
        raise Refused(404, 1228, "database not found")
    return 200, _fine(result=True)


# -- collections, indexes, graphs


@_endpoint("GET", "/_api/collection", parameters=("excludeSystem",))
def _collections(server: Server, request: Request) -> Answer:
    found = [
        {"id": name, "name": name, "type": 3 if each.edge else 2, "isSystem": False, "status": 3}
        for name, each in server.database(request).collections.items()
    ]
    return 200, _fine(result=found)


@_endpoint(
    "POST",
    "/_api/collection",
    parameters=("waitForSyncReplication", "enforceReplicationFactor"),
    body=_object(
        ("name",),
        name={"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,255}$"},
        type={"enum": [2, 3]},
        schema=_SCHEMA,
        waitForSync=_BOOLEAN,
        isSystem=_BOOLEAN,
        keyOptions=_object((), allowUserKeys=_BOOLEAN, type=_TEXT),
    ),
)
def _create_collection(server: Server, request: Request) -> Answer:
    body = request.body
    collections = server.database(request).collections
    if body["name"] in collections:
        raise Refused(409, 1207, "duplicate name")
    if "schema" in body:
        Draft4Validator.check_schema(body["schema"]["rule"])
    edge = body.get("type", 2) == 3
    collections[body["name"]] = Collection(body["name"], edge, body.get("schema"))
    return 200, _fine(id=body["name"], name=body["name"], type=3 if edge else 2)


@_endpoint("GET", "/_api/collection/([^/]+)/properties")
def _properties(server: Server, request: Request, name: str) -> Answer:
    each = server.collection(request, name)
    return 200, _fine(id=name, name=name, type=3 if each.edge else 2, schema=each.schema, isSystem=False)


@_endpoint(
    "PUT", "/_api/collection/([^/]+)/properties", body=_object((), schema=_SCHEMA, waitForSync=_BOOLEAN)
)
def _configure(server: Server, request: Request, name: str) -> Answer:
    server.collection(request, name).schema = request.body["schema"]
    return _properties(server, request, name)


@_endpoint(
    "POST",
    "/_api/index",
    parameters=("collection",),
    body={
        "oneOf": [
            _object(
                ("type", "fields"), type={"enum": ["persistent"]}, name=_TEXT, fields={**_NAMES, "minItems": 1},
                unique=_BOOLEAN, sparse=_BOOLEAN,
            ),
            _object(
                ("type", "fields", "expireAfter"), type={"enum": ["ttl"]}, name=_TEXT,
                fields={**_NAMES, "minItems": 1, "maxItems": 1}, expireAfter=_NUMBER,
            ),
        ]
    },
)  # fmt: skip
def _create_index(server: Server, request: Request) -> Answer:
    name = request.parameters["collection"]
    indexes = server.collection(request, name).indexes
    body = request.body
    there = indexes.get(body["name"])
    if there is not None and there != body:
        raise Refused(409, 1207, "duplicate name")
    indexes[body["name"]] = body
    content = {"id": f"{name}/{len(indexes)}", **body, "isNewlyCreated": there is None}
    return 201 if there is None else 200, {**_fine(**content)}


@_endpoint("GET", "/_api/gharial")
def _graphs(server: Server, request: Request) -> Answer:
    return 200, _fine(graphs=list(server.database(request).graphs.values()))


@_endpoint(
    "POST",
    "/_api/gharial",
    parameters=("waitForSync",),
    body=_object(
        ("name",),
        name=_TEXT,
        edgeDefinitions={
            "type": "array",
            "items": _object(
                ("collection", "from", "to"), **{"collection": _TEXT, "from": _NAMES, "to": _NAMES}
            ),
        },
        orphanCollections=_NAMES,
        options={"type": "object"},
    ),
)
def _create_graph(server: Server, request: Request) -> Answer:
    database, body = server.database(request), request.body
    if body["name"] in database.graphs:
        raise Refused(409, 1925, "graph already exists")
    for definition in body["edgeDefinitions"]:
        if not server.collection(request, definition["collection"]).edge:
            raise Refused(400, 1218, "not an edge collection")
        for vertices in (*definition["from"], *definition["to"]):
            server.collection(request, vertices)
    graph = {
        "_key": body["name"], "_id": f"_graphs/{body['name']}", "_rev": "_1", "name": body["name"],
        "edgeDefinitions": body["edgeDefinitions"], "orphanCollections": [],
    }  # fmt: skip
    database.graphs[body["name"]] = graph
    return 202, _fine(graph=graph)


# -- documents


@_endpoint(
    "POST",
    "/_api/document/([^/]+)",
    parameters=("waitForSync", "returnNew", "returnOld", "silent", "overwrite", "overwriteMode"),
    body={"type": "array", "items": {"type": "object", "required": ["_key"]}},
)
def _insert_documents(server: Server, request: Request, name: str) -> Answer:
    """Each document by itself: one that is refused is an error object among the answers."""
    server.collection(request, name)
    mode = request.parameters.get("overwriteMode", "conflict")

    def work(view: View) -> list[Row]:
        found: list[Row] = []
        for document in request.body:
            try:
                row = view.insert(name, document, mode)
                found.append({each: row[each] for each in ("_id", "_key", "_rev")})
            except Refused as refused:
                found.append(_error(refused))
        return found

    return 202, server.in_view(request, work)


# -- queries


_OPTIONS: Row = {
    "failOnWarning": _BOOLEAN,
    "allowRetry": _BOOLEAN,
}


@_endpoint(
    "POST",
    "/_api/cursor",
    body=_object(
        ("query",),
        query={"type": "string", "minLength": 1},
        count=_BOOLEAN,
        batchSize={"type": "integer", "minimum": 1},
        ttl=_NUMBER,
        memoryLimit=_NUMBER,
        bindVars={"type": "object"},
        options=_object((), **_OPTIONS),
        **_OPTIONS,  # python-arango sends the options beside `options` as well
    ),
)
def _create_cursor(server: Server, request: Request) -> Answer:
    body = request.body
    rows = server.in_view(request, lambda view: engine.run(view, body["query"], body.get("bindVars", {})))
    return 201, _batch(server, str(next(server.ids)), rows, body.get("batchSize", 1_000))


@_endpoint("POST", "/_api/query", body=_object(("query",), query={"type": "string", "minLength": 1}))
def _parse_query(server: Server, request: Request) -> Answer:
    if request.body["query"] not in engine.known_texts():
        raise Refused(400, 1501, "an AQL text that aql.py does not have")
    return 200, _fine(parsed=True, collections=[], bindVars=[], ast=[])


@_endpoint("POST", r"/_api/cursor/(\d+)")
def _next_batch(server: Server, request: Request, name: str) -> Answer:
    if name not in server.cursors:
        raise Refused(404, 1600, "cursor not found")
    return 200, _batch(server, name, server.cursors.pop(name), 1_000)


@_endpoint("DELETE", r"/_api/cursor/(\d+)")
def _close_cursor(server: Server, request: Request, name: str) -> Answer:
    if server.cursors.pop(name, None) is None:
        raise Refused(404, 1600, "cursor not found")
    return 202, _fine(id=name)


def _batch(server: Server, name: str, rows: list[Any], size: int) -> Row:
    if len(rows) <= size:
        return _fine(result=rows, hasMore=False, cached=False, extra={"warnings": [], "stats": {}})
    server.cursors[name] = rows[size:]
    return _fine(result=rows[:size], hasMore=True, id=name, cached=False, extra={"warnings": [], "stats": {}})


# -- stream transactions


@_endpoint(
    "POST",
    "/_api/transaction/begin",
    body=_object(
        ("collections",),
        collections=_object((), read=_NAMES, write=_NAMES, exclusive=_NAMES),
        allowImplicit=_BOOLEAN,
        waitForSync=_BOOLEAN,
        lockTimeout=_NUMBER,
        maxTransactionSize=_NUMBER,
    ),
)
def _begin(server: Server, request: Request) -> Answer:
    collections = request.body["collections"]
    for name in (*collections.get("read", ()), *collections.get("write", ())):
        server.collection(request, name)
    view = View(server.database(request), {*collections.get("write", ())}, {*collections.get("read", ())})
    name = str(next(server.ids))
    server.transactions[name] = ("running", view)
    return 201, _fine(result={"id": name, "status": "running"})


@_endpoint("PUT", r"/_api/transaction/(\d+)")
def _commit(server: Server, request: Request, name: str) -> Answer:
    if server.transactions.get(name, ("",))[0] != "committed":  # to commit again is no error
        view = server.transaction(request, name)
        try:
            view.commit()
        except Conflict:
            server.transactions[name] = ("aborted", view)
            raise
        server.transactions[name] = ("committed", view)
    return 200, _fine(result={"id": name, "status": "committed"})


@_endpoint("DELETE", r"/_api/transaction/(\d+)")
def _abort(server: Server, request: Request, name: str) -> Answer:
    status, view = server.transactions.get(name, ("", None))
    if view is None or status == "committed":
        raise Refused(404, 1655, f"transaction '{name}' not found")
    server.transactions[name] = ("aborted", view)
    return 200, _fine(result={"id": name, "status": "aborted"})
