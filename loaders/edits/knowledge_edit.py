"""The result of an edit of a knowledge base, and the error of one that is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kb_schema import KnowledgeBase, Problem, SourcedDocument, assemble
from kb_schema.base import Document

DocumentKey = tuple[str, str]
"""(kind, local id)."""
ElementKey = tuple[str, str]
"""(screen id, element id)."""


class EditRefused(Exception):
    """An edit that cannot be made: `message` names the place, `fix` says what to do."""

    def __init__(self, message: str, fix: str) -> None:
        self.message, self.fix = message, fix
        super().__init__(f"{message} -> {fix}")


@dataclass(frozen=True, slots=True)
class KnowledgeEdit:
    """The knowledge after an edit, and what moved."""

    knowledge: KnowledgeBase
    warnings: tuple[Problem, ...]
    renamed: Mapping[DocumentKey, str]
    """Documents that have another id now: old key -> new id."""
    moved_elements: Mapping[ElementKey, ElementKey] = field(default_factory=dict)
    """Elements that have another screen or id now."""
    left: tuple[str, ...] = ()
    """What a person should look at: sentences that name the place."""


def check_edit(
    knowledge: KnowledgeBase,
    documents: Iterable[Document],
    *,
    renamed: Mapping[DocumentKey, str] | None = None,
    moved_elements: Mapping[ElementKey, ElementKey] | None = None,
    left: Iterable[str] = (),
) -> KnowledgeEdit:
    """Return the edit whose result has these documents, checked as in a load.

    Documents keep the file they came from. Raises `KnowledgeError` if a rule would be broken.
    """
    renamed = dict(renamed or {})
    before = {(kind, new): (kind, old) for (kind, old), new in renamed.items()}
    sourced = []
    for each in documents:
        key = (each.kind, each.local_id)
        sourced.append(SourcedDocument(each, knowledge.sources.get(before.get(key, key))))
    made, warnings = assemble(sourced)
    return KnowledgeEdit(made, warnings, renamed, dict(moved_elements or {}), tuple(dict.fromkeys(left)))
