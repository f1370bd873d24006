"""The rules that a whole knowledge base must obey: existing references, and the rules of KS 10.

Each rule is a function from a knowledge base to problems, in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.rules import (
    context_first,
    error_recoveries,
    flow_consistency,
    judged_texts,
    negative_signature,
    no_graph_loops,
    references,
    secret_placeholders,
    workflow_evidence,
)

KnowledgeRule = Callable[[KnowledgeBase], Iterable[Problem]]

RULES: tuple[KnowledgeRule, ...] = (
    references.check,
    no_graph_loops.check,
    context_first.check,
    negative_signature.check,
    error_recoveries.check,
    flow_consistency.check,
    judged_texts.check,
    workflow_evidence.check,
    secret_placeholders.check,
)


def check(
    knowledge: KnowledgeBase, *, without_secrets: Collection[tuple[str, str]] = ()
) -> Iterator[Problem]:
    """Yield every problem of every rule, with the file of the document.

    `without_secrets`: kind and id of documents whose JSON was seen to have no `{secret:`.
    """
    for rule in RULES:
        found = (
            secret_placeholders.check(knowledge, without_secrets)
            if rule is secret_placeholders.check
            else rule(knowledge)
        )
        for problem in found:
            if problem.source is None and problem.document is not None:
                kind, _, local_id = problem.document.partition(":")
                source = knowledge.sources.get((kind, local_id))
                yield Problem(
                    problem.message,
                    problem.path,
                    problem.document,
                    source,
                    problem.fix,
                    problem.rule,
                    problem.severity,
                )
            else:
                yield problem
