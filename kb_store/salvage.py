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


class Parsing:
    """Records of one website made into documents as they come, so that not all of their JSON is kept."""

    def __init__(self, address: str, website_id: str) -> None:
        self._address, self._website_id = address, website_id
        self._parsed: dict[tuple[str, str], Document] = {}
        self._problems: list[Problem] = []
        self._websites: list[AnyRecord] = []

    def add(self, record: AnyRecord) -> None:
        """One more record; what is wrong with it is told at the end."""
        if record.kind == _WEBSITE:
            self._websites.append(record)
        name = f"{record.kind}/{record.local_id}"
        try:
            document = from_body(record.body, source=name)
        except KnowledgeError as exc:
            self._problems += exc.problems
            return
        key = (document.kind, document.local_id)
        if record.kind not in EDGE_KINDS and key != (record.kind, record.local_id):
            message = f"it says to be {document.kind} {document.local_id!r}"
            fix = "give it back the id that it is stored under"
            self._problems.append(Problem(message, source=name, fix=fix))
            return
        self._parsed[record.kind, record.local_id] = document

    def assembled(self) -> KnowledgeBase:
        """The knowledge of the records. Raises `StoreCorrupt` with every problem found."""
        problems = self._problems
        if not problems:
            try:
                return assemble([Sourced(document) for document in self._parsed.values()])[0]
            except KnowledgeError as exc:
                problems = list(exc.problems)
        raise self._corrupt(problems)

    def salvaged(self) -> tuple[KnowledgeBase, tuple[Problem, ...]]:
        """The knowledge of those records that are valid, and what is wrong with the others.

        What refers to a record that was left out is left out too; the website's own document only
        loses the fields that are wrong. Raises `StoreCorrupt` where that does not help.
        """
        parsed, problems = dict(self._parsed), list(self._problems)
        if _WEBSITE not in {kind for kind, _ in parsed}:
            parsed |= _bare_websites(self._websites, problems)
        while True:
            sourced = [Sourced(document, f"{kind}/{name}") for (kind, name), document in parsed.items()]
            try:
                return assemble(sourced)[0], tuple(problems)
            except KnowledgeError as exc:
                errors = [p for p in exc.problems if p.severity is Severity.ERROR]
                problems += errors
                if not _leave_out(parsed, errors):
                    raise self._corrupt(problems) from exc

    def _corrupt(self, problems: Sequence[Problem]) -> StoreCorrupt:
        message = f"what it holds of {self._website_id!r} is not valid"
        return StoreCorrupt(self._address, message, problems=problems)


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
    websites: Sequence[AnyRecord], problems: Sequence[Problem]
) -> dict[tuple[str, str], Document]:
    """Website documents that are valid without the fields that are wrong."""
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
