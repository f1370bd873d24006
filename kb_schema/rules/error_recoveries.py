"""Error rules must name errors that exist, and strategies must not call each other in a cycle.

The reference rule checks that a named recovery exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kb_schema.conditions import condition_types
from kb_schema.documents import did_you_mean
from kb_schema.error_handling import ERRORS, ErrorRecovery, ErrorRule
from kb_schema.errors import Problem, Severity
from kb_schema.graph_documents import ErrorState
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.nested_models import walk
from kb_schema.rules.checked_models import CheckedModels

RULE = "error-handling"
_CHECKED = (ErrorRule, ErrorRecovery, ErrorState)
_HTTP = re.compile(r"http_[1-5]\d\d")


def check(knowledge: KnowledgeBase, models: CheckedModels) -> Iterator[Problem]:
    """Yield a warning for each rule with an unknown error name, and a problem for each cycle of strategies."""
    nodes = [
        (f"{document.kind}:{document.local_id}", path, node)
        for document in models.holders(*_CHECKED)
        for path, node in walk(document)
        if isinstance(node, _CHECKED)
    ]
    known = {*ERRORS, *condition_types(), *(n.reason for _, _, n in nodes if isinstance(n, ErrorState))}
    for document, path, node in nodes:
        for place, name in _conditions(node, path):
            if name not in known and not _HTTP.fullmatch(name):
                yield Problem(
                    f'unknown error name "{name}"',
                    place,
                    document,
                    fix=did_you_mean(name, sorted(known)) or "see ERRORS in kb_schema/error_handling.py",
                    rule=RULE,
                    severity=Severity.WARNING,
                )
    yield from _circles(knowledge)


def _conditions(node: ErrorRule | ErrorRecovery | ErrorState, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ErrorRule):
        yield f"{path}.condition", node.condition
    elif isinstance(node, ErrorRecovery):
        for index, name in enumerate(node.conditions):
            yield f"{path}.conditions[{index}]", name


def _circles(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Yield a problem for each cycle of strategies that call each other."""
    documents = knowledge.error_recoveries
    leads_to = {
        name: [step.recovery for step in document.strategies if step.recovery and step.recovery in documents]
        for name, document in documents.items()
    }
    for start in sorted(leads_to):
        seen, todo = set(), list(leads_to[start])
        while todo:
            name = todo.pop()
            if name == start:
                yield Problem(
                    f'the strategy "{start}" leads back to itself',
                    "$.strategies",
                    f"error_recovery:{start}",
                    fix="name a recovery that does something",
                    rule=RULE,
                )
                break
            if name not in seen:
                seen.add(name)
                todo += leads_to[name]
