"""Lists what an edit changes, document by document, for people and scripts."""

from __future__ import annotations

from dataclasses import dataclass

from kb_schema import KnowledgeBase
from loaders.diffs.knowledge_diff import ValueChange, changes_between
from loaders.edits.knowledge_edit import KnowledgeEdit


@dataclass(frozen=True, slots=True)
class DocumentEdit:
    """What becomes of one document. `old_id` or `new_id` is None if it is added or removed."""

    kind: str
    old_id: str | None
    new_id: str | None
    changes: tuple[ValueChange, ...] = ()


def list_edit_changes(knowledge: KnowledgeBase, edit: KnowledgeEdit) -> list[DocumentEdit]:
    """Return every document that differs after the edit; `knowledge` is what it was made from."""
    after = {(each.kind, each.local_id): each for each in edit.knowledge.documents()}
    found = []
    for before in knowledge.documents():
        key = (before.kind, before.local_id)
        new_id = edit.renamed.get(key, before.local_id)
        merged = new_id != before.local_id and new_id in knowledge.by_kind.get(before.kind, {})
        now = after.get((before.kind, new_id))
        if now is None or merged:
            found.append(DocumentEdit(before.kind, before.local_id, None))
            continue
        after.pop((before.kind, new_id))
        changes = tuple(changes_between(before.to_json(), now.to_json()))
        if changes:
            found.append(DocumentEdit(before.kind, before.local_id, new_id, changes))
    return [*found, *(DocumentEdit(kind, None, new_id) for kind, new_id in after)]
