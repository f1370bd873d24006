"""Referential integrity: every name that a document refers to must exist.

Which fields refer to what is in `reference_fields`; checks that need more than a lookup are in `reference_checks`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache

from pydantic import BaseModel

from kb_schema.base import Document
from kb_schema.errors import Problem
from kb_schema.knowledge_base import KnowledgeBase
from kb_schema.nested_models import walk
from kb_schema.rules.checked_models import CheckedModels
from kb_schema.rules.reference_checks import CHECKS, ReferenceCheck
from kb_schema.rules.reference_fields import references_of
from kb_schema.rules.reference_names import ReferenceNames

RULE = "references"


def check(knowledge: KnowledgeBase, models: CheckedModels) -> Iterator[Problem]:
    """Return a problem for each name in a document that refers to nothing."""
    names = ReferenceNames(knowledge)
    search = _WrongNames(names)
    for document, nodes in models:
        if not search.any_in(document, nodes):
            continue
        where = f"{document.kind}:{document.local_id}"
        for path, node in walk(document):
            for problem in _problems(names, document, node, path):
                yield Problem(problem.message, problem.path, where, fix=problem.fix, rule=RULE)


class _WrongNames:
    """Tells whether `_problems` finds any in a document; without paths, since nearly every document has none."""

    def __init__(self, names: ReferenceNames) -> None:
        self._names = names
        self._plans: dict[
            type[BaseModel],
            tuple[Sequence[tuple[str, str, Collection[str]]], Sequence[ReferenceCheck]],
        ] = {}
        """Model -> its fields that refer to something, with the kind and the known names, and its further checks."""

    def any_in(self, document: Document, nodes: Sequence[BaseModel]) -> bool:
        """Return whether one of these models of a document names something that is not there."""
        names, plans = self._names, self._plans
        for node in nodes:
            fields, checks = plans.get(type(node)) or self._plan_of(type(node))
            values = node.__dict__
            for field, kind, known in fields:
                value = values[field]
                if value is None or value in known:
                    continue
                if any(names.lacks(kind, each) for each in (value if type(value) is tuple else (value,))):
                    return True
            for checked in checks:
                for _ in checked(names, document, node, ""):
                    return True
        return False

    def _plan_of(
        self, model: type[BaseModel]
    ) -> tuple[Sequence[tuple[str, str, Collection[str]]], Sequence[ReferenceCheck]]:
        fields = [(field, kind, self._names.known[kind]) for field, _, kind in references_of(model)]
        plan = self._plans[model] = (fields, _checks_of(model))
        return plan


def _problems(names: ReferenceNames, document: Document, node: BaseModel, path: str) -> list[Problem]:
    model = type(node)
    problems = list(_missing_names(names, node, path)) if references_of(model) else []
    for checked in _checks_of(model):
        problems += checked(names, document, node, path)
    return problems


def list_references(document: Document) -> list[tuple[str, str]]:
    """Return what a document refers to as (kind, name), each once; names with `{x}` are left out.

    Kinds are the values of `REFERENCES`.
    """
    found: dict[tuple[str, str], None] = {}
    for _, node in walk(document):
        for field, _, kind in references_of(type(node)):
            value = getattr(node, field)
            for name in value if isinstance(value, tuple) else (value,):
                if name is not None and "{" not in name:
                    found[kind, name] = None
    return list(found)


@cache
def _checks_of(model: type[BaseModel]) -> tuple[ReferenceCheck, ...]:
    """Return the checks of `CHECKS` that apply to a model, in that order."""
    return tuple(checked for base, checked in CHECKS.items() if issubclass(model, base))


def _missing_names(names: ReferenceNames, node: BaseModel, path: str) -> Iterator[Problem]:
    for field, json_name, kind in references_of(type(node)):
        value = getattr(node, field)
        if isinstance(value, tuple):
            for index, name in enumerate(value):
                yield from names.missing(kind, name, f"{path}.{json_name}[{index}]")
        else:
            yield from names.missing(kind, value, f"{path}.{json_name}")
