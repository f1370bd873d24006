"""Stored records as a knowledge base: all of it or an error, or what is left without the invalid ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError, Problem, Sourced, assemble
from kb_schema.base import Document
from kb_schema.errors import Severity
from kb_store.errors import StoreCorrupt
from kb_store.records import EDGE_KINDS, EdgeRecord, Record, from_body

AnyRecord = Record | EdgeRecord

_WEBSITE = "website"


def assembled(address: str, website_id: str, records: Sequence[AnyRecord]) -> KnowledgeBase:
    """The knowledge of `records`. Raises `StoreCorrupt` with every problem found."""
    parsed, problems = _parsed(records)
    if not problems:
        try:
            return assemble([Sourced(document) for document in parsed.values()])[0]
        except KnowledgeError as exc:
            problems = list(exc.problems)
    raise _corrupt(address, website_id, problems)


def salvaged(
    address: str, website_id: str, records: Sequence[AnyRecord]
) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
    """The knowledge of those records that are valid, and what is wrong with the others.

    What refers to a record that was left out is left out too; the website's own document only
    loses the fields that are wrong. Raises `StoreCorrupt` where that does not help.
    """
    parsed, problems = _parsed(records)
    if _WEBSITE not in {kind for kind, _ in parsed}:
        parsed |= _bare_websites(records, problems)
    while True:
        sourced = [Sourced(document, f"{kind}/{name}") for (kind, name), document in parsed.items()]
        try:
            return assemble(sourced)[0], tuple(problems)
        except KnowledgeError as exc:
            errors = [p for p in exc.problems if p.severity is Severity.ERROR]
            problems += errors
            if not _leave_out(parsed, errors):
                raise _corrupt(address, website_id, problems) from exc


def _parsed(records: Sequence[AnyRecord]) -> tuple[dict[tuple[str, str], Document], list[Problem]]:
    parsed: dict[tuple[str, str], Document] = {}
    problems: list[Problem] = []
    for record in records:
        name = f"{record.kind}/{record.local_id}"
        try:
            document = from_body(record.body, source=name)
        except KnowledgeError as exc:
            problems += exc.problems
            continue
        if record.kind not in EDGE_KINDS and (document.kind, document.local_id) != (
            record.kind,
            record.local_id,
        ):
            message = f"it says to be {document.kind} {document.local_id!r}"
            problems.append(Problem(message, source=name, fix="give it back the id that it is stored under"))
            continue
        parsed[record.kind, record.local_id] = document
    return parsed, problems


def _leave_out(parsed: dict[tuple[str, str], Document], errors: Sequence[Problem]) -> bool:
    """Take out what the errors are about; whether that changed anything."""
    about: dict[tuple[str, str], list[Problem]] = {}
    for problem in errors:
        kind, _, name = (problem.source or (problem.document or "").replace(":", "/", 1)).partition("/")
        if (kind, name) in parsed:
            about.setdefault((kind, name), []).append(problem)
    changed = False
    for key, own in about.items():
        document = parsed.pop(key)
        changed = True
        if key[0] == _WEBSITE:
            bare = _without(document.to_json(), own)
            if bare is None:
                return False
            parsed[key] = bare
    return changed


def _bare_websites(
    records: Sequence[AnyRecord], problems: Sequence[Problem]
) -> dict[tuple[str, str], Document]:
    """Website documents that are valid without the fields that are wrong."""
    found: dict[tuple[str, str], Document] = {}
    for record in records:
        if record.kind == _WEBSITE:
            own = [p for p in problems if p.source == f"{_WEBSITE}/{record.local_id}"]
            bare = _without(record.body, own)
            if bare is not None:
                found[record.kind, record.local_id] = bare
    return found


def _without(body: Mapping[str, Any], problems: Sequence[Problem]) -> Document | None:
    wrong = {p.path.removeprefix("$").lstrip(".").partition(".")[0].partition("[")[0] for p in problems}
    left = {name: value for name, value in body.items() if name not in wrong}
    if len(left) == len(body):
        return None
    try:
        return from_body(left)
    except KnowledgeError:
        return None


def _corrupt(address: str, website_id: str, problems: Sequence[Problem]) -> StoreCorrupt:
    return StoreCorrupt(address, f"what it holds of {website_id!r} is not valid", problems=problems)
