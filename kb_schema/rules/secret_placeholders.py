"""No document names a secret as `{secret:NAME}`: a task's secrets are its inputs with `secret: true`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kb_schema.base import Document
from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.secret_placement import find_misplaced_secrets, may_mention_secret


def check(knowledge: KnowledgeBase, without_secrets: Collection[tuple[str, str]] = ()) -> Iterator[Problem]:
    """Yield a problem for each `{secret:NAME}` in any text of any document but those of `without_secrets` (kind, id)."""
    for kind, documents in knowledge.by_kind.items():
        for name, document in documents.items():
            if (kind, name) not in without_secrets and may_mention_secret(document):
                yield from _problems(document)


def _problems(document: Document) -> Iterator[Problem]:
    for found in find_misplaced_secrets(document):
        yield Problem(
            f"{{secret:{found.name}}} is not allowed in knowledge",
            path=found.path,
            document=f"{document.kind}:{document.local_id}",
            fix="make it an input of the task with `secret: true`, and type {" + found.name.lower() + "}",
            rule="secret-placeholders",
        )
