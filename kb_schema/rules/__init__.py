"""The rules that a whole knowledge base must obey: existing references, and the rules of KS 10.

Each rule is a function to problems from a knowledge base, or from the models in it (`checked_models`), in a module of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

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
from kb_schema.rules.checked_models import CheckedModels


def check(
    knowledge: KnowledgeBase, *, without_secrets: Collection[tuple[str, str]] = ()
) -> Iterator[Problem]:
    """Yield every problem of every rule, with the file of the document.

    `without_secrets`: kind and id of documents whose JSON was seen to have no `{secret:`.
    """
    for problem in _list_problems(knowledge, without_secrets):
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


def _list_problems(
    knowledge: KnowledgeBase, without_secrets: Collection[tuple[str, str]]
) -> Iterator[Problem]:
    """Yield every problem, rule by rule."""
    models = CheckedModels(knowledge)
    yield from references.check(knowledge, models)
    yield from no_graph_loops.check(knowledge)
    yield from context_first.check(knowledge)
    yield from negative_signature.check(knowledge)
    yield from error_recoveries.check(knowledge, models)
    yield from flow_consistency.check(knowledge)
    yield from judged_texts.check(models)
    yield from workflow_evidence.check(knowledge)
    yield from secret_placeholders.check(knowledge, without_secrets)
