"""What a whole knowledge base must obey: references that exist, and the three rules of KS 10.

Each rule is a function from a knowledge base to problems, in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kb_schema.errors import Problem
from kb_schema.rules import (
    context_first,
    error_handling,
    flows,
    negative_signature,
    no_graph_loops,
    references,
)

if TYPE_CHECKING:
    from kb_schema.knowledge import KnowledgeBase

Rule = Callable[["KnowledgeBase"], Iterable[Problem]]

RULES: tuple[Rule, ...] = (
    references.check,
    no_graph_loops.check,
    context_first.check,
    negative_signature.check,
    error_handling.check,
    flows.check,
)


def check(knowledge: KnowledgeBase) -> Iterator[Problem]:
    """Every problem of every rule, with the file of the document it is in."""
    for rule in RULES:
        for problem in rule(knowledge):
            if problem.source is None and problem.document is not None:
                kind, _, local_id = problem.document.partition(":")
                source = knowledge.sources.get((kind, local_id))
                yield Problem(
                    problem.message, problem.path, problem.document, source, problem.fix, problem.rule,
                    problem.severity,
                )  # fmt: skip
            else:
                yield problem
