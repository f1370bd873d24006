"""No document names a secret as `{secret:NAME}`: a task's secrets are its inputs with `secret: true`."""

from __future__ import annotations

from collections.abc import Iterator

from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.secret_placement import find_misplaced_secrets, may_mention_secret


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield a problem for each `{secret:NAME}` in any text of any document."""
    for document in (each for known in knowledge.by_kind.values() for each in known.values()):
        for found in find_misplaced_secrets(document) if may_mention_secret(document) else ():
            yield Problem(
                f"{{secret:{found.name}}} is not allowed in knowledge",
                path=found.path,
                document=f"{document.kind}:{document.local_id}",
                fix="make it an input of the task with `secret: true`, and type {" + found.name.lower() + "}",
                rule="secret-placeholders",
            )
