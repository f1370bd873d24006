"""Databases in memory: collections with validators, graphs, stream transactions that see a snapshot."""

from __future__ import annotations

import copy
import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft4Validator

KEY = re.compile(r"[A-Za-z0-9_\-.@()+,=;$!*'%:]{1,254}")
DOCUMENT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,255}/[A-Za-z0-9_\-.@()+,=;$!*'%:]{1,254}")

Row = dict[str, Any]
_revisions = itertools.count(1)


class Refused(Exception):
    """What the server answers with instead: an HTTP status, an error number, a sentence."""

    def __init__(self, status: int, number: int, message: str) -> None:
        self.status, self.number, self.message = status, number, message
        super().__init__(f"{status}/{number}: {message}")


class Conflict(Refused):
    def __init__(self) -> None:
        super().__init__(409, 1200, "write-write conflict")


@dataclass
class Collection:
    name: str
    edge: bool
    schema: Row | None
    rows: dict[str, Row] = field(default_factory=dict)
    indexes: dict[str, Row] = field(default_factory=dict)


@dataclass
class Database:
    name: str
    collections: dict[str, Collection] = field(default_factory=dict)
    graphs: dict[str, Row] = field(default_factory=dict)


class View:
    """The rows of a database as one request or one stream transaction sees them.

    What it writes stays its own until `commit`; where somebody else has changed one of these rows
    since it began, that is a conflict. `writable` None: any collection (a single AQL request).
    """

    def __init__(
        self, database: Database, writable: set[str] | None = None, readable: set[str] | None = None
    ) -> None:
        self.database = database
        self._writable = writable
        self._readable = readable
        self._seen = {name: dict(each.rows) for name, each in database.collections.items()}
        self._mine: dict[str, dict[str, Row | None]] = {}

    def rows(self, name: str) -> dict[str, Row]:
        """The rows of a collection by key, with what was written here."""
        if name not in self.database.collections:
            raise Refused(404, 1203, f"collection or view not found: {name}")
        if self._readable is not None and name not in self._readable | (self._writable or set()):
            raise Refused(400, 1652, f"unregistered collection used in transaction: {name}")
        found = dict(self._seen.get(name, {}))
        for key, row in self._mine.get(name, {}).items():
            if row is None:
                found.pop(key, None)
            else:
                found[key] = row
        return found

    def by_id(self, document_id: str) -> Row | None:
        collection, _, key = document_id.partition("/")
        if collection not in self.database.collections:
            return None
        return self.rows(collection).get(key)

    def insert(self, name: str, document: Row, mode: str = "conflict") -> Row:
        """Insert, or with mode `replace` replace, or with `ignore` leave what is there."""
        key = document.get("_key")
        if not isinstance(key, str) or not KEY.fullmatch(key):
            raise Refused(400, 1221, "illegal document key")
        there = self.rows(name).get(key)
        if there is not None and mode == "ignore":
            return there
        if there is not None and mode != "replace":
            raise Refused(409, 1210, f"unique constraint violated - in index primary; conflicting key: {key}")
        return self._write(name, key, {k: v for k, v in document.items() if k not in {"_id", "_rev"}})

    def update(self, name: str, key: str, changes: Row) -> Row:
        there = self.rows(name).get(key)
        if there is None:
            raise Refused(404, 1202, "document not found")
        return self._write(name, key, {**there, **changes})

    def remove(self, name: str, key: str) -> None:
        if key not in self.rows(name):
            raise Refused(404, 1202, "document not found")
        self._may_write(name)
        self._mine.setdefault(name, {})[key] = None

    def commit(self) -> None:
        for name, rows in self._mine.items():
            current = self.database.collections[name].rows
            for key in rows:
                before, now = self._seen[name].get(key), current.get(key)
                if (before and before["_rev"]) != (now and now["_rev"]):
                    raise Conflict
        for name, rows in self._mine.items():
            current = self.database.collections[name].rows
            for key, row in rows.items():
                if row is None:
                    current.pop(key, None)
                else:
                    current[key] = row

    def _may_write(self, name: str) -> None:
        if self._writable is not None and name not in self._writable:
            raise Refused(400, 1652, f"unregistered collection used in transaction: {name} [write]")

    def _write(self, name: str, key: str, row: Row) -> Row:
        self._may_write(name)
        collection = self.database.collections[name]
        if collection.edge:
            for end in ("_from", "_to"):
                if not isinstance(row.get(end), str) or not DOCUMENT_ID.fullmatch(row[end]):
                    raise Refused(400, 1233, "edge attribute missing or invalid")
        elif "_from" in row or "_to" in row:
            raise Refused(400, 1233, "ends of an edge in a vertex: a mistake of the adapter")
        self._validate(collection, row)
        row = {**copy.deepcopy(row), "_key": key, "_id": f"{name}/{key}", "_rev": f"_{next(_revisions)}"}
        self._mine.setdefault(name, {})[key] = row
        return row

    def _validate(self, collection: Collection, row: Row) -> None:
        schema = collection.schema
        if schema is None or schema["level"] == "none":
            return
        plain = {name: value for name, value in row.items() if name not in {"_key", "_id", "_rev"}}
        error = next(Draft4Validator(schema["rule"]).iter_errors(plain), None)
        if error is not None:
            raise Refused(400, 1620, f"{schema['message']}: {error.json_path}")
