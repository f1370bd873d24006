"""Turns a person's decision on a doubt into an edit of the knowledge base."""

from __future__ import annotations

from typing import Literal

from kb_schema import KnowledgeBase
from loaders.edits.deletion import delete
from loaders.edits.knowledge_edit import EditRefused, KnowledgeEdit, check_edit
from loaders.edits.merging import merge
from loaders.edits.renaming import find_target, rename, slug_of
from loaders.map_review.map_doubts import Doubt, mark_kept

Decision = Literal["keep", "rename", "merge", "delete"]


def decide(
    knowledge: KnowledgeBase, doubt: Doubt, decision: Decision, answer: str | None = None
) -> KnowledgeEdit:
    """Return the knowledge after a decision.

    `answer` is the new name of `rename`, and the screen that `merge` makes a part of the doubt's screen (default:
    the one it looks like). Raises `EditRefused`, and `KnowledgeError` if a rule would be broken.
    """
    if decision == "keep":
        kept = mark_kept(knowledge, doubt)
        rest = (
            each for each in knowledge.documents() if (each.kind, each.local_id) != (kept.kind, kept.local_id)
        )
        return check_edit(knowledge, (*rest, kept))
    target = find_target(knowledge, doubt.name, doubt.what)
    if decision == "delete":
        return delete(knowledge, target)
    if decision == "rename":
        name = (answer or doubt.suggestion or "").strip()
        if not name:
            raise EditRefused(f"no new name for {doubt.name!r} is given", "type a name")
        return rename(knowledge, target, slug_of(name), name)
    other = answer or doubt.other
    if other is None:
        raise EditRefused(f"with which screen {doubt.name!r} is one is not given", "name the other screen")
    return merge(knowledge, target, find_target(knowledge, other, "screen"))
