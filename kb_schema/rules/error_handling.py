"""Rules for errors that can come into force: for errors that there are, and without going in circles.

That a named recovery exists is checked with the other references.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb_schema.conditions import condition_types
from kb_schema.documents import did_you_mean
from kb_schema.errors import Problem, Severity
from kb_schema.graph import ErrorState
from kb_schema.handling import ERRORS, ErrorRecovery, ErrorRule
from kb_schema.rules.references import walk

if TYPE_CHECKING:
    from kb_schema.knowledge import KnowledgeBase

RULE = "error-handling"
_HTTP = re.compile(r"http_[1-5]\d\d")


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """A warning for each rule that no error will ever meet; a problem for each circle of strategies."""
    said = [
        (f"{document.kind}:{document.local_id}", path, node)
        for document in knowledge.documents()
        for path, node in walk(document)
        if isinstance(node, ErrorRule | ErrorRecovery | ErrorState)
    ]
    known = {*ERRORS, *condition_types(), *(n.reason for _, _, n in said if isinstance(n, ErrorState))}
    for document, path, node in said:
        for place, name in _conditions(node, path):
            if name not in known and not _HTTP.fullmatch(name):
                yield Problem(
                    f'no error is ever called "{name}"', place, document,
                    fix=did_you_mean(name, sorted(known)) or "see ERRORS in kb_schema/handling.py",
                    rule=RULE, severity=Severity.WARNING,
                )  # fmt: skip
    yield from _circles(knowledge)


def _conditions(node: ErrorRule | ErrorRecovery | ErrorState, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ErrorRule):
        yield f"{path}.condition", node.condition
    elif isinstance(node, ErrorRecovery):
        for index, name in enumerate(node.conditions):
            yield f"{path}.conditions[{index}]", name


def _circles(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Strategies that name each other in a circle would only ever call each other."""
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
                    f'the strategy "{start}" leads back to itself', "$.strategies",
                    f"error_recovery:{start}", fix="name a recovery that does something", rule=RULE,
                )  # fmt: skip
                break
            if name not in seen:
                seen.add(name)
                todo += leads_to[name]
