"""The registry of migrations by the version they start from, and how they are chained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kb_schema.base import SCHEMA_VERSION
from kb_schema.errors import KnowledgeError, Problem

UNSTATED = 0
"""The version of a document that states none, in a folder that states none: documents as KS has them."""

Migration = Callable[[dict[str, Any]], dict[str, Any]]
"""Receives its own copy to change. It leaves a document it does not understand to the parser."""

MIGRATIONS: dict[int, Migration] = {}
"""Version n -> the function that leads to n + 1."""


class NewerSchemaVersion(KnowledgeError):
    """Documents of a version that this program does not know: one problem for all documents."""

    def __init__(self, version: int, documents: int = 1, *, source: str | None = None) -> None:
        self.version, self.documents = version, documents
        which = "the document is" if documents == 1 else f"{documents} documents are"
        problem = Problem(
            f"{which} of schema_version {version}, and this Periplus knows versions up to {SCHEMA_VERSION}",
            path="$.schema_version",
            source=source,
            fix="use a newer Periplus",
            rule="schema-version",
        )
        super().__init__([problem])


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """A document in the newest version, and the version it came from."""

    document: dict[str, Any]
    from_version: int
    to_version: int


def migration(from_version: int) -> Callable[[Migration], Migration]:
    """Register a function as the migration from that version to the next."""

    def register(function: Migration) -> Migration:
        if from_version in MIGRATIONS:
            raise ValueError(f"there are two migrations from version {from_version}")
        MIGRATIONS[from_version] = function
        return function

    return register


def stated_version(document: Mapping[str, Any], unstated: int = UNSTATED) -> int | None:
    """Return the version a document states, `unstated` if it states none, None if the value is invalid."""
    version = document.get("schema_version", unstated)
    sound = isinstance(version, int) and not isinstance(version, bool) and version >= 0
    return version if sound else None


def upgrade(
    document: Mapping[str, Any], *, unstated: int = UNSTATED, source: str | None = None
) -> UpgradeResult:
    """Return a document in today's version; `unstated` is the version of one that states none.

    The given document is not changed. One with an invalid `schema_version` is returned unchanged, for the
    parser to refuse. Raises `NewerSchemaVersion`.
    """
    version = stated_version(document, unstated)
    if version is None:
        return UpgradeResult(dict(document), SCHEMA_VERSION, SCHEMA_VERSION)
    if version > SCHEMA_VERSION:
        raise NewerSchemaVersion(version, source=source)
    found = dict(document)
    for step in range(version, SCHEMA_VERSION):
        found = MIGRATIONS[step](found) | {"schema_version": step + 1}
    return UpgradeResult(found, version, SCHEMA_VERSION)


def refuse_newer(versions: Iterable[tuple[int, str | None]]) -> None:
    """Raise one `NewerSchemaVersion` for all (version, source) pairs that are too new."""
    newer = [(version, source) for version, source in versions if version > SCHEMA_VERSION]
    if newer:
        version, source = newer[0]
        raise NewerSchemaVersion(version, len(newer), source=source if len(newer) == 1 else None)
