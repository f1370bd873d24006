"""Parses stored records into a knowledge base: all of them or an error, or only the valid ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kb_schema import KnowledgeBase, KnowledgeError, Problem, SourcedDocument, assemble
from kb_schema.base import Document
from kb_schema.errors import Severity
from kb_store.errors import StoreCorrupt
from kb_store.knowledge_records import (
    EDGE_KINDS,
    EdgeRecord,
    KnowledgeRecord,
    from_body,
    from_record,
)

AnyRecord = KnowledgeRecord | EdgeRecord

_WEBSITE = "website"


class RecordParser:
    """Parses the records of one website as they arrive, so that their JSON need not be kept."""

    def __init__(self, address: str, website_id: str) -> None:
        self._address, self._website_id = address, website_id
        self._parsed: dict[tuple[str, str], Document] = {}
        self._problems: list[Problem] = []
        self._websites: list[AnyRecord] = []
        self._without_secrets: set[tuple[str, str]] = set()

    def add(self, record: AnyRecord, *, without_secrets: bool = False) -> None:
        """Add a record; its problems are reported at the end. `without_secrets`: it was seen to have no `{secret:`."""
        if record.kind == _WEBSITE:
            self._websites.append(record)
        try:
            document = from_record(record)
        except KnowledgeError as exc:
            self._problems += exc.problems
            return
        stored, key = (record.kind, record.local_id), (document.kind, document.local_id)
        if key != stored and record.kind not in EDGE_KINDS:
            message = f"its content is {document.kind} {document.local_id!r}"
            fix = "restore the id that it is stored under"
            self._problems.append(Problem(message, source=f"{record.kind}/{record.local_id}", fix=fix))
            return
        self._parsed[stored] = document
        if without_secrets:
            self._without_secrets.add(key)

    def assembled(self) -> KnowledgeBase:
        """Return the knowledge. Raises `StoreCorrupt` with every problem."""
        problems = self._problems
        if not problems:
            try:
                documents = [SourcedDocument(document) for document in self._parsed.values()]
                return assemble(documents, without_secrets=self._without_secrets)[0]
            except KnowledgeError as exc:
                problems = list(exc.problems)
        raise self._corrupt(problems)

    def salvaged(self) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
        """Return the knowledge of the valid records, and the problems of the others.

        Records that refer to a dropped one are dropped too; the website document loses only its invalid
        fields. Raises `StoreCorrupt` if that does not help.
        """
        parsed, problems = dict(self._parsed), list(self._problems)
        if _WEBSITE not in {kind for kind, _ in parsed}:
            parsed |= _bare_websites(self._websites, problems)
        while True:
            sourced = [
                SourcedDocument(document, f"{kind}/{name}") for (kind, name), document in parsed.items()
            ]
            try:
                return assemble(sourced, without_secrets=self._without_secrets)[0], tuple(problems)
            except KnowledgeError as exc:
                errors = [p for p in exc.problems if p.severity is Severity.ERROR]
                problems += errors
                if not _leave_out(parsed, errors):
                    raise self._corrupt(problems) from exc

    def _corrupt(self, problems: Sequence[Problem]) -> StoreCorrupt:
        message = f"what it holds of {self._website_id!r} is not valid"
        return StoreCorrupt(self._address, message, problems=problems)


def _leave_out(parsed: dict[tuple[str, str], Document], errors: Sequence[Problem]) -> bool:
    """Remove what the errors are about; return whether anything changed."""
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
    websites: Sequence[AnyRecord], problems: Sequence[Problem]
) -> dict[tuple[str, str], Document]:
    """Yield website documents that are valid without their invalid fields."""
    found: dict[tuple[str, str], Document] = {}
    for record in websites:
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
